#!/usr/bin/env python3
"""Mutants that nobody chose: which do the unit tests kill, which of the others does a hunt kill, which escape?

  tools/mutations/mechanical.py --for 25m         # goes on where the last call ended
  tools/mutations/mechanical.py --only reentrant_release --runs 20000
  tools/mutations/mechanical.py --list            # all mutants; builds and runs nothing
  tools/mutations/mechanical.py --check           # whether mechanical.toml still fits the sources and the results
  tools/mutations/mechanical.py --page            # only writes results/mechanical-mutants.md anew

A rule makes each mutant from a source of lib/lock (lua_mutants.py, cpp_mutants.py). The tests of the library in the embedded world are
run against it first (--tests; on threads and on real servers most of the same ones run); what they let live is hunted with each lock that
has the source, until a promise is broken or --runs are over. What neither kills a person looks at: mechanical.toml says why it keeps
every promise as the original does (equivalent), or what the hunt does not ask (escapes).

A script is data of the programs that embed it: a mutant of one is the program of this build with another text and digest in their
places, and nothing is built. (Comments give the room.) Before that, each program with its comments taken out must still pass, and with
a script that always fails must not. For C++ the copy of the tree below build/ that mutate.py keeps is built anew for each mutant; --cpp.

Raw results: results/data/mutations/mechanical.json, written after each mutant.

Exit: 0; 1 mechanical.toml does not fit; 64 wrong arguments; 69 there is no build, or it is not of these sources; 130 interrupted.
"""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import re
import resource
import signal
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import mutate  # pylint: disable=wrong-import-position
from cpp_mutants import cpp_mutants  # pylint: disable=wrong-import-position
from lua_mutants import lua_mutants, without_comments  # pylint: disable=wrong-import-position
from mutate import Missing, Wrong  # pylint: disable=wrong-import-position

ROOT = HERE.parents[1]
RESULTS, LOOKED_AT, PAGE = "results/data/mutations/mechanical.json", HERE / "mechanical.toml", "results/mechanical-mutants.md"
ALWAYS_FAILS = "return redis.error_reply('MUTANT it always fails')"
STAGES = (64, 512)  # runs with each lock, before any lock is given more
SEED = 1
# On threads, event loop and real servers the same ones run.
IN_THE_EMBEDDED_WORLD = "*mbedded*:*InVirtualTime*:*InAWorld*:*ModelTest*:Quorum*:Withdrawals*:Kinds/Claims*:Kinds/ExclusiveModel*:FencingScripts*"
# Which locks have a source. What is not here all of them have.
LOCKS = {"reentrant": ["reentrant", "fair", "fenced", "redlock"], "fair": ["fair"], "read_write": ["read-write"],
         "semaphore": ["semaphore", "permit-semaphore"], "redisson": ["redisson"], "latch": ["count-down-latch"], "multi": ["multi"],
         "redlock": ["redlock"], "store/quorum": ["redlock"], "store/raise": ["redlock"], "store/survivor": ["survivor", "survivor-fair"],
         "store/sharded": ["reentrant", "fair", "semaphore", "count-down-latch"], "": ["reentrant", "fair", "semaphore", "redlock"]}
# What stands around or before scripts of others: tools/cmake/embed_scripts.cmake.
GUARD, SHARD = "lib/lock/store/survivor_guard.lua", "lib/lock/store/sharded.lua"


def locks_of(file):
    inside = file.removeprefix("lib/lock/")
    return next(locks for start, locks in LOCKS.items() if inside.startswith(start))


