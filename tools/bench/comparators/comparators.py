#!/usr/bin/env python3
"""results/comparators.md: locks of Redis, PostgreSQL, etcd and ZooKeeper beside each other: what they cost, what survives which fault.

  tools/bench/comparators/comparators.py --measure   runs both commands below on this machine (about an hour), keeps what they say, writes the page
  tools/bench/comparators/comparators.py --write     writes the page from results/data/comparators
  tools/bench/comparators/comparators.py --check     fails when the page is another one (CTest: comparators_page)
  tools/bench/comparators/comparators.py --self-test

What is in results/data/comparators: the result of `holdfast bench --suite engines`; and in its folder `runs` the verdicts of
`holdfast run --world real scenarios/comparators`, with the story of the first violation of each case. All servers have to be there: `tools/setup/setup --comparisons`.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools" / "bench" / "plot"), str(ROOT / "tools" / "house")]
import data  # noqa: E402
import guarantees  # noqa: E402
from tables import origin, table  # noqa: E402

PAGE = ROOT / "results" / "comparators.md"
DATA = ROOT / "results" / "data" / "comparators"
RUNS = DATA / "runs"
SEEDS = "1..10"
ENGINES = {"postgresql": "PostgreSQL", "etcd": "etcd", "zookeeper": "ZooKeeper"}
# The checks that have a column.
CHECKS = {"mutual-exclusion": "one holder at a time", "lease-exclusion": "no grant beside a lease", "oversell": "no oversell"}
# Of ours, and how they fare where the comparators' faults strike: the column of scenarios/guarantees of each of theirs.
OURS = ("reentrant", "fenced", "redlock", "survivor")
SAME_FAULT = {"paused_holder": "pause", "partitioned_holder": "partition", "server_restart": "restart", "failover": "failover"}


class Wrong(Exception):
    """What cannot be told."""


# --- what survives which fault ---------------------------------------------------------------------------------------

def verdict(expectation, runs):
    """How often what was expected came true."""
    share = f"{expectation['matching']} of {runs}"
    if expectation["is"] == "violated":
        kind = f" ({expectation['kind']})" if expectation.get("kind") else ""
        return f"**violated** in {share}{kind}"
    return f"holds in {share}"


def file_name(case):
    return f"{pathlib.Path(case['file']).stem}.{case['variant'] or 'base'}"


def digest(document, story_of):
    """What is kept of a document of `holdfast run --json`; the story of each case by `story_of(case)`, "" none."""
    if document["world"] != "real":
        raise Wrong("the runs are of the embedded world, expected --world real")
    if document["not_run"]:
        raise Wrong(f"not run: {document['not_run'][0]['file']}: {document['not_run'][0]['reason']}")
    cases = []
    for case in document["cases"]:
        if case["runs"] != case["planned_runs"]:
            raise Wrong(f"{case['file']}, {case['variant']}: {case['runs']} of {case['planned_runs']} runs")
        its = {name: case[name] for name in ("file", "variant", "lock", "runs", "grants", "unexpected")}
        its["expectations"] = [{name: e[name] for name in ("check", "is", "kind", "matching", "unknown", "result") if name in e} for e in case["expectations"]]
        its["story"] = story_of(case)
        cases.append(its)
    return cases


def fault_of(file):
    engine, _, fault = pathlib.Path(file).stem.partition("_")
    return engine, fault


def verdict_table(cases, engine):
    rows = []
    for case in cases:
        if fault_of(case["file"])[0] != engine:
            continue
        stated = {}
        for e in case["expectations"]:
            stated.setdefault(e["check"], verdict(e, case["runs"]))
        name = f"[{fault_of(case['file'])[1].replace('_', ' ')}](../{case['file']})"
        if case["variant"]:
            name += f", `{case['variant']}`"
        story = f"[story](data/comparators/runs/{file_name(case)}.txt)" if case["story"] else "–"
        more = ", ".join(f"{check} {stated[check]}" for check in stated if check not in CHECKS and check != "reached" and "violated" in stated[check])
        met = "**no**" if case["unexpected"] else "yes"
        rows.append([name, f"`{case['lock']}`", *(stated.get(check, "–") for check in CHECKS), more or "–", met, story])
    return table(["what happens", "lock", *CHECKS.values(), "besides", "as stated", "the first violation"], rows)


def ours_table(documents):
    """Rows of ours beside the table of other servers' locks."""
    rows = []
    for lock in OURS:
        cells = []
        for fault in SAME_FAULT.values():
            its = guarantees.cells_of(documents[fault], f"scenarios/guarantees/{fault}.toml")
            cells.append(guarantees.text_of(its, guarantees.row_of(lock)) or "–")
        rows.append([f"`{lock}` (Redis)", *cells])
    return table(["", *guarantees.OTHER_FAULTS.values()], rows)


