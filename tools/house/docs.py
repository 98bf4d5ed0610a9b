#!/usr/bin/env python3
"""The API reference: tools/house/docs.py [--out DIR] [--self-test].

Writes HTML of the public headers of lib/ to DIR/html with Doxygen; without --out it only looks. Every public name without
a comment, and everything else that Doxygen warns of, is a finding: file:line: text, and exit 1. Exit 77: no doxygen.

The headers carry plain `//` comments; Doxygen reads copies in which they are `///`: a block above a declaration is about it,
and so is one behind it; the block at the top is about the file, and about the first type without a comment of its own.
Comments inside the body of a function are left alone. Deleted functions, defaulted operators and destructors without a comment
have nothing to say and are left out.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = ROOT / "tools/cmake/install.cmake"  # lists what an application may include
INSIDE = {"lib/async/awaiter.h", "lib/async/operation.h"}  # installed for the others, and named by no application
SILENT = re.compile(r"^\s*(friend .*= default;|[^/]*= delete;|(virtual )?~\w+\(\)[^;{]*(;|\{\}))")
COMMENT = re.compile(r"^(\s*)//(?!/)( ?)(.*)$")
TYPE = re.compile(r"^(class|struct) \w+[^;]*$")
TRAILING = re.compile(r"^(.*[;,{})\w>]\s+)// ?(.*)$")
CONFIGURATION = """
PROJECT_NAME = Holdfast
PROJECT_BRIEF = "Distributed locks for Redis in C++20"
INPUT = {input}
STRIP_FROM_PATH = {copies}/lib
OUTPUT_DIRECTORY = {out}
GENERATE_HTML = {html}
GENERATE_LATEX = NO
GENERATE_XML = {xml}
XML_PROGRAMLISTING = NO
EXTRACT_ALL = NO
HIDE_UNDOC_MEMBERS = NO
JAVADOC_AUTOBRIEF = YES
MARKDOWN_SUPPORT = NO
AUTOLINK_SUPPORT = NO
INHERIT_DOCS = YES
BUILTIN_STL_SUPPORT = YES
ENABLE_PREPROCESSING = YES
SEARCH_INCLUDES = NO
WARN_IF_UNDOCUMENTED = YES
WARN_NO_PARAMDOC = NO
WARN_FORMAT = "$file:$line: $text"
HAVE_DOT = NO
QUIET = YES
SORT_MEMBER_DOCS = NO
"""


def headers():
    lists = re.findall(r"set\(HOLDFAST_\w+_HEADERS\s+([^)]*)\)", PUBLIC.read_text())
    return [ROOT / path for path in sorted(set(" ".join(lists).split()) - INSIDE)]


def escaped(text):
    """Plain words: nothing in them is a command, a tag or a link. Between quotation marks Doxygen would show the escapes."""
    return re.sub(r"([\\@<>&#%])", r"\\\1", text).replace('"', "&quot;")


def with_examples(lines, end=""):
    """Lines that are indented, and are no part of an item, as they stand; `end` between two of them."""
    item, shown = False, []
    for line in lines:
        item = bool(re.match(r"- ", line)) or (item and line.startswith("  "))
        shown.append(line.startswith("  ") and not item)
    return [("<pre>" if now and not before else "") + (line[2:] if now else line) +
            ("</pre>" if now and not after else end if now else "")
            for line, now, before, after in zip(lines, shown, [False, *shown], [*shown[1:], False])]


def listed(lines):
    """Lines that begin with `- ` as items, for what is put into one line, where Doxygen no longer sees them."""
    out, inside = [], False
    for line in lines:
        item = re.match(r" *- (.*)", line)
        if item:
            out.append(("<li>" if inside else "<ul><li>") + item.group(1))
            inside = True
        else:
            ends = inside and not line.startswith("  ")
            out.append(("</ul>" if ends else "") + line)
            inside = inside and not ends
    return " ".join(out) + ("</ul>" if inside else "")


def filtered(text):
    out, column = [], None
    depth = 0  # of braces, inside the body of a function, whose comments are nobody's documentation
    lines = text.split("\n")
    size = next((number for number, line in enumerate(lines) if not COMMENT.match(line)), len(lines))
    top = [escaped(COMMENT.match(line).group(3)) for line in lines[:size]]
    if top:
        about = [line or "<p>" for line in top]
        if len(top) > 1:
            out = ["/// \\file", f"/// {top[0]} {about[1]}", *(f"/// {line}" for line in with_examples(about[2:]))]
        else:
            out = ["/// \\file"]
    header = with_examples([line or "<p>" for line in top], "<br>")
    for line in lines[size:]:
        opens = depth > 0 or (line.endswith("{") and re.search(r"\)[^;]*\{$", line))
        if opens:
            depth += line.count("{") - line.count("}")
            out.append(line)
            continue
        comment, trailing = COMMENT.match(line), TRAILING.match(line)
        before = out[-1] if out else ""
        if comment:
            words = comment.group(3)
            if re.match(r"-{3,} |NOLINT", words):
                out.append(line)
                column = None
            else:
                behind = column is not None and len(comment.group(1)) >= column
                out.append(f"{comment.group(1)}///{'<' if behind else ''}{comment.group(2)}{escaped(words)}")
            continue
        column = None
        if line.startswith("#"):
            out.append(line)
        elif SILENT.match(line) and not ("~" in line and (trailing or before.lstrip().startswith("/// "))):
            out.append("")
        elif trailing and trailing.group(1).count('"') % 2 == 0:
            column = len(trailing.group(1))
            out.append(f"{trailing.group(1)}///< {escaped(trailing.group(2))}")
        elif header and TYPE.match(line) and not re.match(r"///|template", before):
            out.append(f"/** {listed(header)} */ {line}")
            header = []
        else:
            out.append(line)
    return "\n".join(out)


def enumerators_without(text):
    """(line, name) of each without a comment, for Doxygen does not ask for theirs. One line of them: the one above it counts."""
    inside, commented = False, False
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"\s*enum class \w+[^;]*\{", line):
            inside = "}" not in line
            if not inside and not commented:
                yield number, line.strip()
        elif inside:
            found = re.match(r"\s*(\w+)(\s*=[^,/]*)?,?\s*(//.*)?$", line)
            if "}" in line:
                inside = False
            elif found and not found.group(3) and not commented:
                yield number, found.group(1)
        commented = bool(COMMENT.match(line))


def document(files, out, html, more=""):
    """Doxygen's warnings. `more`: further lines of its configuration."""
    with tempfile.TemporaryDirectory() as temporary:
        copies = pathlib.Path(temporary).resolve() / "copies"
        names = {path: path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name for path in files}
        for path, name in names.items():
            (copies / name).parent.mkdir(parents=True, exist_ok=True)
            (copies / name).write_text(filtered(path.read_text()))
        text = CONFIGURATION.format(
            input=" ".join(f'"{copies / name}"' for name in names.values()), copies=copies, out=out or temporary,
            html="YES" if html else "NO", xml="NO" if html else "YES") + more
        done = subprocess.run(["doxygen", "-"], input=text, capture_output=True, text=True)
    lines = [line.replace(f"{copies}/", "") for line in done.stderr.splitlines() if line.strip()]
    for path in files:
        for number, name in enumerators_without(path.read_text()):
            lines.append(f"{str(path).replace(f'{ROOT}/', '')}:{number}: warning: enumerator {name} is not documented.")
    lines = list(dict.fromkeys(lines))
    if done.returncode != 0 and not lines:
        lines = [f"doxygen: exit {done.returncode}"]
    return lines


