#!/usr/bin/env python3
"""Hunts of the locks that ship, as a page with figures: how many runs, what they found, what may be left.

    tools/planted/shipped_locks.py [--goal RUNS] [--runs N] [--no-feedback] [--for TIME] [--jobs N] [--locks NAMES] [--out DIR]
                                                                                             hunts, then writes
    tools/planted/shipped_locks.py --role-changes N [--runs N] [--for TIME] [--jobs N] [--out DIR]    the same, of survivors
    tools/planted/shipped_locks.py --check | --self-test

Raw results lie in results/data/hunts/shipped-locks.json; one call after another adds to them, always to the lock with the fewest runs.
Without feedback each case is drawn from nothing: two to five times as many a second, as cases do not grow, and none depends on another.
With --role-changes the files in GROUNDS are hunted until servers have changed their roles so often during a claim.
A find whose cause is mended gets the key `mended` in that file, by hand: what was wrong. The page lists it, and it counts no longer.
Each hunt has a seed of its own. Those of a build that draws or runs otherwise (another `probe`) stay: they were hunted, too. Ctrl-C
loses the hunt that runs, nothing else. From the raw results this writes results/shipped-locks.md. --check: exit 1 if the page says
anything else than they do.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
DATA = "results/data/hunts/shipped-locks.json"
PAGE = "results/shipped-locks.md"
KEPT = ("seed", "probe", "runs", "virtual_ns", "grants", "unjudged", "features", "singletons", "corpus", "seconds")
EMPTY = {"kind": "shipped-locks", "schema": 1, "locks": {}}
# Scenarios in which servers change their roles as often as can be.
GROUNDS = ("scenarios/survivor/role_changes.toml",)
HOUR_NS = 3600 * 1e9


# --- the record -------------------------------------------------------------------------------------------------------------

def read_record():
    if not os.path.exists(DATA):
        return EMPTY
    with open(DATA, encoding="utf-8") as handle:
        record = json.load(handle)
    if record.get("kind") != "shipped-locks" or record.get("schema") != 1:
        raise SystemExit(f"{DATA}: is no record of hunts, expected what {sys.argv[0]} wrote")
    return record


def write_record(record):
    with open(DATA + ".new", "w", encoding="utf-8") as handle:
        json.dump(record, handle, indent=1)
        handle.write("\n")
    os.replace(DATA + ".new", DATA)


def runs_of(record, lock):
    return sum(hunt["runs"] for hunt in record["locks"].get(lock, []))


def drawn_from_nothing(hunts):
    return sum(hunt["runs"] for hunt in hunts if not hunt.get("feedback", True))


def role_changes_of(record, lock):
    return sum(hunt.get("role_changes", 0) for hunt in record["locks"].get(lock, []))


def next_hunt(record, locks, goal, count=runs_of):
    """(lock, seed) of the one with the fewest runs, or whatever is counted; None: all have so many."""
    lock = min(locks, key=lambda name: (count(record, name), locks.index(name)))
    if count(record, lock) >= goal:
        return None
    return lock, 1 + max((hunt["seed"] for hunt in record["locks"].get(lock, [])), default=0)


def kept(document):
    """What the record keeps of a hunt.json."""
    hunt = {key: document[key] for key in KEPT}
    hunt["seconds"] = round(hunt["seconds"], 1)
    if not document["feedback"]:
        hunt["feedback"] = False
    if document["role_changes"]:
        hunt["role_changes"] = document["role_changes"]
    hunt["never_reached"] = document["never_reached"]
    hunt["finds"] = [{"name": name_of(one), "run": one["first_run"], "count": one["runs"]} for one in document["violations"]]
    return hunt


def name_of(violation):
    """As the command prints it: check/kind (shape)."""
    name = violation["check"] or "harness"
    name += f"/{violation['kind']}" if violation["kind"] else ""
    return name + (f" ({violation['shape']})" if violation["shape"] else "")


def seconds_of(text):
    match = re.fullmatch(r"(\d+)(s|m|h)", text)
    if not match:
        raise SystemExit(f"--for {text}: expected a time such as 10m")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def hunt_on(arguments):
    lines = subprocess.run(["build/holdfast", "list", "locks"], check=True, capture_output=True, text=True).stdout.splitlines()
    locks = [line.split()[0] for line in lines if "(historic)" not in line and "real world only" not in line]
    goal, count = (arguments.goal, runs_of) if arguments.goal else (arguments.role_changes, role_changes_of)
    if arguments.role_changes:
        locks = list(GROUNDS)
    if arguments.locks:
        unknown = set(arguments.locks.split(",")) - set(locks)
        if unknown:
            raise SystemExit(f"--locks {','.join(sorted(unknown))}: not among those that ship: {', '.join(locks)}")
        locks = [lock for lock in locks if lock in arguments.locks.split(",")]
    end = time.monotonic() + seconds_of(arguments.time) if arguments.time else None
    while end is None or time.monotonic() < end:
        record = read_record()
        chosen = next_hunt(record, locks, goal, count)
        if chosen is None:
            break
        lock, seed = chosen
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "hunt.json")
            command = ["build/holdfast", "hunt", lock, "--runs", str(arguments.runs), "--seed", str(seed), "--jobs", str(arguments.jobs),
                       "--json", report]
            command += ["--no-feedback"] if arguments.no_feedback else []
            command += ["--out", os.path.join(arguments.out, f"{os.path.basename(lock)}-{seed}")] if arguments.out else ["--no-shrink"]
            status = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
            if status not in (0, 1):
                return status
            with open(report, encoding="utf-8") as handle:
                hunt = kept(json.load(handle))
        record.setdefault("locks", {}).setdefault(lock, []).append(hunt)
        write_record(record)
        print(f"{lock}, seed {seed}: {hunt['runs']} runs, {len(hunt['finds'])} finds; {count(record, lock)} in all", flush=True)
    return 0


# --- the page ---------------------------------------------------------------------------------------------------------------

def unseen(hunts):
    """The largest of the hunts' estimates of what the next run shows that none did, and the smallest."""
    shares = [hunt["singletons"] / hunt["runs"] for hunt in hunts]
    return min(shares), max(shares)