# --- what each costs -------------------------------------------------------------------------------------------------

def points_of(points, subject):
    here = points.where(suite="engines", subject=subject)
    found = {
        "alone": here.where(clients=1, hold_ms=0).first(),
        "apart": here.where(keys="one each").first(),
        "busy": here.where(keys="one", clients=lambda n: n != "1").first(),
    }
    missing = [name for name, m in found.items() if m is None]
    if missing:
        raise Wrong(f"no measurement of {subject}, {missing[0]}; run holdfast bench --suite engines")
    return found


def cost_table(points):
    rows = []
    for subject in points.where(suite="engines").subjects():
        its = points_of(points, subject)

        def of(where, metric):
            return data.number(data.median(its[where], metric))

        rows.append([f"`{subject}`", of("alone", "p50"), of("apart", "pairs"), of("apart", "of_reentrant"), of("apart", "p99"), of("apart", "server_cpu"),
                     of("busy", "pairs"), of("busy", "of_alone"), of("busy", "p99_by_fair_share"), of("busy", "server_cpu")])
    head = ["", "one client: a pair, ms", "a key each: pairs/s", "by `reentrant`", "p99, ms", "server CPU, us a pair", "one key: grants/s", "by its rate alone",
            "p99 by fair share", "server CPU, us a grant"]
    return table(head, rows)


def answers(points, cases):
    def of(subject, where, metric):
        return data.median(points_of(points, subject)[where], metric)

    def times(subject):
        return f"{1 / of(subject, 'apart', 'of_reentrant'):.0f} times"

    def busy(subject):
        return f"`{subject}` {data.number(of(subject, 'busy', 'pairs'))}"

    unexpected = sum(1 for case in cases if case["unexpected"])
    runs = sum(case["runs"] for case in cases)
    held = ["reentrant", "pg-advisory", "etcd-lock", "zk-recipe"]
    return "\n".join([
        f"- **Speed.** With a key each, fifty clients make {data.number(of('reentrant', 'apart', 'pairs'))} pairs a second on Redis, {times('pg-advisory')} as many as with advisory locks of "
        f"PostgreSQL, {times('etcd-lock')} as many as on one etcd and {times('zk-recipe')} as many as on one ZooKeeper. On a Redis that syncs each write to disk, as those two do, they make "
        f"{data.number(of('reentrant, synced to disk', 'apart', 'pairs'))}.",
        f"- **One busy key.** Who has it stays 1 ms, fifty processes wait: {', '.join(busy(subject) for subject in held)} grants a second. All of these queue. `redlock` and `pg-table` ask again and "
        f"again: one wait of a hundred is {data.number(of('redlock, five servers', 'busy', 'p99_by_fair_share'))} and {data.number(of('pg-table', 'busy', 'p99_by_fair_share'))} times as long as if all took "
        "turns.",
        "- **A holder that stands still** is passed over by every lock with a lease, whatever the server: two hold. Locks of a session of PostgreSQL wait for it instead, and everybody with "
        "them. A resource that compares tokens, or one `UPDATE`, is what helps.",
        "- **A failover.** Servers that agree by majority before they answer (etcd, ZooKeeper; of ours `survivor` and `redlock`) grant nothing twice; but who is cut off with ZooKeeper's old leader is not "
        "told that it has lost its lock. PostgreSQL grants nothing twice with a synchronous replica, and a lock that is a row: a session is not replicated at all.",
        f"- {len(cases)} cases, ten runs each on real servers, {runs} runs: " + (f"{unexpected} cases did not come out as their files state." if unexpected else "all came out as their files state."),
    ]) + "\n"


