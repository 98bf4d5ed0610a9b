#!/usr/bin/env python3
"""Whether the pages and the CI workflow say what is there: tools/house/pages.py [--self-test] [--command HOLDFAST] [ROOT].

1. Every relative link in every *.md leads to a file of the tree, its #anchor to a heading of that page.
2. Every path that a page names in `code` exists: from the root, beside the page or below it. `x.*`, `*` and {a,b} are
   patterns; in the first column of a table of files `x` means `x.*`. What holds a word in capitals (`check_NAME.cc`) or <...>,
   or begins with build/, stands for something else. So does a name that the page gives to the block behind it (`x.cc`: and
   then the block). Not in CHANGELOG.md, which names what is gone.
3. Every function and type that ARCHITECTURE.md or CONTRIBUTING.md names (`Class::member()`, `function()`, `ClassName`) is in
   the sources.
4. Every command in a console block or in the workflow can be called: the program, script, preset and label exist, and with
   --command each flag is one that `holdfast ... --help` lists.
5. Every path below tools/ that a shell script names exists.
6. The workflow is YAML; each of its jobs runs on something, has steps, and needs only jobs that exist.

Prints one line a finding, file:line: text; exit 1 if there is one.
"""
import argparse
import functools
import glob
import pathlib
import posixpath
import re
import shlex
import subprocess
import sys
import tempfile

import yaml

ROOMS = ("lib", "sim", "checker", "scenarios", "tools", "results")
WORKFLOWS = ".github/workflows/*.yml"
LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`]+)`")
PATH = re.compile(r"^[\w.*{},/+-]+$")
SUFFIX = re.compile(r"\.(h|cc|c|lua|py|toml|md|html|cases|cmake|yml|txt|json|in|\*)$")
FUNCTION = re.compile(r"^(?:(\w+)::)?(~?\w+)\(\)$")
TYPE = re.compile(r"^(?:[A-Z][a-z0-9]+){2,}$")
PLACEHOLDER = re.compile(r"[A-Z]{2,}")
CAPITALS = {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "CMakeLists.txt",
            "CMakePresets.json"}
DEEP = {"ARCHITECTURE.md", "CONTRIBUTING.md"}  # their functions are looked up, too


def tracked(root):
    out = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard"], cwd=root,
                         capture_output=True, text=True, check=True)
    return [line for line in out.stdout.splitlines() if (root / line).is_file()]


def anchor(heading):
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", LINK.sub("", heading).lower()).strip().replace(" ", "-")


def anchors(text):
    """The anchors of a page."""
    found, code = set(), False
    for line in text.split("\n"):
        if line.startswith("```"):
            code = not code
        heading = re.match(r"#{1,6} +(.*)", line)
        if heading and not code:
            found.add(anchor(heading.group(1)))
    return found


def blocks(text):
    """(line number, line, language of the code block that it is in or None) of a page."""
    language = None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            language = None if language is not None else line[3:].strip()
            continue
        yield number, line, language