def self_test():
    cases = [  # a header's lines, and whether there is something to find
        ("// A file.\n\n// A type.\nstruct Good {\n  int a = 0;  // a member\n  // A call.\n  void b();\n};\n", False),
        ("// A file.\n\n// A type.\nstruct Bad {\n  int a = 0;\n};\n", True),
        ("// About both.\n\nstruct Good3 {};\n", False),
        ("// A file.\n\n// A type.\nstruct Good4 {};\n\nstruct Good5 {\n  int a = 0;  // a \"member\"\n};\nstruct Bad2 {\n  int b = 0;  // b\n};\n", True),
        ("// A file.\n\n// Says.\nenum class E {\n  one,  // 1\n  two,\n};\n", True),
        ("// A file.\n\n// A type.\nstruct Good2 {\n  Good2(const Good2&) = delete;\n  ~Good2();\n};\n", False),
    ]
    failures = 0 if ROOT / "lib/lock/api/lock.h" in headers() and all(path.exists() for path in headers()) else 1
    for text, wanted in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.h"
            path.write_text(text)
            found = document([path], None, False)
            if bool(found) != wanted:
                failures += 1
                print(f"self-test: {found} in {text!r}")
    texts = [  # a header's lines, and what Doxygen gets to see
        ("// A.\n\n// A type.\nstruct S {\n  // Says.\n  ~S();\n  // Calls.\n  void f();\n};\n", "  /// Says.\n  ~S();\n  /// Calls.\n"),
        ("// A.\n\n// A type.\nstruct S {\n  ~S();\n  // Calls.\n  void f();\n};\n", "struct S {\n\n  /// Calls.\n"),
        ("// A.\n// - one\n//   more\n// - two\n//\n// B.\n\nstruct S {\n", "/** A. <ul><li>one   more <li>two </ul><p> B. */ struct S {"),
        ("// A.\n//\n//   one(\n//     two)\n// B.\n\nstruct S {\n", "/** A. <p> <pre>one(<br>   two)</pre> B. */ struct S {"),
        ("// A.\n//\n//   one(\n//     two)\n// B.\n\n", "/// A. <p>\n/// <pre>one(\n///   two)</pre>\n/// B.\n"),
        ("// A.\n\n// Calls.\nvoid f() {\n  g();  // why\n}\nint a;  // b\n", "  g();  // why\n}\nint a;  ///< b\n"),
    ]
    for text, wanted in texts:
        if wanted not in filtered(text):
            failures += 1
            print(f"self-test: {filtered(text)!r} without {wanted!r}")
    print(f"self-test: {len(cases) + len(texts)} cases, {failures} failures")
    return failures


def main(arguments):
    try:
        subprocess.run(["doxygen", "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        print("docs: skipped, there is no doxygen on this machine; as root: apt-get install doxygen")
        return 77
    if "--self-test" in arguments:
        return 1 if self_test() else 0
    out = pathlib.Path(arguments[arguments.index("--out") + 1]).resolve() if "--out" in arguments else None
    if out:
        out.mkdir(parents=True, exist_ok=True)
    found = document(headers(), out, out is not None)
    for line in found:
        print(line)
    print(f"docs: {len(headers())} headers, {len(found)} findings" + (f", {out}/html/index.html" if out else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