INTRO = """# Redis, PostgreSQL, etcd or ZooKeeper?

The same load, the same sale, the same faults and the same checks, on servers that run on one machine. Which locks these are, and what each promises, is told in
[`sim/comparators`](../sim/comparators/README.md); how to run them, in [`scenarios/comparators`](../scenarios/comparators/README.md).

"""

COST = """
## What each costs

`holdfast bench --suite engines`: two cores for all, clients, servers and all; each client with a connection of its own. *One client*: it alone takes a lock that nobody else wants, and releases it.
*A key each*: fifty clients, each with a lock of its own. *One key*: fifty want it, and who has it stays 1 ms; *by its rate alone*: beside one client that does the same with the lock to itself.
Medians of the rounds.

"""

COST_NOTES = """
- Servers are set as they come, but for sizes ([what is set](../sim/comparators/README.md)): PostgreSQL and etcd sync each write to disk, ZooKeeper syncs its log. Redis does not, except where it says *synced to
  disk*. The disk is that of the machine, below a temporary folder.
- ZooKeeper runs in a small JVM (64 MB, first-tier compiler only), so that three of them fit beside each other.
- Three servers on two cores take turns: read these rows as what a grant costs in work, not as what three machines reach. What the servers of etcd, ZooKeeper and PostgreSQL say to each other
  goes through the proxy of the harness, which costs them something; those of Redis speak to each other directly.
- A session of PostgreSQL is a process of the server, which lets in 100 of them as it comes.

## What survives which fault

A cell says what the scenario of that fault states of the lock, as in the [table of guarantees](../lib/README.md#guarantees). *Overrun*: two hold because the first outlived its lease or session;
*double grant*: the servers granted it twice; *unavailable*: nobody is granted anything for as long as the fault lasts.

"""

RUNS_INTRO = """
## Ten runs of each

`holdfast run --world real scenarios/comparators --seeds {seeds}`, {date}, with {versions}. A violation that a file states is what it shows: beside it stands the variant that holds. *Besides*: what else was violated.

"""


def page(points, runs):
    cases = runs["cases"]

    def read(folder):
        return {file.stem: tomllib.loads(file.read_text()) for file in sorted((ROOT / "scenarios" / folder).glob("*.toml"))}

    documents = read("guarantees")
    theirs = guarantees.other_table(read("comparators"), [])
    text = INTRO + answers(points, cases) + COST + cost_table(points) + COST_NOTES
    text += ours_table(documents) + theirs.split("\n", 2)[2] + RUNS_INTRO.format(seeds=runs["seeds"], date=runs["date"], versions=", ".join(runs["versions"]))
    for engine, name in ENGINES.items():
        text += f"### {name}\n\n" + verdict_table(cases, engine) + "\n"
    text += "## Where the figures come from\n\n"
    documents = {id(m["document"]): (m["document"], m["world"]) for m in points.where(suite="engines")}
    text += "\n".join(origin(document, "engines", world) for document, world in documents.values())
    text += "\n`tools/bench/comparators/comparators.py --write` makes this page from `results/data/comparators`.\n"
    return text


# --- the command -----------------------------------------------------------------------------------------------------

def measure_runs(command):
    with tempfile.TemporaryDirectory(prefix="holdfast-comparators.") as folder:
        kept, file = pathlib.Path(folder, "kept"), pathlib.Path(folder, "run.json")
        line = [command, "run", "--world", "real", "scenarios/comparators", "--seeds", SEEDS, "-j", "4", "--out", str(kept), "--keep", "violated", "--json", str(file)]
        done = subprocess.run(line, cwd=ROOT, stdout=sys.stderr)
        if not file.exists():
            raise Wrong(f"holdfast run ended with {done.returncode} and said nothing of its cases")
        texts = {}

        def story_of(case):
            its = case.get("story", {})
            path = pathlib.Path(ROOT, its.get("folder", ""), "story.txt")
            if "folder" not in its or not path.exists():
                return ""
            texts[file_name(case)] = path.read_text()
            return f"seed {its['seed']}"

        cases = digest(json.loads(file.read_text()), story_of)
        keep_runs(cases, texts)


