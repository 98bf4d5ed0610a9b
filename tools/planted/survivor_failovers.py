#!/usr/bin/env python3
"""Failovers under load on real servers and Sentinels, as a page with figures: who was granted twice, and how long nobody was.

    tools/planted/survivor_failovers.py [--goal RUNS] [--jobs N] [--locks NAMES] [--stories NAMES]    runs what is missing, then writes
    tools/planted/survivor_failovers.py --add DIR     adds runs that `holdfast run --world real --out DIR --keep all` has kept
    tools/planted/survivor_failovers.py --pictures | --figure | --check | --self-test

The stories are scenarios/survivor/sentinels/*.toml. Raw results lie in results/data/survivor/failovers.json, a line a run; one call
after another adds to them, each run with a seed that the story and the lock did not have yet. From them this writes
results/survivor-failovers.md. --pictures: runs each lock once more, and keeps when it granted in results/data/survivor/pictures.json.
--figure: draws results/figures/survivor_failover.png of that (needs matplotlib). --check: exit 1 if the page says anything else than
the raw results.

Claims are computed here a second time, from the histories: a run in which this and the check `lease-exclusion` disagree ends the call.
"""
import argparse
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
STORIES = ["kill", "pause", "partition", "rejoin", "restart"]
FOLDER = "scenarios/survivor/sentinels"
DATA = "results/data/survivor/failovers.json"
PRICE = "results/data/survivor/price.json"  # holdfast bench wrote it
PICTURES = "results/data/survivor/pictures.json"
PAGE = "results/survivor-failovers.md"
FIGURE = "results/figures/survivor_failover.png"
# The quarantine of these files: a lease of 3 s, the drift on it (1%), a skew of a tenth of it, 5 ms.
QUARANTINE = 3 * 1.01 + 0.3 + 0.005
VARIANTS = {"survivor": "base", "survivor-fair": "fair", "reentrant": "reentrant", "redlock": "redlock"}
ONLY = {"redlock": ["restart"]}  # stories that a lock can be in
SURVIVORS = ("survivor", "survivor-fair")
ABOUT = {
    "kill": "The primary is killed while its holder stands still; the Sentinels do not reach one replica, and promote the other one, which had fallen "
            "behind. The old primary comes back empty.",
    "pause": "The same, and the primary stands still instead of dying; it goes on after eight seconds.",
    "partition": "The primary is cut off for eight seconds together with a client that goes on there.",
    "rejoin": "A replica restarts empty and joins again, two to four seconds before the primary is killed.",
    "restart": "The primary is killed and comes back empty after 0.2 s, before the Sentinels act: no failover, but a server new in its role.",
}


# --- a run ------------------------------------------------------------------------------------------------------------------

def events_of(path):
    with open(path, encoding="utf-8") as handle:
        head = json.loads(next(handle))
        return head, [json.loads(line) for line in handle]


class Claim:
    def __init__(self, event):
        self.id, self.owner, self.node, self.token = event["id"], event["owner"], event.get("node"), event.get("token")
        self.begin, self.until, self.end = event["time"], event["valid_until"], None

    def over(self):
        return min(self.until, self.end if self.end is not None else self.until)


def claims_of(events):
    """Who had the word of a lock service that it is its own, from when until when: until it began to release, was told of its
    loss, or the time was over that it was last promised."""
    claims, by_id = [], {}
    for event in events:
        kind, outcome = event["f"], event["type"]
        if kind == "acquire" and outcome == "ok":
            by_id[event["id"]] = claim = Claim(event)
            claims.append(claim)
        claim = by_id.get(event.get("id"))
        if claim is None or claim.end is not None:
            continue
        if kind == "renew" and outcome == "ok" and event["time"] <= claim.until:
            claim.until = max(claim.until, event.get("valid_until", 0))
        elif (kind == "release" and outcome == "invoke") or kind == "lost":
            claim.end = event["time"]
    return claims


def overlaps_of(claims):
    """(from, to) of each claim of somebody that began while somebody else had one."""
    found, open_claims = [], []
    for claim in sorted(claims, key=lambda one: one.begin):
        open_claims = [one for one in open_claims if one.over() > claim.begin]
        others = [one for one in open_claims if one.owner != claim.owner]
        if others:
            found.append((claim.begin, min(claim.over(), max(one.over() for one in others))))
        open_claims.append(claim)
    return found


