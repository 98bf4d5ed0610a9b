#!/usr/bin/env python3
"""The track record: what hunts find of what is known to be wrong, as a page with figures.

    tools/planted/track_record.py [--hunts N [--runs N] [--real N] [--for TIME] [--jobs N]]    hunts what is missing, then writes
    tools/planted/track_record.py --check | --self-test

Raw results lie in results/data/hunts/track-record.json: `build/hunt_planted --record` adds to them, one call after another. From them
this writes results/track-record.md, the small scenarios of sim/planted/scenarios/ and, where matplotlib is there,
results/figures/track_record_*.png. --check: exit 1 if the page or a scenario says anything else than the raw results.

Runs until something is found are survival times: a hunt that ended without a find is censored at its last run. The curves are
those of Kaplan and Meier (JASA 53, 1958), their intervals Greenwood's on the scale of log(-log).
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tomllib
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
DATA = "results/data/hunts/track-record.json"
PAGE = "results/track-record.md"
SCENARIOS = "sim/planted/scenarios"
SHOWN = ("all", "no feedback", "no targets", "no swarm")  # in a column each
ORDERS = ("random order", "priorities", "partial order", "chains")
STRATEGIES = SHOWN + ORDERS
Z = 1.959964  # 95%


# --- survival ---------------------------------------------------------------------------------------------------------------

def curve(hunts):
    """[(runs, share not found yet, low, high)] at each find; hunts are (runs, found)."""
    points, share, greenwood = [], 1.0, 0.0
    for time in sorted({runs for runs, found in hunts if found}):
        at_risk = sum(runs >= time for runs, _ in hunts)
        finds = sum(found and runs == time for runs, found in hunts)
        share *= 1 - finds / at_risk
        if 0 < share < 1:
            greenwood += finds / (at_risk * (at_risk - finds))
            error = Z * math.sqrt(greenwood) / abs(math.log(share))
            points.append((time, share, share ** math.exp(error), share ** math.exp(-error)))
        else:
            points.append((time, share, share, share))
    return points


def median(hunts):
    """The first number of runs by which half have found it; None: more than half have not."""
    return next((time for time, share, _, _ in curve(hunts) if share <= 0.5), None)


def found_within(hunts, runs):
    """(share, low, high) of hunts that have found it within so many runs."""
    before = [point for point in curve(hunts) if point[0] <= runs]
    if not before:
        return 0.0, 0.0, 0.0
    _, share, low, high = before[-1]
    return 1 - share, 1 - high, 1 - low


# --- the record -------------------------------------------------------------------------------------------------------------

class Record:
    def __init__(self, document):
        if document.get("kind") != "track-record" or document.get("schema") != 1:
            raise SystemExit(f"{DATA}: is no track record, expected what `build/hunt_planted --record` wrote")
        self.subjects = {one["subject"]: one for one in document["subjects"]}
        self.rows = {(row["subject"], row["strategy"]): row["by_seed"] for row in document["hunts"]}
        self.small = {one["subject"]: one for one in document["small"]}

    def planted(self):
        return [name for name, one in self.subjects.items() if one["lock"]]

    def published(self):
        return [name for name, one in self.subjects.items() if not one["lock"]]

    def hunts(self, subject, strategy, wanted=None):
        """(runs, found) of each hunt, by seed. `wanted`: a promise, with or without its kind; None: any."""
        hunts = []
        for seed in sorted(self.rows.get((subject, strategy), {}), key=int):
            hunt = self.rows[subject, strategy][seed]
            found = [runs for promise, runs in hunt["found"].items()
                     if wanted is None or promise == wanted or promise.startswith(wanted + "/")]
            hunts.append((min(found), True) if found else (hunt["tried"], False))
        return hunts

    def promises(self, subject):
        first = {}
        for strategy in STRATEGIES:
            for hunt in self.rows.get((subject, strategy), {}).values():
                for promise, runs in hunt["found"].items():
                    first[promise] = min(runs, first.get(promise, runs))
        return sorted(first, key=lambda promise: (first[promise], promise))


def cell(hunts):
    if not hunts:
        return "–"
    middle = median(hunts)
    text = str(middle) if middle is not None else f"> {max(runs for runs, _ in hunts)}"
    finds = sum(found for _, found in hunts)
    return text if finds == len(hunts) else f"{text} ({finds} of {len(hunts)})"


def size(one):
    return f"{one['faults']} / {one['tasks']} / {one['operations']}"


def tally(one, wanted="violated"):
    runs = one["holds"] + one["violated"] + one["unknown"]
    return f"{one[wanted]} of {runs}"


def outcome(one):
    """Of the lock itself: where nothing is violated, on how many seeds a check could tell."""
    if one["violated"]:
        return f"violated {tally(one)}"
    if not one["unknown"]:
        return "holds"
    return f"holds {tally(one, 'holds')}, else unknown" if one["holds"] else "unknown: nothing is left to be judged"


def small_cells(small, file=None):
    """sizes, embedded / real, ours; `file`: the small scenario"""
    if small is None:
        return ["–", "–", "–"]
    shown = f"{small['seeds']} of 20"
    if small["decisions"]:
        shown += f" ({small['decisions']} decisions)"
    real = tally(small["real"]) if small["real"] else "cannot be done" if small["why_not_real"] else "not run"
    ours = "–"
    if small["ours"]:
        ours = f"`{small['ours']}`: "
        ours += outcome(small["of_ours"])
    after = f"[{size(small['after'])}](../{file})" if file else size(small["after"])
    return [f"{size(small['before'])} → {after}", f"{shown} / {real}", ours]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def source_of(version):
    """The file of sim/planted that has it."""
    folder = os.path.join(ROOT, "sim/planted")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".cc") and not name.endswith("_test.cc"):
            with open(os.path.join(folder, name), encoding="utf-8") as handle:
                if f'"{version}"' in handle.read():
                    return f"../sim/planted/{name}"
    return "../sim/planted/README.md"


def museum():
    """(entry, file, lock, promise, or None if a hunt does not ask for it) of each file of the museum."""
    folder = os.path.join(ROOT, "scenarios/museum")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".toml"):
            continue
        with open(os.path.join(folder, name), "rb") as handle:
            document = tomllib.load(handle)
        broken = [one["check"] + ("/" + one["kind"] if "kind" in one else "") for one in document["expect"]
                  if one.get("is") == "violated"]
        asked = [one for one in broken if one.split("/")[0] in ASKED]
        yield name.split("-")[0], name, document["lock"]["kind"], asked[0] if asked else None


# What a hunt of a published design asks for: promises_of() in sim/hunt/ground.cc.
ASKED = {"lease-exclusion", "no-foreign-release", "progress", "told-in-time", "fencing-monotonic", "latch"}


def scenarios(record):
    """{file: text} of the failures that were made small and show on most seeds, of planted versions."""
    return {f"{SCENARIOS}/{name.removeprefix('planted-')}.toml": record.small[name]["scenario"]
            for name in record.planted() if name in record.small and 2 * record.small[name]["seeds"] > 20}


# --- the page ---------------------------------------------------------------------------------------------------------------

def begun_strategies(record):
    """Those that have hunted more than half of the planted versions; of others there would be little to compare."""
    known = [name for name in record.planted() if not record.subjects[name]["escapes"]]
    return [one for one in STRATEGIES if 2 * sum(bool(record.hunts(name, one)) for name in known) > len(known)] or [STRATEGIES[0]]


def compared(record, name, strategy):
    """The hunts of one version; only of seeds with which all strategies of the table have hunted it, so that they compare."""
    by_seed = dict(zip(sorted(record.rows.get((name, strategy), {}), key=int), record.hunts(name, strategy)))
    common = set.intersection(*(set(record.rows.get((name, other), {})) for other in begun_strategies(record)))
    return [hunt for seed, hunt in by_seed.items() if seed in common]


def pooled(record, strategy):
    """Those of all planted versions that a hunt should find."""
    return [hunt for name in record.planted() if not record.subjects[name]["escapes"] for hunt in compared(record, name, strategy)]


def many(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def numbers(counts):
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def strategies_table(record):
    rows = []
    for strategy in begun_strategies(record):
        hunts = pooled(record, strategy)
        if not hunts:
            continue
        most = max(tried for tried, _ in hunts)
        everything = all(found for _, found in hunts)
        shares = [found_within(hunts, runs) if everything or runs <= most else None for runs in (16, 64, 256, 1024)]
        sooner = later = 0
        for name in record.planted():
            ours, theirs = median(compared(record, name, "all")), median(compared(record, name, strategy))
            sooner += (ours or math.inf) < (theirs or math.inf)
            later += (ours or math.inf) > (theirs or math.inf)
        rows.append([strategy, str(len(hunts)), *(f"{one[0]:.0%} ({one[1]:.0%} to {one[2]:.0%})" if one else "–" for one in shares),
                     "" if strategy == "all" else f"{sooner} / {later}"])
    return table(["strategy", "hunts", "16 runs", "64 runs", "256 runs", "1,024 runs", "versions that `all` finds sooner / later"],
                 rows)


def planted_table(record):
    rows, files = [], scenarios(record)
    for name in record.planted():
        one = record.subjects[name]
        version = name.removeprefix("planted-")
        file = f"{SCENARIOS}/{version}.toml"
        promise = ", ".join(record.promises(name)) or (f"none: {one['escapes']}" if one["escapes"] else "none")
        rows.append([f"[`{version}`]({source_of(version)})", one["about"], promise,
                     *(cell(record.hunts(name, strategy)) for strategy in SHOWN), *small_cells(record.small.get(name), file if file in files else None)])
    return table(["version", "what is wrong", "promise broken", *SHOWN, "faults / tasks / operations", "embedded / real",
                  "the lock itself"], rows)


def published_table(record):
    rows = []
    for name in record.published():
        rows.append([f"`{name}`", ", ".join(record.promises(name)) or "none",
                     *(cell(record.hunts(name, strategy)) for strategy in SHOWN), *small_cells(record.small.get(name))])
    return table(["design", "promises broken, the soonest first", *SHOWN, "faults / tasks / operations", "embedded / real",
                  "ours"], rows)


def museum_table(record):
    rows = []
    for entry, name, lock, promise in museum():
        cells = [cell(record.hunts(lock, strategy, promise)) for strategy in SHOWN] if promise else ["–"] * len(SHOWN)
        rows.append([f"[{entry}](../scenarios/museum/{name})", f"`{lock}`", promise or "not what a hunt asks for", *cells])
    return table(["entry", "lock", "promise broken", *SHOWN], rows)


def orders_figure(record):
    """The link to the figure of the orders, once there is something to compare."""
    return "![orders](figures/track_record_within.png)\n" if any(one in ORDERS for one in begun_strategies(record)) else ""


def page(record):
    known = [name for name in record.planted() if not record.subjects[name]["escapes"]]
    hunted = [name for name in known if record.hunts(name, "all")]
    medians = sorted(m for m in (median(record.hunts(name, "all")) for name in hunted) if m is not None)
    never = [name for name in hunted if not record.promises(name)]
    counts = [len(record.hunts(name, "all")) for name in hunted] or [0]
    most = max((hunt["tried"] for row in record.rows.values() for hunt in row.values()), default=0)
    text = f"""# Track record