def versions():
    """Of the servers, as their packages have them."""
    packages = ["redis-server", "postgresql-15", "etcd-server", "zookeeper"]
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\\n", *packages], capture_output=True, text=True)
    return done.stdout.split("\n")[:-1]


def keep_runs(cases, texts):
    RUNS.mkdir(parents=True, exist_ok=True)
    for old in RUNS.glob("*.txt"):
        old.unlink()
    for name, text in texts.items():
        data.write_file(str(RUNS / f"{name}.txt"), text.encode())
    document = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "versions": versions(), "seeds": SEEDS, "cases": cases}
    data.write_file(str(RUNS / "verdicts.json"), (json.dumps(document, indent=1) + "\n").encode())


def measure_bench(command):
    DATA.mkdir(parents=True, exist_ok=True)
    file = DATA / "engines.json"
    done = subprocess.run([command, "bench", "--suite", "engines", "--json", str(file.relative_to(ROOT))], cwd=ROOT, stdout=sys.stderr)
    if done.returncode != 0:
        raise Wrong(f"holdfast bench ended with {done.returncode}")


def self_test():
    def case(file, variant, **more):
        return {"file": f"scenarios/comparators/{file}.toml", "variant": variant, "lock": "etcd-lock", "runs": 10, "planned_runs": 10, "grants": 5, "unexpected": False,
                "expectations": [{"check": "mutual-exclusion", "is": "violated", "kind": "overrun", "matching": 10, "unknown": 0, "result": "met"},
                                 {"check": "oversell", "is": "holds", "matching": 9, "unknown": 0, "result": "unmet"}], **more}

    document = {"world": "real", "not_run": [], "cases": [case("etcd_paused_holder", ""), case("zookeeper_failover", "x", unexpected=True)]}
    cases = digest(document, lambda c: "" if c["variant"] else "seed 1")
    row = verdict_table(cases, "etcd")
    assert "| **violated** in 10 of 10 (overrun) | – | holds in 9 of 10 | – | yes | [story](data/comparators/runs/etcd_paused_holder.base.txt) |" in row, row
    assert "zookeeper" not in row and "| **no** | – |" in verdict_table(cases, "zookeeper")
    for wrong in ({**document, "world": "embedded"}, {**document, "not_run": [{"file": "f", "reason": "no etcd"}]},
                  {**document, "cases": [case("etcd_paused_holder", "", runs=9)]}):
        try:
            digest(wrong, lambda _: "")
        except Wrong:
            continue
        raise AssertionError(wrong)
    try:
        points_of(data.Measurements([]), "reentrant")
    except Wrong as wrong:
        assert "holdfast bench --suite engines" in str(wrong)
    else:
        raise AssertionError("a row without a measurement")


def main():
    parser = argparse.ArgumentParser(description="locks of Redis, PostgreSQL, etcd and ZooKeeper beside each other: results/comparators.md")
    parser.add_argument("--command", default=str(ROOT / "build" / "holdfast"), help="the holdfast command")
    for mode in ("measure", "measure-bench", "measure-runs", "write", "check", "self-test"):
        parser.add_argument(f"--{mode}", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return 0
    try:
        if arguments.measure or arguments.measure_bench:
            measure_bench(arguments.command)
        if arguments.measure or arguments.measure_runs:
            measure_runs(arguments.command)
        _, points = data.load(str(DATA))
        text = page(points, json.loads((RUNS / "verdicts.json").read_text()))
    except (Wrong, guarantees.Wrong, data.BadResult, OSError) as wrong:
        print(wrong, file=sys.stderr)
        return 1
    if not arguments.check:
        data.write_file(str(PAGE), text.encode())
    elif not PAGE.exists() or PAGE.read_text() != text:
        print("results/comparators.md is another one, expected that of tools/bench/comparators/comparators.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
