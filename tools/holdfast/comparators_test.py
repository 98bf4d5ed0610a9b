#!/usr/bin/env python3
"""`holdfast run` with servers of other engines: what is said where one is missing or asked for in the wrong world, and what is left of
it when `holdfast` is killed while a server stands still.
Run: tools/holdfast/comparators_test.py HOLDFAST. (CTest: comparators_test; skipped where PostgreSQL is missing)
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "scenarios/comparators"
PATIENCE_S = 60  # of a test that fails
ENGINES = {"postgresql": "postgresql_happy_path.toml", "etcd": "etcd_happy_path.toml", "zookeeper": "zookeeper_happy_path.toml"}

SCENARIO = """schema = 1
name   = "stands-still"
about  = "a server that stands still"

[run]
seeds = "1"
time  = "60s"

[cluster]
engine   = "ENGINE"
topology = "TOPOLOGY"

[lock]
kind = "LOCK"

[workload]
kind    = "critical-section"
clients = 2
rounds  = 100000
hold    = "10ms"

[[fault]]
id   = "still"
kind = "pause-server"
node = "r1"
at   = "200ms"
for  = "50s"

[[expect]]
check = "mutual-exclusion"
"""


def run(holdfast, *arguments, **variables):
    return subprocess.run([holdfast, "run", *map(str, arguments)], env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE_S)


def lines(text):
    return [line for line in text.splitlines() if line.strip()]


def below(folder):
    """Processes that work below it: {pid: state}."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            at = os.readlink(entry / "cwd")
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if at.startswith(str(folder)) and state not in "ZX":
            found[int(entry.name)] = state
    return found


def segments(pids):
    """Shared memory that these made and nobody has removed."""
    rows = pathlib.Path("/proc/sysvipc/shm").read_text().splitlines()
    column = rows[0].split().index("cpid")
    return [row for row in rows[1:] if int(row.split()[column]) in pids]


def comes(condition):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def missing(holdfast, shipped, variable):
    with tempfile.TemporaryDirectory() as folder:
        done = run(holdfast, "--world", "real", shipped, **{variable: folder, "TMPDIR": folder})
        assert not below(folder) and not os.listdir(folder), os.listdir(folder)
    assert done.returncode == 69, done
    assert len(lines(done.stderr)) == 1 and "tools/setup/setup --comparisons" in done.stderr, done.stderr


def embedded(holdfast, shipped, engine):
    done = run(holdfast, shipped)
    assert done.returncode == 64, done
    assert len(lines(done.stderr)) == 1 and f"the embedded world has no `{engine}`" in done.stderr, done.stderr


def no_java(holdfast):
    """`java` is looked for in PATH, and nothing else that this needs."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(holdfast, "--world", "real", SHIPPED / ENGINES["zookeeper"], PATH=folder)
    assert done.returncode == 69, done
    assert len(lines(done.stderr)) == 1 and "tools/setup/setup --comparisons" in done.stderr, done.stderr


def killed(holdfast, engine, topology, lock, processes):
    """`processes`: so many stand still at least, those of r1."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # PostgreSQL's user goes through it
        scenario = pathlib.Path(folder, "f.toml")
        scenario.write_text(SCENARIO.replace("ENGINE", engine).replace("TOPOLOGY", topology).replace("LOCK", lock))
        servers = pathlib.Path(folder, "servers")
        servers.mkdir(mode=0o755)
        harness = subprocess.Popen([holdfast, "run", "--world", "real", "--out", folder + "/out", str(scenario)],
                                   env={**os.environ, "TMPDIR": str(servers)}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert comes(lambda: list(below(servers).values()).count("T") >= processes), (below(servers), harness.poll())
            there = set(below(servers))
        finally:
            harness.send_signal(signal.SIGKILL)
            harness.wait()
        assert comes(lambda: not below(servers)), below(servers)
        assert comes(lambda: not list(servers.iterdir())), list(servers.iterdir())
        assert not segments(there), segments(there)


def main():
    holdfast = sys.argv[1]
    for engine, file in ENGINES.items():
        embedded(holdfast, SHIPPED / file, engine)
        missing(holdfast, SHIPPED / file, "HOLDFAST_" + engine.upper())
    no_java(holdfast)
    for engine, lock in (("etcd", "etcd-lock"), ("zookeeper", "zk-recipe")):
        probe = run(holdfast, "--world", "real", SHIPPED / ENGINES[engine], "--variant", "ensemble", "--seed", "1")
        if probe.returncode != 69:
            assert probe.returncode == 0, probe
            killed(holdfast, engine, "ensemble", lock, 1)
    probe = run(holdfast, "--world", "real", SHIPPED / ENGINES["postgresql"], "--variant", "pg-table", "--seed", "1")
    if probe.returncode == 69:
        print("skipped: " + probe.stderr.strip())
        return 77
    assert probe.returncode == 0, probe
    # It has a process for each of its clients.
    killed(holdfast, "postgresql", "primary-replica", "pg-advisory", 6)
    return 0


if __name__ == "__main__":
    sys.exit(main())