def falling_of(claims):
    """How many grants had no greater token than one before them."""
    count, greatest = 0, 0
    for claim in sorted(claims, key=lambda one: one.begin):
        if claim.token is None:
            continue
        count += claim.token <= greatest
        greatest = max(greatest, claim.token)
    return count


def first(events, at, fits):
    return next((event for event in events if event["time"] >= at and fits(event)), None)


def fault_at(events, name):
    return first(events, 0, lambda e: e["f"] == "fault" and e.get("key") == name and e.get("value") == 1)


def seconds(ns):
    return round(ns / 1e9, 3)


def longest(times, begin, end):
    """The longest time without one of `times` between two moments."""
    inside = [begin, *(time for time in times if begin < time < end), end]
    return max(after - before for before, after in zip(inside, inside[1:]))


def row_of(document, head, events):
    story = re.search(r"([a-z]+)\.toml$", document["file"])[1]
    lock = next(name for name, variant in VARIANTS.items() if variant == (document["variant"] or "base"))
    claims = claims_of(events)
    overlaps = overlaps_of(claims)
    broken = {verdict["check"]: verdict["violations"] for verdict in document["verdicts"] if verdict["verdict"] == "violated"}
    if ("lease-exclusion" in broken) != bool(overlaps):
        raise SystemExit(f"{document['file']}, {lock}, seed {document['seed']}: lease-exclusion is "
                         f"{'violated' if 'lease-exclusion' in broken else 'not violated'}, and {len(overlaps)} claims overlap here")
    row = {"story": story, "lock": lock, "seed": document["seed"], "trace": document["trace"], "broken": sorted(set(broken) - {"reached"}),
           "reached": "reached" not in broken, "grants": len(claims), "double": len(overlaps), "tokens": sum(claim.token is not None for claim in claims),
           "falling": falling_of(claims),
           "oversold": max(0, sum(e["f"] == "sell" and e["type"] == "ok" for e in events) - head["initial_stock"])}
    down = fault_at(events, "down")
    if down is None:
        return row
    grants = [claim.begin for claim in claims]
    row["last"] = seconds(max((time for time in grants if time <= down["time"]), default=0) - down["time"])
    new = first(events, down["time"], lambda e: e["f"] == "effect" and e.get("mode") == ("restarted" if story == "restart" else "promoted"))
    if new is not None:
        row["new"] = seconds(new["time"] - down["time"])
        on_new = [event for event in events if event["time"] >= new["time"] and event.get("node") == new["node"]]
        ask = first(on_new, 0, lambda e: e["f"] == "store-grant" and e["type"] == "invoke")
        # an acquire that the server lets through; a release may hand over, which only an acquire confirms
        let = first(on_new, 0, lambda e: e["f"] == "store-grant" and e["type"] == "ok" and e.get("value") == 1
                    and e.get("id", "").split("-")[0] == e.get("owner"))
        granted = first(on_new, 0, lambda e: e["f"] == "acquire" and e["type"] == "ok")
        for name, event in (("ask", ask), ("let", let), ("granted", granted)):
            if event is not None:
                row[name] = seconds(event["time"] - down["time"])
        # When Sentinels told each of the others to follow it; the mark has a node since these runs have "turns".
        marks = [e for e in events if e["f"] == "mark" and e.get("key") == "replica-turned" and e["time"] >= new["time"]]
        if all("node" in mark for mark in marks):
            row["turns"] = sorted([seconds(mark["time"] - down["time"]), mark["node"]] for mark in marks if mark["node"] != new["node"])
        if granted is not None:
            row["after"] = seconds(longest(grants, granted["time"], max(granted["time"], *grants)))
    joins = fault_at(events, "joins")
    if joins is not None:
        row["joining"] = seconds(longest(grants, joins["time"], down["time"]))
    return row


def kept_runs(folder):
    for path, _, files in sorted(os.walk(folder)):
        if "run.json" not in files:
            continue
        with open(os.path.join(path, "run.json"), encoding="utf-8") as handle:
            document = json.load(handle)
        if document["world"] != "real" or not document["file"].startswith(FOLDER):
            continue
        yield (document, *events_of(os.path.join(path, "history.jsonl")))


# --- the record -------------------------------------------------------------------------------------------------------------

