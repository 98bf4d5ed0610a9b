#!/usr/bin/env python3
"""Tables of results of `holdfast bench`:  tables.py [--check] DATA RESULTS

DATA: a folder of results, and in its folder `proxy` what `bench_proxy` wrote (--benchmark_out). RESULTS: where the pages are.
Writes RESULTS/SUITE.md for each suite that was measured, and the blocks between `<!-- begin NAME -->` and `<!-- end NAME -->` of
RESULTS/README.md and RESULTS/harness.md. --check writes nothing and exits 1 when a page, or the list of figures, is not
what DATA says (CTest: results). Needs no matplotlib.
"""
import operator
import os
import re
import sys

import data
from data import TABLE, mean, median, number, world_name

# The figures of each page, where they were drawn.
FIGURES = {
    "uncontended": ["uncontended_50", "throughput_by_clients"],
    "contended": ["contended_real", "contended_real_wait", "contended_embedded", "contended_embedded_wait"],
    "seckill": ["oversell_by_protection_embedded", "oversell_by_protection_real", "oversell_by_lock_embedded",
                "oversell_by_lock_real", "sale_crowd"],
    "scale": ["scale_real", "scale_embedded"],
    "watchdog": ["watchdog"],
    "failover": ["failover_real", "failover_embedded", "failover_holders"],
}


def table(head, rows):
    def cells(row):
        return "| " + " | ".join(str(cell) for cell in row) + " |"
    return "\n".join([cells(head), "|" + "---|" * len(head), *(cells(row) for row in rows)]) + "\n"


def origin(document, suite, world):
    """The run that measurements are from: command, machine, versions, load, notes."""
    machine, versions = document["machine"], document["versions"]
    seeds = document["seeds"].get(f"{suite}, {world.split('/')[0]}")
    facts = [f"started {document['started']}",
             f"{machine.get('cpu', '?')}, {machine.get('cores', '?')} cores, {machine.get('kernel', '?')}",
             f"load before {machine.get('load_before', '?')}, after {machine.get('load_after', '?')}",
             *(f"{name} {version}" for name, version in versions.items())]
    if seeds:
        facts.append(f"seeds {seeds}")
    if suite in document.get("suite_seconds", {}):
        facts.append(f"took {number(document['suite_seconds'][suite])} s")
    text = f"`{document['command']}`: " + "; ".join(facts) + ".\n"
    if not document["complete"]:
        text += "Interrupted: part of the suite is missing.\n"
    return text + "".join(f"\n> {note}\n" for note in document["notes"])


def cell(m, metric, shown):
    if metric not in m["metrics"]:
        return ""
    if shown == "mean":
        return number(mean(m, metric))
    value = m["metrics"][metric]
    wide = value["high"] - value["low"] > 0.05 * abs(value["median"])
    return number(value["median"]) + (f" ({number(value['low'])} to {number(value['high'])})" if wide else "")


def world_table(rows, suite):
    entry = TABLE[suite]
    used = [x for x in entry["metrics"] if any(x["name"] in m["metrics"] for m in rows)]
    names = list(dict.fromkeys(name for m in rows for name in m["parameters"]))
    head = [suite] + names + [x["name"] if x["unit"] == "ratio" else f"{x['name']}, {x['unit']}" for x in used]
    return table(head, [[m["subject"]] + [m["parameters"].get(name, "") for name in names]
                        + [cell(m, x["name"], entry["shown"]) for x in used] for m in rows])


