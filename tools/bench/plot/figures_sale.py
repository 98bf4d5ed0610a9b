"""The flash sale: what each fault costs behind each lock and each protection."""
import matplotlib.pyplot as plt
from matplotlib.colors import LinearSegmentedColormap

import style
from data import mean, number, world_name

# White to a light vermilion: darker means worse, also in grey; the figures in the cells stay readable.
HEAT = LinearSegmentedColormap.from_list("heat", ["#ffffff", "#fbe6d8", "#f3bd97", "#e58e55"])
PROTECTIONS = {
    "no-lock": "no lock",
    "lock": "lock alone",
    "loss-heeded": "lock, loss heeded",
    "token-at-write": "lock + token at the write only",
    "token": "lock + token",
    "compare-and-set": "lock + compare-and-set",
    "compare-and-set-alone": "compare-and-set, no lock",
}


def heat(sheet, name, rows, columns, cell, message, detail):
    """`cell(row, column)`: (share of the runs that oversold, mean units oversold), a text, or None."""
    figure, axes = plt.subplots(figsize=(1.0 * len(columns) + 3.6, 0.3 * len(rows) + 2.2))
    grid = [[(c[0] if isinstance(c, tuple) else float("nan")) for c in (cell(r, col) for col in columns)] for r in rows]
    image = axes.imshow(grid, cmap=HEAT, vmin=0, vmax=1, aspect="auto")
    for y, row in enumerate(rows):
        for x, column in enumerate(columns):
            value = cell(row, column)
            if isinstance(value, tuple):
                text = "0" if value[1] == 0 else f"{value[1]:.1f}".removesuffix(".0")
                colour = "#bbbbbb" if value[1] == 0 else style.INK
            else:
                text, colour = value or "–", "#777777"
            axes.text(x, y, text, ha="center", va="center", fontsize=8.5, color=colour)
    axes.set_xticks(range(len(columns)), [c.replace("-", "\n", 1).replace("-", " ") for c in columns], fontsize=8.5)
    axes.set_yticks(range(len(rows)), [PROTECTIONS.get(r, r) for r in rows], fontsize=8.5)
    axes.grid(False)
    axes.set_xticks([x - 0.5 for x in range(1, len(columns))], minor=True)
    axes.set_yticks([y - 0.5 for y in range(1, len(rows))], minor=True)
    axes.grid(which="minor", color="#f4f4f4", linewidth=0.8)
    axes.tick_params(which="minor", length=0)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8)
    bar.set_label("share of the runs that oversold", fontsize=8.5)
    style.title(figure, message, detail)
    sheet.save(figure, name)


def outcome(m):
    if m is None:
        return None
    if mean(m, "sold") == 0:
        return "no sale"
    if mean(m, "runs_oversold") == 0 and mean(m, "cut") > 0:
        return "stalls"
    return mean(m, "runs_oversold"), mean(m, "oversold")


def oversells(m):
    found = outcome(m)
    return isinstance(found, tuple) and found[0] > 0


def small(points):
    return points.where(buyers=lambda n: int(n) < 50)


def all_figures(sheet, points):
    sale = points.where(suite="seckill")
    for world, suffix in (("embedded", "embedded"), ("real/fibers", "real")):
        here = small(sale.where(world=world).having("sold", "oversold", "runs_oversold"))
        if len(here) == 0:
            continue
        first = here.first()
        runs = int(first["metrics"]["oversold"]["count"])
        detail = (f"{world_name(world)}, {first['parameters']['buyers']} buyers, {first['parameters']['stock']} units, {runs} "
                  f"run{'s' if runs > 1 else ''} a cell; figures: units oversold on average")
        by_lock(sheet, "oversell_by_lock_" + suffix, here, detail)
        by_protection(sheet, "oversell_by_protection_" + suffix, here, detail)
    crowd(sheet, sale.where(world="embedded", fault="no-fault", buyers=lambda n: int(n) >= 50).having("sold_out"))


def by_lock(sheet, name, here, detail):
    alone = here.where(protection="lock")
    names, faults = alone.subjects(), alone.values("fault")
    if len(names) < 2:
        return
    cells = {(m["subject"], m["parameters"]["fault"]): m for m in alone}
    bad = [n for n in names if any(oversells(cells.get((n, f))) for f in faults)]
    message = f"A lock alone is not enough: {len(bad)} of {len(names)} oversell under some fault" if bad else \
        f"None of {len(names)} locks oversold"
    heat(sheet, name, names, faults, lambda r, c: outcome(cells.get((r, c))), message, "a blind write behind the lock; " + detail)


def by_protection(sheet, name, here, detail):
    names, faults = here.where(protection="lock").subjects(), here.values("fault")
    first = "reentrant" if "reentrant" in names else next(iter(names), "")
    cells = {(m["parameters"]["protection"], m["parameters"]["fault"]): m for m in here if m["subject"] in (first, "no lock")}
    rows = [p for p in PROTECTIONS if any(key[0] == p for key in cells)]
    if len(rows) < 2:
        return
    clean = [p for p in rows if not any(oversells(cells.get((p, f))) for f in faults)]
    message = "Never oversold under these faults: " + "; ".join(PROTECTIONS[p] for p in clean) if clean else \
        "Every protection oversold under some fault"
    heat(sheet, name, rows, faults, lambda r, c: outcome(cells.get((r, c))), message, f"{first} lock; {detail}")


def crowd(sheet, points):
    rows = sorted(points, key=lambda m: (m["subject"], int(m["parameters"]["buyers"])))
    if len(rows) < 2:
        return
    figure, axes = plt.subplots(figsize=(8, 1.5 + 0.3 * len(rows)))
    values = [1e3 * mean(m, "sold_out") for m in rows]
    axes.plot(values, range(len(rows)), "o", color=style.BLUE, markersize=6)
    for y, value in enumerate(values):
        axes.annotate(f"{number(value)} ms", (value, y), xytext=(7, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [f"{m['subject']}, {int(m['parameters']['buyers']):,} buyers" for m in rows], fontsize=9)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlim(0, 1.2 * max(max(values), 1e-3))
    axes.set_xlabel("from the first acquire to the last sale, ms")
    axes.tick_params(axis="y", length=0)
    times = {}
    for m, value in zip(rows, values):
        times.setdefault(m["subject"], []).append(max(value, 1e-9))
    spread = max(max(of_lock) / min(of_lock) for of_lock in times.values())
    message = "The size of the crowd hardly changes when a stock is sold out" if spread < 1.2 else \
        f"The size of the crowd changes when a stock is sold out by a factor of up to {number(spread)}"
    style.title(figure, message, f"embedded world, no fault, {rows[0]['parameters']['stock']} units")
    sheet.save(figure, "sale_crowd")
