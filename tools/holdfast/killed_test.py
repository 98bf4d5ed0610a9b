#!/usr/bin/env python3
"""Kills `holdfast run` with external programs on real servers, and `holdfast proxy`, by SIGKILL at moments that are drawn, and
looks for what is left: processes, sockets, temporary folders.
Run: tools/holdfast/killed_test.py HOLDFAST [--kills N]. (CTest: killed_test; of ten kills: killed_test_long)
"""
import argparse
import ctypes
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 120  # of a test that fails

SCENARIO = """schema = 1
name   = "killed"
about  = "programs that go on for a while"

[run]
seeds = "1..100"
time  = "60s"

[cluster]
topology = "primary-replica"
nodes    = ["r1", "r2"]

[lock]
kind  = "external"
lease = "1s"

[workload]
kind    = "external"
command = ["bash", "client.sh"]
clients = 3

[[expect]]
check = "mutual-exclusion"
"""

# A program with a child of its own, which knows nothing of its end.
CLIENT = """trap '' TERM
sleep 1000 &
while :; do
  printf '{"type":"invoke","f":"acquire","key":"stock"}\\n{"type":"fail","f":"acquire","key":"stock","error":"x"}\\n'
  sleep 0.05
done
"""


def descendants():
    """Of this process, which orphans come back to: {pid: (name, state)}, without those that only wait to be reaped."""
    parents, told = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        pid = int(entry.name)
        parents[pid] = int(rest.split()[1])
        told[pid] = (line or name, rest.split()[0])
    found = {}
    for pid in parents:
        at = pid
        while at in parents and at != os.getpid():
            at = parents[at]
        if at == os.getpid() and pid != os.getpid() and told[pid][1] not in "ZX":
            found[pid] = told[pid][0]
    return found


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def unix_sockets(folder):
    return [line for line in pathlib.Path("/proc/net/unix").read_text().splitlines() if str(folder) in line]


def left_by(folder):
    reap()
    return [*descendants().values(), *unix_sockets(folder), *(str(path) for path in folder.iterdir())]


def wait_until(there, what):
    end = time.monotonic() + PATIENCE_S
    while not there():
        reap()
        if time.monotonic() > end:
            sys.exit(f"killed_test: {what()}")
        time.sleep(0.01)


def started(command, folder, work):
    return subprocess.Popen(command, cwd=work, env={**os.environ, "TMPDIR": str(folder)}, stdout=(work / "out").open("w"),
                            stderr=subprocess.STDOUT, start_new_session=True)


def kill_once(holdfast, temporary, work, draws):
    """Returns the names of what ran when it was killed."""
    run = [holdfast, "run", "killed.toml", "--world", "real", "--jobs", "2"]
    proxy = [holdfast, "proxy", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:1", "--api", "127.0.0.1:0",
             "--record", str(work / "record.jsonl")]
    harnesses = [started(run, temporary, work), started(proxy, temporary, work)]
    # Half of them while nothing is there yet, half in the middle of a run.
    if draws.random() < 0.5:
        wait_until(lambda: any("client.sh" in name for name in descendants().values()) or harnesses[0].poll() is not None,
                   lambda: "no program started: " + (work / "out").read_text())
    time.sleep(draws.random() * 0.8)
    if harnesses[0].poll() is not None:
        sys.exit("killed_test: the run ended by itself: " + (work / "out").read_text())
    there = list(descendants().values())
    for harness in harnesses:
        os.kill(harness.pid, signal.SIGKILL)
    for harness in harnesses:
        harness.wait()
    wait_until(lambda: not left_by(temporary), lambda: "this is left: " + "; ".join(left_by(temporary)))
    return there


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("holdfast", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if shutil.which("redis-server") is None:
        print("skipped: no redis-server")
        return 77
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        print("skipped: orphans cannot be followed here")
        return 77
    draws = random.Random(arguments.seed)
    servers = programs = 0
    with tempfile.TemporaryDirectory() as folder:
        temporary, work = pathlib.Path(folder) / "tmp", pathlib.Path(folder) / "work"
        temporary.mkdir(), work.mkdir()
        (work / "killed.toml").write_text(SCENARIO)
        (work / "client.sh").write_text(CLIENT)
        for number in range(arguments.kills):
            there = kill_once(arguments.holdfast, temporary, work, draws)
            servers += sum("redis-server" in name for name in there)
            programs += sum("client.sh" in name for name in there)
            print(f"kill {number + 1}: {len(there)} processes, nothing left", flush=True)
    if servers == 0 or programs == 0:
        sys.exit(f"killed_test: seed {arguments.seed}: it was never killed in the middle of a run")
    print(f"{arguments.kills} kills, in the middle of {servers} servers and {programs} programs: nothing left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
