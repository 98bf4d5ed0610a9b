"""Uncontended and contended: throughput, fairness, hand-off, waiting. A dot a lock, its spread over the rounds as a line."""
import matplotlib.pyplot as plt

import style
from data import median, number, world_name

PUBLISHED = ("lock-interface", "get-del", "setnx", "fencing-incr", "redisson-", "redlock-classic", "redis-plus-plus-", "spring-", "annotation")
COLOURS = {"Holdfast": style.BLUE, "published design": style.ORANGE, "other library": style.PINK, "reference": style.GREY}
MARKERS = {"Holdfast": "o", "published design": "s", "other library": "D", "reference": "|"}


def sort_of(m):
    if m["world"] == "real/peer":
        return "other library"
    if m["subject"] in ("redis-benchmark", "two bare round trips") or "no lock" in m["subject"] or m["subject"].startswith("shortest "):
        return "reference"
    return "published design" if m["subject"].startswith(PUBLISHED) else "Holdfast"


def dots(axes, rows, metric, label, log=False, most=None):
    """One row a lock. `most`: what is beyond stands at the edge, with its figure, for it would flatten all others."""
    values = [median(m, metric) for m in rows]
    known = [v for v in values if v is not None]
    least = min((v for v in known if v > 0), default=1)
    edge = most if most is not None and known and max(known) > most else None
    for y, (m, value) in enumerate(zip(rows, values)):
        if value is None:
            continue
        x = max(value, least) if log else value
        sort = sort_of(m)
        if edge is not None and value > edge:
            axes.annotate(f"{number(value)} →", (edge, y), ha="right", va="center", fontsize=8, color=COLOURS[sort],
                          fontweight="bold")
            continue
        low, high = m["metrics"][metric]["low"], m["metrics"][metric]["high"]
        axes.plot([max(low, least) if log else low, min(high, edge or high)], [y, y], color=COLOURS[sort], linewidth=1)
        axes.plot(x, y, marker=MARKERS[sort], color=COLOURS[sort], markersize=5, linestyle="")
        axes.annotate(number(value), (max(x, min(high, edge or high)), y), xytext=(5, 0), textcoords="offset points",
                      va="center", fontsize=7.5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlabel(label, fontsize=9)
    axes.tick_params(axis="y", length=0)
    top = max((v for v in known if edge is None or v <= edge), default=1) or 1
    if log:
        style.log_axis(axes.xaxis, least, 1.6 * top)
    else:
        axes.set_xlim(0, edge or 1.2 * top)
        axes.xaxis.set_major_locator(style.ticker.MaxNLocator(5))
        axes.xaxis.set_major_formatter(style.ticker.FuncFormatter(lambda x, _: style.plain(x)))


def legend(rows):
    sorts = [s for s in COLOURS if any(sort_of(m) == s for m in rows)]
    return [plt.Line2D([], [], marker=MARKERS[s], color=COLOURS[s], linestyle="", markersize=5) for s in sorts], sorts


def sheet_of_dots(rows, panels, width):
    """Panels side by side that share the names of their rows."""
    figure, axes = plt.subplots(1, len(panels), figsize=(width, 1.5 + 0.215 * len(rows)), sharey=True, squeeze=False)
    for one, panel in zip(axes[0], panels):
        dots(one, rows, **panel)
    axes[0][0].set_yticks(range(len(rows)), [m["subject"] for m in rows], fontsize=8.5)
    return figure, axes[0]


def uncontended(sheet, points):
    here = points.where(suite="uncontended", clients=50, connections="shared").having("pairs")
    rows = sorted((m for m in here if m["world"] in ("real/fibers", "real/peer")), key=lambda m: median(m, "pairs"))
    ours = here.where(subject="reentrant", world="real/fibers").first()
    if len(rows) < 2:
        return
    figure, _ = sheet_of_dots(rows, [{"metric": "pairs", "label": "acquire and release, pairs a second"}], 8)
    message = "50 callers on one connection, a key each"
    others = [median(m, "pairs") for m in rows if sort_of(m) == "other library"]
    share = median(ours, "of_benchmark")
    if ours and others and median(ours, "pairs") > max(others):
        times = number(median(ours, "pairs") / max(others))
        message = f"50 callers on one connection: reentrant makes {times}x the pairs of the fastest other library"
    elif share:
        message = f"50 callers on one connection: reentrant makes {number(share)} of redis-benchmark's pairs"
    style.title(figure, message, "real Redis, a key for each caller, fibers; redis-benchmark sends the same commands without a lock: "
                                 "a reference, no limit", legend(rows))
    sheet.save(figure, "uncontended_50")


def clients_curve(sheet, points):
    base = points.where(suite="uncontended", connections="shared").having("pairs")
    figure, axes = plt.subplots(figsize=(8, 4.5))
    drawn = {}
    for i, (subject, world, label) in enumerate([("redis-benchmark", "real/fibers", "redis-benchmark (reference)"),
                                                 ("two bare round trips", "real/fibers", "two bare round trips, fibers"),
                                                 ("reentrant", "real/fibers", "reentrant, fibers"),
                                                 ("reentrant", "real/threads", "reentrant, threads"),
                                                 ("redis-semaphore", "real/peer", "redis-semaphore")]):
        rows = sorted(base.where(subject=subject, world=world), key=lambda m: int(m["parameters"]["clients"]))
        if len(rows) > 1:
            style.line(axes, i, [int(m["parameters"]["clients"]) for m in rows], [median(m, "pairs") for m in rows], label,
                       *([m["metrics"]["pairs"][end] for m in rows] for end in ("low", "high")))
            drawn[label] = rows
    if not drawn:
        plt.close(figure)
        return
    every = [m for rows in drawn.values() for m in rows]
    style.log_axis(axes.xaxis, *ends([int(m["parameters"]["clients"]) for m in every]))
    style.log_axis(axes.yaxis, *ends([m["metrics"]["pairs"][end] for m in every for end in ("low", "high")]))
    axes.set_xlabel("callers (tasks that share one connection)")
    axes.set_ylabel("acquire and release, pairs a second")
    axes.legend(fontsize=8)
    message = "Throughput by callers on one connection"
    if rows := drawn.get("reentrant, fibers"):
        best = max(rows, key=lambda m: median(m, "pairs"))
        message = (f"One connection carries {number(median(best, 'pairs'))} pairs a second "
                   f"for {int(best['parameters']['clients']):,} callers")
    style.title(figure, message, "real Redis, a key for each caller; bands: lowest to highest round")
    sheet.save(figure, "throughput_by_clients")


def ends(values):
    positive = [v for v in values if v > 0] or [1]
    return min(positive), max(positive)


def contended(sheet, points):
    for world in ("real/fibers", "embedded"):
        base = points.where(suite="contended", clients=50, hold_ms=1, processes="one each").having("pairs")
        here = [m for m in base if m["world"] == world or (world == "real/fibers" and m["world"] == "real/peer")]
        bare = [m for m in here if "no lock" in m["subject"]]
        locks = [m for m in here if "no lock" not in m["subject"]]
        if len(locks) < 2:
            continue
        locks.sort(key=lambda m: (median(m, "jain", 0), median(m, "pairs")))
        detail = f"{world_name(world)}, 50 processes want one key, hold 1 ms, asked again at once"
        ceiling = Ceiling(bare, 1000 if world == "embedded" else None)
        name = "contended_" + ("embedded" if world == "embedded" else "real")
        busy_key(sheet, name, locks, ceiling, detail)
        waits(sheet, name + "_wait", locks, detail)


class Ceiling:
    """What one holder after another reaches without a lock, and from where on a figure cannot be noise."""

    def __init__(self, bare, otherwise):
        self.rate = median(bare[0], "pairs") if bare else otherwise
        highest = bare[0]["metrics"]["pairs"]["high"] if bare else otherwise
        self.beyond = 1.1 * highest if highest else None

    def exceeded_by(self, m):
        """Every round was more than a tenth above the best round of the ceiling."""
        return self.beyond is not None and m["metrics"]["pairs"]["low"] > self.beyond


def busy_key(sheet, name, locks, ceiling, detail):
    panels = [{"metric": "pairs", "label": "grants a second", "most": 1.35 * ceiling.rate if ceiling.rate else None},
              {"metric": "jain", "label": "Jain's index of the grants\n(1: all alike; 0.02: one has all)"},
              {"metric": "commands", "label": "commands a grant", "log": True},
              {"metric": "hand_off_p50", "label": "release to next grant, median, µs", "log": True}]
    figure, axes = sheet_of_dots(locks, panels, 12)
    axes[1].set_xlim(0, 1.18)
    if ceiling.rate:
        axes[0].axvline(ceiling.rate, color=style.INK, linestyle="--", linewidth=0.8)
        axes[0].annotate("one after another, no lock", (ceiling.rate, 1), xycoords=("data", "axes fraction"), fontsize=7.5, ha="right",
                         va="bottom")
    even = sum(median(m, "jain", 0) > 0.9 and not ceiling.exceeded_by(m) for m in locks)
    message = f"One busy key: {even} of {len(locks)} locks share it evenly (Jain's index above 0.9)"
    beyond = [m["subject"] for m in locks if ceiling.exceeded_by(m)]
    if beyond:
        message += f"; {', '.join(beyond)} grants more than one at a time"
    style.title(figure, message, detail, legend(locks))
    sheet.save(figure, name)


def waits(sheet, name, locks, detail):
    """From the median of the granted to the longest of all, those never granted included."""
    rows = [m for m in locks if all(x in m["metrics"] for x in ("wait_p50", "p99_by_fair_share", "longest_wait"))]
    if len(rows) < 2:
        return
    rows.sort(key=lambda m: -median(m, "longest_wait"))
    figure, axes = plt.subplots(figsize=(8, 1.7 + 0.215 * len(rows)))
    starving = []
    for y, m in enumerate(rows):
        colour = COLOURS[sort_of(m)]
        # The share of one client if all took turns is clients by rate.
        fair = 1e3 * int(m["parameters"]["clients"]) / max(median(m, "pairs"), 1e-9)
        p50, p99, longest = median(m, "wait_p50"), fair * median(m, "p99_by_fair_share"), median(m, "longest_wait")
        low, high = ends([p50, p99, longest])
        axes.plot([low, high], [y, y], color=colour, linewidth=0.9)
        axes.plot(max(p50, low), y, marker="o", color="white", markeredgecolor=colour, markersize=5)
        axes.plot(max(p99, low), y, marker="o", color=colour, markersize=5)
        hungry = median(m, "min_max", 1) == 0
        axes.plot(longest, y, marker=">" if hungry else "|", color=style.RED if hungry else colour, markersize=7)
        if hungry:
            starving.append(m)
            count = median(m, "starved")
            text = "some were never granted" if not count else f"{count:.0f} of {m['parameters']['clients']} never granted"
            axes.annotate(text, (longest, y), xytext=(7, 0), textcoords="offset points", va="center", fontsize=7.5,
                          color=style.RED)
    everything = [median(m, "wait_p50") for m in rows] + [median(m, "longest_wait") for m in rows]
    low, high = ends(everything)
    style.log_axis(axes.xaxis, low, high * (12 if starving else 1.5))
    axes.set_yticks(range(len(rows)), [m["subject"] for m in rows], fontsize=8.5)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("wait for a grant, ms")
    marks = [("o", "white", style.INK, "median of the granted"), ("o", style.INK, style.INK, "p99 of all"),
             ("|", style.INK, style.INK, "longest"), (">", style.RED, style.RED, "never granted")]
    sorts = [s for s in COLOURS if any(sort_of(m) == s for m in rows)]
    handles = [plt.Line2D([], [], marker=m, color=c, markeredgecolor=e, linestyle="", markersize=5) for m, c, e, _ in marks]
    handles += [plt.Line2D([], [], color=COLOURS[s], linewidth=2) for s in sorts]
    message = "How long a grant of a busy key is waited for"
    if starving:
        length = max(median(m, "longest_wait") for m in starving) / 1e3
        message = f"With {len(starving)} of {len(rows)} locks some clients got nothing in the {number(length)} s measured"
    style.title(figure, message, detail + "; a wait without an end counts as long as it was",
                (handles, [text for *_, text in marks] + sorts))
    sheet.save(figure, name)


def all_figures(sheet, points):
    uncontended(sheet, points)
    clients_curve(sheet, points)
    contended(sheet, points)