def span(low, high):
    a, b = f"{low:.4f}", f"{high:.4f}"
    return a if a == b else f"{a} to {b}"


def standing(hunts):
    return [find for hunt in hunts for find in hunt["finds"] if "mended" not in find]


def mended(hunted):
    return [f"- `{lock}`, `{find['name']}`, run {find['run']:,} of seed {hunt['seed']}: {find['mended']}\n"
            for lock, hunts in hunted.items() for hunt in hunts for find in hunt["finds"] if "mended" in find]


def row(lock, hunts):
    runs = sum(hunt["runs"] for hunt in hunts)
    finds = {}
    for find in standing(hunts):
        finds[find["name"]] = finds.get(find["name"], 0) + find["count"]
    missed = set.intersection(*(set(hunt["never_reached"]) for hunt in hunts))
    changes = sum(hunt.get("role_changes", 0) for hunt in hunts)
    drawn = drawn_from_nothing(hunts)
    return [f"`{lock}`", f"{runs:,}", f"{drawn:,}" if drawn else "–", str(len(hunts)), f"{sum(hunt['virtual_ns'] for hunt in hunts) / HOUR_NS:,.0f}",
            f"{sum(hunt['grants'] for hunt in hunts):,}", f"{changes:,}" if changes else "–", "; ".join(f"{name} ({count})" for name, count in sorted(finds.items())) or "none",
            f"{sum(hunt['unjudged'] for hunt in hunts) / runs:.0%}", span(*unseen(hunts)), ", ".join(sorted(missed)) or "none",
            f"{runs / sum(hunt['seconds'] for hunt in hunts):,.0f}"]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows]) + "\n"


