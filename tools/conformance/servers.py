#!/usr/bin/env python3
"""Runs the library's tests and some scenarios on each Redis, or Valkey, of a folder, and writes a page: results/servers.md.

    tools/conformance/servers.py FOLDER              # e.g. redis-6.2.14, valkey-8.0.1: the servers themselves, under any name
    tools/conformance/servers.py FOLDER --build DIR --page FILE --tests FILTER --scenarios FILE...    # others than these

FOLDER is not changed. Each server stands in for `redis-server`: the suite of all locks on threads (test_holdfast), the tests of Sentinels, Clusters
and TLS among them, and the scenarios with --world real. A server older than 7 is not given the settings that only newer ones know, and no scenario on a Cluster, which needs one.

Exit: 0 all passed with each server; 1 something failed (the page says what); 64 wrong arguments; 69 the tests are not built, or no
server is in the folder.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = "*/threads*:*Real*"
SCENARIOS = ("scenarios/primary_failover_double_grant.toml", "scenarios/sentinel_failover.toml", "scenarios/cluster_election.toml", "scenarios/survivor/restart.toml")
CLUSTERS = ("scenarios/cluster_election.toml",)  # with the proxies between the nodes: cluster-port is of 7
SINCE_7 = ("--bind-source-addr", "--enable-debug-command", "--enable-module-command")
VERSION = re.compile(r"^(?:(?:Redis|Valkey) s|S)erver v=(\S+)")  # Valkey 7.2 does not say its name
SUMMARY = re.compile(r"^\[  (?:(PASSED)  |(SKIPPED) |(FAILED)  )\] (\d+) test")
FAILED = re.compile(r"^\[  FAILED  \] (\S+?)(?:,|$| \()")


@dataclasses.dataclass
class Result:
    name: str
    version: str
    passed: int = 0
    skipped: int = 0
    failed: list = dataclasses.field(default_factory=list)
    scenarios: int = 0
    broken: list = dataclasses.field(default_factory=list)

    def good(self):
        return self.passed > 0 and not self.failed and not self.broken


def version_of(file):
    """The version that it prints, or nothing: it is no server."""
    try:
        said = subprocess.run([file, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    found = VERSION.match(said)
    return found[1] if found else None


def stand_in(folder, server, version):
    """A folder with a `redis-server` that is this one."""
    file = pathlib.Path(folder) / "redis-server"
    lines = ["#!/bin/bash", "words=()"]
    if int(version.split(".")[0]) < 7:
        names = "|".join(SINCE_7)
        # What 7 takes as one word, too.
        lines += ["while (($#)); do", '  case "$1" in', f"  {names}) shift 2;;", '  --replicaof) words+=("$1" $2); shift 2;;',
                  '  *) words+=("$1"); shift;;', "  esac", "done"]
    else:
        lines += ['words=("$@")']
    lines += [f'exec -a redis-server {shlex.quote(str(server))} "${{words[@]}}"']
    file.write_text("\n".join(lines) + "\n")
    file.chmod(0o755)


def run_tests(result, build, tests, environment, show):
    ran = subprocess.run([build / "test_holdfast", f"--gtest_filter={tests}:-Long*:*/Long*", "--gtest_brief=1"], cwd=build, env=environment,
                         capture_output=True, text=True, errors="replace", check=False)
    for line in ran.stdout.splitlines():
        if found := SUMMARY.match(line):
            if found[1]:
                result.passed = int(found[4])
            elif found[2]:
                result.skipped = int(found[4])
        elif (found := FAILED.match(line)) and found[1] not in result.failed:
            result.failed.append(found[1])
    if ran.returncode != 0:
        result.failed = result.failed or [f"test_holdfast ended with {ran.returncode}"]
        show(ran.stdout + ran.stderr)


def run_scenarios(result, build, scenarios, environment, show):
    for scenario in scenarios:
        result.scenarios += 1
        with tempfile.TemporaryDirectory() as out:
            ran = subprocess.run([build / "holdfast", "run", scenario, "--world", "real", "--seed", "1", "--out", out], cwd=ROOT, env=environment,
                                 capture_output=True, text=True, errors="replace", check=False)
        if ran.returncode != 0:
            result.broken.append(pathlib.Path(scenario).name)
            show(ran.stdout + ran.stderr)


def page(results, command):
    lines = [
        "# Servers",
        "",
        "The suite of all locks on threads and some scenarios, with each of these servers in the place of `redis-server`. Written by",
        "",
        "```console",
        f"$ {command}",
        "```",
        "",
        "What differs between servers is read from them when a client connects (`HELLO`, `INFO`); there is no path for a server that is not in this",
        "table. A skipped test says that it is not for this pair of world and server.",
        "",
        "| server | says it is | passed | skipped | failed | scenarios |",
        "|---|---|---|---|---|---|",
    ]
    for one in results:
        good = one.scenarios - len(one.broken)
        lines.append(f"| {one.name} | {one.version} | {one.passed} | {one.skipped} | {len(one.failed)} | {good} of {one.scenarios} |")
    for one in results:
        if not one.good():
            lines += ["", f"## {one.name}", ""]
            lines += [f"- {name}" for name in [*one.failed, *one.broken] or ["no test ran"]]
    return "\n".join(lines) + "\n"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "results" / "servers.md")
    parser.add_argument("--tests", default=TESTS, help="a filter of GoogleTest")
    parser.add_argument("--scenarios", nargs="*", default=list(SCENARIOS))
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:
        return 64 if end.code else 0
    build = arguments.build.resolve()
    if not arguments.folder.is_dir():
        print(f"{arguments.folder}: is no folder, expected one with servers", file=sys.stderr)
        return 64
    for program in ("test_holdfast", "holdfast"):
        if not (build / program).exists():
            print(f"{arguments.build}: has no {program}: build it, or name another folder with --build", file=sys.stderr)
            return 69
    servers = [(file.resolve(), file.name, version_of(file)) for file in sorted(arguments.folder.iterdir()) if os.access(file, os.X_OK) and file.is_file()]
    servers = [server for server in servers if server[2] is not None]
    if not servers:
        print(f"{arguments.folder}: no file in it says with --version that it is a Redis or Valkey server", file=sys.stderr)
        return 69

    def show(text):
        print("\n".join(line[:300] for line in text.splitlines()[-80:]), file=sys.stderr)

    results = []
    for file, name, version in servers:
        print(f"{name}: {version}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            stand_in(folder, file, version)
            environment = dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"])
            result = Result(name, version)
            run_tests(result, build, arguments.tests, environment, show)
            old = int(version.split(".")[0]) < 7
            run_scenarios(result, build, [one for one in arguments.scenarios if not (old and one in CLUSTERS)], environment, show)
        print(f"  {result.passed} tests passed, {len(result.failed)} failed; {result.scenarios - len(result.broken)} of {result.scenarios} scenarios", flush=True)
        results.append(result)
        arguments.page.write_text(page(results, f"tools/conformance/servers.py {arguments.folder.name}"))  # Ctrl-C keeps it
    return 0 if all(one.good() for one in results) else 1


if __name__ == "__main__":
    sys.exit(main())
