#!/usr/bin/env python3
"""The API reference: tools/house/docs.py [--out DIR] [--self-test].

Writes HTML of the public headers of lib/ to DIR/html with Doxygen; without --out it only looks. Every public name without
a comment, and everything else that Doxygen warns of, is a finding: file:line: text, and exit 1. Exit 77: no doxygen.

The headers carry plain `//` comments; as Doxygen's input filter (tools/house/docs.py --filter FILE) this file turns them into
`///`: a block above a declaration is about it, and so is one behind it; the block at the top is about the file, and about
the first type without a comment of its own. Deleted functions, defaulted operators and destructors have nothing to say and
are left out.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What an application includes, and what those headers show of themselves.
LOCK = """async_lock count_down_latch errors guard guarded lock locks observer owner permit_semaphore redlock registry
          semaphore""".split()
OTHERS = """redis/client redis/command_network redis/error redis/hiredis_connections redis/reply redis/threaded_client redis/url runtime/runtime runtime/thread_runtime
            runtime/time net/network net/socket_network tls/tls_network tls/tls_options async/asio async/executor async/hold async/host async/lock async/loop
            async/loop_client""".split()
SILENT = re.compile(r"^\s*(friend .*= default;|[^/]*= delete;|(virtual )?~\w+\(\)[^;{]*(;|\{\}))")
COMMENT = re.compile(r"^(\s*)//(?!/)( ?)(.*)$")
TYPE = re.compile(r"^(class|struct) \w+[^;]*$")
TRAILING = re.compile(r"^(.*[;,{})\w>]\s+)// ?(.*)$")
CONFIGURATION = """
PROJECT_NAME = Holdfast
PROJECT_BRIEF = "Distributed locks for Redis in C++20"
INPUT = {input}
FILTER_PATTERNS = *.h="{python} {script} --filter"
STRIP_FROM_PATH = {root}/lib
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
    locks = sorted((ROOT / "lib/lock").glob("*_lock.h"))
    found = [path for path in locks if path.name != "wire_lock.h"]
    found += [ROOT / f"lib/lock/{name}.h" for name in LOCK] + [ROOT / f"lib/{name}.h" for name in OTHERS]
    return sorted({path for path in found if path.exists()})


def escaped(text):
    """Plain words: nothing in them is a command, a tag or a link."""
    return re.sub(r"([\\@<>&#%])", r"\\\1", text)


def filtered(text):
    out, column, header, top = [], None, [], True
    for line in text.split("\n"):
        comment, trailing = COMMENT.match(line), TRAILING.match(line)
        before = out[-1] if out else ""
        if comment:
            words = comment.group(3)
            if top:
                header.append(escaped(words) or "<p>")
                if len(header) == 1:
                    out.append("/// \\file")
                else:
                    out.append("/// " + (" ".join(header) if len(header) == 2 else header[-1]))
            elif re.match(r"-{3,} |NOLINT", words):
                out.append(line)
                column = None
            else:
                behind = column is not None and len(comment.group(1)) >= column
                out.append(f"{comment.group(1)}///{'<' if behind else ''}{comment.group(2)}{escaped(words)}")
            continue
        top = False
        column = None
        if SILENT.match(line):
            out.append("")
        elif trailing and trailing.group(1).count('"') % 2 == 0:
            column = len(trailing.group(1))
            out.append(f"{trailing.group(1)}///< {escaped(trailing.group(2))}")
        elif header and TYPE.match(line) and not re.match(r"///|template", before):
            out.append(f"/** {' '.join(header)} */ {line}")
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


def document(files, out, html):
    """Doxygen's warnings."""
    with tempfile.TemporaryDirectory() as temporary:
        text = CONFIGURATION.format(
            input=" ".join(f'"{path}"' for path in files), python=sys.executable, script=pathlib.Path(__file__).resolve(),
            root=ROOT, out=out or temporary, html="YES" if html else "NO", xml="NO" if html else "YES")
        done = subprocess.run(["doxygen", "-"], input=text, capture_output=True, text=True)
    lines = [line.replace(f"{ROOT}/", "") for line in done.stderr.splitlines() if line.strip()]
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
    failures = 0
    for text, wanted in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.h"
            path.write_text(text)
            found = document([path], None, False)
            if bool(found) != wanted:
                failures += 1
                print(f"self-test: {found} in {text!r}")
    print(f"self-test: {len(cases)} cases, {failures} failures")
    return failures


def main(arguments):
    if "--filter" in arguments:
        sys.stdout.write(filtered(pathlib.Path(arguments[arguments.index("--filter") + 1]).read_text()))
        return 0
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