def read_rows():
    if not os.path.exists(DATA):
        return []
    with open(DATA, encoding="utf-8") as handle:
        record = json.load(handle)
    if record.get("kind") != "survivor-failovers" or record.get("schema") != 1:
        raise SystemExit(f"{DATA}: is no record of failovers, expected what {sys.argv[0]} wrote")
    return record["runs"]


def write_lines(path, kind, name, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as handle:
        handle.write(f'{{"kind": "{kind}", "schema": 1, "{name}": [\n')
        handle.write(",\n".join(json.dumps(row) for row in rows))
        handle.write("\n]}\n")
    os.replace(path + ".new", path)


def key_of(row):
    return STORIES.index(row["story"]), list(VARIANTS).index(row["lock"]), row["seed"]


def add(rows, folder):
    """What the folder has and the record has not."""
    known = {key_of(row) for row in rows}
    new = [row for row in (row_of(*run) for run in kept_runs(folder)) if key_of(row) not in known]
    write_lines(DATA, "survivor-failovers", "runs", sorted(rows + new, key=key_of))
    return len(new)


def next_seeds(rows, story, lock, goal, at_once):
    """(first, last) of the seeds that are run next; None: there are enough."""
    seeds = [row["seed"] for row in rows if (row["story"], row["lock"]) == (story, lock)]
    missing = goal - len(seeds)
    if missing <= 0:
        return None
    begin = max(seeds, default=0) + 1
    return begin, begin + min(missing, at_once) - 1


def run_real(story, lock, seeds, folder, jobs):
    command = [os.environ.get("HOLDFAST", "build/holdfast"), "run", f"{FOLDER}/{story}.toml", "--world", "real", "--variant", VARIANTS[lock], "--seeds", "%d..%d" % seeds,
               "--jobs", str(jobs), "--out", folder, "--keep", "all"]
    status = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    if status not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: exit {status}")


def run_on(arguments, locks, stories):
    for lock in locks:
        for story in stories:
            while lock not in ONLY or story in ONLY[lock]:
                seeds = next_seeds(read_rows(), story, lock, arguments.goal, 4 * arguments.jobs)
                if seeds is None:
                    break
                with tempfile.TemporaryDirectory() as folder:
                    run_real(story, lock, seeds, folder, arguments.jobs)
                    if add(read_rows(), folder) == 0:
                        raise SystemExit(f"{lock}, {story}: seeds {seeds} left nothing behind")
                print(f"{lock}, {story}: up to seed {seeds[1]}", flush=True)


# --- the page ---------------------------------------------------------------------------------------------------------------

def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows]) + "\n"


def span(values):
    """Median and greatest."""
    values = list(values)
    return f"{statistics.median(values):.2f} / {max(values):.2f}" if values else ""


def gaps(rows):
    return [row["granted"] - row["last"] for row in rows if "granted" in row]


def beyond(rows):
    """What a gap has beyond a quarantine and the time until there was a primary again."""
    return [row["granted"] - row["last"] - (row["new"] - row["last"]) - QUARANTINE for row in rows if "granted" in row]


def turned(row):
    """When the replica was turned to the new primary that the first grant needed: the first one to be, and each the last time that it
    was told so, as a Sentinel tells it again when it had not heard. Not later than a quarantine before the grant: one that was is
    not the one. None: nobody was turned."""
    last = {}
    for time, node in row["turns"] if "turns" in row else []:
        if row["new"] <= time <= row["granted"] - QUARANTINE:
            last[node] = max(time, last.get(node, time))
    return min(last.values(), default=None)


def beyond_sentinels(rows):
    """What a gap has beyond a quarantine and all that the Sentinels took: there is a primary again, and a replica follows it."""
    return [row["granted"] - max(row["new"], turned(row) if turned(row) is not None else row["new"]) - QUARANTINE for row in rows if "granted" in row]


def by_time_of_turns(rows):
    """Runs whose histories say which replica was turned, and those from before."""
    return [row for row in rows if "turns" in row], [row for row in rows if "turns" not in row]


