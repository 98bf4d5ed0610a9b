#!/usr/bin/env python3
"""Breaks one promise of the library after the other, and looks whether a test notices.

  tools/mutations/mutate.py                          # all of mutations.toml; writes results/mutations.md
  tools/mutations/mutate.py --only 'tokens-*' --only waiters-poll
  tools/mutations/mutate.py --resume                 # only what no earlier run found
  tools/mutations/mutate.py --check                  # only whether every old text still stands in its file, once

Works in a copy of the tree with a build folder of its own, below --work (default build/mutations), so that nothing here is touched
and a second run builds only what has changed. An entry is an old text that stands once in its file, and a new one. The tests that
it names are run first, the quick ones before the others; where they pass, all of the program (without Long*). A test counts when it
fails twice on the mutant and passes on the clean program. A mutant that takes --patience times as long as the clean program did (a
minute at least) hangs, and counts as found by the test at work. An entry with `survives` says why no test can notice it.

Exit: 0 every mutation was found, or its survival is explained; 1 findings: survivors, explanations that are none any more, old texts
that do not stand in their file once, mutants that do not build; 64 wrong arguments or list; 69 the clean tree does not build or
pass; 130 interrupted.
"""
import argparse
import contextlib
import dataclasses
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUN = re.compile(r"^\[ RUN      \] (\S+)", re.M)
FAILED = re.compile(r"^\[  FAILED  \] ([^\s,]+)", re.M)
TOOK = re.compile(r"^\[       OK \] (\S+) \((\d+) ms\)", re.M)
QUICK = 0.1  # seconds: in virtual time most tests take less
KEYS = {"name", "breaks", "promise", "file", "old", "new", "tests", "also", "survives"}


class Wrong(Exception):
    """Arguments or a list that mean nothing."""


class Missing(Exception):
    """The clean tree is no ground to stand on."""


@dataclasses.dataclass
class Mutation:
    name: str
    breaks: str  # what is wrong with it, in words
    promise: str  # the header and what it says
    tests: str  # a filter of googletest
    changes: list  # (file, old text, new text)
    survives: str = ""  # why no test can find it

    def digest(self):
        return hashlib.sha256(repr(self.changes).encode()).hexdigest()


@dataclasses.dataclass
class Outcome:
    status: str  # found, survived, broken
    by: str = ""  # the test; or what went wrong
    seconds: float = 0.0


def read_list(path):
    """The table [project], and the mutations."""
    try:
        with open(path, "rb") as file:
            document = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise Wrong(f"{path}: {error}") from error
    project, mutations = document.get("project", {}), []
    if set(project) != {"configure", "build", "program"}:
        raise Wrong(f"{path}: [project] has configure, build and program")
    for table in document.get("mutation", []):
        name = table.get("name", "?")
        if set(table) - KEYS or KEYS - {"also", "survives"} - set(table):
            raise Wrong(f"{path}: {name}: a [[mutation]] has {', '.join(sorted(KEYS))}; `also` and `survives` may be missing")
        changes = [(one["file"], one["old"], one["new"]) for one in [table, *table.get("also", [])]]
        if any(mutation.name == name for mutation in mutations):
            raise Wrong(f"{path}: {name} stands there twice")
        mutations.append(Mutation(name, table["breaks"], table["promise"], table["tests"], changes, table.get("survives", "")))
    return project, mutations


def misfits(mutation, tree):
    """Why it cannot be applied; [] when it can."""
    found = []
    for file, old, new in mutation.changes:
        path = tree / file
        count = path.read_text(encoding="utf-8").count(old) if path.is_file() else 0
        if count != 1:
            found.append(f"{mutation.name}: the old text stands {count} times in {file}")
        if old == new:
            found.append(f"{mutation.name}: changes nothing in {file}")
    return found


@contextlib.contextmanager
def applied(mutation, tree):
    """The files of `tree` are changed for the length of the block."""
    before = {}
    try:
        for file, old, new in mutation.changes:
            path = tree / file
            text = path.read_text(encoding="utf-8")
            before.setdefault(path, text)
            path.write_text(text.replace(old, new), encoding="utf-8")
        yield
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")


