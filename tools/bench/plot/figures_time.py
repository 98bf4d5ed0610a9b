"""Single runs over time: grants across a failover, and who held the lock when."""
import matplotlib.pyplot as plt

import style
from data import median, number, world_name


def failover(sheet, points):
    for world, suffix in (("embedded", "embedded"), ("real/fibers", "real")):
        here = points.where(suite="failover", world=world, picture="throughput").having("longest_gap")
        rows = [m for m in here if "grants_per_s" in m["curves"]]
        if not rows:
            continue
        end = max(x for m in rows for x, _ in m["curves"]["grants_per_s"])
        top = max(max(y for m in rows for _, y in m["curves"]["grants_per_s"]), 1)
        figure, axes = plt.subplots(len(rows), 1, figsize=(8, 1.2 + 1.1 * len(rows)), sharex=True, sharey=True, squeeze=False)
        for one, m in zip(axes[:, 0], rows):
            xs, ys = zip(*m["curves"]["grants_per_s"][:-1])
            without = no_primary(m)
            if without:
                one.axvspan(*without, color=style.GREY, alpha=0.25, linewidth=0)
                one.annotate("no primary", (sum(without) / 2, 0.9), xycoords=("data", "axes fraction"), ha="center", va="top",
                             fontsize=7.5)
            one.step(xs, ys, where="post", color=style.BLUE, linewidth=1)
            one.set_title(f"{m['subject']}: nobody for {number(median(m, 'longest_gap'))} s", fontsize=9, loc="left")
            one.set_xlim(0, max(end, 0.1))
            one.set_ylim(0, 1.1 * top)
        axes[-1, 0].set_xlabel("time, s")
        figure.supylabel("grants a second", fontsize=9)
        gaps = sorted(median(m, "longest_gap") for m in rows)
        low, high = number(gaps[0]), number(gaps[-1])
        detail = (f"{world_name(world)}, {rows[0]['parameters'].get('clients', '?')} clients on one key, hold 2 ms, lease 2 s; the replica "
                  "is promoted 1 s after the primary died; one run a lock")
        style.title(figure, f"Across a failover nobody is granted for {low if low == high else low + ' to ' + high} s", detail)
        sheet.save(figure, "failover_" + suffix)


def no_primary(m):
    down = [b["from"] for b in m["bands"] if b["row"] == "fault" and b["label"].startswith("crash")]
    up = [b["from"] for b in m["bands"] if b["row"] == "fault" and b["label"].startswith("promote")]
    return (down[0], up[0]) if down and up and down[0] < up[0] else None


def timelines(sheet, points):
    """One panel a fault: holds, what was promised, sales, what the holder was told."""
    here = [m for m in points.where(suite="failover", picture="timeline").having("oversold") if clients_in(m)]
    if not here:
        return
    heights = [len(clients_in(m)) + 1.3 for m in here]
    figure, axes = plt.subplots(len(here), 1, figsize=(9, 0.9 + 0.34 * sum(heights)), height_ratios=heights, squeeze=False)
    for one, m in zip(axes[:, 0], here):
        timeline(one, m)
    axes[-1, 0].set_xlabel("time, s")
    marks = [plt.Rectangle((0, 0), 1, 1, facecolor=style.SKY, alpha=0.6), plt.Line2D([], [], color=style.BLUE, linewidth=3),
             plt.Line2D([], [], marker="o", color=style.INK, linestyle="", markersize=5),
             plt.Line2D([], [], marker="X", color=style.RED, linestyle=""), plt.Rectangle((0, 0), 1, 1, facecolor=style.GREY, alpha=0.3)]
    labels = ["holds", "was promised", "sale", "told of the loss", "fault"]
    two = sum(overlap(m["bands"], "promised") > 0.001 for m in here)
    both = sum(overlap(m["bands"], "hold") > 0.001 for m in here)
    message = f"Of {len(here)} faults {both} make two holders at once; in {two} of them both had been promised the lock" if both else \
        f"None of {len(here)} faults made two holders"
    world = world_name(here[0]["world"])
    style.title(figure, message, f"{world}, {here[0]['subject']} lock, one run a fault, a blind write", (marks, labels))
    sheet.save(figure, "failover_holders")


def clients_in(m):
    return sorted({b["row"] for b in m["bands"] if b["row"] != "fault"}, reverse=True)


def timeline(axes, m):
    rows = clients_in(m)
    end = max(max(b["to"] for b in m["bands"]), 0.1)
    for i, b in enumerate(b for b in m["bands"] if b["row"] == "fault"):
        healed = b["to"] < end - 1e-6
        axes.axvspan(max(0, b["from"]), b["to"] if healed else b["from"] + end / 300, color=style.GREY, alpha=0.3, linewidth=0)
        axes.annotate(b["label"], (max(0, b["from"]), len(rows) - 0.35), fontsize=7, xytext=(2 + 62 * i, 0),
                      textcoords="offset points", va="bottom")
    for b in m["bands"]:
        if b["row"] == "fault":
            continue
        y = rows.index(b["row"])
        if b["label"] == "hold":
            axes.barh(y, b["to"] - b["from"], left=b["from"], height=0.6, color=style.SKY, alpha=0.6)
        elif b["label"] == "promised":
            axes.barh(y, b["to"] - b["from"], left=b["from"], height=0.14, color=style.BLUE)
        elif b["label"] == "sale":
            axes.plot(b["from"], y, marker="o", markersize=5, color=style.INK)
        else:
            axes.plot(b["from"], y, marker="X", markersize=6, color=style.RED)
    sold = f"{median(m, 'oversold'):.0f} oversold" if median(m, "oversold") else "nothing oversold"
    promised, both = overlap(m["bands"], "promised"), overlap(m["bands"], "hold")
    text = "never two holders"
    if promised > 0.001:
        text = f"both were promised it for {number(promised)} s"
    elif both > 0.001:
        text = f"one outlived its promise by {number(both)} s"
    name = m["parameters"].get("fault", "?").replace("-", " ")
    axes.set_title(f"{name}: {text}, {sold}", fontsize=9, loc="left", fontweight="bold")
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.set_ylim(-0.5, len(rows) + 0.1)
    axes.set_xlim(0, 1.015 * end)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def overlap(bands, label):
    """How long two clients had a band of that label at once, in seconds."""
    edges = []
    for b in bands:
        if b["label"] == label and b["row"] != "fault":
            edges += [(b["from"], 1), (b["to"], -1)]
    total, open_, last = 0.0, 0, 0.0
    for at, step in sorted(edges):
        if open_ > 1:
            total += at - last
        open_, last = open_ + step, at
    return total


def all_figures(sheet, points):
    failover(sheet, points)
    timelines(sheet, points)