def what_happened(rows):
    cells = []
    for lock in VARIANTS:
        for story in STORIES:
            of = [row for row in rows if (row["story"], row["lock"]) == (story, lock)]
            if not of:
                continue
            tokens = sum(row["tokens"] for row in of)
            cells.append([f"`{lock}`", story, str(len(of)), f"{sum(row['grants'] for row in of):,}",
                          f"{sum(row['double'] > 0 for row in of)} ({sum(row['double'] for row in of)})",
                          f"{sum(row['falling'] for row in of)} of {tokens:,}" if tokens else "no tokens", f"{sum(row['oversold'] for row in of):,}",
                          ", ".join(sorted({check for row in of for check in row["broken"]})) or "none"])
    return table(["lock", "story", "runs", "grants", "runs with a double grant (grants)", "falling tokens", "oversold", "checks violated"], cells)


def granted_in(rows, lock, story):
    return [row for row in rows if (row["story"], row["lock"]) == (story, lock) and "granted" in row]


def how_long(rows):
    """Of each lock and story the runs that say who was turned, if there are any."""
    cells = []
    for lock in VARIANTS:
        for story in STORIES:
            of = granted_in(rows, lock, story)
            of = by_time_of_turns(of)[0] or of
            if not of or lock == "redlock":
                continue
            survives, knows = lock in SURVIVORS, "turns" in of[0]
            cells.append([f"`{lock}`", story, str(len(of)), span(gaps(of)), span(row["new"] - row["last"] for row in of),
                          span(turned(row) - row["last"] for row in of if turned(row) is not None) if survives else "",
                          f"{QUARANTINE:.2f}" if survives else "", span(beyond_sentinels(of)) if survives and knows else "",
                          span(row["ask"] - row["new"] for row in of if "ask" in row), span(row["after"] for row in of if "after" in row),
                          span(row["joining"] for row in of if "joining" in row)])
    return table(["lock", "story", "runs", "no grant for", "until there is a primary", "until a replica is turned to it", "Q", "beyond Q and the later of the two",
                  "until it is asked", "longest later gap", "longest gap around the join"], cells)


def before(rows):
    """How long it was in the runs that do not say who was turned."""
    cells = []
    for lock in SURVIVORS:
        for story in STORIES:
            now, then = by_time_of_turns(granted_in(rows, lock, story))
            if then:
                cells.append([f"`{lock}`", story, str(len(then)), span(gaps(then)), span(beyond(then)), str(len(now)) if now else "", span(gaps(now)),
                              span(beyond(now))])
    return table(["lock", "story", "runs before", "no grant for", "beyond Q and the promotion", "runs since", "no grant for", "beyond Q and the promotion"], cells)


def sums(rows, locks):
    of = [row for row in rows if row["lock"] in locks]
    count = collections.Counter()
    for row in of:
        count["runs"] += 1
        count["failovers"] += row["story"] != "restart" and "new" in row
        count["restarts"] += row["story"] == "restart" and "new" in row
        for name in ("double", "falling", "oversold", "grants", "tokens"):
            count[name] += row[name]
        count["runs_double"] += row["double"] > 0
        count["violated"] += len(row["broken"])
    return count


