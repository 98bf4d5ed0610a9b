#!/usr/bin/env python3
"""results/oversell.md: what a failure costs a sale, in units, money and seconds; and the film strip of one failover.

  tools/bench/oversell/oversell.py --write     writes the page and the film strip from results/data/oversell
  tools/bench/oversell/oversell.py --film      plays the sale of the film again, keeps its moments there, and writes both
  tools/bench/oversell/oversell.py --check     fails when the page or the film strip is another one (CTest: oversell)
  tools/bench/oversell/oversell.py --self-test

What is in results/data/oversell: results of `holdfast bench --suite oversell` (of a row that is in several, the last file's), and the moments
of the film.
"""
import argparse
import html
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "bench" / "plot"))
import data  # noqa: E402
from tables import origin, table  # noqa: E402

PAGE = ROOT / "results" / "oversell.md"
FILM = ROOT / "results" / "figures" / "oversell_film.svg"
DATA = ROOT / "results" / "data" / "oversell"
PRICE = 80  # euros: a ticket
MOMENTS = DATA / "film" / "moments.json"
FILMED = "scenarios/oversell/failover_slow_buyer.toml"

FAULTS = {
    "no-fault": "nothing goes wrong",
    "holder-paused": "a buyer's process stands still for 5 s, longer than the lease of 3 s",
    "holder-partitioned": "a buyer is cut off from Redis for 5 s",
    "primary-failover": "the primary dies; its replica, which lags and has heard nothing of the sale, is promoted a second later. That is the worst case: a replica "
                        "that lags less may still have the record of the buyer before, and then everybody waits for the end of its lease",
    "failover-slow-buyer": "the same, while the buyer in the shop stands still for 2 s",
    "restart-slow-buyer": "Redis restarts empty, while the buyer in the shop stands still for 2 s",
    "server-clock-jumps": "the clock of Redis jumps by a minute",
}
PROTECTIONS = {
    "no-lock": "no lock at all",
    "lock": "the lock",
    "loss-heeded": "the lock, and buyers that heed `lost()`",
    "token": "the lock, and a stock that refuses older fencing tokens",
    "compare-and-set": "the lock, and a stock that compares before it writes",
    "compare-and-set-alone": "no lock, and a stock that compares",
}


class Wrong(Exception):
    """What cannot be told."""


# --- the tables ------------------------------------------------------------------------------------------------------

def euros(units):
    return f"€{units * PRICE:,.0f}"


def spread(values, form):
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"


def loss(m):
    """Units beyond the stock and what they cost; or what else went wrong."""
    over = m["metrics"]["oversold"]["rounds"]
    if max(over) == 0:
        return "0"
    units = spread(over, lambda n: f"{n:,.0f}")
    return f"**{units}** ({spread(over, euros)})"


def left(m):
    """Units that nobody bought before the sale was closed."""
    stock = int(m["parameters"]["stock"])
    return max(0, stock - data.mean(m, "sold"))


def duration(m, calm):
    """How long the sale took, and how much longer than without a fault."""
    took = data.mean(m, "sold_out")
    if left(m) >= 1:
        return f"{left(m):.0f} unsold"
    more = took - data.mean(calm, "sold_out") if calm else 0
    return f"{took:.1f} s" + (f" (+{more:.1f})" if more >= 0.5 else "")


def cell(m, calm):
    return f"{loss(m)}; {duration(m, calm)}" if m else "–"


def lock_table(points):
    here = points.where(protection="lock")
    rows = []
    for subject in here.subjects():
        calm = here.where(fault="no-fault", subject=subject).first()
        row = [f"`{subject}`"]
        for fault in FAULTS:
            row.append(cell(here.where(fault=fault, subject=subject).first(), calm))
        rows.append(row)
    return table(["the lock alone", *(name.replace("-", " ") for name in FAULTS)], rows)


def protection_table(points, subject):
    rows = []
    for protection, says in PROTECTIONS.items():
        here = [m for m in points.where(protection=protection) if m["subject"] in (subject, "no lock")]
        of = {m["parameters"]["fault"]: m for m in here}
        if of:
            rows.append([says] + [cell(of.get(fault), of.get("no-fault")) for fault in FAULTS])
    return table([f"`{subject}`", *(name.replace("-", " ") for name in FAULTS)], rows)


def one(points, subject, fault, protection="lock"):
    found = points.where(subject=subject, fault=fault, protection=protection).first()
    if found is None:
        raise Wrong(f"no measurement of {subject}, {fault}, {protection}; run holdfast bench --suite oversell")
    return found