def braces(pattern):
    """{a,b} taken apart."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if not found:
        return [pattern]
    return [one for part in found.group(1).split(",") for one in braces(pattern[:found.start()] + part + pattern[found.end():])]


class Tree:
    def __init__(self, root, command=None):
        self.root, self.command = root, command
        self.files = tracked(root)
        self.folders = {str(parent) for file in self.files for parent in pathlib.PurePath(file).parents}

    def read(self, file):
        return (self.root / file).read_text(encoding="utf-8", errors="replace")

    @functools.cached_property
    def sources(self):
        return "\n".join(self.read(file) for file in self.files if file.endswith((".h", ".cc", ".c", ".py", ".lua")))

    def has(self, path, folder):
        """Whether `path` (a pattern) is something: from the root, from `folder` of the page, or below it."""
        for base in (".", folder):
            joined = posixpath.normpath(posixpath.join(base, path))
            if joined in self.folders or joined in self.files or (self.root / joined).exists():
                return True
            if any(pathlib.PurePath(file).match(joined) for file in self.files) and "*" in joined:
                return True
        inside = "" if folder == "." else folder + "/"
        below = self.folders if path.endswith("/") else self.files
        return any(file.startswith(inside) and pathlib.PurePath(file).match(path) for file in below)

    def function(self, owner, name):
        if owner is None:
            return re.search(rf"\b{re.escape(name)}\(", self.sources) is not None
        if re.search(rf"\b{owner}::{re.escape(name)}\b", self.sources):
            return True
        bodies = re.finditer(rf"\b(?:class|struct|namespace) {owner}\b[^;]*?\{{(.*?)^\}}", self.sources, re.S | re.M)
        return any(re.search(rf"(?<!\w){re.escape(name)}\(", body.group(1)) for body in bodies)

    @functools.lru_cache(maxsize=None)
    def help(self, *words):
        done = subprocess.run([self.command, *words, "--help"], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else None

    def labels(self):
        script = self.root / "tools/test"
        listed = re.search(r"expected ([\w, ]+)\"", script.read_text()) if script.exists() else None
        return set(re.split(r", | or ", listed.group(1))) if listed else set()

    def presets(self):
        file = self.root / "CMakePresets.json"
        return set(re.findall(r'"name": "(\w+)"', file.read_text())) if file.exists() else set()


def check_call(tree, words):
    """What is wrong with one call, word by word; None: nothing."""
    while words and re.match(r"^\w+=", words[0]):
        words = words[1:]
    if not words:
        return None
    program, rest = words[0].removeprefix("./"), words[1:]
    if program in ("sudo", "nice", "time", "do", "then"):
        return check_call(tree, rest)
    if program.startswith("tools/"):
        if program not in tree.files:
            return f"no `{program}`"
        if program == "tools/test" and rest and not PLACEHOLDER.search(rest[0]) and rest[0] not in tree.labels():
            return f"`tools/test` has no label `{rest[0]}`"
        if program == "tools/run":
            return check_holdfast(tree, ["run", *rest])
        if program == "tools/scale/shard":
            return check_holdfast(tree, rest[2:])
    if program == "build/holdfast" or program == "holdfast":
        return check_holdfast(tree, rest)
    if program == "cmake" and "--preset" in rest and rest[rest.index("--preset") + 1] not in tree.presets():
        return f"no preset `{rest[rest.index('--preset') + 1]}`"
    return None


def check_holdfast(tree, words):
    for word in words:
        if word.startswith(("scenarios/", "checker/", "lib/", "sim/")) and not PLACEHOLDER.search(word) and not tree.has(word, "."):
            return f"no `{word}`"
    if tree.command is None or not words or words[0].startswith("-"):
        return None
    text = tree.help(words[0])
    if text is None:
        return f"`holdfast` has no command `{words[0]}`"
    for word in words[1:]:
        flag = re.match(r"^(--?[A-Za-z][\w-]*)", word)
        if flag and not re.search(rf"(?<![\w-]){re.escape(flag.group(1))}(?![\w-])", text):
            return f"`holdfast {words[0]}` has no flag `{flag.group(1)}`"
    return None


def calls(line):
    """The calls of one shell line."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return
    call = []
    for word in words:
        if set(word) <= set(";&|<>") and word:
            yield call
            call = []
        else:
            call.append(word)
    yield call


def check_page(tree, page):
    text = tree.read(page)
    folder = str(pathlib.PurePosixPath(page).parent)
    shown = set(re.findall(r"`([\w.]+)`:\n\n```", text))
    files = False  # in a table whose first column names files
    for number, line, language in blocks(text):
        files = line.startswith("|") and (files or line.startswith("| file |"))
        if language is None:
            for code in CODE.findall(line.split("|")[1]) if files else ():
                if re.fullmatch(r"[\w/]+", code) and not tree.has(code + ".*", folder) and not tree.has(code + "/", folder):
                    yield number, f"`{code}`: no such file"
            for target in LINK.findall(line):
                if re.match(r"[a-z]+:", target):
                    continue
                file, _, anchor = target.partition("#")
                path = (tree.root / folder / file).resolve() if file else tree.root / page
                name = str(path.relative_to(tree.root)) if path.is_relative_to(tree.root) else None
                if name is None or (name not in tree.files and name not in tree.folders):
                    yield number, f"link to `{target}`: no such file"
                elif anchor and name.endswith(".md") and anchor not in anchors(tree.read(name)):
                    yield number, f"link to `{target}`: no such heading"
            for code in CODE.findall(line) if page != "CHANGELOG.md" else ():
                if code not in shown:
                    yield from ((number, finding) for finding in check_code(tree, page, folder, code))
        elif language in ("console", "sh", "bash") and line.startswith("$ "):
            for call in calls(line[2:]):
                wrong = check_call(tree, call)
                if wrong:
                    yield number, wrong