def page(rows, has_figure):
    ours, plain = sums(rows, SURVIVORS), sums(rows, ("reentrant",))
    survivors = [row for row in rows if row["lock"] in SURVIVORS and "granted" in row]
    now = by_time_of_turns(survivors)[0]
    rest = [row for row in now if row["story"] != "restart"]
    restarts = [row for row in now if row["story"] == "restart"]
    latest = max((row for row in rest if "ask" in row), key=lambda row: beyond_sentinels([row])[0], default=None)
    longest = "" if latest is None else (f" Where it took longest (`{latest['lock']}`, {latest['story']}, seed {latest['seed']}) {latest['ask'] - latest['new']:.2f} s of it "
                                         "passed before a client asked the new primary.")
    others = ("" if any("turns" in row for row in rows if row["lock"] not in SURVIVORS) else
              "Runs of `reentrant` and `redlock` are from before the connections of a client followed each other to the new primary.\n\n")
    figure = "\n![a failover, as three locks live through it](figures/survivor_failover.png)\n" if has_figure else ""
    return f"""# Failovers under load: `survivor` beside `reentrant`

Three real redis-servers, three real Sentinels, eight clients (`pause`: sixteen) that want one lock without a pause and hold it for 5 to 25 ms:
[`{FOLDER}`](../{FOLDER}). With a lease of 3 s the quarantine Q is {QUARANTINE:.3f} s. Written by

```console
$ tools/planted/survivor_failovers.py --goal 25
```

which runs what is missing and adds to [`data/survivor/failovers.json`](data/survivor/failovers.json).

**`survivor` and `survivor-fair`: {ours["failovers"]} failovers and {ours["restarts"]} restarts without memory, {ours["grants"]:,} grants: {ours["double"]} double grants,
{ours["falling"]} falling tokens, {ours["oversold"]} oversold. `reentrant` in the same stories: {plain["failovers"]} failovers and {plain["restarts"]} restarts, {plain["runs_double"]} of
{plain["runs"]} runs with a double grant, {plain["falling"]} falling tokens, {plain["oversold"]} oversold.**
{figure}
{chr(10).join(f"- `{story}`: {ABOUT[story]}" for story in STORIES)}

## What happened

{what_happened(rows)}
A grant counts as double when somebody else has a valid claim at that moment; claims are computed twice, by the check `lease-exclusion` and
by the script from the histories, and both must agree. Tokens fall when one is not greater than all before it. `survivor` sells behind a check of tokens,
`reentrant` and `redlock` without one: what they oversell is what two holders at a time do to a shop. In `rejoin` nothing lags, and
`reentrant` gets away with it. `redlock` has three servers on their own: one that granted forgets, and one comes back that was away.

## How long nobody is granted anything

{how_long(rows)}
Seconds, median / greatest. *Until there is a primary*: from the last grant to the promotion (`restart`: until it is back). *Until a replica is turned to it*:
until a Sentinel has told the replica that the first grant needed to follow the new primary, the last time that it told it so before the grant. With three members
and one of them away the grant needs the other one, a quarantine after it has joined. So what the Sentinels take ends at the later of the two: in `kill` and `pause` they had lost
sight of that replica, and turn it some three seconds after the promotion; in `partition` and `rejoin` they do at once. In `restart` there are no Sentinels to
wait for, and the replicas come back by themselves, when they try again, up to a second later: that stands in *beyond*.

So beyond Q and what the Sentinels take a gap lasts {span(beyond_sentinels(rest)) or "?"} s over all such runs with a failover, and {span(beyond_sentinels(restarts)) or "?"} s after a restart.{longest} *Until it is asked*: from the promotion
to the first question of a client; in `partition` clients first have to give up a server that says nothing more. *Longest later gap*: after the first grant of the new primary, in which the old one
comes back and joins. *Longest gap around the join*: of `rejoin`, from the restart of the replica to the death of the primary: a replica that has just joined is asked for an
acknowledgement, and gives its first one up to a second after its link is up; who knows the other replica asks it for none.

{others}The histories say which replica was turned only since the clients ask when their acquire would count, and not before or after. The runs before that (of which the first 31 and 10
of a story knew the ages of links only in whole seconds), beside these:

{before(rows)}{price_section()}"""


# --- the price --------------------------------------------------------------------------------------------------------------

PRICED = ["reentrant", "survivor", "survivor, two replicas"]


def ratio(one, other, metric):
    """Median over the rounds of one subject's figure by the other's of the same round."""
    both = zip(one["metrics"][metric]["rounds"], other["metrics"][metric]["rounds"])
    return statistics.median(a / b for a, b in both)


def price(document):
    rows = []
    for clients, connections in (("1", "shared"), ("50", "shared"), ("50", "own")):
        for world in ("real/fibers", "real/threads"):
            at = {m["subject"]: m for m in document["measurements"] if m["suite"] == "uncontended" and m["world"] == world
                  and m["parameters"] == {"clients": clients, "connections": connections}}
            for name in PRICED:
                if name not in at or PRICED[0] not in at:
                    continue
                one, plain = at[name], at[PRICED[0]]
                figure = {metric: values["median"] for metric, values in one["metrics"].items()}
                turns = "of_trips_by_turns"
                by_turns = f"{1 / ratio(one, plain, turns):.2f}" if turns in one["metrics"] and turns in plain["metrics"] else ""
                rows.append([clients, connections, world.split("/")[1], f"`{name}`" if "," not in name else f"`survivor`{name[8:]}",
                             f"{figure['pairs']:,.0f}", f"{ratio(one, plain, 'pairs'):.2f}", by_turns, f"{figure['p50']:,.0f}",
                             f"{ratio(plain, one, 'p50'):.2f}", f"{figure['commands']:.2f}", f"{figure['server_cpu']:.0f}"])
    return table(["callers", "connections", "on", "lock", "pairs/s", "of `reentrant`", "the same, by turns", "p50, us", "p50 of `reentrant` by it",
                  "commands a pair", "CPU of the primary a pair, us"], rows)


