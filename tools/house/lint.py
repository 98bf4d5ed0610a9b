#!/usr/bin/env python3
"""The checks of .clang-tidy over the tree: tools/house/lint.py [--since REF] [--tests] [--jobs N] [--self-test] [FILE...]

FILE...       only these sources and headers
--since REF   only what differs from REF, and what is not committed yet
--tests       tests as well; without it only what is installed or run
--jobs N      files at a time; default: as many as there are cores

A header is looked at through a source that includes it: its own one if there is one. Needs clang-tidy-19 and a configured
build folder (build/, or --build DIR); nothing has to be built. About 6 s of one core a file, half an hour for the tree.
Prints each finding once, file:line:column: text [check]. Exit: 0 none, 1 some, 69 something is missing, 77 (self-test
alone) no clang-tidy-19.
"""
import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIDY = "clang-tidy-19"
FINDING = re.compile(r"^(\S+?):(\d+):(\d+): (?:warning|error): (.*)$", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def missing(text):
    print(f"tools/house/lint.py: {text}", file=sys.stderr)
    sys.exit(69)


def git(*arguments):
    done = subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"tools/house/lint.py: git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def is_test(path):
    return path.name.endswith("_test.cc") or "testing" in path.parts


def units(build, tests):
    """The sources that the build compiles, by their path in the tree."""
    database = build / "compile_commands.json"
    if not database.exists():
        missing(f"no {database}; run: cmake --preset release")
    found = set()
    for entry in json.loads(database.read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(ROOT) and not path.is_relative_to(build) and path.suffix == ".cc":
            if not tests and is_test(path):
                continue
            found.add(str(path.relative_to(ROOT)))
    return sorted(found)


def chosen(files, all_units):
    """The sources through which `files` are looked at."""
    result, headers = set(), set()
    for file in files:
        if file in all_units:
            result.add(file)
        elif file.endswith(".h"):
            headers.add(file)
    own = {header for header in headers if header[:-2] + ".cc" in all_units}
    result |= {header[:-2] + ".cc" for header in own}
    others = headers - own
    for unit in all_units:
        if not others:
            break
        met = others & included(unit)
        if met:
            result.add(unit)
            others -= met
    for header in sorted(others):
        print(f"{header}: no source includes it; not looked at", file=sys.stderr)
    return sorted(result)


@functools.lru_cache(maxsize=None)
def included(file):
    """The headers of the tree that a file includes, by whatever way."""
    path = ROOT / file
    direct = set(INCLUDE.findall(path.read_text(encoding="utf-8"))) if path.exists() else set()
    return direct.union(*(included(header) for header in direct))


def look(build, unit):
    done = subprocess.run([TIDY, "-p", str(build), "--quiet", unit], cwd=ROOT, capture_output=True, text=True)
    found = []
    for file, line, column, text in FINDING.findall(done.stdout):
        path = pathlib.Path(file).resolve()
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        found.append(f"{name}:{line}:{column}: {text}")
    if done.returncode != 0 and not found:
        found.append(f"{unit}:1:1: {TIDY} failed: {done.stderr.strip()[-300:]}")
    return found


PLANTED = {  # check -> a source that it must find fault with
    "bugprone-use-after-move": "#include <string>\n#include <utility>\nvoid keep(std::string);\n"
                               "unsigned long f(std::string a) {\n  keep(std::move(a));\n  return a.size();\n}\n",
    "bugprone-infinite-loop": "int f(int n) {\n  int i = 0, sum = 0;\n  while (i < 10) sum += n;\n  return sum;\n}\n",
    "bugprone-sizeof-expression": "unsigned long f(const int* all) { return sizeof(all) / sizeof(all[0]); }\n",
    "clang-analyzer-core.NullDereference": "int f(const int* p) {\n  if (p == nullptr) return *p;\n  return 0;\n}\n",
    "performance-for-range-copy": "#include <string>\n#include <vector>\nunsigned long f(const std::vector<std::string>& all) {\n"
                                  "  unsigned long n = 0;\n  for (const std::string one : all) n += one.size();\n  return n;\n}\n",
}


def self_test():
    """Each of some checks finds what is planted for it, and nothing in its absence."""
    if shutil.which(TIDY) is None:
        print(f"self-test: no {TIDY}")
        return 77
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / ".clang-tidy", folder)
        for name, text in {**PLANTED, "": "#include <string>\nstd::string f(const std::string& a) { return a + a; }\n"}.items():
            source = pathlib.Path(folder, (name or "clean") + ".cc")
            source.write_text(text)
            out = subprocess.run([TIDY, "--quiet", str(source), "--", "-std=c++20"], capture_output=True, text=True).stdout
            if (f"[{name}" in out) != bool(name) or (not name and FINDING.search(out)):
                failures += 1
                print(f"self-test: {name or 'clean'}: {out.strip()[:300] or 'nothing found'}")
    print(f"self-test: {len(PLANTED)} breaches, {failures} failures")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--since", metavar="REF")
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if shutil.which(TIDY) is None:
        missing(f"no {TIDY}; install it: apt-get install {TIDY}")
    build = pathlib.Path(options.build).resolve()
    wanted = all_units = units(build, options.tests or bool(options.files))
    if options.files or options.since:
        files = [str(pathlib.Path(file).resolve().relative_to(ROOT)) for file in options.files]
        if options.since:
            files += git("diff", "--name-only", "--diff-filter=d", options.since, "--", *"lib sim checker tools".split())
            files += git("ls-files", "--others", "--exclude-standard", "--", *"lib sim checker tools".split())
            if not options.tests:
                files = [file for file in files if not is_test(pathlib.Path(file))]
        wanted = chosen(files, all_units)
    found = set()
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for number, lines in enumerate(pool.map(lambda unit: look(build, unit), wanted), 1):
            for line in lines:
                if line not in found:
                    print(line, flush=True)
                found.add(line)
            if sys.stderr.isatty():
                print(f"\r{number} of {len(wanted)} files", end="", file=sys.stderr, flush=True)
    print(f"lint: {len(wanted)} files, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