def most(points, **wanted):
    """The measurement with most units beyond the stock."""
    found = points.where(**wanted)
    if not len(found):
        raise Wrong(f"no measurement of {wanted}; run holdfast bench --suite oversell")
    return max(found, key=lambda m: max(m["metrics"]["oversold"]["rounds"]))


def worth(units):
    return f"{units:,.0f} tickets, {euros(units)}"


def worst(points, **wanted):
    return max(most(points, **wanted)["metrics"]["oversold"]["rounds"])


def answers(points):
    calm = one(points, "reentrant", "no-fault")
    failover = one(points, "reentrant", "primary-failover")
    pause = data.mean(failover, "sold_out") - data.mean(calm, "sold_out")
    slow, paused = (most(points, fault=fault, protection="lock") for fault in ("failover-slow-buyer", "holder-paused"))
    alone = one(points, "no lock", "no-fault", "compare-and-set-alone")
    lines = [
        f"- **Without a lock** the sale is a disaster without any failure: {worth(worst(points, protection='no-lock', fault='no-fault'))} too many.",
        f"- **A lock** sells exactly what there is as long as nothing goes wrong, one buyer after the other, in {data.mean(calm, 'sold_out'):.0f} s.",
        f"- **A failover** by itself costs {worst(points, fault='primary-failover', protection='lock'):.0f} tickets, and {pause:.1f} s without sales. It costs up to "
        f"{worth(worst(points, fault='failover-slow-buyer', protection='lock'))} (`{slow['subject']}`) when the buyer in the shop is slow at that moment: what the others sell "
        f"meanwhile is sold once more. A [`survivor`](../lib/SURVIVOR.md), which needs three servers, grants nothing twice at a failover: {worst(points, subject='survivor', fault='failover-slow-buyer', protection='lock'):.0f}.",
        f"- **A buyer that stands still** for longer than its lease costs up to {worth(worst(points, fault='holder-paused', protection='lock'))} (`{paused['subject']}`), behind every lock "
        "with a lease.",
        f"- **Fencing tokens**, which the stock compares: {worst(points, protection='token'):.0f} tickets under every failure here, and no time. **A stock that compares before it writes**: "
        f"{worst(points, protection='compare-and-set'):.0f}.",
        f"- **Comparing without a lock** loses {worst(points, protection='compare-and-set-alone'):.0f} as well, and sells out in {data.mean(alone, 'sold_out'):.0f} s: buyers no longer wait "
        "for each other. They try again and again instead, all of them on the database.",
    ]
    return "\n".join(lines) + "\n"


QUESTIONS = """## Three questions

**One Redis, and the stock cannot look at tokens: what now?** Let buyers heed the loss of their lock (`lost()`, or `is_held_by_me()` before the write). That takes
away most, and not all: who has just woken, or looked a moment before, has not been told yet (up to {heeded} in one sale here). Make what is done under the lock short beside the lease. Where two buyers at once would be a disaster, let the stock compare before it
writes (`UPDATE ... WHERE left = ?`, a Lua script, an ETag): every database can, and it needs no token. A lock without either is there for speed, not for safety.

**We have PostgreSQL already: do we need Redis?** Not for safety. If the stock is a row, `UPDATE stock SET left = left - 1 WHERE left > 0` sells exactly what there is, with no lock at all
([its scenario](../scenarios/comparators/postgresql_stock.toml)). An advisory lock or a row lock of PostgreSQL is held by a session: it waits for a buyer
that sleeps, so that nothing is sold twice and nothing is sold meanwhile; and it is granted again after a failover, as a lock of Redis is
([the table](../lib/README.md#guarantees)). A Redis lock is worth it where the work is outside the database, where thousands wait, or where a sleeper must not stop the shop.

**We sell tickets: how much do we lose at a failover?** Per failover: nothing, if nobody is slow just then; else what the others sell while he is (up to {slow} in this sale, 500 tickets at 20 ms
each), behind every lock whose grants are replicated asynchronously. The pause in sales is the time until the replica is promoted. Fencing tokens, a stock that compares, or a
[`survivor`](../lib/SURVIVOR.md) lock bring the loss to zero. This is the loss by the *lock*. A stock that itself is kept in Redis loses the sales that the replica had not
received, whatever the lock does.
"""