def price_section():
    if not os.path.exists(PRICE):
        return ""
    with open(PRICE, encoding="utf-8") as handle:
        document = json.load(handle)
    machine = document["machine"]
    return f"""
## What it costs

A key for each caller, which nobody else wants. `survivor` is the only member of its set: nobody has to acknowledge. *Two replicas*: three
members, one acknowledgement. Pairs of an acquire and a release; medians of the rounds, ratios within a round; *by turns*: of one caller, each pair beside two
bare round trips, which a busy machine disturbs alike.

```console
$ {document["command"]}
```

{machine.get("cpu", "?")}, {machine.get("cores", "?")} cores; load before {machine.get("load_before", "?")}, after {machine.get("load_after", "?")}.

{price(document)}
A server alone is asked by one script and answers at once: what it costs beyond `reentrant` is that script where the other one sends a SET, and in it a look at
INFO and at the mark. With replicas a pair is five commands, of which four are the acquire's, in one round trip: the script, the list of replicas, WAIT, and the
script that looks again. Acquires of one client that are asked for at once share the list and WAIT
([`store`](../lib/lock/README.md)): with fifty callers on one connection a pair is three commands.
"""


# --- the picture ------------------------------------------------------------------------------------------------------------

PICTURED = [("reentrant", "kill"), ("redlock", "restart"), ("survivor", "kill")]


def picture_of(document, head, events):
    """When was granted, in ms since the server went down."""
    row = row_of(document, head, events)
    claims = claims_of(events)
    down = fault_at(events, "down")["time"]
    return {"lock": row["lock"], "story": row["story"], "seed": row["seed"], "new": row.get("new"), "ask": row.get("ask"), "let": row.get("let"),
            "granted": row.get("granted"), "grants": [round((claim.begin - down) / 1e6) for claim in claims if abs(claim.begin - down) < 20e9],
            "double": [[round((a - down) / 1e6), round((b - down) / 1e6)] for a, b in overlaps_of(claims)]}


def take_pictures(jobs):
    """Of each lock the first of four seeds that did what it mostly does."""
    pictures = []
    for lock, story in PICTURED:
        with tempfile.TemporaryDirectory() as folder:
            run_real(story, lock, (1, 4), folder, jobs)
            runs = [picture_of(*run) for run in kept_runs(folder)]
        usual = statistics.median_low([len(run["double"]) > 0 for run in runs])
        pictures.append(next(run for run in runs if (len(run["double"]) > 0) == usual))
    write_lines(PICTURES, "survivor-pictures", "pictures", pictures)


# --- tests ------------------------------------------------------------------------------------------------------------------

def grant(time, owner, number, until, token, node="r1"):
    return {"time": time, "type": "ok", "f": "acquire", "id": f"{owner}-{number}", "owner": f"{owner}:0", "valid_until": until, "token": token,
            "node": node}


def release(time, owner, number):
    return {"time": time, "type": "invoke", "f": "release", "id": f"{owner}-{number}", "owner": f"{owner}:0"}