def all_mutants(source, cpp):
    """In an order that is not that of the sources, so that any first part of it is a sample."""
    make, pattern = (cpp_mutants, "*.cc") if cpp else (lua_mutants, "*.lua")
    everything = []
    for path in sorted((source / "lib/lock").rglob(pattern)):
        if not path.name.endswith("_test.cc"):
            file = str(path.relative_to(source))
            try:
                everything += make(file, path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise Wrong(f"{file}: {error}") from error
    return sorted(everything, key=lambda one: one.digest)


def wholes(texts):
    """(the files that it is of, its text) of each script that may be in a program: alone, in the guard, behind the shard. The longer first."""
    for file, text in texts.items():
        if GUARD in texts:
            yield {file, GUARD}, texts[GUARD].replace("--SCRIPT\n", text)
        if SHARD in texts:
            yield {file, SHARD}, texts[SHARD] + text
    for file, text in texts.items():
        yield {file}, text


class Embedding:
    """A program as bytes: a script in it is a text and its digest."""

    def __init__(self, program):
        self.program, self.bytes = program, b""
        try:
            self.bytes = program.read_bytes()
        except OSError as error:
            raise Missing(f"{program} is missing: ninja -C build test_holdfast holdfast") from error

    def replace(self, now, texts):
        """What has a script of `texts` (all are as in `now`, by file) has that text, without its comments, and blanks behind it."""
        found = set()
        for (files, old), (_, new) in zip(wholes(now), wholes(now | texts)):
            if not files & texts.keys():
                continue
            old, new = old.encode(), without_comments(new).encode()
            digest = hashlib.sha1(old).hexdigest().encode()
            if old not in self.bytes or digest not in self.bytes:
                continue
            if len(new) > len(old):
                raise Wrong(f"{sorted(files)}: a mutant is longer than the script with its comments")
            new += b" " * (len(old) - len(new))
            self.bytes, becomes = self.bytes.replace(old, new), hashlib.sha1(new).hexdigest().encode()
            for part in range(0, len(digest), 8):  # a comparison with a digest may have it in parts, as operands
                self.bytes = self.bytes.replace(digest[part : part + 8], becomes[part : part + 8])
            found |= files
        for file in sorted(texts.keys() - found):
            raise Missing(f"{self.program} does not have {pathlib.Path(file).name} as it is now: ninja -C build test_holdfast holdfast")

    def write(self, to):
        to.parent.mkdir(parents=True, exist_ok=True)
        to.unlink(missing_ok=True)  # it may be running
        to.write_bytes(self.bytes)
        to.chmod(0o755)


class MutantBench(mutate.Bench):
    """Runs the tests that are asked for, and no others."""

    def __init__(self, source, work, asked, project, flags):
        super().__init__(source, work, project, flags, asked.patience, asked.least_limit, 1, False, "nice -n 19")
        self.asked, self.work = asked, work
        self.bounds = ["prlimit", f"--cpu={asked.cpu}:{asked.cpu + 5}"]  # on a busy machine the clock says nothing
        self.killers = {}  # of a folder: its tests that found one, the last first

    def measure(self, memory, wanted=""):
        super().measure(memory, wanted or self.asked.tests)

    def quick_tests(self):
        return [test for test, took in self.took.items() if took <= self.asked.slowest and mutate.fits(test, self.asked.tests)]

    def killed_by(self, one):
        """The test that finds it; "" none does. Those that have found others of this folder come first."""
        killers, tests = self.killers.setdefault(folder_of(one.file), []), self.quick_tests()
        first = [test for test in killers if test in tests][:24]
        by = self.first_failure(":".join(first)) if first else ""
        by = by or self.first_failure(":".join(test for test in tests if test not in first))
        if by:
            test = by.split(" ")[0]
            killers[:] = [test, *(other for other in killers if other != test)]
        return by


class LuaBench(MutantBench):
    """The programs of this build with other scripts in them."""

    def __init__(self, source, work, asked):
        super().__init__(source, work, asked, {"configure": "", "build": "", "program": "test_holdfast"}, [])
        self.folder, self.clean = asked.build.resolve(), asked.build.resolve() / "test_holdfast"
        self.program, self.hunter = work / "mutant/test_holdfast", work / "mutant/holdfast"

    def prepare(self, files):
        """How long each test takes; that comments do not matter, and that a broken script does."""
        self.work.mkdir(parents=True, exist_ok=True)
        if not self.clean.is_file():
            raise Missing(f"{self.clean} is missing: ninja -C build test_holdfast holdfast")
        self.measure(self.work / "clean_program.json")
        known = self.work / f"checked-{digest_of(self.clean)}.json"
        if known.exists():
            return
        print(f"{len(self.quick_tests())} tests, with scripts without comments, and with scripts that always fail", flush=True)
        self.embed({file: (self.source / file).read_text() for file in files})
        if by := self.first_failure(":".join(self.quick_tests())):
            raise Missing(f"scripts without their comments do not pass: {by}")
        for folder in sorted({folder_of(file) for file in files}):
            self.embed({file: ALWAYS_FAILS for file in files if folder_of(file) == folder})
            if not self.first_failure(":".join(self.quick_tests())):
                raise Missing(f"no test fails where each script of {folder} always does")
        known.write_text("{}")

    def embed(self, texts):
        """Both programs, with these scripts in the place of those of their names."""
        now = {str(path.relative_to(self.source)): path.read_text() for path in sorted((self.source / "lib/lock").rglob("*.lua"))}
        for program in (self.program, self.hunter):
            embedding = Embedding(self.folder / program.name)
            embedding.replace(now, texts)
            embedding.write(program)

    @contextlib.contextmanager
    def applied(self, one):
        self.embed({one.file: one.text})
        yield ""


class CppBench(MutantBench):
    """The copy of the tree below build/ that mutate.py keeps: for each mutant the tests are built, for what they let live the command."""

    def __init__(self, source, work, asked):
        project, _ = mutate.read_list(asked.project)
        super().__init__(source, work, asked, project, mutate.default_flags())
        self.hunter = self.folder / "holdfast"

    def prepare(self, _):
        super().prepare()
        if wrong := self.make("holdfast"):
            raise Missing(f"the clean tree does not build: {wrong}")

    def make(self, target):
        """What is wrong with it; "" nothing."""
        words = [target if word == self.program.name else word for word in self.build_command]
        status, output = mutate.run([*self.through, *words], self.tree)
        return "" if status == 0 else mutate.first_error(output)

    @contextlib.contextmanager
    def applied(self, one):
        path = self.tree / one.file
        before = path.read_text(encoding="utf-8")
        try:
            path.write_text(one.text, encoding="utf-8")
            yield self.make("test_holdfast")
        finally:
            path.write_text(before, encoding="utf-8")

    def killed_by(self, one):
        by = super().killed_by(one)
        if not by and (wrong := self.make("holdfast")):
            raise Missing(f"{one.file}:{one.line}: {wrong}")
        return by


def folder_of(file):
    return file.split("/")[2]


def digest_of(program):
    return hashlib.sha256(program.read_bytes()).hexdigest()[:16]


def hunted(hunter, lock, runs, before, file, limit):
    """(what a hunt of so many runs found or None, how many it did). `before`: how many an earlier part did, into `file`."""
    words = [hunter, "hunt", *(["--resume", file] if before else [lock, "--seed", SEED, "--no-shrink", "--json", file]),
             "--runs", runs, "--jobs", 1]
    status, output = mutate.run([str(word) for word in words], file.parent, limit)
    if status is None:
        return {"lock": lock, "run": runs, "promise": "hangs"}, runs
    if status not in (0, 1, 70):
        return {"lock": lock, "run": runs, "promise": f"ends the hunt ({status}): {output.strip().splitlines()[-1:]}"}, runs
    finds = [{"lock": lock, "run": one["first_run"] + 1, "promise": (one["check"] or "harness") + ("/" + one["kind"] if one["kind"] else "")}
             for one in json.loads(file.read_text())["violations"]]
    return min(finds, key=lambda find: find["run"], default=None), runs


def hunt_down(hunter, locks, asked, folder):
    """What the first hunt finds, lock after lock, ever more runs. When none does {"runs": so many with each lock, "courses": of their
    first runs, by lock}: later ones are drawn from what was covered, in the order of its names, which have digests in them."""
    done, courses = {}, {}
    for runs in sorted({min(stage, asked.runs) for stage in (*STAGES, asked.runs)}):
        for lock in locks:
            find, done[lock] = hunted(hunter, lock, runs, done.get(lock, 0), folder / f"{lock}.json", asked.limit)
            if find:
                return find
            courses.setdefault(lock, course_of(folder / f"{lock}.json"))
    return {"runs": asked.runs, "courses": courses}


def course_of(file):
    """What a hunt came through, as one word: the same where no run went otherwise, whatever the digest of a script is, which is in the
    names of what was covered."""
    hunt = json.loads(file.read_text())
    covered = sorted(one.split(" ", 1)[1] for one in hunt["coverage"])
    came_through = [hunt[name] for name in ("runs", "virtual_ns", "grants", "marks")]
    return hashlib.sha256(json.dumps([came_through, covered]).encode()).hexdigest()[:16]


def check_controls(bench, locks, asked, folder):
    """What is no mutant must not be killed, or no kill means anything. The course of each lock's own hunt."""
    memory = bench.work / f"courses-{digest_of(bench.hunter)}-{asked.runs}.json"
    known = json.loads(memory.read_text()) if memory.exists() else {}
    for lock in locks:
        if lock not in known:
            print(f"hunts {lock} itself, {asked.runs} runs", flush=True)
            find = hunt_down(bench.hunter, [lock], asked, folder)
            if "runs" not in find:
                raise Missing(f"the hunt finds something without a mutant: {find}")
            known[lock] = find["courses"][lock]
            memory.write_text(json.dumps(known))
    return known


def reached_by(bench, files, folder, limit):
    """Of each script the locks whose hunt runs it: a hunt that never does goes the same way where the script always fails."""
    program = bench.folder / "holdfast"
    memory = bench.work / f"reached-{digest_of(program)}.json"
    known = json.loads(memory.read_text()) if memory.exists() else {}
    course = {}
    for file in files:
        if file in known:
            continue
        known[file] = []
        bench.embed({file: ALWAYS_FAILS})
        for lock in locks_of(file):
            if lock not in course:
                hunted(program, lock, STAGES[0], 0, folder / "clean.json", limit)
                course[lock] = course_of(folder / "clean.json")
            find, _ = hunted(bench.hunter, lock, STAGES[0], 0, folder / "failing.json", limit)
            if find or course_of(folder / "failing.json") != course[lock]:
                known[file].append(lock)
        print(f"{file}: {', '.join(known[file]) or 'no hunt'} runs it", flush=True)
        memory.write_text(json.dumps(known))
    return known


class Results:
    """results/data/mutations/mechanical.json: what is known of each mutant of today's sources."""

    def __init__(self, path, mutants):
        self.path, self.known, self.reached = path, {}, {}
        if path.exists():
            ours, written = {one.digest for one in mutants}, json.loads(path.read_text())
            self.known = {digest: one for digest, one in written["mutants"].items() if digest in ours}
            self.reached = written["reached"]

    def to_do(self, one, asked):
        before = self.known.get(one.digest)
        return before is None or before["tests"] == "" and "promise" not in before and before["runs"] < asked.runs

    def put(self, one, values):
        self.known[one.digest] = {"file": one.file, "line": one.line, "rule": one.rule, "old": one.old, "new": one.new, **values}
        ordered = dict(sorted(self.known.items(), key=lambda item: (item[1]["file"], item[1]["line"], item[1]["rule"], item[0])))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps({"schema": 1, "seed": SEED, "reached": self.reached, "mutants": ordered}, indent=1) + "\n")
        os.replace(part, self.path)


