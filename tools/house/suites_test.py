#!/usr/bin/env python3
"""Whether ctest runs each test of each test program, and runs it once: tools/house/suites_test.py BUILD. (CTest: suites_test)

ctest's entries are suites (tools/cmake/suites.cmake). A suite that is not listed, or a filter that lets nothing pass, would be green.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop())
FILTER = "--gtest_filter="


def tests_of(program):
    """SUITE.NAME of all tests of a program."""
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    suite, found = "", []
    for line in listed.splitlines():
        word = line.split("  # ")[0]
        if word.startswith("  "):
            found.append(suite + word.strip())
        elif word.endswith("."):
            suite = word
    return found


def passes(text):
    """What a filter lets pass: patterns between colons; those behind the first dash are left out."""
    wanted, _, left_out = text.partition("-")

    def any_of(patterns):
        forms = [re.escape(one).replace(r"\*", ".*").replace(r"\?", ".") for one in patterns.split(":")]
        return re.compile("|".join(f"(?:{form})" for form in forms))

    yes, no = any_of(wanted or "*"), any_of(left_out)
    return lambda name: yes.fullmatch(name) is not None and not (left_out and no.fullmatch(name))


def entries():
    """(name, program, filter) of those entries of ctest that run a test program."""
    with tempfile.TemporaryDirectory() as folder:  # asked in BUILD, ctest would empty the log of the run that this is a part of
        (pathlib.Path(folder) / "CTestTestfile.cmake").write_text(f"include([[{BUILD.resolve()}/CTestTestfile.cmake]])\n")
        shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=folder, capture_output=True, text=True, check=True).stdout
    for test in json.loads(shown)["tests"]:
        command = test.get("command", [])
        if len(command) == 2 and pathlib.Path(command[0]).name.startswith("test_holdfast") and command[1].startswith(FILTER):
            yield test["name"], command[0], command[1][len(FILTER):]


def findings(known, tests):
    """What is wrong: `known` are entries, `tests` the tests of each program."""
    found, runs = [], {(program, test): [] for program, names in tests.items() for test in names}
    for entry, program, text in known:
        fits = passes(text)
        chosen = [test for test in tests.get(program, []) if fits(test)]
        if not chosen:
            found.append(f"{entry} runs nothing")
        for test in chosen:
            runs[program, test].append(entry)
    for (program, test), by in runs.items():
        if len(by) != 1:
            found.append(f"{pathlib.Path(program).name}: {test} is run by {', '.join(by) if by else 'nobody'}")
    return found


class Suites(unittest.TestCase):
    def setUp(self):
        self.entries = list(entries())
        self.tests = {str(program): tests_of(program) for program in sorted(BUILD.resolve().glob("test_holdfast*"))
                      if program.is_file() and "." not in program.name and "[" not in program.name}

    def test_each_test_is_run_once(self):
        self.assertTrue(self.tests)
        self.assertEqual(findings(self.entries, self.tests), [])

    def test_what_is_left_out_is_noticed(self):
        program = "/b/test_holdfast"
        tests = {program: ["A.x", "B.x", "Long.x"], "/b/test_holdfast_planted": ["C.x"]}
        good = [("lib.A", program, "A.*-Long*"), ("lib.B", program, "B.*"), ("lib.Long", program, "Long*"),
                ("planted.C", "/b/test_holdfast_planted", "C.*")]
        self.assertEqual(findings(good, tests), [])
        self.assertEqual(findings(good[:3], tests), ["test_holdfast_planted: C.x is run by nobody"])
        self.assertEqual(findings([*good, ("again", program, "?.x-A*")], tests), ["test_holdfast: B.x is run by lib.B, again"])
        self.assertEqual(findings([*good, ("none", program, "D.*")], tests), ["none runs nothing"])


if __name__ == "__main__":
    unittest.main()
