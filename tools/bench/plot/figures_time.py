"""Single runs over time: throughput across a failover, and who held the lock when."""
import matplotlib.pyplot as plt

import style
from data import median, number


def bands(axes, m, end):
    for band in m.get("bands", []):
        if band["row"] != "fault":
            continue
        axes.axvspan(max(0, band["from"]), min(band["to"], end), color=style.GREY, alpha=0.18, linewidth=0)


def failover(sheet, points):
    for world, where in (("embedded", "embedded world"), ("real/fibers", "real Redis")):
        rows = [m for m in points.where(suite="failover", world=world, picture="throughput")]
        if not rows:
            continue
        figure, axes = plt.subplots(figsize=(8, 4))
        end = max(x for m in rows for x, _ in m["curves"]["grants_per_s"])
        down = None
        for band in rows[0].get("bands", []):
            if band["label"].startswith("crash"):
                down = band["from"]
            if band["label"].startswith("promote") and down is not None:
                axes.axvspan(down, band["from"], color=style.GREY, alpha=0.25, linewidth=0)
                axes.annotate("no primary", ((down + band["from"]) / 2, 0.97), xycoords=("data", "axes fraction"),
                              ha="center", va="top", fontsize=8.5)
        for i, m in enumerate(rows):
            xs, ys = zip(*m["curves"]["grants_per_s"][:-1])
            axes.step(xs, ys, where="post", color=style.CYCLE[i % 7], linestyle=style.DASHES[i % 7], label=m["subject"])
        gap = {m["subject"]: median(m, "longest_gap") for m in rows}
        low, high = number(min(gap.values())), number(max(gap.values()))
        style.title(axes, f"Across a failover nobody is granted for {low if low == high else low + ' to ' + high} s",
                    f"{where}, 10 clients on one key, hold 2 ms, lease 2 s; the replica is promoted after 1 s")
        axes.set_xlabel("time, s")
        axes.set_ylabel("grants a second")
        axes.set_xlim(0, end)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
        sheet.save(figure, "failover_throughput" + ("" if world == "embedded" else "_real"))


def timelines(sheet, points):
    for m in points.where(suite="failover", picture="timeline"):
        rows = sorted({b["row"] for b in m["bands"] if b["row"] != "fault"})
        if not rows:
            continue
        figure, axes = plt.subplots(figsize=(8, 1.6 + 0.55 * len(rows)))
        end = max(b["to"] for b in m["bands"])
        faults = [b for b in m["bands"] if b["row"] == "fault"]
        for i, b in enumerate(faults):
            ends = b["to"] < end - 1e-6
            axes.axvspan(max(0, b["from"]), b["to"] if ends else b["from"] + end / 200, color=style.GREY, alpha=0.25, linewidth=0)
            axes.annotate(b["label"], (max(0, b["from"]), 1.0 - 0.09 * (i % 3)), xycoords=("data", "axes fraction"), fontsize=8,
                          xytext=(3, -2), textcoords="offset points", va="top")
        for b in m["bands"]:
            if b["row"] == "fault":
                continue
            y = rows.index(b["row"])
            if b["label"] == "hold":
                axes.barh(y, b["to"] - b["from"], left=b["from"], height=0.5, color=style.SKY, edgecolor=style.BLUE)
            elif b["label"] == "promised":
                axes.barh(y, b["to"] - b["from"], left=b["from"], height=0.18, color=style.BLUE)
            else:
                axes.plot(b["from"], y, marker="o" if b["label"] == "sale" else "X", markersize=6,
                          color=style.BLACK if b["label"] == "sale" else style.RED)
        both = overlap(m["bands"], "hold")
        promised = overlap(m["bands"], "promised")
        sold = f"{median(m, 'oversold'):.0f} oversold" if median(m, "oversold") else "nothing oversold"
        if promised > 0.001:
            message = f"Two owners were promised the lock for {number(promised)} s: {sold}"
        elif both > 0.001:
            message = f"A holder outlived its promise by {number(both)} s: {sold}"
        else:
            message = f"Never two owners: {sold}"
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylim(-0.6, len(rows) + 0.35)
        axes.set_xlim(0, end)
        axes.set_xlabel("time, s")
        axes.grid(axis="y", visible=False)
        style.title(axes, message, f"{m['subject']} lock, {m['parameters']['fault']}")
        handles = [plt.Rectangle((0, 0), 1, 1, facecolor=style.SKY, edgecolor=style.BLUE), plt.Rectangle((0, 0), 1, 1, color=style.BLUE),
                   plt.Line2D([], [], marker="o", color=style.BLACK, linestyle=""),
                   plt.Line2D([], [], marker="X", color=style.RED, linestyle="")]
        axes.legend(handles, ["holds", "was promised", "sale", "told of the loss"], ncols=4, fontsize=8, loc="upper center",
                    bbox_to_anchor=(0.5, -0.24))
        name = m["parameters"]["fault"].replace(",", "").replace(" ", "_")
        sheet.save(figure, f"timeline_{name}")


def overlap(bands, label):
    """How long two rows had a band of that label at once."""
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
