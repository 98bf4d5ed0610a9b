#!/usr/bin/env python3
"""Tables of results of `holdfast bench`: tables.py RESULT.json|DIR results [PROXY.json], or tables.py --self-test

Writes results/SUITE.md for each suite that is there, and the blocks between `<!-- begin NAME -->` and `<!-- end NAME -->`
of results/README.md and results/harness.md. PROXY.json: what bench_proxy wrote (--benchmark_out). Needs no matplotlib.
"""
import contextlib
import io
import os
import re
import sys
import tempfile

import data
from data import mean, median, number

SUITES = {
    "uncontended": ("A key for each caller: what a lock costs when nobody else wants it",
                    ["pairs", "of_limit", "of_trips", "of_trips_by_turns", "round_trips", "p50", "p99", "p999",
                     "commands", "sent", "received", "server_cpu", "client_cpu"]),
    "contended": ("All callers want one key: hand-off, waiting, fairness, commands a grant",
                  ["pairs", "of_ceiling", "hand_off_p50", "hand_off_p99", "wait_p50", "wait_p99", "wait_p999",
                   "p99_by_fair_share", "longest_wait", "min_max", "jain", "commands", "server_cpu"]),
    "seckill": ("A flash sale under each fault behind each protection",
                ["sold", "oversold", "lost_updates", "runs_oversold", "sold_out", "errors"]),
    "scale": ("10 to 10,000 clients, 1 to 10,000 keys",
              ["pairs", "p50", "p99", "commands", "client_cpu", "server_cpu", "connections"]),
    "watchdog": ("What holding many locks costs", ["client_cpu", "server_cpu", "client_cpu_at_30s", "scripts", "renewed", "sent"]),
    "failover": ("Grants across a failover, and who held the lock when", ["grants", "longest_gap", "sold", "oversold"]),
}
MEANS = {"sold", "oversold", "lost_updates", "runs_oversold", "sold_out", "errors"}  # over seeds, not medians


def table(head, rows):
    def cells(row):
        return "| " + " | ".join(str(cell) for cell in row) + " |"
    return "\n".join([cells(head), "|" + "---|" * len(head), *(cells(row) for row in rows)]) + "\n"


def about(documents, suite):
    for d in documents:
        if any(m["suite"] == suite for m in d["measurements"]):
            machine, versions = d["machine"], d["versions"]
            facts = [f"{machine.get('cpu', '?')}, {machine.get('cores', '?')} cores, {machine.get('kernel', '')}",
                     "load before and after " + machine.get("load_before", "?") + " / " + machine.get("load_after", "?"),
                     ", ".join(f"{name} {version}" for name, version in versions.items()), f"started {d['started']}"]
            if d["seeds"].get(suite):
                facts.append(f"seeds {d['seeds'][suite]}")
            text = f"`{d['command']}`\n\n" + "; ".join(facts) + ".\n"
            if not d["complete"]:
                text += "\nInterrupted: part of the suite is missing.\n"
            return text + "".join(f"\nNote: {note}\n" for note in d["notes"])
    return ""


def suite_page(documents, points, suite):
    title, metrics = SUITES[suite]
    here = points.where(suite=suite)
    text = f"# {suite.capitalize()}\n\n{title}.\n\n{about(documents, suite)}\n"
    how = "means over the seeds" if suite == "seckill" else "medians over the rounds, (low to high) where they differ by more than 5%"
    text += f"Figures: {how}. `ratio`s are taken within a round.\n\n"
    for world in dict.fromkeys(m["world"] for m in here):
        rows = [m for m in here if m["world"] == world]
        used = [x for x in metrics if any(x in m["metrics"] for m in rows)]
        names = list(dict.fromkeys(name for m in rows for name in m["parameters"]))
        units = {x: next(m["metrics"][x]["unit"] for m in rows if x in m["metrics"]) for x in used}
        head = [suite] + names + [x if units[x] == "ratio" else f"{x}, {units[x]}" for x in used]
        body = []
        for m in rows:
            row = [m["subject"]] + [m["parameters"].get(name, "") for name in names]
            for x in used:
                if x not in m["metrics"]:
                    row.append("")
                elif x in MEANS:
                    row.append(number(mean(m, x)))
                else:
                    v = m["metrics"][x]
                    wide = v["high"] - v["low"] > 0.05 * abs(v["median"]) and len(v["rounds"]) > 1
                    row.append(number(v["median"]) + (f" ({number(v['low'])} to {number(v['high'])})" if wide else ""))
            body.append(row)
        text += f"## {world}\n\n{table(head, body)}\n"
    return text