def page(points):
    embedded = points.where(world="embedded")
    real = points.where(world="real/fibers")
    text = f"""# What a failure costs a sale

A sale of 500 tickets at €{PRICE} to 10,000 buyers, who come within five seconds and buy one each. The stock is written blindly: who is in the shop reads how many are left, thinks for 10 to
30 ms, and writes one less. A lock with a lease of 3 s is to see to it that one buyer is in the shop at a time. Something goes wrong at the 50th sale. How many tickets are sold that
do not exist?

{answers(embedded)}
![One failover, frame by frame](figures/oversell_film.svg)

The film strip is of one run, which is the same each time. `holdfast bench --suite oversell --world embedded --locks reentrant --seeds 1 --out DIR` keeps it, and
the first sale that oversold of each other cell, with its story and its timeline.

## What goes wrong

"""
    text += "".join(f"- *{name.replace('-', ' ')}*: {says}.\n" for name, says in FAULTS.items())
    text += """
`survivor` lives on a primary and two replicas, one of which follows the promoted one; it grants nothing for a lease after its servers have become new, and each
grant waits for a replica: its sale takes longer, with or without a fault.

A cell has the tickets sold beyond the stock in one sale, least to most of the runs, and what they cost; then how long the sale took, and how much longer than without a fault. *unsold*: what
nobody had bought when the sale was closed after a minute. –: the lock does not run on such servers.

**One ticket or many is chance.** A sleeper that wakes writes what was left before it slept, less one. If somebody is in the shop at that moment, he writes over it soon: one ticket is
sold twice. If nobody is, or the next one reads only now, all that was sold meanwhile is sold once more.

## Each lock, alone

Simulated, 10,000 buyers, 500 tickets:

"""
    text += lock_table(embedded)
    text += "\nOn real servers a fifth of it, 2,000 buyers and 100 tickets:\n\n" + lock_table(real)
    text += "\n## Each protection\n\nSimulated:\n\n" + protection_table(embedded, "reentrant")
    text += "\nOn real servers:\n\n" + protection_table(real, "reentrant") + "\n"
    heeded = max(worst(points, protection="loss-heeded") for points in (embedded, real))
    text += QUESTIONS.format(heeded=f"{heeded:.0f} tickets", slow=f"{worst(embedded, fault='failover-slow-buyer', protection='lock'):.0f}")
    text += "\n## Where the figures come from\n\n"
    documents = {}
    for world in (embedded, real):
        for m in world:
            documents.setdefault((id(m["document"]), m["world"]), (m["document"], m["world"]))
    text += "\n".join(origin(document, "oversell", world) for document, world in documents.values())
    text += "\n`tools/bench/oversell/oversell.py --write` makes this page from `results/data/oversell`.\n"
    return text


# --- the film strip --------------------------------------------------------------------------------------------------

def moments(history):
    """What the film shows, from the events of the sale."""
    def seconds(event):
        return event["time"] / 1e9

    fault = {}
    for event in history:
        if event.get("f") == "fault" and event.get("value") == 1:
            fault.setdefault(event["key"], event)
    kill, promote, stock = fault["kill"], fault["promote"], history[0]["initial_stock"]
    first = [e for e in history if e.get("f") == "acquire" and e["type"] == "ok" and e["time"] <= kill["time"]][-1]
    second = next(e for e in history if e.get("f") == "acquire" and e["type"] == "ok" and e["time"] >= promote["time"])
    read = next(e for e in history if e.get("f") == "read" and e["type"] == "ok" and e["process"] == first["process"])
    write = next(e for e in history if e.get("f") == "write" and e["type"] == "ok" and e["process"] == first["process"])
    before = [e for e in history if e.get("f") == "write" and e["type"] == "ok" and e["time"] < write["time"]][-1]
    sold = [e for e in history if e.get("f") == "sell" and e["type"] == "ok"]

    def sold_by(event):
        return sum(1 for e in sold if e["time"] <= event["time"])

    return {
        "stock": stock,
        "first": first["process"], "second": second["process"], "read": read["value"],
        "granted_s": seconds(first), "killed_s": seconds(kill), "promoted_s": seconds(promote), "again_s": seconds(second),
        "woken_s": seconds(write), "written": write["value"], "overwritten": before["value"],
        "sold_then": sold_by(first), "sold_between": sold_by(before) - sold_by(first), "sold": len(sold), "end_s": seconds(sold[-1]),
    }