def attempt(bench, one, before, asked, controls, folder):
    """What becomes of it. `otherwise`: the locks of which a run went another way than without it, though no promise was broken."""
    with bench.applied(one) as wrong:
        if wrong:
            return {"tests": "does not build"}
        by = bench.killed_by(one) if before is None else ""
        if by:
            return {"tests": by}
        values = hunt_down(bench.hunter, locks_of(one.file), asked, folder)
        if "runs" in values:
            courses = values.pop("courses")
            values["otherwise"] = [lock for lock in locks_of(one.file) if courses[lock] != controls[lock]]
        return {"tests": "", **values}


def read_looked_at(path):
    """What a person said of a mutant, by its file, texts and which of these."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", []) if path.exists() else []
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise Wrong(f"{path}: {error}") from error
    said = {}
    for table in tables:
        if set(table) - {"nth"} != {"file", "old", "new", "verdict", "why"} or table["verdict"] not in ("equivalent", "escapes"):
            raise Wrong(f"{path}: a [[mutant]] has file, old, new, verdict (equivalent, escapes), why, and nth where it stands there twice: "
                        f"{table.get('old')}")
        key = (table["file"], table["old"], table["new"], table.get("nth", 1))
        if key in said:
            raise Wrong(f"{path}: stands there twice: {table['old']}")
        said[key] = table
    return said


def keys_of(mutants):
    """As mechanical.toml names them."""
    keys, seen = {}, {}
    for one in sorted(mutants, key=lambda one: (one.file, one.line)):
        texts = (one.file, one.old, one.new)
        seen[texts] = seen.get(texts, 0) + 1
        keys[one.digest] = (*texts, seen[texts])
    return keys


def misfits(said, keys, known):
    there = {key: digest for digest, key in keys.items()}
    for key, table in said.items():
        where = f"{key[0]}: `{key[1]}` -> `{key[2]}`"
        if key not in there:
            yield f"{where}: no such mutant any more"
        elif (one := known.get(there[key])) and (one["tests"] or "promise" in one):
            yield f"{where}: {table['verdict']} it is called, but {one['tests'] or one['promise']} finds it"


def page(mutants, results, said, keys):
    """The text of results/mechanical-mutants.md."""
    known = results.known
    tried = [known[one.digest] | {"key": keys[one.digest]} for one in mutants if one.digest in known]
    tried.sort(key=lambda one: (one["file"], one["line"], one["rule"], one["new"]))
    built = [one for one in tried if one["tests"] != "does not build"]
    alive = [one for one in built if not one["tests"]]
    killed = [one for one in alive if "promise" in one]
    rest = [one for one in alive if "promise" not in one]
    verdict = lambda one: said.get(one["key"], {}).get("verdict", "not looked at")
    count = lambda what: sum(verdict(one) == what for one in rest)
    runs = sorted(one["run"] for one in killed)
    lines = [
        "# Mechanical mutants: what the tests let live, and the hunt", "",
        "Rules make mutants of the Lua scripts and the C++ of `lib/lock`: a line dropped, a condition negated, a bound moved, a number one more,",
        "two keys swapped ([`tools/mutations`](../tools/mutations/mechanical.py)). Nobody chose where. The tests of the library in the embedded world",
        "come first; what they let live is hunted, with each lock that has the source, by a hunt that is told nothing.", "",
        "```console", "$ tools/mutations/mechanical.py --for 25m        # and --cpp; goes on where the last call ended", "```", "",
        f"Where none of the first {STAGES[0]} runs of a hunt *went otherwise* than without the mutant, hardly a case comes to it: either nothing can, or the hunt draws few that do.", "",
        f"{len(tried)} of {len(mutants)} mutants tried, in an order that is a sample of all. "
        f"{len(built) - len(alive)} the tests kill. **Of the {len(alive)} that they let live the hunt kills {len(killed)}"
        + (f", half of them within {runs[(len(runs) - 1) // 2]} runs" if runs else "")
        + f"; equivalent: {count('equivalent')}, escape: {count('escapes')}, not looked at yet: {count('not looked at')}.**", "",
        f"| source | run in hunts of {STAGES[0]} runs | tried | killed by tests | let live | killed by the hunt | equivalent | escape | not looked at |",
        "|---|---|---|---|---|---|---|---|---|"]
    for file in sorted({one["file"] for one in built} | set(results.reached)):
        of = [one for one in built if one["file"] == file]
        live = [one for one in of if not one["tests"]]
        left = [one for one in live if "promise" not in one]
        row = [len(of), len(of) - len(live), len(live), len(live) - len(left), *(sum(verdict(one) == what for one in left)
                                                                                for what in ("equivalent", "escapes", "not looked at"))]
        reached = ", ".join(results.reached.get(file, ["–"])) or "**by none**"
        lines.append(f"| `{file}` | {reached} | " + " | ".join(map(str, row)) + " |")
    show = lambda one: f"`{one['file'].split('/')[-1]}:{one['line']}` | {code(one['old'])} | {code(one['new'])}"
    if killed:
        lines += ["", "## Killed by the hunt alone", "", "| where | the line | becomes | promise broken | lock | run |", "|---|---|---|---|---|---|"]
        lines += [f"| {show(one)} | {one['promise']} | {one['lock']} | {one['run']} |" for one in killed]
    for what, title in (("escapes", "Escape: a gap of the hunt or of the checks"), ("equivalent", "Equivalent: it keeps every promise as the original does"),
                        ("not looked at", "Not looked at yet")):
        some = [one for one in rest if verdict(one) == what]
        if some:
            lines += ["", f"## {title}", "", "| where | the line | becomes | runs with each lock | went otherwise | why |", "|---|---|---|---|---|---|"]
            lines += [f"| {show(one)} | {one['runs']} | {', '.join(one['otherwise']) or 'none'} | {mutate.cell(said.get(one['key'], {}).get('why', ''))} |" for one in some]
    return "\n".join(lines) + "\n"


def code(text):
    return "`` " + text.replace("|", "\\|") + " ``" if text else "(nothing)"


def seconds_of(text):
    match = re.fullmatch(r"(\d+)(s|m|h)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is no time, expected 90s, 25m or 1h")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda text: parser.exit(64, f"mechanical.py: {text}\n")
    parser.add_argument("--cpp", action="store_true", help="mutants of C++; without it, of Lua")
    parser.add_argument("--only", default="", metavar="TEXT", help="those of files whose names have this")
    parser.add_argument("--for", dest="time", type=seconds_of, default=None, metavar="TIME", help="begin none after that")
    parser.add_argument("--most", type=int, default=None, metavar="N", help="try so many")
    parser.add_argument("--runs", type=int, default=2048, help="of the hunt with each lock, 64 at least, whole generations of 64 (2048)")
    parser.add_argument("--tests", default=IN_THE_EMBEDDED_WORLD, metavar="FILTER", help="of googletest: those in the embedded world")
    parser.add_argument("--slowest", type=float, default=3.0, metavar="SECONDS", help="tests that take longer are left out (3)")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--looked-at", type=pathlib.Path, default=LOOKED_AT, metavar="FILE", help="what a person said of them (mechanical.toml)")
    parser.add_argument("--project", type=pathlib.Path, default=HERE / "mutations.toml", metavar="FILE", help="how C++ is built (mutations.toml)")
    parser.add_argument("--source", type=pathlib.Path, default=ROOT)
    parser.add_argument("--build", type=pathlib.Path, help="where the programs are (SOURCE/build)")
    parser.add_argument("--work", type=pathlib.Path, help="SOURCE/build/mechanical; of --cpp SOURCE/build/mutations")
    parser.add_argument("--patience", type=float, default=10, help="times as long as the clean program: it hangs")
    parser.add_argument("--least-limit", type=float, default=300, metavar="SECONDS", help="no test hangs before that (300)")
    parser.add_argument("--cpu", type=int, default=10, metavar="SECONDS", help="of all tests of a mutant; one that takes more hangs (10)")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="a part of a hunt that takes longer hangs (600)")
    asked = parser.parse_args()
    if asked.runs < 64 or asked.runs % 64:
        parser.error(f"--runs {asked.runs}: expected whole generations of 64")
    asked.build = asked.build or asked.source / "build"
    asked.work = (asked.work or asked.source / ("build/mutations" if asked.cpp else "build/mechanical")).resolve()
    return asked


def try_mutants(asked, mutants, results):
    bench = (CppBench if asked.cpp else LuaBench)(asked.source.resolve(), asked.work, asked)
    to_do = [one for one in mutants if asked.only in one.file and results.to_do(one, asked)][:asked.most]
    if not to_do:
        return
    end = None if asked.time is None else time.monotonic() + asked.time
    bench.prepare(sorted({one.file for one in mutants}))
    for one in results.known.values():
        if one["tests"]:
            bench.killers.setdefault(folder_of(one["file"]), []).append(one["tests"].split(" ")[0])
    with tempfile.TemporaryDirectory(prefix="holdfast-mechanical-") as folder:
        if not asked.cpp:
            results.reached = reached_by(bench, sorted({one.file for one in mutants}), pathlib.Path(folder), asked.limit)
            bench.embed({file: (bench.source / file).read_text() for file in {one.file for one in mutants}})
        controls = check_controls(bench, sorted({lock for one in to_do for lock in locks_of(one.file)}), asked, pathlib.Path(folder))
        for number, one in enumerate(to_do, 1):
            if end is not None and time.monotonic() > end:
                break
            begun, before = cpu_seconds(), results.known.get(one.digest)
            values = attempt(bench, one, before, asked, controls, pathlib.Path(folder))
            results.put(one, values)
            what = values["tests"] or values.get("promise") or "LIVES"
            print(f"{number}/{len(to_do)} {one.file}:{one.line} {one.rule}: {one.old} -> {one.new}: {what} ({cpu_seconds() - begun:.1f} s CPU)", flush=True)


def main():
    asked = read_arguments()
    lua, cpp = all_mutants(asked.source, False), all_mutants(asked.source, True)
    if asked.list:
        for one in sorted(cpp if asked.cpp else lua, key=lambda one: (one.file, one.line)):
            if asked.only in one.file:
                print(f"{one.file}:{one.line}: {one.rule}: {one.old}  ->  {one.new}")
        return 0
    said, keys = read_looked_at(asked.looked_at), keys_of(lua + cpp)
    results = Results(asked.source / RESULTS, lua + cpp)
    try:
        if not (asked.check or asked.page):
            try_mutants(asked, cpp if asked.cpp else lua, results)
    finally:
        if not asked.check and results.known:
            (asked.source / PAGE).write_text(page(lua + cpp, results, said, keys), encoding="utf-8")
    findings = list(misfits(said, keys, results.known))
    for text in findings:
        print(text)
    print(f"{len(results.known)} of {len(lua) + len(cpp)} mutants tried, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, mutate.interrupt)  # what was started is ended
    try:
        sys.exit(main())
    except Wrong as error:
        print(f"mechanical.py: {error}", file=sys.stderr)
        sys.exit(64)
    except Missing as error:
        print(f"mechanical.py: {error}", file=sys.stderr)
        sys.exit(69)
    except KeyboardInterrupt:
        sys.exit(130)