PROXY_ROWS = {
    "direct": "no relay",
    "relay": "bare byte relay",
    "proxy": "proxy, no rule",
    "proxy_byte_rule": "proxy, a rule on bytes",
    "proxy_message_rule": "proxy, every message through a rule",
    "proxy_ledger": "proxy, ledger kept",
}


def proxy_table(context, rows):
    """What stands between client and server, one line each."""
    body = []
    for (name, connections, pipeline), b in rows.items():
        body.append([connections, pipeline, PROXY_ROWS.get(name, name), number(b["items_per_second"]),
                     number(b["bytes_per_second"] / 1e6), number(b["p50_us"]), number(b["p99_us"]),
                     "" if name == "direct" else number(b["added_us"]),
                     "" if name == "direct" else f"{b['of_relay']:.2f} ({b['of_relay_low']:.2f})",
                     f"{b['of_direct']:.2f}", "" if name == "direct" else number(b["cpu_us"])])
    rounds = max((b["iterations"] for b in rows.values()), default=0)
    load = ", ".join(f"{x:.1f}" for x in context.get("load_avg", []))
    return (f"{context.get('num_cpus', '?')} cores, {rounds} rounds, load when it began {load or '?'}, {context.get('date', '?')[:10]}.\n\n"
            + table(["connections", "in flight on each", "between client and server", "commands/s", "MB/s", "p50, us", "p99, us",
                     "p50 added, us", "of the bare relay (lowest round)", "of no relay", "its CPU, us a command"], body))


def proxy_goals(rows):
    """The same, as rows of the table of goals."""
    one, many = rows.get(("proxy", 1, 1)), rows.get(("proxy", 50, 1))
    result = []
    for goal, wanted, value, met in (
            ("proxy without rules, one connection: p50 added, us", "below 50", one and one["added_us"], lambda v: v < 50),
            ("proxy without rules, 50 connections: of a bare relay's throughput", "at least 0.9", many and many["of_relay"],
             lambda v: v >= 0.9)):
        result.append([goal, wanted, "not measured" if value is None else number(value),
                       "" if value is None else "met" if met(value) else "missed", "`build/bench_proxy`"])
    return result


def goals(points, proxy):
    """The goals, each with what was measured."""
    u = points.where(suite="uncontended", subject="reentrant")
    rows = []

    def row(goal, wanted, value, met, command):
        rows.append([goal, wanted, number(value) if value is not None else "not measured",
                     "" if value is None else "met" if met else "missed", f"`holdfast bench --suite {command}`"])

    def at(world, clients):
        return u.where(world=world, clients=clients, connections="shared").first()
    for world, wanted in (("real/fibers", 0.8), ("real/threads", 0.5)):
        value = median(at(world, 50), "of_limit")
        row(f"50 callers on one connection, {world.split('/')[1]}: of redis-benchmark's pairs", f"at least {wanted}", value,
            value is not None and value >= wanted, "uncontended")
    peers = [median(m, "pairs") for m in points.where(suite="uncontended", clients=50, world="real/peer")]
    best = max(peers) if peers else None
    ours = median(at("real/fibers", 50), "pairs")
    ratio = ours / best if ours and best else None
    row("the same, by the faster peer", "at least 2", ratio, ratio and ratio >= 2, "uncontended")
    for world in ("real/fibers", "real/threads"):
        value = median(at(world, 1), "of_trips_by_turns")
        row(f"one caller, {world.split('/')[1]}: time of a pair by two bare round trips, by turns", "at most 1.2", value,
            value and value <= 1.2, "uncontended")
    c = points.where(suite="contended", clients=50, hold_ms=1)
    for subject, processes in (("reentrant", "one"), ("reentrant", "one each"), ("fair", "one each")):
        m = c.where(subject=subject, processes=processes, world="real/fibers").first()
        value = median(m, "of_ceiling")
        where = "one process" if processes == "one" else "50 processes"
        row(f"50 clients, hold 1 ms, {subject}, {where}: of the hold-bound ceiling", "at least 0.9", value, value and value >= 0.9,
            "contended")
        value = median(m, "p99_by_fair_share")
        row(f"{subject}, {where}: p99 wait by the fair share", "below 3", value, value and value < 3, "contended")
    m = c.where(subject="fair", processes="one each", world="real/fibers").first()
    value = median(m, "min_max")
    row("fair, 50 processes: min/max share", "above 0.8", value, value and value > 0.8, "contended")
    for subject, processes, world in (("reentrant", "one", "real/fibers"), ("fair", "one each", "embedded")):
        m = points.where(suite="contended", subject=subject, processes=processes, clients=1000, world=world).first()
        value = median(m, "commands")
        where = "one process" if processes == "one" else "1,000 processes"
        row(f"1,000 waiters, {subject}, {where} ({world.split('/')[0]}): commands a grant", "below 6", value, value and value < 6,
            "contended")
    m = points.where(suite="watchdog", subject="reentrant", locks=10000).first()
    value = median(m, "client_cpu_at_30s")
    row("10,000 locks held, lease 30 s: client CPU, % of a core", "below 5", value, value is not None and value < 5, "watchdog")
    return table(["goal", "wanted", "measured", "", "command"], rows + proxy_goals(proxy))