def suite_page(points, suite, folder):
    entry = TABLE[suite]
    here = points.where(suite=suite)
    text = f"# {suite.capitalize()}: {entry['about']}\n\nWritten by `tools/bench-all --tables` from `results/data/`.\n\n"
    for name in FIGURES[suite]:
        if os.path.exists(os.path.join(folder, "figures", name + ".png")):
            text += f"![{name.replace('_', ' ')}](figures/{name}.png)\n"
    text += "\nColumns:\n\n"
    for x in entry["metrics"]:
        if any(x["name"] in m["metrics"] for m in here):
            text += f"- `{x['name']}`" + ("" if x["unit"] == "ratio" else f", {x['unit']}") + f": {x['meaning']}\n"
    text += "\nFigures are " + ("means over the runs" if entry["shown"] == "mean" else
                                "medians over the rounds, with lowest and highest where they are more than 5% apart")
    text += "; shares and ratios are taken within a round.\n"
    for world in dict.fromkeys(m["world"] for m in here):
        rows = [m for m in here if m["world"] == world]
        text += f"\n## {world_name(world)} (`{world}`)\n\n"
        documents = {id(m["document"]): m["document"] for m in rows}
        text += "\n".join(origin(d, suite, world) for d in documents.values()) + "\n" + world_table(rows, suite)
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
        direct = name == "direct"
        body.append([connections, pipeline, PROXY_ROWS.get(name, name), number(b["items_per_second"]),
                     number(b["bytes_per_second"] / 1e6), number(b["p50_us"]), number(b["p99_us"]),
                     "" if direct else number(b["added_us"]),
                     "" if direct else f"{b['of_relay']:.2f} ({b['of_relay_low']:.2f})",
                     f"{b['of_direct']:.2f}", "" if direct else number(b["cpu_us"])])
    rounds = max((b["iterations"] for b in rows.values()), default=0)
    load = ", ".join(f"{x:.1f}" for x in context.get("load_avg", []))
    note = f" {context['note']}" if "note" in context else ""
    return (f"{context.get('num_cpus', '?')} cores, {rounds} rounds, load at the start {load or '?'}, "
            f"{context.get('date', '?')[:10]}.{note}\n\n"
            + table(["connections", "in flight on each", "between client and server", "commands/s", "MB/s", "p50, us", "p99, us",
                     "p50 added, us", "of the bare relay (lowest round)", "of no relay", "its CPU, us a command"], body))


class Goals:
    """The table of goals: each with what was measured."""

    def __init__(self):
        self.rows = []

    BOUNDS = {"at least": operator.ge, "at most": operator.le, "below": operator.lt, "above": operator.gt}

    def add(self, goal, value, command, bound, wanted):
        met = value is not None and self.BOUNDS[bound](value, wanted)
        self.rows.append([goal, f"{bound} {wanted}", "not measured" if value is None else number(value),
                          "" if value is None else "met" if met else "missed", f"`{command}`"])

    def table(self):
        return table(["goal", "wanted", "measured", "", "command"], self.rows)