def copy_tree(source, tree):
    """Makes `tree` the same as the files of `source` that git would take; what is the same is not touched."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "-z"], cwd=source,
                            capture_output=True, check=True).stdout.decode().split("\0")
    files = {name for name in listed if name and (source / name).is_file()}
    for name in files:
        to, content = tree / name, (source / name).read_bytes()
        if not to.is_file() or to.read_bytes() != content:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(content)
        to.chmod((source / name).stat().st_mode)
    for path in list(tree.rglob("*")):
        name = path.relative_to(tree)
        if path.is_file() and name.parts[0] != "build" and str(name) not in files:
            path.unlink()


def run(words, cwd, limit=None, shards=1, to_the_end=False):
    """(exit status or None for one that was killed after `limit` seconds, output). Ends all that it has started. A program of
    googletest may be run in shards, side by side; then what counts is the first of them that did not pass, or all of them
    together (to_the_end)."""
    ends = None if limit is None else time.monotonic() + limit
    processes, outputs, worst = [], "", 0
    try:
        for index in range(shards):
            of_shard = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(index)} if shards > 1 else {}
            with tempfile.TemporaryFile("w+", errors="replace") as file:  # a pipe that nobody reads would stop the others
                output = os.dup(file.fileno())
            processes.append((subprocess.Popen(words, cwd=cwd, env={**os.environ, **of_shard}, stdin=subprocess.DEVNULL,
                                               stdout=output, stderr=subprocess.STDOUT, start_new_session=True), output))
        for process, output in processes:
            try:
                status = process.wait(None if ends is None else max(0, ends - time.monotonic()))
            except subprocess.TimeoutExpired:
                status = None
            text = written(output)
            if status != 0 and not to_the_end:
                return status, text
            worst, outputs = worst or status, outputs + text
        return worst, outputs
    finally:
        for process, output in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(output)


def written(output):
    os.lseek(output, 0, os.SEEK_SET)
    with os.fdopen(os.dup(output), errors="replace") as file:
        return file.read()


def fits(test, pattern):
    """As --gtest_filter: patterns between colons; those behind a dash are left out."""
    wanted, _, unwanted = pattern.partition("-")
    any_of = lambda patterns: any(fnmatch.fnmatchcase(test, one) for one in patterns.split(":") if one)
    return any_of(wanted or "*") and not any_of(unwanted)


class Bench:
    """A copy of the tree, its build folder, and what its clean program does."""

    def __init__(self, source, work, project, flags, patience, least, jobs, quick, through):
        self.source, self.tree, self.patience, self.least = source, work / "tree", patience, least
        self.jobs, self.quick = jobs, quick
        self.folder = self.tree / "build"  # where ccache finds what other checkouts have compiled
        self.clean = work / "clean_program"
        self.through = shlex.split(through)
        self.bounds = []  # words before the program, which bound what it may use
        fill = lambda command: [word.format(tree=self.tree, build=self.folder) for word in shlex.split(command)]
        self.configure, self.build_command = fill(project["configure"]) + flags, fill(project["build"])
        self.program = pathlib.Path(fill(project["program"])[0])
        self.took = {}  # seconds, by test

    def prepare(self):
        self.tree.mkdir(parents=True, exist_ok=True)
        copy_tree(self.source, self.tree)
        self.folder.mkdir(exist_ok=True)
        status, output = run(self.configure, self.tree)
        if status == 0:
            status, output = self.build()
        if status != 0:
            raise Missing("the clean tree does not build:\n" + output[-3000:])
        shutil.copy2(self.program, self.clean)
        self.measure(self.clean.with_suffix(".json"))

    def measure(self, memory, wanted=""):
        """How long each test takes, of those that `wanted` says; `memory` keeps it for the next time. The clean program must pass."""
        with contextlib.suppress(OSError, ValueError):
            self.took = json.loads(memory.read_text())
        for _ in range(3):  # what is not known yet; a test that fails may do so because the machine is busy
            pattern = f"{wanted}-Long*:*/Long*:" + ":".join(self.took)
            status, output = run([self.clean, f"--gtest_filter={pattern}"], self.folder, None, self.jobs, True)
            self.took.update({test: int(ms) / 1000 for test, ms in TOOK.findall(output)})
            if status == 0:
                memory.write_text(json.dumps(self.took))
                return
        raise Missing("the clean program does not pass: " + ", ".join(sorted(set(FAILED.findall(output)))))

    def build(self):
        return run([*self.through, *self.build_command], self.tree)

    def seconds_of(self, pattern):
        return sum(took for test, took in self.took.items() if fits(test, pattern))

    def first_failure(self, pattern):
        """The first test of the mutant that fails for good, with a word on how; "" when all pass."""
        unsteady = []
        while True:
            # A `-` without anything before it leaves out of all.
            more = ("" if not unsteady else ("-" if "-" not in pattern else ":") + ":".join(unsteady))
            limit = max(self.least, self.patience * self.seconds_of(pattern))
            shards = self.jobs if self.seconds_of(pattern) > 10 else 1
            status, output = run([*self.bounds, self.program, f"--gtest_filter={pattern}{more}", "--gtest_fail_fast"], self.folder, limit, shards)
            if status == 0:
                return ""
            failed, running = FAILED.findall(output), RUN.findall(output)
            test = failed[0] if failed else (running[-1] if running else "")
            how = " (hangs)" if status in (None, -signal.SIGXCPU) else ("" if failed else " (ends the program)")
            if not test:
                return "the program" + (how or " (before any test)")
            limit = max(self.least, self.patience * self.took.get(test, 0))
            again, _ = run([*self.bounds, self.program, f"--gtest_filter={test}"], self.folder, limit)
            clean, _ = run([*self.bounds, self.clean, f"--gtest_filter={test}"], self.folder, limit)
            if again != 0 and clean == 0:
                return test + how
            unsteady.append(test)

    def attempt(self, mutation):
        begun = time.monotonic()
        with applied(mutation, self.tree):
            status, output = self.build()
            if status != 0:
                return Outcome("broken", "does not build: " + first_error(output))
            quick = [test for test, took in self.took.items() if took <= QUICK and fits(test, mutation.tests)]
            by = self.first_failure(":".join(quick)) if quick else ""
            for pattern in [] if self.quick else [mutation.tests, "-Long*:*/Long*"]:
                by = by or self.first_failure(pattern)
        return Outcome("found" if by else "survived", by, time.monotonic() - begun)


def first_error(output):
    return next((line for line in output.split("\n") if "error" in line.lower()), output[-300:]).strip()


def cell(text):
    return re.sub(r"([|<>*_`\[\]\\])", r"\\\1", " ".join(text.split()))


def page(mutations, outcomes):
    """The text of results/mutations.md."""
    ran = [mutation for mutation in mutations if mutation.name in outcomes]
    found = sum(outcomes[mutation.name].status == "found" for mutation in ran)
    lines = [
        "# Mutations: a test for every promise", "",
        f"**{found} of {len(ran)} mutations of the library are found by a test of the library.** Each breaks one promise of a header, alone",
        "([`tools/mutations/mutations.toml`](../tools/mutations/mutations.toml) has the texts); the test named is the first that fails. What survives says",
        "why no test can tell it from the original." +
        (f" {len(mutations) - len(ran)} more entries of the list have no result yet." if len(ran) < len(mutations) else ""), "",
        "```console", "$ tools/mutations/mutate.py", "```", "",
        "| mutation | what is broken | where | the promise | found by |", "|---|---|---|---|---|"]
    for mutation in ran:
        outcome = outcomes[mutation.name]
        by = f"`{outcome.by}`" if outcome.status == "found" else f"{outcome.status}: {cell(mutation.survives or outcome.by or 'no test')}"
        where = ", ".join(f"`{file}`" for file in dict.fromkeys(file for file, _, _ in mutation.changes))
        lines.append(f"| `{mutation.name}` | {cell(mutation.breaks)} | {where} | {cell(mutation.promise)} | {by} |")
    return "\n".join(lines) + "\n"


def finding(mutation, outcome):
    """One line on what is not as it should be; "" where it is."""
    if outcome.status == "broken":
        return f"{mutation.name}: {outcome.by}"
    if outcome.status == "survived" and not mutation.survives:
        return f"{mutation.name}: survived: {mutation.breaks} ({', '.join(file for file, _, _ in mutation.changes)})"
    if outcome.status == "found" and mutation.survives:
        return f"{mutation.name}: found by {outcome.by}, though the list says why it survives"
    return ""


def default_flags():
    return ["-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld"] if shutil.which("ld.lld") else []


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", type=pathlib.Path, default=HERE / "mutations.toml")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a name, or a pattern with *; may be repeated")
    parser.add_argument("--check", action="store_true", help="build and run nothing")
    parser.add_argument("--resume", action="store_true", help="keep what an earlier run of the same entries found")
    parser.add_argument("--source", type=pathlib.Path, default=ROOT)
    parser.add_argument("--work", type=pathlib.Path, help="the copy and its build folder (SOURCE/build/mutations)")
    parser.add_argument("--page", type=pathlib.Path, help="default: SOURCE/results/mutations.md, when all of the list is run")
    parser.add_argument("--patience", type=float, default=10, help="times as long as the clean program: it hangs")
    parser.add_argument("--least-limit", type=float, default=60, metavar="SECONDS", help="nothing hangs before that")
    parser.add_argument("--jobs", type=int, default=4, help="so many parts of the program are run side by side; most tests wait")
    parser.add_argument("--quick", action="store_true", help="no other tests than the quick ones of those that an entry names")
    parser.add_argument("--flag", action="append", metavar="FLAG", help="for CMake, instead of the usual ones; may be repeated")
    parser.add_argument("--through", default="", metavar="COMMAND", help="what builds are run through, as `nice`")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    project, everything = read_list(arguments.list)
    mutations = [one for one in everything
                 if not arguments.only or any(fnmatch.fnmatchcase(one.name, name) for name in arguments.only)]
    if not mutations:
        raise Wrong(f"no mutation is named {', '.join(arguments.only)}; expected some of {', '.join(one.name for one in everything)}")
    findings = [text for mutation in mutations for text in misfits(mutation, arguments.source)]
    if arguments.check or findings:
        for text in findings:
            print(text)
        print(f"{len(mutations)} mutations, {len(findings)} that cannot be applied")
        return 1 if findings else 0

    work = (arguments.work or arguments.source / "build/mutations").resolve()
    work.mkdir(parents=True, exist_ok=True)
    memory = work / "outcomes.json"
    known = json.loads(memory.read_text()) if memory.exists() else {}
    outcomes = {}
    for mutation in everything:
        before = known.get(mutation.name)
        if before and before["digest"] == mutation.digest() and (mutation not in mutations or
                                                                 (arguments.resume and before["status"] == "found")):
            outcomes[mutation.name] = Outcome(before["status"], before["by"], before["seconds"])
    bench = Bench(arguments.source, work, project, default_flags() if arguments.flag is None else arguments.flag, arguments.patience,
                  arguments.least_limit, arguments.jobs, arguments.quick, arguments.through)
    to_do = [mutation for mutation in mutations if mutation.name not in outcomes]
    if to_do:
        print(f"builds and runs the clean program in {work}", flush=True)
        bench.prepare()
    for number, mutation in enumerate(to_do, 1):
        outcome = outcomes[mutation.name] = bench.attempt(mutation)
        known[mutation.name] = {"digest": mutation.digest(), **dataclasses.asdict(outcome)}
        memory.write_text(json.dumps(known, indent=1))
        print(f"{number}/{len(to_do)} {mutation.name}: {outcome.status}" + (f": {outcome.by}" if outcome.by else "") +
              f" ({outcome.seconds:.0f} s)", flush=True)

    target = arguments.page or (arguments.source / "results/mutations.md" if len(outcomes) == len(everything) else None)
    if target:
        target.write_text(page(everything, outcomes), encoding="utf-8")
    findings = [text for one in mutations if (text := finding(one, outcomes[one.name]))]
    for text in findings:
        print(text)
    found = sum(outcomes[one.name].status == "found" for one in mutations)
    print(f"{found} of {len(mutations)} found, {len(findings)} findings")
    return 1 if findings else 0


def interrupt(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupt)  # what was started is ended, and what was changed is as before
    try:
        sys.exit(main())
    except Wrong as error:
        print(f"mutate.py: {error}", file=sys.stderr)
        sys.exit(64)
    except Missing as error:
        print(f"mutate.py: {error}", file=sys.stderr)
        sys.exit(69)
    except KeyboardInterrupt:
        sys.exit(130)
