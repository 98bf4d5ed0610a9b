"""What scale costs: clients, keys, locks held."""
import matplotlib.pyplot as plt

import style
from data import median, number


def curve(sheet, name, points, what, metric, ylabel, message, detail):
    figure, axes = plt.subplots(figsize=(8, 4.2))
    drawn = []
    for i, subject in enumerate(points.subjects()):
        rows = sorted(points.where(subject=subject, what=what).having(metric), key=lambda m: int(m["parameters"]["clients"]))
        if len(rows) < 2:
            continue
        style.line(axes, i, [int(m["parameters"]["clients"]) for m in rows], [median(m, metric) for m in rows], subject,
                   [m["metrics"][metric]["low"] for m in rows], [m["metrics"][metric]["high"] for m in rows])
        drawn += rows
    if not drawn:
        plt.close(figure)
        return
    axes.set_xscale("log")
    axes.set_yscale("log")
    style.plain_log(axes.xaxis)
    style.plain_log(axes.yaxis)
    axes.set_xlabel("clients (100 share a process and its connection)")
    axes.set_ylabel(ylabel)
    style.title(axes, message, detail)
    axes.legend(fontsize=8)
    sheet.save(figure, name)


def watchdog(sheet, points):
    rows = sorted(points.where(suite="watchdog", subject="reentrant"), key=lambda m: int(m["parameters"]["locks"]))
    if len(rows) < 2:
        return
    figure, axes = plt.subplots(figsize=(8, 4.2))
    xs = [int(m["parameters"]["locks"]) for m in rows]
    for i, (metric, label) in enumerate((("client_cpu", "client"), ("server_cpu", "redis-server"))):
        style.line(axes, i, xs, [median(m, metric) for m in rows], label)
    last = rows[-1]
    axes.axhline(5, color=style.BLACK, linestyle="--", linewidth=1)
    axes.annotate("goal: 5% of a core", (xs[0], 5), xytext=(0, 4), textcoords="offset points", fontsize=8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    style.plain_log(axes.xaxis)
    style.plain_log(axes.yaxis)
    axes.set_xlabel("locks held by one process")
    axes.set_ylabel("CPU, per cent of one core")
    style.title(axes, f"Renewing {xs[-1]:,} locks: {number(median(last, 'client_cpu'))}% of a core in the client, "
                      f"{number(median(last, 'scripts'))} scripts a round",
                "real Redis, a lease of 3 s (renewed each second); with the default of 30 s a tenth of it")
    axes.legend(fontsize=8)
    sheet.save(figure, "watchdog")


def all_figures(sheet, points):
    for world, where in (("real/fibers", "real Redis"), ("embedded", "embedded world, 250 µs each way")):
        scale = points.where(suite="scale", world=world)
        suffix = "" if world == "real/fibers" else "_embedded"
        one = scale.where(subject="reentrant", what="a key each")
        rates = [(median(m, "pairs"), int(m["parameters"]["clients"])) for m in one]
        message = "A key each: throughput by clients"
        if rates and world == "real/fibers":
            message = f"A key each: {number(min(rates)[0])} to {number(max(rates)[0])} pairs a second from 10 to {max(r[1] for r in rates):,} clients"
        curve(sheet, "scale_own_keys" + suffix, scale, "a key each", "pairs", "pairs a second", message, where)
        curve(sheet, "scale_one_key" + suffix, scale, "one key", "pairs", "grants a second",
              "One key: what more clients do to its throughput", where + ", hold 0")
        curve(sheet, "scale_commands" + suffix, scale, "one key", "commands", "commands to Redis a grant",
              "One key: what more waiters cost Redis", where + ", hold 0")
    watchdog(sheet, points)