def goals(points, proxy):
    found = Goals()
    alone = points.where(suite="uncontended", subject="reentrant", connections="shared")
    command = "holdfast bench --suite uncontended"
    for world, least in (("fibers", 0.8), ("threads", 0.5)):
        m = alone.where(world=f"real/{world}", clients=50).first()
        found.add(f"50 callers on one connection, {world}: of redis-benchmark's pairs", median(m, "of_benchmark"), command,
                  "at least", least)
    others = [median(m, "pairs") for m in points.where(suite="uncontended", clients=50, world="real/peer").having("pairs")]
    ours = median(alone.where(world="real/fibers", clients=50).first(), "pairs")
    times = ours / max(others) if ours and others and max(others) > 0 else None
    found.add("the same, by the fastest of the other libraries", times, command, "at least", 2)
    for world in ("fibers", "threads"):
        m = alone.where(world=f"real/{world}", clients=1).first()
        found.add(f"one caller, {world}: time of a pair by two bare round trips", median(m, "of_trips_by_turns"), command,
                  "at most", 1.2)
    command = "holdfast bench --suite contended"
    busy = points.where(suite="contended", world="real/fibers", clients=50, hold_ms=1)
    for subject, processes in (("reentrant", "one"), ("reentrant", "one each"), ("fair", "one each")):
        m = busy.where(subject=subject, processes=processes).first()
        where = f"{subject}, {'one process' if processes == 'one' else '50 processes'}"
        found.add(f"50 clients, hold 1 ms, {where}: of one holder after another", median(m, "of_ceiling"), command,
                  "at least", 0.9)
        if processes == "one each":
            found.add(f"{where}: of what one of them alone reaches with the lock", median(m, "of_alone"), command, "at least", 0.95)
        found.add(f"{where}: p99 of the wait by the fair share", median(m, "p99_by_fair_share"), command, "below",
                  1.1 if processes == "one each" else 3)
    m = busy.where(subject="fair", processes="one each").first()
    found.add("fair, 50 processes: fewest grants by most", median(m, "min_max"), command, "above", 0.8)
    for subject, processes, world in (("reentrant", "one", "real/fibers"), ("fair", "one each", "embedded")):
        m = points.where(suite="contended", subject=subject, processes=processes, clients=1000, world=world).first()
        where = f"{'one process' if processes == 'one' else '1,000 processes'} ({world_name(world)})"
        found.add(f"1,000 waiters, {subject}, {where}: commands a grant", median(m, "commands"), command, "below", 6)
    m = points.where(suite="watchdog", subject="reentrant", locks=10000, lease_s=3).first()
    found.add("10,000 locks held, lease 30 s: client CPU, % of a core", median(m, "client_cpu_at_30s"),
              "holdfast bench --suite watchdog", "below", 5)
    few, lots = (points.where(suite="watchdog", subject="reentrant", locks=locks, lease_s=30).first() for locks in (10000, 100000))
    found.add("100,000 locks held, lease 30 s: CPU of one renewal, by that where 10,000 are held",
              few and lots and median(lots, "renewed") / median(few, "renewed"), "holdfast bench --suite watchdog", "at most", 1)
    one, many = proxy.get(("proxy", 1, 1)), proxy.get(("proxy", 50, 1))
    found.add("proxy without rules, one connection: p50 added, us", one and one["added_us"], "build/bench_proxy", "below", 50)
    found.add("proxy without rules, 50 connections: of a bare relay's throughput", many and many["of_relay"],
              "build/bench_proxy", "at least", 0.9)
    for way, where in (("proxy_message_rule", "with a rule on messages"), ("proxy_ledger", "with the ledger")):
        piped = proxy.get((way, 50, 16))
        found.add(f"proxy {where}, 50 connections, 16 in flight on each: of a bare relay's throughput", piped and piped["of_relay"],
                  "build/bench_proxy", "at least", 0.6)
    return found.table()


def answers(points):
    """Five questions, each answered in a sentence or two as far as it was measured."""
    asked = []

    def ask(question, *parts):
        told = [text for text in parts if text]
        if told:
            asked.append(f"- **{question}** " + " ".join(told) + "\n")

    alone = points.where(suite="uncontended", clients=50, connections="shared")
    ours = alone.where(subject="reentrant", world="real/fibers").having("pairs").first()
    others = [median(m, "pairs") for m in alone.where(world="real/peer").having("pairs")]
    trips = points.where(suite="uncontended", subject="reentrant", world="embedded").having("commands").first()
    share = median(ours, "of_benchmark")
    ask("What does a lock cost that nobody else wants?",
        trips and f"{median(trips, 'commands'):.0f} commands and as many round trips a pair (`reentrant`).",
        ours and f"50 callers on one connection make {number(median(ours, 'pairs'))} pairs a second"
        + (f", {number(share)} of redis-benchmark's" if share else "")
        + (f" and {number(median(ours, 'pairs') / max(others))} times those of the fastest other library"
           if others and max(others) else "") + ".")
    busy = points.where(suite="contended", world="real/fibers", clients=50, hold_ms=1, processes="one each")
    fair, plain = busy.where(subject="fair").first(), busy.where(subject="reentrant").first()
    ask("What happens when fifty processes want one key?", *(
        f"`{m['subject']}`: {number(median(m, 'pairs'))} grants a second, {number(median(m, 'of_ceiling'))} of one holder after another without a lock"
        + (f", {number(median(m, 'of_alone'))} of what one process alone reaches with it" if "of_alone" in m["metrics"] else "") +
        f"; 99 of 100 wait at most {number(median(m, 'p99_by_fair_share'))} times their fair share; "
        f"{number(median(m, 'commands'))} commands a grant."
        for m in (fair, plain) if m and {"of_ceiling", "p99_by_fair_share", "commands"} <= m["metrics"].keys()))
    sale = small_sales(points, "embedded").where(fault=lambda name: name != "no-fault")
    behind = {p: [m for m in sale.where(protection=p) if m["subject"] == "reentrant"] for p in ("lock", "token", "compare-and-set")}
    if all(behind.values()):
        bad = {p: sum(mean(m, "runs_oversold") > 0 for m in rows) for p, rows in behind.items()}
        ask("Does a lock keep a shop from selling too much?",
            f"Not alone: behind `reentrant` and a blind write a flash sale oversold under {bad['lock']} of {len(behind['lock'])} faults; "
            f"with a token checked from the first read on under {bad['token'] or 'none'}, with compare-and-set under "
            f"{bad['compare-and-set'] or 'none'}.")
    crowd = points.where(suite="scale", world="real/fibers", subject="reentrant", clients=10000, what="a key each").having("pairs").first()
    held = points.where(suite="watchdog", subject="reentrant", locks=10000, lease_s=3).having("client_cpu_at_30s").first()
    ask("Does it carry ten thousand clients?",
        crowd and f"With a key each they make {number(median(crowd, 'pairs'))} pairs a second over "
        f"{number(median(crowd, 'connections'))} connections.",
        held and f"Renewing 10,000 held locks takes {number(median(held, 'client_cpu_at_30s'))}% of a core with the default lease.")
    gaps = [(m, median(m, "longest_gap")) for m in points.where(suite="failover", world="real/fibers").having("longest_gap")]
    ask("How long does a failover stop it?", "; ".join(f"`{m['subject']}` {number(gap)} s" for m, gap in gaps)
        + " without a grant, of which one second is the promotion." if gaps else "")
    return "".join(asked) or "Nothing was measured.\n"