def costs(points):
    """What each lock costs, one line each."""
    rows = []
    for m in points.where(suite="uncontended", world="real/fibers", clients=50, connections="shared"):
        name = m["subject"]
        if name in ("redis-benchmark", "two bare round trips"):
            continue
        trips = points.where(suite="uncontended", world="embedded", subject=name).first()
        busy = points.where(suite="contended", world="real/fibers", subject=name, clients=50, hold_ms=1, processes="one each").first()
        calm = points.where(suite="contended", world="embedded", subject=name, clients=50, hold_ms=1, processes="one each").first()
        rows.append([f"`{name}`", number(median(m, "pairs")), number(median(m, "of_limit")),
                     number(median(trips, "round_trips")), number(median(m, "commands")), number(median(busy, "of_ceiling")),
                     number(median(calm, "jain")), number(median(busy, "commands"))])
    return table(["lock", "pairs/s, 50 callers", "of redis-benchmark", "round trips a pair", "commands a pair",
                  "busy key: of the ceiling", "Jain's index", "commands a grant"], rows)


def faults(points):
    """Lock x fault: share of the seeds that oversold."""
    here = points.where(suite="seckill", world="embedded", protection="lock", buyers=lambda n: int(n) < 50)
    names = here.values("fault")
    cells = {(m["subject"], m["parameters"]["fault"]): m for m in here}
    rows = []
    for subject in here.subjects():
        row = [f"`{subject}`"]
        for fault in names:
            m = cells.get((subject, fault))
            if m is None:
                row.append("–")
            elif mean(m, "sold") == 0:
                row.append("no sale")
            else:
                share = mean(m, "runs_oversold")
                if share == 0 and mean(m, "cut") > 0:
                    row.append("stalls")
                    continue
                row.append("holds" if share == 0 else "**breaks**" if share == 1 else f"**breaks** {100 * share:.0f}%")
        rows.append(row)
    return table(["lock alone"] + names, rows)


def both_worlds(points):
    """Lock x fault: the share of the runs that oversold in the embedded world beside that on real Redis."""
    def answer(m):
        if mean(m, "sold") == 0:
            return "no sale"
        share = mean(m, "runs_oversold")
        return "stalls" if share == 0 and mean(m, "cut") > 0 else f"{100 * share:.0f}%"

    def breaks(text):
        return text.endswith("%") and text != "0%"

    sale = points.where(suite="seckill", buyers=lambda n: int(n) < 50)
    worlds = [{(m["subject"], m["parameters"]["protection"], m["parameters"]["fault"]): m for m in sale.where(world=world)}
              for world in ("embedded", "real/fibers")]
    common = [key for key in worlds[1] if key in worlds[0]]
    if not common:
        return "No cell was measured in both worlds.\n"
    names = list(dict.fromkeys(fault for _, _, fault in worlds[1]))
    rows, differ = [], []
    for subject, protection in dict.fromkeys(key[:2] for key in common):
        row = [f"`{subject}`" if subject != "no lock" else subject, protection]
        for fault in names:
            pair = [world.get((subject, protection, fault)) for world in worlds]
            if None in pair:
                row.append("–")
                continue
            one, two = (answer(m) for m in pair)
            unlike = breaks(one) != breaks(two)
            if unlike:
                differ.append(f"{subject}, {protection}, {fault}")
            row.append(f"**{one} / {two}**" if unlike else f"{one} / {two}")
        rows.append(row)
    # The lock alone first, lock by lock; then the other protections.
    rows.sort(key=lambda row: row[1] != "lock")
    seeds = [max(len(worlds[i][key]["metrics"]["oversold"]["rounds"]) for key in common) for i in (0, 1)]
    text = f"{len(common)} cells, {seeds[0]} / {seeds[1]} runs each: in {len(common) - len(differ)} both worlds break, or both hold"
    text += ". In bold those where one breaks and the other does not.\n\n" if differ else ".\n\n"
    return text + table(["lock", "protection"] + names, rows)