def page(record):
    hunted = {lock: hunts for lock, hunts in record["locks"].items() if hunts}
    runs = sum(runs_of(record, lock) for lock in hunted)
    locks = [lock for lock in hunted if lock not in GROUNDS]
    clean = [lock for lock in locks if not standing(hunted[lock])]
    rows = [row(lock, hunts) for lock, hunts in hunted.items()]
    lines = mended(hunted)
    repairs = "\nFound by these hunts, and mended since:\n\n" + "".join(lines) if lines else ""
    return f"""# The locks that ship, hunted

Each lock of the library is hunted within what it says that it bears ([`sim/hunt`](../sim/hunt/README.md), `--bounds promised`): a violation
of anything that its row in the [guarantees](../lib/README.md) promises is a defect. Written by

```console
$ tools/planted/shipped_locks.py --goal 1000000
```

which hunts the lock with the fewest runs and adds to [`data/hunts/shipped-locks.json`](data/hunts/shipped-locks.json): with `--for 10m` one
call after another.

**So far: {runs:,} runs of {len(locks)} {"lock" if len(locks) == 1 else "locks"}, {len(clean)} without a violation{" but for what is mended" if lines else ""}.**

{table(["lock", "runs", "of these drawn from nothing", "hunts", "virtual hours", "grants", "role changes", "violations", "a check had nothing to say in", "new in the next run, at most",
        "never reached", "runs a second"], rows)}
*Drawn from nothing*: hunted with `--no-feedback`; no case is made of an earlier one. Cases that are changed and gone on with grow: they are two
to five times as dear, and [on planted versions](track-record.md) bring nothing that can be seen. So most runs are drawn from nothing, and some hunts
of each lock are not.
*Role changes*: how often a server was promoted, demoted or started again during a claim ([`sim/hunt/role_changes.h`](../sim/hunt/role_changes.h));
hunts from before they were counted have none. Scenario files are hunted as they stand, with servers that change their roles as often as can be
(`--role-changes 1000000`).
*New in the next run*: how many features (one thing after another at a lock, a branch of a script, a state of a record:
[coverage](../sim/hunt/coverage.h)) the next run of a hunt is expected to show that none of its runs did, by Good and Turing: those that
one run only came through, a run. From the hunt of which it says least to that of which it says most. It is no probability of a defect:
it says how far a hunt is from having seen all that such hunts come through. It supposes that runs do not depend on each other, as those that are
drawn from nothing do not. *Never reached*: marks that hunts have to reach and
none of these did.
{repairs}"""


# --- tests ------------------------------------------------------------------------------------------------------------------