def costs_real(points):
    """What each lock costs on real Redis: alone, and on a busy key."""
    rows = []
    for m in points.where(suite="uncontended", world="real/fibers", clients=50, connections="shared").having("commands"):
        if m["subject"] == "two bare round trips" or m["subject"].startswith("shortest "):
            continue
        busy = points.where(suite="contended", world="real/fibers", subject=m["subject"], clients=50, hold_ms=1,
                            processes="one each").first()
        rows.append([f"`{m['subject']}`", number(median(m, "pairs")), number(median(m, "of_benchmark")), number(median(m, "commands")),
                     number(median(busy, "of_ceiling")), number(median(busy, "jain")), number(median(busy, "commands"))])
    return table(["lock", "alone: pairs/s", "of redis-benchmark", "commands a pair", "busy: of one after another", "Jain's index",
                  "commands a grant"], rows)


def costs_embedded(points):
    """The same counted in the embedded world, which has no noise."""
    rows = []
    for m in points.where(suite="uncontended", world="embedded").having("round_trips"):
        busy = points.where(suite="contended", world="embedded", subject=m["subject"], clients=50, hold_ms=1,
                            processes="one each").first()
        hungry = median(busy, "starved")
        rows.append([f"`{m['subject']}`", number(median(m, "round_trips")), number(median(m, "commands")), number(median(busy, "pairs")),
                     number(median(busy, "jain")), number(hungry), number(median(busy, "commands"))])
    return table(["lock", "alone: round trips a pair", "commands a pair", "busy: grants/s", "Jain's index", "never granted, of 50",
                  "commands a grant"], rows)


def answer(m):
    if m is None:
        return "–"
    if mean(m, "sold") == 0:
        return "no sale"
    share = mean(m, "runs_oversold")
    if share == 0 and mean(m, "cut") > 0:
        return "stalls"
    return f"{max(1, round(100 * share)) if share > 0 else 0}%"


def words(name):
    return name.replace("-", " ")


def small_sales(points, world):
    return points.where(suite="seckill", world=world, buyers=lambda n: int(n) < 50).having("sold", "oversold", "runs_oversold")


def faults(points):
    """Lock x fault: whether the sale oversold behind the lock alone."""
    here = small_sales(points, "embedded").where(protection="lock")
    names = here.values("fault")
    cells = {(m["subject"], m["parameters"]["fault"]): m for m in here}
    rows = []
    for subject in here.subjects():
        shown = {"0%": "holds", "100%": "**oversells**"}
        texts = [answer(cells.get((subject, fault))) for fault in names]
        rows.append([f"`{subject}`"] + [shown.get(t, f"**oversells** {t}" if t.endswith("%") else t) for t in texts])
    return table(["lock alone"] + [words(name) for name in names], rows)