class FailoversTest(unittest.TestCase):
    def test_a_claim_ends_with_the_release_the_loss_or_the_time(self):
        events = [grant(0, "c1", 1, 100, 1), release(10, "c1", 1), grant(20, "c2", 1, 120, 2), grant(130, "c3", 1, 200, 3)]
        self.assertEqual(overlaps_of(claims_of(events)), [])
        lost = {"time": 30, "type": "ok", "f": "lost", "id": "c2-1"}
        self.assertEqual(overlaps_of(claims_of([*events[:3], lost, grant(40, "c3", 1, 200, 3)])), [])

    def test_a_claim_that_begins_within_another_is_a_double_grant(self):
        events = [grant(0, "c1", 1, 100, 1), grant(60, "c2", 1, 160, 2)]
        self.assertEqual(overlaps_of(claims_of(events)), [(60, 100)])
        renewed = {"time": 50, "type": "ok", "f": "renew", "id": "c1-1", "valid_until": 150}
        self.assertEqual(overlaps_of(claims_of([events[0], renewed, grant(120, "c2", 1, 220, 2)])), [(120, 150)])

    def test_a_renewal_that_comes_too_late_revives_nothing(self):
        late = {"time": 110, "type": "ok", "f": "renew", "id": "c1-1", "valid_until": 210}
        self.assertEqual(overlaps_of(claims_of([grant(0, "c1", 1, 100, 1), late, grant(120, "c2", 1, 220, 2)])), [])

    def test_a_token_falls_when_it_is_not_greater_than_all_before(self):
        self.assertEqual(falling_of(claims_of([grant(0, "a", 1, 9, 5), grant(10, "b", 1, 19, 5), grant(20, "a", 2, 29, 4), grant(30, "b", 2, 39, 6)])), 2)

    def events(self):
        second = 1_000_000_000
        return [grant(1 * second, "c1", 1, 2 * second, 1), release(int(1.5 * second), "c1", 1),
                {"time": 2 * second, "type": "info", "f": "fault", "key": "down", "value": 1},
                {"time": 3 * second, "type": "info", "f": "effect", "mode": "promoted", "node": "r2"},
                {"time": 4 * second, "type": "invoke", "f": "store-grant", "id": "c2-1", "owner": "c2", "node": "r2"},
                {"time": 5 * second, "type": "ok", "f": "store-grant", "id": "c2-1", "owner": "c1", "value": 1, "node": "r2"},
                {"time": 8 * second, "type": "ok", "f": "store-grant", "id": "c2-1", "owner": "c2", "value": 1, "node": "r2"},
                grant(9 * second, "c2", 1, 11 * second, 7, "r2")]

    def document(self, violated=False):
        verdict = {"check": "lease-exclusion", "verdict": "violated" if violated else "holds", "violations": int(violated)}
        return {"file": FOLDER + "/kill.toml", "variant": "", "seed": 3, "trace": "t", "world": "real", "verdicts": [verdict]}

    def test_the_parts_of_a_gap(self):
        row = row_of(self.document(), {"initial_stock": 5}, self.events())
        self.assertEqual([row[name] for name in ("last", "new", "ask", "let", "granted", "double", "oversold")], [-1, 1, 2, 6, 7, 0, 0])
        self.assertEqual(gaps([row]), [8])
        self.assertAlmostEqual(beyond([row])[0], 6 - QUARANTINE)

    def turn(self, time, node):
        return {"time": int(time * 1_000_000_000), "type": "info", "f": "mark", "key": "replica-turned", "node": node}

    def test_the_sentinels_are_done_when_the_replica_is_turned_that_the_grant_needed(self):
        def of(*turns):
            row = row_of(self.document(), {"initial_stock": 5}, sorted([*self.events(), *turns], key=lambda event: event["time"]))
            return turned(row), round(beyond_sentinels([row])[0] + QUARANTINE, 3)
        self.assertEqual(of(), (None, 6))
        self.assertEqual(of(self.turn(3.5, "r3")), (1.5, 5.5))
        self.assertEqual(of(self.turn(3.5, "r3"), self.turn(5, "r3")), (3, 4))  # it had not heard the first time
        self.assertEqual(of(self.turn(3.5, "r3"), self.turn(5, "r1")), (1.5, 5.5))  # one suffices
        self.assertEqual(of(self.turn(3.5, "r3"), self.turn(8, "r3")), (1.5, 5.5))  # a quarantine before the grant, or it is not the one
        self.assertEqual(of(self.turn(3.5, "r2")), (None, 6))  # the new primary itself

    def test_runs_without_the_nodes_of_turns_are_those_from_before(self):
        mark = {key: value for key, value in self.turn(3.5, "r3").items() if key != "node"}
        old = row_of(self.document(), {"initial_stock": 5}, sorted([*self.events(), mark], key=lambda event: event["time"]))
        new = row_of(self.document(), {"initial_stock": 5}, self.events())
        self.assertEqual(by_time_of_turns([old, new]), ([new], [old]))
        self.assertIn("| `survivor` | kill | 1 | 8.00 / 8.00 | 2.67 / 2.67 | 1 | 8.00 / 8.00 | 2.67 / 2.67 |", before([old, new]))

    def test_a_check_that_sees_something_else_ends_the_call(self):
        with self.assertRaises(SystemExit):
            row_of(self.document(violated=True), {"initial_stock": 5}, self.events())
        second = 1_000_000_000
        twice = [*self.events(), grant(10 * second, "c3", 1, 12 * second, 8)]
        with self.assertRaises(SystemExit):
            row_of(self.document(), {"initial_stock": 5}, twice)
        self.assertEqual(row_of(self.document(violated=True), {"initial_stock": 5}, twice)["double"], 1)

    def test_more_sales_than_stock_are_counted(self):
        sales = [{"time": 1, "type": "ok", "f": "sell"}] * 7
        self.assertEqual(row_of(self.document(), {"initial_stock": 5}, [*self.events(), *sales])["oversold"], 2)

    def test_the_next_seeds_are_new_ones(self):
        rows = [{"story": "kill", "lock": "survivor", "seed": seed} for seed in (1, 2, 7)]
        self.assertEqual(next_seeds(rows, "kill", "survivor", 10, 4), (8, 11))
        self.assertEqual(next_seeds(rows, "kill", "survivor", 5, 4), (8, 9))
        self.assertIsNone(next_seeds(rows, "kill", "survivor", 3, 4))
        self.assertEqual(next_seeds(rows, "kill", "reentrant", 3, 4), (1, 3))

    def test_the_price_is_a_ratio_within_a_round(self):
        def measured(subject, pairs):
            figures = {"pairs": pairs, "p50": [50, 100], "commands": [2, 2], "server_cpu": [9, 9]}
            return {"suite": "uncontended", "world": "real/fibers", "subject": subject, "parameters": {"clients": "1", "connections": "shared"},
                    "metrics": {name: {"median": statistics.median(rounds), "rounds": rounds} for name, rounds in figures.items()}}
        text = price({"measurements": [measured("reentrant", [1000, 100]), measured("survivor", [700, 70])]})
        self.assertIn("| `survivor` | 385 | 0.70 |", text)

    def test_the_page_counts_what_the_runs_say(self):
        row = row_of(self.document(), {"initial_stock": 5}, self.events())
        bad = {**row, "lock": "reentrant", "double": 3, "falling": 2, "oversold": 4, "broken": ["lease-exclusion"]}
        text = page([row, bad], False)
        self.assertIn("1 failovers and 0 restarts without memory, 2 grants: 0 double grants,\n0 falling tokens, 0 oversold", text)
        self.assertIn("1 of\n1 runs with a double grant, 2 falling tokens, 4 oversold", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goal", type=int, help="run until each story has so many runs of each lock; without it the page is written from what is there")
    parser.add_argument("--jobs", type=int, default=4, help="runs at a time")
    parser.add_argument("--locks", metavar="NAMES", default=",".join(VARIANTS), help="only these, with commas between them")
    parser.add_argument("--stories", metavar="NAMES", default=",".join(STORIES))
    parser.add_argument("--add", metavar="DIR", help="add the runs that are kept there")
    parser.add_argument("--pictures", action="store_true", help="record what the figure shows")
    parser.add_argument("--figure", action="store_true", help="draw it")
    parser.add_argument("--check", action="store_true", help="exit 1 if the page is not that of the raw results")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    if arguments.self_test:
        unittest.main(argv=[sys.argv[0]])
    for given, known in ((arguments.locks, VARIANTS), (arguments.stories, STORIES)):
        for name in given.split(","):
            if name not in known:
                raise SystemExit(f"{name}: unknown, expected some of {', '.join(known)}")
    if arguments.add:
        print(f"{add(read_rows(), arguments.add)} runs added")
    if arguments.goal:
        run_on(arguments, arguments.locks.split(","), arguments.stories.split(","))
    if arguments.pictures:
        take_pictures(arguments.jobs)
    if arguments.figure:
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        import survivor_figure
        survivor_figure.draw(PICTURES, FIGURE, QUARANTINE)
    text = page(read_rows(), os.path.exists(FIGURE))
    if arguments.check:
        with open(PAGE, encoding="utf-8") as handle:
            if handle.read() == text:
                return 0
        print(f"{PAGE}: says something else than {DATA}: run tools/planted/survivor_failovers.py")
        return 1
    with open(PAGE, "w", encoding="utf-8") as handle:
        handle.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