class ShippedLocksTest(unittest.TestCase):
    def hunt(self, seed, runs, **more):
        return {"seed": seed, "probe": "1", "runs": runs, "virtual_ns": 0, "grants": 7, "unjudged": 0, "features": 9, "singletons": 4,
                "corpus": 3, "seconds": 2.0, "never_reached": [], "finds": [], **more}

    def test_the_lock_with_the_fewest_runs_is_next_with_a_seed_of_its_own(self):
        record = {"locks": {"a": [self.hunt(1, 64), self.hunt(4, 64)], "b": [self.hunt(1, 100)]}}
        self.assertEqual(next_hunt(record, ["a", "b"], 200), ("b", 2))
        self.assertEqual(next_hunt(record, ["a", "b", "c"], 200), ("c", 1))
        self.assertEqual(next_hunt(record, ["a"], 200), ("a", 5))
        self.assertIsNone(next_hunt(record, ["a", "b"], 100))

    def test_violations_are_counted_over_all_hunts_and_marks_are_missed_by_all(self):
        find = {"name": "progress/stall", "run": 3, "count": 2}
        cells = row("a", [self.hunt(1, 64, finds=[find], never_reached=["x", "y"]), self.hunt(2, 36, finds=[find], never_reached=["y"])])
        self.assertEqual(cells[1:4], ["100", "–", "2"])
        self.assertEqual(cells[6:8], ["–", "progress/stall (4)"])
        self.assertEqual(cells[9:11], ["0.0625 to 0.1111", "y"])
        self.assertEqual(cells[11], "25")

    def test_runs_that_are_drawn_from_nothing_are_told(self):
        self.assertEqual(row("a", [self.hunt(1, 64), self.hunt(2, 1024, feedback=False)])[1:3], ["1,088", "1,024"])

    def test_role_changes_are_counted_where_a_hunt_counted_them(self):
        hunts = [self.hunt(1, 64), self.hunt(2, 64, role_changes=1200), self.hunt(3, 64, role_changes=34)]
        record = {"locks": {"a": hunts}}
        self.assertEqual(row("a", hunts)[6], "1,234")
        self.assertEqual(next_hunt(record, ["a"], 1235, role_changes_of), ("a", 4))
        self.assertIsNone(next_hunt(record, ["a"], 1234, role_changes_of))

    def test_what_is_kept_of_a_hunt(self):
        violation = {"check": "at-rest", "kind": "not-free", "shape": "", "why": "...", "runs": 2, "first_run": 9, "first": {}}
        document = {**self.hunt(1, 64), "feedback": True, "role_changes": 0, "seconds": 0.123456, "violations": [violation], "coverage": ["..."], "cases": []}
        hunt = kept(document)
        self.assertEqual(hunt["finds"], [{"name": "at-rest/not-free", "run": 9, "count": 2}])
        self.assertEqual(hunt["seconds"], 0.1)
        self.assertNotIn("coverage", hunt)
        self.assertNotIn("feedback", hunt)
        self.assertEqual(kept({**document, "feedback": False})["feedback"], False)
        self.assertEqual(name_of({"check": "", "kind": "error", "shape": "no task"}), "harness/error (no task)")

    def test_what_is_mended_is_listed_and_counts_no_longer(self):
        found = {"name": "at-rest/not-free", "run": 39260, "count": 1}
        hunts = [self.hunt(5, 64, finds=[{**found, "mended": "WAIT after WAIT."}])]
        self.assertEqual(row("a", hunts)[7], "none")
        text = page({"locks": {"a": hunts}})
        self.assertIn("64 runs of 1 lock, 1 without a violation", text)
        self.assertIn("- `a`, `at-rest/not-free`, run 39,260 of seed 5: WAIT after WAIT.\n", text)
        self.assertIn("100 runs of 1 lock, 0 without a violation", page({"locks": {"a": hunts + [self.hunt(6, 36, finds=[found])]}}))

    def test_the_page_says_how_many_are_clean(self):
        text = page({"locks": {"a": [self.hunt(1, 64)], "b": [self.hunt(1, 36, finds=[{"name": "p", "run": 1, "count": 1}])]}})
        self.assertIn("100 runs of 2 locks, 1 without a violation", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goal", type=int, help="hunt until each lock has so many runs; without it the page is written from what is there")
    parser.add_argument("--role-changes", type=int, metavar="N", help="hunt survivors until servers have changed their roles N times during a claim")
    parser.add_argument("--runs", type=int, default=51_200, help="of one hunt")
    parser.add_argument("--no-feedback", action="store_true", help="draw each case from nothing")
    parser.add_argument("--for", dest="time", metavar="TIME", help="begin no new hunt after that time, such as 10m")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--locks", metavar="NAMES", help="only these, with commas between them")
    parser.add_argument("--out", metavar="DIR", help="write what is found here, a folder a hunt, made small")
    parser.add_argument("--check", action="store_true", help="exit 1 if the page is not that of the raw results")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    if arguments.self_test:
        unittest.main(argv=[sys.argv[0]])
    if arguments.goal and arguments.role_changes:
        parser.error("--goal or --role-changes, not both")
    if arguments.goal or arguments.role_changes:
        status = hunt_on(arguments)
        if status != 0:
            return status
    text = page(read_record())
    if arguments.check:
        with open(PAGE, encoding="utf-8") as handle:
            if handle.read() == text:
                return 0
        print(f"{PAGE}: says something else than {DATA}: run tools/planted/shipped_locks.py")
        return 1
    with open(PAGE, "w", encoding="utf-8") as handle:
        handle.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