def check_code(tree, page, folder, code):
    function = FUNCTION.match(code)
    if function and page in DEEP and not tree.function(*function.groups()):
        yield f"`{code}`: no such function"
    if page in DEEP and TYPE.match(code) and not re.search(rf"\b(class|struct|enum|using) {code}\b", tree.sources):
        yield f"`{code}`: no such type"
    path = code
    if not PATH.match(path) or not (SUFFIX.search(path) or path.endswith("/") or path.split("/")[0] in ROOMS and "/" in path):
        return
    if path.startswith(("build/", "results/runs", "-")) or path.strip("*./") == "":
        return
    for one in braces(path):
        if PLACEHOLDER.search(one) and pathlib.PurePosixPath(one).name not in CAPITALS:
            continue
        if not tree.has(one, folder):
            yield f"`{code}`: no such file"


def check_script(tree, file):
    for number, line in enumerate(tree.read(file).split("\n"), 1):
        for path in re.findall(r"(?<![\w.])tools/[\w./-]*\w", line):
            if path not in tree.files and path not in tree.folders:
                yield number, f"no `{path}`"


def check_workflow(tree, file):
    text = tree.read(file)
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        yield mark.line + 1 if mark else 1, f"not YAML: {getattr(error, 'problem', error)}"
        return
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not jobs or (True not in document and "on" not in document):  # YAML 1.1 reads the key `on` as true
        yield 1, "expected `on` and `jobs`"
        return
    for name, job in jobs.items():
        at = next((number for number, line in enumerate(text.split("\n"), 1) if re.match(rf"  {re.escape(name)}:", line)), 1)
        if "runs-on" not in job or not job.get("steps"):
            yield at, f"job `{name}`: expected `runs-on` and `steps`"
            continue
        needs = job.get("needs", [])
        for other in [needs] if isinstance(needs, str) else needs:
            if other not in jobs:
                yield at, f"job `{name}` needs `{other}`, which is no job"
        rows = job.get("strategy", {}).get("matrix", {})
        rows = [*rows.get("include", []), {key: values[0] for key, values in rows.items() if key != "include"}]
        for step in job["steps"]:
            if ("run" in step) == ("uses" in step):
                yield at, f"job `{name}`: a step has one of `run` and `uses`"
            for line in step.get("run", "").split("\n"):
                for row in rows:
                    full = re.sub(r"\$\{\{ *matrix\.(\w+) *\}\}", lambda m: str(row.get(m.group(1), "")), line)
                    for call in calls(full):
                        wrong = check_call(tree, call)
                        if wrong:
                            yield at, f"job `{name}`: {wrong}"


def findings(root, command=None):
    tree = Tree(root, command)
    for page in (file for file in tree.files if file.endswith(".md")):
        for number, finding in check_page(tree, page):
            yield f"{page}:{number}: {finding}"
    for file in tree.files:
        if file.startswith("tools/") and re.match(r"#!.*sh\n", tree.read(file)):
            for number, finding in check_script(tree, file):
                yield f"{file}:{number}: {finding}"
    for file in sorted(glob.glob(WORKFLOWS, root_dir=root)):
        for number, finding in dict.fromkeys(check_workflow(tree, file)):
            yield f"{file}:{number}: {finding}"


