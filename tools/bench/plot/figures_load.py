"""Uncontended and contended: throughput, waiting, fairness, hand-off, what waiting costs."""
import matplotlib.pyplot as plt

import style
from data import median, number, spread

HISTORIC = ("lock-interface", "get-del", "setnx", "fencing-incr", "redisson-", "redlock-classic", "spring-", "annotation")
MAIN = ["reentrant", "fair", "spin", "lock-interface", "redisson-3.13-reentrant", "redis-py Lock",
        "redis-semaphore"]


def kind(m):
    if m["world"] == "real/peer":
        return "peer"
    if m["subject"] in ("redis-benchmark", "two bare round trips") or "no lock" in m["subject"]:
        return "limit"
    return "historic" if m["subject"].startswith(HISTORIC) else "hardened"


def legend(axes, kinds, **options):
    names = {"hardened": "Holdfast", "historic": "published design", "peer": "other library", "limit": "limit"}
    handles = [plt.Rectangle((0, 0), 1, 1, color=style.colour(k)) for k in names if k in kinds]
    axes.legend(handles, [names[k] for k in names if k in kinds], **options)


def bars(sheet, name, points, metric, xlabel, message, detail, log=False, mark=None, limit=None):
    """One bar a subject, its spread over the rounds as a whisker."""
    rows = [m for m in points if metric in m["metrics"]]
    if len(rows) < 2:
        return
    rows.sort(key=lambda m: median(m, metric))
    figure, axes = plt.subplots(figsize=(8, 1.3 + 0.27 * len(rows)))
    values = [median(m, metric) for m in rows]
    whiskers = list(zip(*[spread(m, metric) for m in rows]))
    axes.barh(range(len(rows)), values, color=[style.colour(kind(m)) for m in rows], xerr=whiskers,
              error_kw={"ecolor": "#333333", "elinewidth": 0.9, "capsize": 2})
    for i, m in enumerate(rows):
        high = m["metrics"][metric]["high"]
        if limit is not None and values[i] > limit:
            continue
        axes.annotate(number(values[i]), (max(high, values[i]), i), xytext=(4, 0), textcoords="offset points",
                      va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [m["subject"] for m in rows])
    axes.set_xlabel(xlabel)
    axes.grid(axis="y", visible=False)
    if log:
        axes.set_xscale("log")
        style.plain_log(axes.xaxis, between=(2, 5) if max(values) < 100 * min(values) else ())
    if limit is not None and max(values) > limit:  # what is far beyond would flatten all others
        axes.set_xlim(0, limit)
        for i, value in enumerate(values):
            if value > limit:
                axes.annotate(f"{number(value)} →", (limit, i), xytext=(-4, 0), textcoords="offset points", ha="right",
                              va="center", fontsize=8, color="white", fontweight="bold")
    if mark is not None:
        axes.axvline(mark[0], color=style.BLACK, linestyle="--", linewidth=1)
        axes.annotate(mark[1], (mark[0], 0.975), xycoords=("data", "axes fraction"), xytext=(-4, 0),
                      textcoords="offset points", fontsize=8, ha="right")
    axes.margins(x=0.12)
    style.title(axes, message, detail)
    legend(axes, {kind(m) for m in rows}, loc="lower right", fontsize=8)
    sheet.save(figure, name)


def uncontended(sheet, points):
    here = points.where(suite="uncontended", clients=50, connections="shared")
    chosen = [m for m in here if m["world"] in ("real/fibers", "real/peer")]
    ours = here.where(subject="reentrant", world="real/fibers").first()
    if ours and len(chosen) > 1:
        peers = [median(m, "pairs") for m in chosen if kind(m) == "peer"]
        ratio = median(ours, "of_limit")
        message = "Uncontended, 50 callers on one connection"
        if peers:
            message = f"50 callers on one connection: {number(median(ours, 'pairs') / max(peers))}x the faster peer"
        if ratio:
            message += f", {number(ratio)} of redis-benchmark"
        bars(sheet, "uncontended_50", chosen, "pairs", "acquire + release, pairs a second (median, low to high)", message,
             "real Redis, a key for each caller, fibers")
    clients_curve(sheet, points)