What hunts ([`sim/hunt`](../sim/hunt/README.md)) find of what is known to be wrong: small wrong versions of our own locks
([`sim/planted`](../sim/planted/README.md)), published designs ([`sim/historic`](../sim/historic/README.md)), and the entries of the
[museum](../scenarios/museum/README.md). Nothing says where to look. Written by

```console
$ tools/planted/track_record.py --hunts 30 --runs 1024 --real 10
```

which hunts what [`data/hunts/track-record.json`](data/hunts/track-record.json) lacks, and adds to it: with `--for 10m` one call after another.

**So far: {len(hunted)} of {len(known)} planted versions hunted, {numbers(counts)} {"hunt" if max(counts) == 1 else "hunts"} each with `all`, of {most:,} runs at most: {len(medians)} are
found by most of their hunts, half of these within {medians[(len(medians) - 1) // 2] if medians else 0} runs, the slowest within {medians[-1] if medians else 0:,};
{f"{len(never)} by none" if never else "no version is left"}. {len(record.planted()) - len(known)} more are not to be found, for the reason that stands with them.** "–": not hunted yet. A cell has the median of the runs
until a promise was broken (Kaplan and Meier: hunts that ended without a find are censored), and in brackets how many hunts found
it where not all did; `>`: more than half did not within so many runs.

## Strategies

`all`: as the hunt works by itself. Three leave one thing out: `no feedback`, no case is changed or gone on with; `no targets`, faults
act at times, not at the moments that matter; `no swarm`, every case has all kinds of faults. Four have one order of tasks and messages
in all cases ([`[run] order`](../scenarios/README.md)), which is drawn otherwise: `random order`, a random walk; `priorities` (PCT);
`partial order` (POS); `chains` (in the manner of PCTCP). Share of the hunts of planted versions that have found theirs, with 95%
intervals, over the seeds with which all of the table have hunted. Hunts of one version are not independent of each other: the intervals are rather
too narrow.

{strategies_table(record)}
![what each part of the hunt is worth](figures/track_record_survival.png)
{orders_figure(record)}
## Planted versions

Sizes are those of the first find and of what shrinking ([`sim/hunt/shrink.h`](../sim/hunt/shrink.h)) made of it: faults / tasks (clients
times threads) / operations; the link is that scenario, which `build/holdfast_planted run` runs. Embedded: on how many of 20 seeds the small scenario shows it. Real: on how many runs with `redis-server`;
where it is 0, what breaks the promise is a matter of times that a real server does not keep; "cannot be done": it is seen
in the embedded world only (`truth` looks into its servers). The lock itself: the same scenario with
the version that ships, seeds 1 to 20.

{planted_table(record)}
## Published designs

Runs until the first promise was broken, whichever. Hunted with anything: failovers that lose grants, servers that forget, clocks that
jump; so what is found may be what no lock on one Redis can bear, and then ours breaks its promise as well.

{published_table(record)}
## The museum

An entry counts as found when a hunt of its lock breaks the same promise, in whatever way: entries of one lock and one promise are not
told apart here. Not asked for: sales, and holds that overlap although the lock promised nothing any more.

{museum_table(record)}"""
    smalls = list(record.small.values())
    if smalls:
        middle = {key: statistics.median_low([one["after"][key] for one in smalls]) for key in ("faults", "tasks", "operations")}
        text += f"""
## Shrinking

{many(len(smalls), "find")} made small: median {many(middle['faults'], "fault")}, {many(middle['tasks'], "task")}, {many(middle['operations'], "operation")},
in {statistics.median_low([one['runs'] for one in smalls])} runs; {sum(one['seeds'] == 20 for one in smalls)} show on all of 20 seeds,
{sum(one['controlled'] for one in smalls)} have a variant in which the promise holds. Larger failing runs: [shrinking](shrinking.md).
"""
    return text


# --- figures ----------------------------------------------------------------------------------------------------------------

def figures(record, folder):
    sys.path.insert(0, os.path.join(ROOT, "tools/bench/plot"))
    import matplotlib.pyplot as plt
    import style

    def save(figure, name):
        figure.savefig(os.path.join(folder, name), metadata={"Software": None})
        plt.close(figure)

    pools = [(strategy, pooled(record, strategy)) for strategy in begun_strategies(record)]
    pools = [(strategy, hunts) for strategy, hunts in pools if hunts]
    if not pools:
        return
    shown = [one for one in pools if one[0] in SHOWN]
    end = max(runs for _, hunts in shown for runs, _ in hunts)
    foot = "planted versions that a hunt should find, and all strategies shown have hunted; each hunt has a seed of its own;\n" \
        "hunts without a find are censored at their last run (Kaplan and Meier); bands and bars: 95%, as if all hunts were independent"
    figure, axes = plt.subplots(figsize=(8, 4.6))
    for i, (strategy, hunts) in enumerate(shown):
        points = [(1, 1.0, 1.0, 1.0), *curve(hunts)]
        points.append((end, *points[-1][1:]))
        xs, ys, lows, highs = zip(*points)
        axes.step(xs, ys, where="post", color=style.CYCLE[i], linestyle=style.DASHES[i], label=f"{strategy} ({len(hunts)} hunts)",
                  linewidth=1.4)
        axes.fill_between(xs, lows, highs, step="post", color=style.CYCLE[i], alpha=0.12, linewidth=0)
    style.log_axis(axes.xaxis, 1, end)
    axes.set_ylim(0, 1)
    axes.set_xlabel("runs")
    axes.set_ylabel("hunts that have found nothing yet")
    style.title(figure, f"Half of the hunts with `{shown[0][0]}` have found what is planted after {median(shown[0][1])} runs", foot,
                axes.get_legend_handles_labels())
    save(figure, "track_record_survival.png")

    shown = [one for one in pools if one[0] == "all" or one[0] in ORDERS]
    if len(shown) < 2:
        return
    figure, axes = plt.subplots(figsize=(8, 3.4))
    steps = [runs for runs in (4, 16, 64, 256, 1024) if runs <= end]
    for i, (strategy, hunts) in enumerate(shown):
        shares = [found_within(hunts, runs) for runs in steps]
        ys = [k + 0.14 * (i - (len(shown) - 1) / 2) for k in range(len(steps))]
        axes.errorbar([share for share, _, _ in shares], ys,
                      xerr=[[share - low for share, low, _ in shares], [high - share for share, _, high in shares]], linestyle="",
                      marker=style.MARKERS[i], color=style.CYCLE[i], markersize=5, elinewidth=1.2, capsize=2, label=strategy)
    axes.set_yticks(range(len(steps)), [f"{runs:,} runs" for runs in steps])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the hunts that have found it within so many runs")
    last = [(found_within(hunts, steps[-1]), strategy) for strategy, hunts in shown]
    best, worst = max(last), min(last)
    same = best[0][1] <= worst[0][2]  # their intervals overlap
    said = f"each finds {worst[0][0]:.0%} to {best[0][0]:.0%}: no difference that can be seen" if same else \
        f"{best[1]} finds most ({best[0][0]:.0%}), {worst[1]} least ({worst[0][0]:.0%})"
    style.title(figure, f"Within {steps[-1]:,} runs {said}", foot, axes.get_legend_handles_labels())
    save(figure, "track_record_within.png")


def needs_matplotlib():
    """Debian's package belongs to Debian's interpreter."""
    try:
        import matplotlib  # noqa: F401
        return True
    except ImportError:
        if os.path.exists("/usr/bin/python3") and os.environ.get("TRACK_RECORD_AGAIN") is None:
            os.execve("/usr/bin/python3", ["/usr/bin/python3", *sys.argv], {**os.environ, "TRACK_RECORD_AGAIN": "1"})
        return False


# --- tests ------------------------------------------------------------------------------------------------------------------

class TrackRecordTest(unittest.TestCase):
    def test_without_censoring_the_curve_is_the_share_that_is_left(self):
        points = curve([(1, True), (2, True), (2, True), (5, True)])
        self.assertEqual([(time, share) for time, share, _, _ in points], [(1, 0.75), (2, 0.25), (5, 0.0)])
        self.assertEqual(median([(1, True), (2, True), (2, True), (5, True)]), 2)

    def test_who_is_censored_was_at_risk_until_then(self):
        # 6-MP against placebo (Freireich et al. 1963), the usual example: S(6) = 0.857, S(10) = 0.753, S(23) = 0.448.
        hunts = [(6, True)] * 3 + [(6, False), (7, True), (9, False), (10, True), (10, False), (11, False), (13, True), (16, True),
                                   (17, False), (19, False), (20, False), (22, True), (23, True), (25, False), (32, False),
                                   (32, False), (34, False), (35, False)]
        shares = {time: (share, low, high) for time, share, low, high in curve(hunts)}
        for time, share in ((6, 0.857), (7, 0.807), (10, 0.753), (13, 0.690), (16, 0.627), (22, 0.538), (23, 0.448)):
            self.assertAlmostEqual(shares[time][0], share, 3)
        self.assertAlmostEqual(shares[10][1], 0.503, 2)
        self.assertAlmostEqual(shares[10][2], 0.889, 2)
        self.assertEqual(median(hunts), 23)

    def test_no_median_where_most_have_not_found_it(self):
        hunts = [(3, True), (64, False), (64, False)]
        self.assertIsNone(median(hunts))
        self.assertEqual(cell(hunts), "> 64 (1 of 3)")
        self.assertEqual(cell([(3, True)]), "3")
        self.assertEqual(found_within(hunts, 2), (0.0, 0.0, 0.0))
        self.assertAlmostEqual(found_within(hunts, 3)[0], 1 / 3)

    def record(self):
        return Record({"kind": "track-record", "schema": 1,
                       "subjects": [{"subject": "planted-a", "lock": "fair", "about": "is wrong", "escapes": ""},
                                    {"subject": "spring-registry", "lock": "", "about": "a design", "escapes": ""}],
                       "hunts": [{"subject": "planted-a", "strategy": "all",
                                  "by_seed": {"2": {"tried": 64, "found": {}}, "1": {"tried": 64, "found": {"p/k": 9, "q": 3}}}}],
                       "small": []})

    def test_a_promise_counts_with_any_kind(self):
        record = self.record()
        self.assertEqual(record.hunts("planted-a", "all"), [(3, True), (64, False)])
        self.assertEqual(record.hunts("planted-a", "all", "p"), [(9, True), (64, False)])
        self.assertEqual(record.hunts("planted-a", "all", "p/other"), [(64, False), (64, False)])
        self.assertEqual(record.promises("planted-a"), ["q", "p/k"])

    def test_strategies_are_compared_over_the_same_seeds(self):
        record = self.record()
        self.assertEqual(pooled(record, "all"), [(3, True), (64, False)], "the others have not hunted at all")
        for strategy in STRATEGIES[1:]:
            record.rows["planted-a", strategy] = {"2": {"tried": 64, "found": {"q": 5}}, "3": {"tried": 64, "found": {}}}
        self.assertEqual(pooled(record, "all"), [(64, False)])
        self.assertEqual(pooled(record, "no swarm"), [(5, True)])

    def test_what_shows_on_most_seeds_is_a_scenario(self):
        record = self.record()
        small = {"seeds": 20, "scenario": "schema = 1\n", "decisions": 0, "real": None, "why_not_real": "", "ours": "",
                 "before": {"faults": 3, "tasks": 2, "operations": 9}, "after": {"faults": 0, "tasks": 1, "operations": 2}}
        record.small = {"planted-a": small, "spring-registry": small}
        file = "sim/planted/scenarios/a.toml"
        self.assertEqual(scenarios(record), {file: "schema = 1\n"})
        self.assertIn(f"| 3 / 2 / 9 → [0 / 1 / 2](../{file}) |", planted_table(record))
        record.small["planted-a"] = {**small, "seeds": 10}
        self.assertEqual(scenarios(record), {})
        self.assertIn("| 3 / 2 / 9 → 0 / 1 / 2 |", planted_table(record))

    def test_a_strategy_that_has_only_begun_is_not_compared(self):
        record = self.record()
        for name in ("planted-b", "planted-c"):
            record.subjects[name] = dict(record.subjects["planted-a"], subject=name)
            record.rows[name, "all"] = {"1": {"tried": 64, "found": {"q": 2}}}
        record.rows["planted-a", "no swarm"] = {"1": {"tried": 64, "found": {"q": 1}}}
        self.assertEqual(begun_strategies(record), ["all"])
        self.assertEqual(len(pooled(record, "all")), 4)
        record.rows["planted-b", "no swarm"] = {"1": {"tried": 64, "found": {"q": 1}}}
        self.assertEqual(begun_strategies(record), ["all", "no swarm"])
        self.assertEqual(len(pooled(record, "all")), 2)

    def test_the_page_has_every_row(self):
        text = page(self.record())
        self.assertIn("| is wrong | q, p/k | 3 (1 of 2) | – | – | – |", text)
        self.assertIn("| `spring-registry` | none |", text)
        self.assertIn("[M18](../scenarios/museum/M18-", text)

    def test_what_no_check_could_judge_is_not_said_to_hold(self):
        self.assertEqual(outcome({"holds": 20, "violated": 0, "unknown": 0}), "holds")
        self.assertEqual(outcome({"holds": 1, "violated": 2, "unknown": 17}), "violated 2 of 20")
        self.assertEqual(outcome({"holds": 12, "violated": 0, "unknown": 8}), "holds 12 of 20, else unknown")
        self.assertEqual(outcome({"holds": 0, "violated": 0, "unknown": 20}), "unknown: nothing is left to be judged")



def on_disk():
    return {f"{SCENARIOS}/{name}" for name in (os.listdir(SCENARIOS) if os.path.isdir(SCENARIOS) else ()) if name.endswith(".toml")}


def read(name):
    """The file's text; None: there is none."""
    if not os.path.exists(name):
        return None
    with open(name, encoding="utf-8") as handle:
        return handle.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hunts", type=int, help="hunt until each row has so many; without it the page is written from what is there")
    parser.add_argument("--runs", type=int, default=1024, help="the most of one hunt")
    parser.add_argument("--real", type=int, default=0, help="run each small scenario so often on real servers")
    parser.add_argument("--for", dest="time", help="begin no new hunt after that time, such as 10m")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="exit 1 if the page is not that of the raw results")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    if arguments.self_test:
        unittest.main(argv=[sys.argv[0]])
    if arguments.hunts and os.environ.get("TRACK_RECORD_AGAIN") is None:
        command = ["build/hunt_planted", "--record", DATA, "--hunts", str(arguments.hunts), "--runs", str(arguments.runs),
                   "--jobs", str(arguments.jobs)]
        command += ["--real", str(arguments.real)] if arguments.real else []
        command += ["--for", arguments.time] if arguments.time else []
        if subprocess.run(command, check=False).returncode != 0:
            return 1
    with open(DATA, encoding="utf-8") as handle:
        record = Record(json.load(handle))
    text = page(record)
    files = {PAGE: text, **scenarios(record)}
    if arguments.check:
        wrong = [name for name in sorted({*files, *on_disk()}) if files.get(name) != read(name)]
        for name in wrong:
            print(f"{name}: is not what {DATA} gives: run tools/planted/track_record.py")
        return 1 if wrong else 0
    for name in on_disk() - set(files):
        os.remove(name)
    os.makedirs(SCENARIOS, exist_ok=True)
    for name, content in files.items():
        with open(name, "w", encoding="utf-8") as handle:
            handle.write(content)
    if needs_matplotlib():
        figures(record, "results/figures")
    else:
        print("no figures: no python3 of this machine has matplotlib (apt-get install python3-matplotlib)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