def both_worlds(points):
    """Lock x fault: the share of the runs that oversold in the embedded world beside that on real Redis."""
    def breaks(text):
        return text.endswith("%") and text != "0%"

    worlds = [{(m["subject"], m["parameters"]["protection"], m["parameters"]["fault"]): m for m in small_sales(points, world)}
              for world in ("embedded", "real/fibers")]
    common = [key for key in worlds[1] if key in worlds[0]]
    if not common:
        return "No cell was measured in both worlds.\n"
    names = list(dict.fromkeys(fault for _, _, fault in worlds[1]))
    rows, unlike = [], 0
    for subject, protection in dict.fromkeys(key[:2] for key in common):
        row = [f"`{subject}`" if subject != "no lock" else subject, words(protection)]
        for fault in names:
            pair = [world.get((subject, protection, fault)) for world in worlds]
            one, two = map(answer, pair)
            differ = None not in pair and breaks(one) != breaks(two)
            unlike += differ
            row.append("–" if None in pair else f"**{one} / {two}**" if differ else f"{one} / {two}")
        rows.append(row)
    rows.sort(key=lambda row: row[1] != "lock")  # the lock alone first, lock by lock; then the other protections
    runs = [max(int(worlds[i][key]["metrics"]["oversold"]["count"]) for key in common) for i in (0, 1)]
    text = f"{len(common)} cells, {runs[0]} / {runs[1]} runs each: in {len(common) - unlike} both worlds oversell, or both hold"
    text += ". In bold those in which one does and the other does not.\n\n" if unlike else ".\n\n"
    return text + table(["lock", "protection"] + [words(name) for name in names], rows)


def filled(text, blocks):
    """The text with each block put between its marks."""
    for name, block in blocks.items():
        text = re.sub(f"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)",
                      lambda match, block=block: match.group(1) + block + match.group(2), text, flags=re.S)
    return text


def read(path):
    try:
        with open(path, encoding="utf-8") as handle:
            return handle.read()
    except OSError:
        return None


def pages(points, folder, context, proxy):
    """path -> text, of every page that is written."""
    found = {os.path.join(folder, f"{suite}.md"): suite_page(points, suite, folder) for suite in FIGURES if len(points.where(suite=suite))}
    blocks = {"README.md": {"answers": answers(points), "goals": goals(points, proxy), "costs_real": costs_real(points),
                            "costs_embedded": costs_embedded(points), "faults": faults(points), "worlds": both_worlds(points)},
              "harness.md": {"proxy": proxy_table(context, proxy)} if proxy else {}}
    for name, here in blocks.items():
        path = os.path.join(folder, name)
        text = read(path)
        if text is not None:
            found[path] = filled(text, here)
    return found


def stale_figures(where, folder):
    """What is wrong with RESULTS/figures, or "" """
    made = read(os.path.join(folder, "figures", "made_from.txt")) or ""
    names = [line.split()[1] for line in made.splitlines() if line.startswith("figure ")]
    missing = [name for name in names if not os.path.exists(os.path.join(folder, "figures", name + ".png"))]
    if missing:
        return f"figures/{missing[0]}.png is missing"
    return "" if names and made == data.made_from(where, names) else "figures/ was drawn from other results or by other scripts"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    check = len(arguments) + 1 < len(sys.argv)
    if len(arguments) != 2:
        data.complain("usage: tables.py [--check] DATA RESULTS")
        return 64
    where, folder = arguments
    proxy_file = os.path.join(where, "proxy", "proxy.json")
    try:
        _, points = data.load(where)
        context, proxy = data.load_proxy(proxy_file) if os.path.exists(proxy_file) else ({}, {})
    except data.BadResult as error:
        data.complain(error)
        return 64
    wrong = [stale_figures(where, folder)] if check and stale_figures(where, folder) else []
    for path, text in pages(points, folder, context, proxy).items():
        if check:
            if read(path) != text:
                wrong.append(f"{path} is not what {where} says")
            continue
        data.write_file(path, text.encode())
        print(path)
    for line in wrong:
        print(f"{line}; run tools/bench-all --tables", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
