"""The flash sale: what each fault costs behind each lock and each protection."""
import matplotlib.pyplot as plt
from matplotlib.colors import LinearSegmentedColormap

import style
from data import mean, number

# White to vermilion: dark means bad, also in grey.
HEAT = LinearSegmentedColormap.from_list("heat", ["#ffffff", "#fde0c5", "#f0935a", style.RED, "#7a2a00"])


def heat(sheet, name, rows, columns, cell, message, detail, ylabel):
    """`cell(row, column)`: (share of the seeds that oversold, mean units oversold), "cut", "stalls" or None."""
    figure, axes = plt.subplots(figsize=(1.0 * len(columns) + 3.6, 0.32 * len(rows) + 2.1))
    grid = [[(c[0] if isinstance(c, tuple) else float("nan")) for c in (cell(r, col) for col in columns)] for r in rows]
    image = axes.imshow(grid, cmap=HEAT, vmin=0, vmax=1, aspect="auto")
    for y, row in enumerate(rows):
        for x, column in enumerate(columns):
            value = cell(row, column)
            if value is None:
                text, colour = "–", "#888888"
            elif isinstance(value, str):
                text, colour = ("no sale" if value == "cut" else value), "#555555"
            else:
                text = "0" if value[1] == 0 else f"{value[1]:.1f}".removesuffix(".0")
                colour = "white" if value[0] > 0.6 else "black"
            axes.text(x, y, text, ha="center", va="center", fontsize=8.5, color=colour)
    axes.set_xticks(range(len(columns)), [c.replace(", ", ",\n").replace(" ", "\n", 1) for c in columns], fontsize=8.5)
    axes.set_yticks(range(len(rows)), rows, fontsize=8.5)
    axes.set_xlabel("fault")
    axes.set_ylabel(ylabel)
    axes.grid(False)
    axes.tick_params(length=0)
    bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02)
    bar.set_label("share of the seeds that oversold")
    style.title(axes, message, detail)
    sheet.save(figure, name)


def summary(m):
    if m is None:
        return None
    if mean(m, "sold") == 0:
        return "cut"
    if mean(m, "runs_oversold") == 0 and mean(m, "cut") > 0:
        return "stalls"
    return mean(m, "runs_oversold"), mean(m, "oversold")


def all_figures(sheet, points):
    sale = points.where(suite="seckill")
    for world, where in (("embedded", "embedded world"), ("real/fibers", "real Redis")):
        here = sale.where(world=world, buyers=lambda n: int(n) < 50)
        if len(here) == 0:
            continue
        suffix = "" if world == "embedded" else "_real"
        faults = here.values("fault")
        any_m = here.first()
        seeds = len(any_m["metrics"]["oversold"]["rounds"])
        detail = (f"{where}, {any_m['parameters']['buyers']} buyers, {any_m['parameters']['stock']} units, {seeds} "
                  "seed" + ("s" if seeds > 1 else "") + " a cell; number: units oversold on average")
        locks = here.where(protection="lock")
        names = locks.subjects()
        if len(names) > 1:
            cells = {(m["subject"], m["parameters"]["fault"]): m for m in locks}
            bad = [n for n in names if any(isinstance(summary(cells.get((n, f))), tuple) and
                                           summary(cells[(n, f)])[0] > 0 for f in faults)]
            message = f"A lock alone is not enough: {len(bad)} of {len(names)} oversell under some fault"
            heat(sheet, "oversell_by_lock" + suffix, names, faults, lambda r, c: summary(cells.get((r, c))), message, detail,
                 "lock")
        order = ["no lock", "lock", "lock, loss heeded", "lock + token at the write only", "lock + token",
                 "lock + compare-and-set", "compare-and-set, no lock"]
        first = "reentrant" if "reentrant" in here.subjects() else names[0] if names else ""
        cells = {}
        for m in here:
            if m["subject"] in (first, "no lock"):
                cells[(m["parameters"]["protection"], m["parameters"]["fault"])] = m
        rows = [p for p in order if any(k[0] == p for k in cells)]
        clean = [p for p in rows if all(not isinstance(summary(cells.get((p, f))), tuple) or summary(cells[(p, f)])[0] == 0
                                        for f in faults)]
        message = ("Only the resource can be sure: " + " and ".join(clean[:2]) + " never oversell") if clean else \
            "Oversold units by protection and fault"
        heat(sheet, "oversell_by_protection" + suffix, rows, faults, lambda r, c: summary(cells.get((r, c))), message,
             f"{first} lock, {detail}", "protection")
    crowd(sheet, sale.where(world="embedded", buyers=lambda n: int(n) >= 50))


def crowd(sheet, points):
    rows = [m for m in points if m["parameters"]["fault"] == "none"]
    if len(rows) < 2:
        return
    rows.sort(key=lambda m: (m["subject"], int(m["parameters"]["buyers"])))
    figure, axes = plt.subplots(figsize=(8, 1.3 + 0.35 * len(rows)))
    values = [1e3 * mean(m, "sold_out") for m in rows]
    axes.barh(range(len(rows)), values, color=style.BLUE)
    for i, value in enumerate(values):
        axes.annotate(f"{number(value)} ms", (value, i), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [f"{m['subject']}, {int(m['parameters']['buyers']):,} buyers" for m in rows])
    axes.set_xlabel("time to sell 10 units, ms")
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.15)
    style.title(axes, "Five thousand buyers sell out as fast as fifty", "embedded world, no fault; the first ten to come are served")
    sheet.save(figure, "sale_crowd")
