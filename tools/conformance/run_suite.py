#!/usr/bin/env python3
"""Runs Redis's own Tcl suite against `holdfast redis` and writes results/conformance.md: what passes, and why the rest does not.

    apt-get source redis                                     # its folder has tests/; nothing of it is copied here
    tools/conformance/run_suite.py redis-7.0.15              # --jobs 2 units at once, --unit unit/multi only that one

Needs Debian's tcl; redis-tools for two units. Each unit meets a fresh server, in the mode that the suite has for servers that it
did not start (--host, --port): there it leaves out what must configure or restart one. A unit may be without progress for --timeout
seconds, and takes at most --limit.

reasons.toml has one sentence for each test that fails and for each kind of test that is not run. A failure without a reason, a
reason that nothing needs, and a unit that ends in the middle without a reason are findings.

Exit: 0 no finding; 1 findings (they are printed, the page is written); 64 wrong arguments or reasons; 69 tcl, the suite or the
server is missing.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EVENT = re.compile(r"^\[(ok|err|skip|ignore|exception|TIMEOUT)\]: (.*)$")
IN_PROGRESS = re.compile(r"^\S+ => \(IN PROGRESS\) (.*)$")
TOOK = re.compile(r" \(\d+ ms\)$")
LISTENS = re.compile(r"listens at ([\d.]+):(\d+)")
OUTSIDE = "(between the tests)"
REST = "(the rest of the file)"


class Missing(Exception):
    """Something that is needed is not on this machine."""


class Wrong(Exception):
    """Arguments or reasons that mean nothing."""


@dataclasses.dataclass
class Unit:
    """What became of one file of the suite."""
    name: str
    passed: list = dataclasses.field(default_factory=list)  # names; one name may stand for several tests
    failed: list = dataclasses.field(default_factory=list)  # (name, what was said)
    not_run: list = dataclasses.field(default_factory=list)  # (name, or "" for a block of tests; what the suite says)


@dataclasses.dataclass
class Reason:
    """Why tests of a unit fail, or are not even tried. A test is its name, or a regular expression after a slash."""
    unit: str
    why: str
    tests: list
    skip: bool = False  # not tried, because trying would end the unit
    used: set = dataclasses.field(default_factory=set)

    def fits(self, unit, test):
        for pattern in self.tests if unit == self.unit else []:
            if re.search(pattern[1:], test) if pattern.startswith("/") else pattern == test:
                self.used.add(pattern)
                return True
        return False


@dataclasses.dataclass
class Change:
    """A text of a unit that is another one in the copy that is run, so that what follows can run at all."""
    unit: str
    text: str
    instead: str
    why: str


class Reasons:
    def __init__(self, path):
        try:
            with open(path, "rb") as file:
                document = tomllib.load(file)
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise Wrong(f"{path}: {error}") from error
        self.not_run = document.pop("not-run", {})  # what the suite says -> the sentence
        self.not_run_used = set()
        self.changes = []
        for table in document.pop("change", []):
            if set(table) != {"unit", "text", "instead", "why"}:
                raise Wrong(f"{path}: a [[change]] has unit, text, instead and why, not {', '.join(sorted(table))}")
            self.changes.append(Change(**table))
        self.failures = []
        for table in document.pop("reason", []):
            if not {"unit", "why", "tests"} <= set(table) or set(table) - {"unit", "why", "tests", "skip"}:
                raise Wrong(f"{path}: a [[reason]] has unit, why, tests and perhaps skip, not {', '.join(sorted(table))}")
            self.failures.append(Reason(**table))
        if document:
            raise Wrong(f"{path}: {', '.join(document)}: expected [not-run], [[change]] and [[reason]]")

    def of_failure(self, unit, test):
        """The sentence, or None. The first that fits counts."""
        return next((reason.why for reason in self.failures if reason.fits(unit, test)), None)

    def of_not_run(self, said):
        self.not_run_used.add(said)
        return self.not_run.get(said)

    def skipped(self, unit):
        return [test for reason in self.failures if reason.unit == unit and reason.skip for test in reason.tests]

    def findings(self, units, whole):
        """What has no reason, and what reasons nothing needed. `whole`: all units were run."""
        found = []
        for unit in units:
            for test, said in unit.failed:
                if self.of_failure(unit.name, test) is None:
                    found.append(f"no reason: {unit.name}: {test}: {' '.join(said.split())[:600]}")
            for test, said in unit.not_run:
                if said != "skipped" and self.of_not_run(said) is None:
                    found.append(f"not run without a reason: {unit.name}: {test}: {said}")
                elif said == "skipped" and self.of_failure(unit.name, test) is None:
                    found.append(f"skipped without a reason: {unit.name}: {test}")
        ran = {unit.name: set(unit.passed) for unit in units}
        for reason in self.failures:
            for pattern in reason.tests:
                if reason.unit in ran and pattern not in reason.used:
                    passes = " (it passes)" if pattern in ran[reason.unit] else ""
                    found.append(f"nothing needs this reason: {reason.unit}: {pattern}{passes}")
        if whole:
            found += [f"nothing needs this reason: not-run: {said}" for said in self.not_run if said not in self.not_run_used]
        return found


class Server:
    """A server for one unit: a command that prints `listens at HOST:PORT` and ends at SIGTERM."""

    def __init__(self, command, folder):
        try:
            self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except OSError as error:
            raise Missing(f"{command[0]}: {error.strerror}") from error
        found = LISTENS.search(self.process.stdout.readline())
        if found is None:
            self.process.kill()
            raise Missing(f"{' '.join(command)} does not say where it listens")
        self.host, self.port = found.groups()

    def ended(self):
        return self.process.poll() is not None

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def read_output(unit, text, cut=""):
    """Puts what the suite printed for one unit into `unit`. `cut`: why it was ended from outside."""
    at_work, last, complete = "", None, False
    for line in text.split("\n"):
        if line.startswith("Execution time of different units"):
            complete = True
            break  # a summary of the failures follows
        event, working = EVENT.match(line), IN_PROGRESS.match(line)
        if working:
            at_work = working.group(1)
        if event is None:
            if last is not None and line.strip() and not line.startswith(("[", "Testing ", "Cleanup")):
                unit.failed[-1] = (unit.failed[-1][0], (unit.failed[-1][1] + " " + line.strip()).strip())
            continue
        kind, said = event.groups()
        last = None
        if kind == "ok":
            unit.passed.append(TOOK.sub("", said))
        elif kind == "err":
            name, where, _ = said.partition(f" in tests/{unit.name}.tcl")
            unit.failed.append((name, "") if where else (OUTSIDE, said))
            last = unit.failed[-1]
        elif kind == "skip":
            unit.not_run.append((said, "skipped"))
        elif kind == "ignore":
            name, colon, why = said.rpartition(": ")
            unit.not_run.append((name, why) if colon and not said.startswith("Tag: ") else ("", said))
        elif kind == "TIMEOUT":
            cut = cut or "no progress"
        else:
            cut = cut or said
    if at_work and cut == "no progress":
        unit.failed.append((at_work, "no progress, and the rest of the file is not run"))
    elif cut or not complete:
        unit.failed.append((REST, (cut or "the suite ended in the middle") + ": " + text[-500:]))


def run_unit(name, source, command, reasons, arguments, ports):
    base = ports.get()  # the suite looks for its own port from there on; two that look at once may find the same
    try:
        return run_unit_at(base, name, source, command, reasons, arguments)
    finally:
        ports.put(base)


def run_unit_at(base, name, source, command, reasons, arguments):
    unit = Unit(name)
    with tempfile.TemporaryDirectory(prefix="holdfast-suite-") as folder:
        suite = pathlib.Path(folder)
        shutil.copytree(source / "tests", suite / "tests", symlinks=True)
        (suite / "tests/tmp").mkdir(exist_ok=True)
        for change in reasons.changes:
            if change.unit == name:
                file = suite / f"tests/{name}.tcl"
                text = file.read_text(encoding="latin-1")
                if text.count(change.text) != 1:
                    raise Wrong(f"{name}: the text to change stands there {text.count(change.text)} times: {change.text!r}")
                file.write_text(text.replace(change.text, change.instead), encoding="latin-1")
        (suite / "src").mkdir()
        for tool in ("redis-cli", "redis-benchmark"):
            if found := shutil.which(tool):
                (suite / "src" / tool).symlink_to(found)
        server = Server(command, suite)
        words = ["tclsh", "tests/test_helper.tcl", "--host", server.host, "--port", server.port, "--single", name, "--durable",
                 "--timeout", str(arguments.timeout), "--baseport", str(base)]
        for test in reasons.skipped(name):
            words += ["--skiptest", test]
        cut = ""
        ran = subprocess.Popen(words, cwd=suite, env={**os.environ, "TERM": "dumb"}, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", start_new_session=True)
        try:
            text = ran.communicate(timeout=arguments.limit)[0]
        except subprocess.TimeoutExpired:
            cut = f"more than {arguments.limit} s"
            os.killpg(ran.pid, signal.SIGKILL)
            text = ran.communicate()[0]
        finally:
            if server.ended():
                cut = f"the server ended, exit {server.process.returncode}"
            server.end()
        read_output(unit, text, cut)
    return unit


def cell(text):
    return re.sub(r"([|<>*_`\[\]\\])", r"\\\1", text)


def counted(items):
    """name, how often: in order of first sight."""
    return collections.Counter(items).items()


def page(units, reasons, version):
    """The text of results/conformance.md."""
    passed, failed = sum(len(unit.passed) for unit in units), sum(len(unit.failed) for unit in units)
    lines = [
        "# Conformance: Redis's own Tcl suite against the embedded Redis", "",
        f"**{passed} tests of the suite of Redis {version} pass, {failed} fail, each for a reason that stands below.** It is run against",
        "`holdfast redis` in the mode that it has for servers that it did not start; there it leaves out what must configure or restart",
        "one. What the embedded server has, and what it does not have on purpose: [`sim/redis`](../sim/redis/README.md). Written by:", "",
        "```console", "$ apt-get source redis && apt-get install tcl redis-tools",
        f"$ tools/conformance/run_suite.py redis-{version}", "```", "", "| unit | pass | fail | not run |", "|---|---|---|---|"]
    idle = [unit for unit in units if not unit.passed and not unit.failed]
    for unit in units:
        if unit not in idle:
            lines.append(f"| `{unit.name}` | {len(unit.passed)} | {len(unit.failed)} | {len(unit.not_run) or ''} |")
    lines += ["", "A failed test counts once for each time it is run; a block of tests that the suite leaves out counts as one.", "",
              "## Failures", ""]
    for unit in units:
        if not unit.failed:
            continue
        lines += [f"### {unit.name}", "", "| test | why it fails |", "|---|---|"]
        for test, count in counted(test for test, _ in unit.failed):
            why = reasons.of_failure(unit.name, test) or "**no reason is known**"
            lines.append(f"| {cell(test)}{f' ({count} times)' if count > 1 else ''} | {why} |")
        lines.append("")
    if reasons.changes:
        lines += ["## Changed", "", "Only the copy that is run is changed.", "", "| unit | this | becomes | why |", "|---|---|---|---|"]
        for change in reasons.changes:
            lines.append(f"| `{change.unit}` | {cell(' '.join(change.text.split()))} | {cell(' '.join(change.instead.split()))} | {change.why} |")
        lines.append("")
    lines += ["## Not run", "", "Whole units: " + ", ".join(f"`{unit.name}`" for unit in idle) + ".", "",
              "| unit | test | why |", "|---|---|---|"]
    for unit in units:
        for (test, said), count in counted(unit.not_run):
            why = reasons.of_failure(unit.name, test) if said == "skipped" else reasons.of_not_run(said)
            lines.append(f"| `{unit.name}` | {cell(test) or ('a block of tests' if count == 1 else f'{count} blocks of tests')} | "
                         f"{why or '**no reason is known**'} |")
    return "\n".join(lines) + "\n"


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Wrong(message)


def arguments_of(words):
    parser = Parser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("source", type=pathlib.Path, help="the source of Redis, unpacked")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the folder of the program `holdfast`")
    parser.add_argument("--server", help="another command that prints `listens at HOST:PORT`")
    parser.add_argument("--reasons", type=pathlib.Path, default=HERE / "reasons.toml")
    parser.add_argument("--unit", action="append", help="only this one; may be repeated. No page is written then, but for --out")
    parser.add_argument("--timeout", type=int, default=60, help="seconds without progress after which a unit is given up")
    parser.add_argument("--limit", type=int, default=600, help="seconds for one unit")
    parser.add_argument("--jobs", type=int, default=2, help="units at once")
    parser.add_argument("--out", type=pathlib.Path, help="the page; default: results/conformance.md")
    return parser.parse_args(words)


def main(words):
    arguments = arguments_of(words)
    if shutil.which("tclsh") is None:
        raise Missing("there is no tclsh; on Debian: apt-get install tcl")
    source = arguments.source.resolve()
    if not (source / "tests/test_helper.tcl").is_file():
        raise Missing(f"{source}: no tests/test_helper.tcl, expected the source of Redis")
    command = arguments.server.split() if arguments.server else [str(arguments.build.resolve() / "holdfast"), "redis", "--port", "0"]
    reasons = Reasons(arguments.reasons)
    listed = subprocess.run(["tclsh", "tests/test_helper.tcl", "--list-tests"], cwd=source, capture_output=True, text=True,
                            check=True).stdout.split()
    if strange := [name for name in arguments.unit or [] if name not in listed]:
        raise Wrong(f"--unit {strange[0]}: the suite has no such unit")
    if strange := sorted({one.unit for one in reasons.failures + reasons.changes} - set(listed)):
        raise Wrong(f"{arguments.reasons}: {strange[0]}: the suite has no such unit")
    names = [name for name in listed if not arguments.unit or name in arguments.unit]
    units, ports = [], queue.Queue()
    for job in range(arguments.jobs):
        ports.put(21111 + 100 * job)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        runs = [pool.submit(run_unit, name, source, command, reasons, arguments, ports) for name in names]
        for run in runs:
            units.append(run.result())
            print(f"{units[-1].name}: {len(units[-1].passed)} pass, {len(units[-1].failed)} fail", flush=True)
    findings = reasons.findings(units, whole=not arguments.unit)
    for finding in findings:
        print(finding)
    out = arguments.out or (None if arguments.unit or arguments.server else ROOT / "results" / "conformance.md")
    if out:
        header = source / "src/version.h"
        version = re.search(r'REDIS_VERSION "([^"]+)"', header.read_text()) if header.is_file() else None
        out.write_text(page(units, reasons, version.group(1) if version else "unknown version"), encoding="utf-8")
    print(f"{sum(len(unit.passed) for unit in units)} tests pass, {sum(len(unit.failed) for unit in units)} fail, "
          f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Missing as error:
        print(f"run_suite.py: {error}", file=sys.stderr)
        sys.exit(69)
    except Wrong as error:
        print(f"run_suite.py: {error}", file=sys.stderr)
        sys.exit(64)