def self_test():
    """Whether both worlds are read as they are."""
    def m(world, fault, oversold, sold=4, cut=0):
        rounds = {"sold": [sold] * len(oversold), "oversold": oversold, "runs_oversold": [float(x > 0) for x in oversold],
                  "cut": [cut] * len(oversold)}
        return {"suite": "seckill", "subject": "reentrant", "world": world,
                "parameters": {"fault": fault, "protection": "lock", "buyers": "4"},
                "metrics": {name: {"rounds": values} for name, values in rounds.items()}}
    points = data.Points([m("embedded", "none", [0, 0]), m("real/fibers", "none", [0]),
                          m("embedded", "holder paused", [1, 0]), m("real/fibers", "holder paused", [0]),
                          m("embedded", "clock", [0, 0]), m("real/fibers", "partition", [0]),
                          m("embedded", "failover", [0, 0], cut=1), m("real/fibers", "failover", [0], sold=0)])
    text = both_worlds(points)
    for wanted in ("3 cells, 2 / 1 runs each: in 2 both worlds break, or both hold. In bold",
                   "| lock | protection | none | holder paused | partition | failover |",
                   "| `reentrant` | lock | 0% / 0% | **50% / 0%** | – | stalls / no sale |"):
        if wanted not in text:
            print(f"tables.py: expected `{wanted}` in\n{text}", file=sys.stderr)
            return 1
    if both_worlds(data.Points([])) != "No cell was measured in both worlds.\n":
        return 1
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "README.md")
        with open(page, "w", encoding="utf-8") as out:
            out.write("before\n<!-- begin worlds -->\nold\n<!-- end worlds -->\nafter\n")
        with contextlib.redirect_stdout(io.StringIO()):
            fill(page, {"worlds": "new\n"})
        with open(page, encoding="utf-8") as handle:
            return 0 if handle.read() == "before\n<!-- begin worlds -->\nnew\n<!-- end worlds -->\nafter\n" else 1


def fill(page, blocks):
    """Puts each block of text between its marks in that page."""
    if not os.path.exists(page):
        return
    with open(page, encoding="utf-8") as handle:
        text = handle.read()
    for name, block in blocks.items():
        text = re.sub(f"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)",
                      lambda match, block=block: match.group(1) + block + match.group(2), text, flags=re.S)
    with open(page, "w", encoding="utf-8") as out:
        out.write(text)
    print(page)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) not in (3, 4):
        data.complain("usage: tables.py RESULT.json|DIR results [PROXY.json]")
        return 64
    context, proxy = {}, {}
    try:
        documents, points = data.load(sys.argv[1])
        if len(sys.argv) == 4 and os.path.exists(sys.argv[3]):
            context, proxy = data.load_proxy(sys.argv[3])
    except data.BadResult as error:
        data.complain(error)
        return 64
    folder = sys.argv[2]
    for suite in SUITES:
        if len(points.where(suite=suite)):
            path = os.path.join(folder, suite + ".md")
            with open(path, "w", encoding="utf-8") as out:
                out.write(suite_page(documents, points, suite))
            print(path)
    fill(os.path.join(folder, "README.md"),
         {"goals": goals(points, proxy), "costs": costs(points), "faults": faults(points),
          "worlds": both_worlds(points)})
    if proxy:
        fill(os.path.join(folder, "harness.md"), {"proxy": proxy_table(context, proxy)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
