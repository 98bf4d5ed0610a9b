#!/usr/bin/env python3
"""Holds a JUnit report against what the schemas of Jenkins (junit-10.xsd), Surefire and Ant have in common.

junit_test.py FILE: one line for each thing that is wrong; exit 0 when nothing is, else 1.
--self-test: reports with one defect each, every one of which must be found.
"""
import re
import sys
import xml.etree.ElementTree as tree

NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
WHOLE = re.compile(r"[0-9]+")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
TEXT = re.compile(r"(?s).+")
# element -> (attributes that must be there, those that may be, elements within in this order, text within)
ELEMENTS = {
    "testsuites": ({}, {"name": TEXT, "time": NUMBER, "tests": WHOLE, "failures": WHOLE, "errors": WHOLE},
                   ["testsuite"], False),
    "testsuite": ({"name": TEXT, "tests": WHOLE, "failures": WHOLE, "errors": WHOLE, "skipped": WHOLE, "time": NUMBER},
                  {"timestamp": MOMENT, "hostname": TEXT, "id": TEXT, "package": TEXT},
                  ["properties", "testcase", "system-out", "system-err"], False),
    "testcase": ({"name": TEXT, "classname": TEXT, "time": NUMBER}, {}, ["skipped", "error", "failure"], False),
    "skipped": ({}, {"message": TEXT}, [], True),
    "failure": ({"message": TEXT, "type": TEXT}, {}, [], True),
    "error": ({"message": TEXT, "type": TEXT}, {}, [], True),
    "properties": ({}, {}, ["property"], False),
    "property": ({"name": TEXT, "value": TEXT}, {}, [], False),
    "system-out": ({}, {}, [], True),
    "system-err": ({}, {}, [], True),
}


def problems(element, path=""):
    path += "/" + element.tag
    if element.tag not in ELEMENTS:
        yield f"{path}: unknown element"
        return
    must, may, within, text = ELEMENTS[element.tag]
    for name, pattern in must.items():
        if name not in element.attrib:
            yield f"{path}: has no {name}"
    for name, value in element.attrib.items():
        pattern = must.get(name, may.get(name))
        if pattern is None:
            yield f"{path}: unknown attribute {name}"
        elif not pattern.fullmatch(value):
            yield f"{path}: {name} is {value!r}"
    if not text and (element.text or "").strip():
        yield f"{path}: has text"
    places = [within.index(child.tag) if child.tag in within else -1 for child in element]
    if -1 in places:
        yield f"{path}: {element[places.index(-1)].tag} does not belong here"
    elif places != sorted(places):
        yield f"{path}: elements in the wrong order"
    if element.tag == "testcase" and len(element) > 1:
        yield f"{path}: more than one outcome"
    if element.tag == "testsuite":
        cases = element.findall("testcase")
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            count = sum(case.find(tag) is not None for case in cases)
            if element.get(attribute) != str(count):
                yield f"{path}: {attribute} is {element.get(attribute)}, but there are {count}"
        if element.get("tests") != str(len(cases)):
            yield f"{path}: tests is {element.get('tests')}, but there are {len(cases)}"
        names = [(case.get("classname"), case.get("name")) for case in cases]
        if len(set(names)) < len(names):
            yield f"{path}: two test cases of one name"
    for child in element:
        yield from problems(child, path)


def self_test():
    good = ('<testsuites><testsuite name="s" tests="1" failures="1" errors="0" skipped="0" time="0.1">'
            '<testcase classname="c" name="n" time="0.1"><failure message="m" type="t">x</failure></testcase>'
            "</testsuite></testsuites>")
    assert not list(problems(tree.fromstring(good)))
    for old, new in (('classname="c"', 'classname="c" file="f"'), (' type="t"', ""), ('failures="1"', 'failures="0"'),
                     ('tests="1"', 'tests="2"'), ("</failure>", "</failure><system-out>x</system-out>"),
                     ('time="0.1">', 'time="soon">'), (' classname="c"', ""), ("<failure", "<skipped/><failure")):
        assert old in good
        assert list(problems(tree.fromstring(good.replace(old, new, 1)))), f"{new!r} was not found"


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    found = list(problems(tree.parse(sys.argv[1]).getroot()))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