def film(m):
    """Six frames. Each has the two servers, the two buyers and the stock, and says what happens."""
    first, second = m["first"].split("/")[0], m["second"].split("/")[0]
    frames = [
        # (time, title, what happens, r1, r2, holders, stock)
        (m["granted_s"], "Granted", f"Buyer {first} is granted the lock and reads that {m['read']} are left.", "lock: " + first, "no lock yet", [first], m["read"]),
        (m["killed_s"], "The primary dies", f"r2 has not heard of the grant. {first} is still in the shop, and slow.", None, "no lock", [first], m["read"]),
        (m["promoted_s"], "The replica takes over", "It knows of no lock. Thousands of buyers ask it for one.", None, "primary, no lock", [first], m["read"]),
        (m["again_s"], "Granted again", f"Buyer {second} is granted the lock. Two are in the shop now.", None, "lock: " + second, [first, second], m["read"]),
        (m["woken_s"], "The slow buyer writes", f"{m['sold_between']} were sold meanwhile, {m['overwritten']} are left. {first} writes {m['written']}.", None, "lock", [first, "…"],
         m["written"]),
        (m["end_s"], "Sold out", f"{m['sold']} sold of {m['stock']}: {m['sold'] - m['stock']} tickets ({euros(m['sold'] - m['stock'])}) that do not exist.", None, "no lock", [], 0),
    ]
    width, height, gap = 300, 232, 16
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {3 * width + 4 * gap} {2 * height + 3 * gap}" role="img" '
           f'font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif">',
           f"<title>One failover in six frames: {m['sold']} sold of {m['stock']}</title>",
           f'<rect width="100%" height="100%" rx="10" fill="#1f2430"/>']
    for i, (at, title, says, one_server, other, holders, stock) in enumerate(frames):
        x, y = gap + (i % 3) * (width + gap), gap + (i // 3) * (height + gap)
        out.append(f'<g transform="translate({x} {y})"><rect width="{width}" height="{height}" rx="8" fill="#fbfaf7"/>')
        out.append(f'<text x="14" y="26" font-size="15" font-weight="600" fill="#1f2430">{i + 1}. {html.escape(title)}</text>')
        out.append(f'<text x="{width - 14}" y="26" font-size="13" text-anchor="end" fill="#6b7080">{at:.3f} s</text>')
        for j, (name, text) in enumerate((("r1", one_server), ("r2", other))):
            left_edge = 14 + j * 92
            dead = text is None
            locked = not dead and text.startswith("lock")
            fill = "#e4e2dc" if dead else "#d8ecdd" if locked else "#ffffff"
            dash = ' stroke-dasharray="4 3"' if dead else ""
            out.append(f'<rect x="{left_edge}" y="44" width="84" height="62" rx="6" fill="{fill}" stroke="#6b7080"{dash}/>')
            out.append(f'<text x="{left_edge + 42}" y="64" font-size="13" text-anchor="middle" font-weight="600" fill="{"#9a9ca5" if dead else "#1f2430"}">{name}</text>')
            for k, word in enumerate((text or "dead").split(", ")):
                out.append(f'<text x="{left_edge + 42}" y="{82 + 15 * k}" font-size="12" text-anchor="middle" fill="{"#b3372f" if dead else "#3c4150"}">{html.escape(word)}</text>')
        out.append(f'<rect x="202" y="44" width="84" height="62" rx="6" fill="#fff6df" stroke="#6b7080"/>')
        out.append('<text x="244" y="64" font-size="12" text-anchor="middle" fill="#3c4150">left</text>')
        out.append(f'<text x="244" y="92" font-size="24" font-weight="700" text-anchor="middle" fill="#1f2430">{stock}</text>')
        out.append('<rect x="14" y="120" width="272" height="56" rx="6" fill="none" stroke="#c9c7c0"/>')
        out.append('<text x="22" y="137" font-size="11" fill="#6b7080">in the shop</text>')
        for j, name in enumerate(holders):
            colour = "#2f6fb3" if j == 0 else "#c2591f"
            out.append(f'<circle cx="{120 + 90 * j}" cy="148" r="16" fill="{colour}"/><text x="{120 + 90 * j}" y="152" font-size="11" text-anchor="middle" fill="#ffffff">{html.escape(name)}</text>')
        if not holders:
            out.append('<text x="150" y="153" font-size="12" text-anchor="middle" fill="#9a9ca5">nobody</text>')
        line, lines = "", []
        for word in says.split():
            if len(line) + len(word) > 39:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}".strip()
        for k, text in enumerate([*lines, line]):
            out.append(f'<text x="14" y="{198 + 17 * k}" font-size="13" fill="#1f2430">{html.escape(text)}</text>')
        out.append("</g>")
    out.append("</svg>")
    return "\n".join(out) + "\n"