def self_test():
    """Every rule catches its planted breach, and passes the clean twin."""
    page, flow = "ARCHITECTURE.md", ".github/workflows/x.yml"
    job = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: {}\n"
    cases = [
        (page, "[a](lib/none.h)\n", "[a](lib/a.h) [b](https://example.org/none)\n"),
        (page, "[a](#none)\n", "[a](#a-heading-of-us)\n# A heading, of us\n"),
        (page, "[a](lib/README.md#none)\n", "[a](lib/README.md#how)\n"),
        ("lib/README.md", "[a](../lib/none.h)\n", "[a](a.h) [b](../lib)\n"),
        (page, "`lib/none.h`\n", "`lib/a.h`, `lib/a.*`, `lib/{a,b}.h`, `check_NAME.cc`, `build/none.h`\n"),
        (page, "`lib/{a,none}.h`\n", "`lib/`\n"),
        ("lib/README.md", "| file | what |\n|---|---|\n| `none` | x |\n", "| file | what |\n|---|---|\n| `a`, `b` | `x` |\n\n| `c` |\n"),
        ("lib/README.md", "`none.h`\n", "`a.h` and `lib/a.h`\n"),
        ("lib/README.md", "`none.h`\n\n```cpp\n```\n", "Write `none.h`:\n\n```cpp\n```\n"),
        ("CHANGELOG.md", "[a](none.md)\n", "`lib/none.h`\n"),
        (page, "`none()`\n", "`made()`\n"),
        (page, "`Thing::none()`\n", "`Thing::made()`\n"),
        (page, "`SomeThing`\n", "`OneThing`\n"),
        (page, "```console\n$ tools/none\n```\n", "```console\n$ tools/test long && tools/test\n```\n"),
        (page, "```console\n$ X=1 tools/test none\n```\n", "```\n$ tools/none\n```\n"),
        (page, "```console\n$ build/holdfast run scenarios/none.toml\n```\n", "```console\n$ build/holdfast run FILE\n```\n"),
        (page, "```console\n$ build/holdfast run FILE --none\n```\n", "```console\n$ build/holdfast run FILE --seed 7\n```\n"),
        (page, "```console\n$ build/holdfast none\n```\n", "```console\n$ cmake --preset release\n```\n"),
        (page, "```console\n$ cmake --preset none\n```\n", "\n"),
        ("tools/x", "#!/bin/sh\nexec \"$root/tools/none.py\"\n", "#!/bin/sh\nexec \"$root/tools/test\" tools\n"),
        (flow, "on: [push\n", job.format("tools/test")),
        (flow, "on: push\njobs:\n  a:\n    steps: []\n", job.format("echo")),
        (flow, job.format("tools/none"), job.format("tools/test long")),
        (flow, job.format("for x in a; do tools/none $x; done"), job.format("for x in a; do tools/test long; done")),
        (page, "```console\n$ tools/scale/shard out 1/8 run FILE --none\n```\n", "```console\n$ tools/scale/shard out 1/8 run FILE --seed 7\n```\n"),
        (flow, job.format("echo") + "    needs: b\n", job.format("echo") + "    needs: a\n"),
        (flow, job.format("tools/test ${{ matrix.l }}") + "    strategy: {matrix: {include: [{l: none}]}}\n",
         job.format("tools/test ${{ matrix.l }}") + "    strategy: {matrix: {include: [{l: long}]}}\n"),
    ]
    failures = 0
    for name, breach, clean in cases:
        for text, wanted in ((breach, True), (clean, False)):
            with tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                for file, content in {"lib/a.h": "class Thing {\n  void made();\n};\nstruct OneThing;\n", "lib/b.h": "", "lib/README.md": "# How\n",
                                      "tools/test": 'echo "label, expected long or tsan"', "tools/scale/shard": "", "scenarios/a.toml": "",
                                      "CMakePresets.json": '{"name": "release"}', name: text}.items():
                    (root / file).parent.mkdir(parents=True, exist_ok=True)
                    (root / file).write_text(content)
                command = root / "holdfast"
                command.write_text('#!/bin/sh\n[ "$1" = run ] && echo "  --seed TEXT"\n')
                command.chmod(0o755)
                subprocess.run(["git", "init", "-q"], cwd=root, check=True)
                found = list(findings(root, str(command)))
                if bool(found) != wanted:
                    failures += 1
                    print(f"self-test: {name}: {found or 'nothing found'} in {text.strip()[:80]!r}")
    print(f"self-test: {len(cases)} breaches, {failures} failures")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("root", nargs="?", default=".")
    parser.add_argument("--command", help="the `holdfast` whose flags are meant")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return 1 if self_test() else 0
    found = list(findings(pathlib.Path(options.root).resolve(), options.command))
    for line in found:
        print(line)
    print(f"pages: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