def clients_curve(sheet, points):
    base = points.where(suite="uncontended", connections="shared")
    figure, axes = plt.subplots(figsize=(8, 4.5))
    i, drawn = 0, {}
    for subject, world, label in [("redis-benchmark", "real/fibers", "redis-benchmark (limit)"),
                                  ("two bare round trips", "real/fibers", "two bare round trips, fibers"),
                                  ("reentrant", "real/fibers", "reentrant, fibers"),
                                  ("reentrant", "real/threads", "reentrant, threads"),
                                  ("redis-semaphore", "real/peer", "redis-semaphore")]:
        rows = sorted(base.where(subject=subject, world=world), key=lambda m: int(m["parameters"]["clients"]))
        if len(rows) > 1:
            xs = [int(m["parameters"]["clients"]) for m in rows]
            style.line(axes, i, xs, [median(m, "pairs") for m in rows], label,
                       [m["metrics"]["pairs"]["low"] for m in rows], [m["metrics"]["pairs"]["high"] for m in rows])
            drawn[label] = rows
        i += 1
    if not drawn:
        plt.close(figure)
        return
    rows = drawn.get("reentrant, fibers")
    message = "Throughput by callers on one connection"
    if rows:
        best = max(rows, key=lambda m: median(m, "pairs"))
        message = (f"One connection carries {number(median(best, 'pairs'))} pairs a second "
                   f"for {best['parameters']['clients']} callers")
    axes.set_xscale("log")
    axes.set_yscale("log")
    style.plain_log(axes.xaxis)
    style.plain_log(axes.yaxis)
    axes.set_xlabel("callers (tasks that share one connection)")
    axes.set_ylabel("acquire + release, pairs a second")
    style.title(axes, message, "real Redis, a key for each caller; bands: low to high over the rounds")
    axes.legend(fontsize=8)
    sheet.save(figure, "throughput_by_clients")


def contended(sheet, points):
    for world, where in (("real/fibers", "real Redis"), ("embedded", "embedded world, 250 µs each way")):
        suffix = "" if world == "real/fibers" else "_embedded"
        base = points.where(suite="contended", clients=50, hold_ms=1, processes="one each")
        here = [m for m in base if m["world"] == world or (world != "embedded" and m["world"] == "real/peer")]
        detail = f"{where}, 50 processes want one key, hold 1 ms, asked again at once"
        if len(here) < 2:
            continue
        ceiling = next((median(m, "pairs") for m in here if "no lock" in m["subject"]),
                       1000 if world == "embedded" else None)
        locks = [m for m in here if "no lock" not in m["subject"]]
        fair = [m for m in locks if median(m, "jain", 0) > 0.9 and median(m, "pairs") <= 1.02 * (ceiling or 1e9)]
        bars(sheet, "contended_throughput" + suffix, locks, "pairs", "grants a second",
             "Grants a second on one busy key; beyond the ceiling a lock does not exclude",
             detail, mark=(ceiling, "hold-bound ceiling") if ceiling else None,
             limit=1.3 * ceiling if ceiling else None)
        bars(sheet, "contended_fairness" + suffix, locks, "jain", "Jain's index of the grants by client (1: all alike, 0.02: one had all)",
             f"{len(fair)} of {len(locks)} locks share a busy key evenly", detail)
        bars(sheet, "contended_commands" + suffix, locks, "commands", "commands to Redis a grant",
             "What waiting costs Redis: commands for each grant", detail, log=True)
        wait_distribution(sheet, "contended_wait" + suffix, locks, "wait_us", detail)
        hand_off(sheet, "contended_hand_off" + suffix, locks, detail)


def wait_distribution(sheet, name, rows, curve, detail):
    figure, axes = plt.subplots(figsize=(8, 4.5))
    drawn = 0
    for i, subject in enumerate(MAIN):
        m = next((m for m in rows if m["subject"] == subject and curve in m.get("curves", {})), None)
        if m is None:
            continue
        xs = [max(1 - q, 1e-5) for q, _ in m["curves"][curve] if q < 1]
        ys = [max(us, 1) / 1e3 for q, us in m["curves"][curve] if q < 1]
        axes.plot(xs, ys, color=style.CYCLE[i % 7], linestyle=style.DASHES[i % 7], marker=style.MARKERS[i % 7], markersize=3.5,
                  label=subject)
        drawn += 1
    if drawn == 0:
        plt.close(figure)
        return
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.invert_xaxis()
    style.plain_log(axes.yaxis)
    ticks = [0.5, 0.1, 0.01, 0.001]
    axes.xaxis.set_minor_locator(style.matplotlib.ticker.NullLocator())
    axes.set_xticks(ticks, ["p50", "p90", "p99", "p99.9"])
    axes.set_xlabel("part of the granted acquires that waited at most so long")
    axes.set_ylabel("wait until the grant, ms")
    low = next((m for m in rows if m["subject"] == "fair"), None)
    message = "How long a grant is waited for"
    if low:
        message = f"First come, first served: p99 of the wait is {number(median(low, 'p99_by_fair_share'))}x the fair share"
    style.title(axes, message, detail + "; who starved is not in it")
    axes.legend(fontsize=8)
    sheet.save(figure, name)


def hand_off(sheet, name, rows, detail):
    bars(sheet, name, rows, "hand_off_p50", "release to next grant, µs (median)",
         "Hand-off; very short where the releaser itself takes it again", detail, log=True)


def all_figures(sheet, points):
    uncontended(sheet, points)
    contended(sheet, points)
