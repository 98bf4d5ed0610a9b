"""What scale costs: clients, keys, locks held."""
import matplotlib.pyplot as plt

import style
from data import median, number, world_name


def clients_of(m):
    return int(m["parameters"]["clients"])


def scale(sheet, points):
    for world in ("real/fibers", "embedded"):
        here = points.where(suite="scale", world=world)
        panels = (("a key each", "pairs", "pairs a second, a key each"), ("one key", "pairs", "grants a second, one key for all"),
                  ("one key", "commands", "commands a grant, one key for all"))
        figure, axes = plt.subplots(1, 3, figsize=(12, 4.2))
        drawn = [curves(one, here.where(what=what).having(metric), metric, label) for one, (what, metric, label) in zip(axes, panels)]
        if not all(drawn):
            plt.close(figure)
            continue
        axes[0].legend(fontsize=8)
        own = sorted(here.where(subject="reentrant", what="a key each").having("pairs"), key=clients_of)
        one = sorted(here.where(subject="fair", what="one key").having("commands"), key=clients_of)
        message = "Throughput and commands by clients"
        if len(own) > 1:
            message = (f"A key each, reentrant: {number(median(own[0], 'pairs'))} pairs a second for {clients_of(own[0]):,} clients, "
                       f"{number(median(own[-1], 'pairs'))} for {clients_of(own[-1]):,}")
        if len(one) > 1:
            message += f"; one key, fair: {number(median(one[-1], 'commands'))} commands a grant at {clients_of(one[-1]):,}"
        detail = world_name(world) + (", 250 µs each way" if world == "embedded" else "")
        detail += ", hold 0; 100 clients share a process and its connection"
        style.title(figure, message, detail)
        sheet.save(figure, "scale_" + ("embedded" if world == "embedded" else "real"))


def curves(axes, points, metric, label):
    drawn = []
    for i, subject in enumerate(points.subjects()):
        rows = sorted((m for m in points.where(subject=subject) if clients_of(m) > 0 and median(m, metric) > 0), key=clients_of)
        if len(rows) > 1:
            style.line(axes, i, [clients_of(m) for m in rows], [median(m, metric) for m in rows], subject,
                       *([m["metrics"][metric][end] for m in rows] for end in ("low", "high")))
            drawn += rows
    if drawn:
        style.log_axis(axes.xaxis, min(map(clients_of, drawn)), max(map(clients_of, drawn)))
        seen = [m["metrics"][metric][end] for m in drawn for end in ("low", "median", "high")]
        style.log_axis(axes.yaxis, min(v for v in seen if v > 0), max(seen))
        axes.set_xlabel("clients")
        axes.set_ylabel(label)
    return bool(drawn)


def watchdog(sheet, points):
    here = points.where(suite="watchdog", subject="reentrant", lease_s=3).having("client_cpu", "server_cpu", "scripts")
    rows = sorted((m for m in here if int(m["parameters"]["locks"]) > 0), key=lambda m: int(m["parameters"]["locks"]))
    if len(rows) < 2:
        return
    figure, axes = plt.subplots(figsize=(8, 4.2))
    xs = [int(m["parameters"]["locks"]) for m in rows]
    seen = []
    for i, (metric, label) in enumerate((("client_cpu", "client"), ("server_cpu", "redis-server"))):
        ys = [median(m, metric) for m in rows]
        style.line(axes, i, xs, ys, label, *([m["metrics"][metric][end] for m in rows] for end in ("low", "high")))
        seen += [v for m in rows for v in (m["metrics"][metric]["low"], m["metrics"][metric]["high"]) if v > 0]
    style.log_axis(axes.xaxis, xs[0], xs[-1])
    style.log_axis(axes.yaxis, min(seen, default=1), max(seen, default=1))
    axes.set_xlabel("locks held by one process")
    axes.set_ylabel("CPU, per cent of one core")
    axes.legend(fontsize=8)
    last = rows[-1]
    style.title(figure, f"Renewing {xs[-1]:,} locks: {number(median(last, 'client_cpu'))}% of a core in the client, "
                        f"{number(median(last, 'scripts'))} scripts a round",
                f"real Redis, lease {last['parameters']['lease_s']} s, renewed every third of it; longer leases cost proportionally less")
    sheet.save(figure, "watchdog")


def all_figures(sheet, points):
    scale(sheet, points)
    watchdog(sheet, points)