def play(command):
    """The sale at its full size, as suite oversell sets it (tools/bench/bench_oversell.cc)."""
    with tempfile.TemporaryDirectory() as folder:
        text = (ROOT / FILMED).read_text()
        for small, full in (("clients = 6", "clients = 100"), ("threads = 20", "threads = 100"), ("stock   = 100", "stock   = 500")):
            if text.count(small) != 1:
                raise Wrong(f"{FILMED}: no line `{small}`")
            text = text.replace(small, full)
        file = pathlib.Path(folder, "film.toml")
        file.write_text(text)
        subprocess.run([command, "run", str(file), "--variant", "base", "--seed", "1", "--out", folder, "--keep", "all"],
                       check=True, stdout=subprocess.DEVNULL)
        (kept,) = pathlib.Path(folder).glob("*/*/history.jsonl")
        return moments([json.loads(line) for line in kept.read_text().splitlines()])


# --- the command -----------------------------------------------------------------------------------------------------

def self_test():
    def event(time, f, process="c1/0", kind="ok", **more):
        return {"time": int(time * 1e9), "f": f, "process": process, "type": kind, **more}

    history = [
        {"initial_stock": 3},
        event(1, "acquire"), event(1, "read", value=3), event(1.1, "fault", "nemesis", "info", key="kill", value=1),
        event(2, "fault", "nemesis", "info", key="promote", value=1), event(2.5, "acquire", "c2/0"), event(2.5, "read", "c2/0", value=3),
        event(2.6, "write", "c2/0", value=2), event(2.6, "sell", "c2/0"), event(3, "write", value=2), event(3, "sell"),
        event(4, "sell", "c3/0"), event(5, "sell", "c4/0"),
    ]
    found = moments(history)
    assert (found["first"], found["second"], found["read"]) == ("c1/0", "c2/0", 3), found
    assert (found["written"], found["overwritten"], found["sold_between"], found["sold"]) == (2, 2, 1, 4), found
    strip = film(found)
    assert "4 sold of 3: 1 tickets (€80)" in strip and strip.count("<g ") == 6, strip

    def measured(subject, fault, oversold, sold_out, sold=500.0, protection="lock"):
        def rounds(values):
            return {"unit": "units", "mean": sum(values) / len(values), "rounds": values}
        return {"suite": "oversell", "subject": subject, "world": "embedded", "parameters": {"fault": fault, "protection": protection, "stock": "500"},
                "metrics": {"oversold": rounds(oversold), "sold": rounds([sold]), "sold_out": rounds([sold_out])}}

    calm, bad = measured("a", "no-fault", [0.0], 10.0), measured("a", "holder-paused", [1.0, 40.0], 12.5, 540.0)
    assert cell(calm, calm) == "0; 10.0 s", cell(calm, calm)
    assert cell(bad, calm) == "**1 to 40** (€80 to €3,200); 12.5 s (+2.5)", cell(bad, calm)
    assert cell(measured("a", "no-fault", [0.0], 60.0, 400.0), calm) == "0; 100 unsold"
    points = data.Measurements([calm, bad])
    assert "| `a` | 0; 10.0 s | **1 to 40**" in lock_table(points), lock_table(points)
    try:
        answers(points)
    except Wrong as wrong:
        assert "holdfast bench --suite oversell" in str(wrong)
    else:
        raise AssertionError("an answer without a measurement")


def main():
    parser = argparse.ArgumentParser(description="what a failure costs a sale: results/oversell.md")
    parser.add_argument("--command", default=str(ROOT / "build" / "holdfast"), help="the holdfast command")
    for mode in ("write", "film", "check", "self-test"):
        parser.add_argument(f"--{mode}", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return 0
    try:
        if arguments.film:
            MOMENTS.parent.mkdir(parents=True, exist_ok=True)
            data.write_file(str(MOMENTS), (json.dumps(play(arguments.command), indent=1) + "\n").encode())
        shown = json.loads(MOMENTS.read_text())
        _, points = data.load(str(DATA))
        made = {PAGE: page(points), FILM: film(shown)}
    except (Wrong, data.BadResult) as wrong:
        print(wrong, file=sys.stderr)
        return 1
    for path, text in made.items():
        if not arguments.check:
            data.write_file(str(path), text.encode())
        elif not path.exists() or path.read_text() != text:
            print(f"{path.relative_to(ROOT)} is another one, expected that of tools/bench/oversell/oversell.py --write", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
