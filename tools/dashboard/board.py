"""The board without Grafana: a Prometheus of its own that scrapes, and a picture of the panels of board.json with what their queries
gave. tools/attack/service_trial.py --board FILE draws one.

Needs Debian's prometheus and python3-matplotlib. What Grafana puts into queries: $kind is everything, $__rate_interval four scrapes.
"""
import json
import pathlib
import re
import socket
import subprocess
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SCRAPE = 1  # s
COLUMNS = 24  # of Grafana's grid
COLOURS = ("#73bf69", "#f2cc0c", "#5794f2", "#ff9830", "#f2495c", "#b877d9", "#8ab8ff", "#96d98d")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    """Scrapes `targets` (host:port) each second, with the alerts of alerts.yml, in a folder of its own."""

    def __init__(self, folder, targets):
        self.port, folder = free_port(), pathlib.Path(folder)
        configuration = {
            "global": {"scrape_interval": f"{SCRAPE}s", "evaluation_interval": f"{SCRAPE}s"},
            "rule_files": [str(HERE / "alerts.yml")],
            "scrape_configs": [{"job_name": "holdfast", "static_configs": [{"targets": targets}]}],
        }
        (folder / "prometheus.yml").write_text(json.dumps(configuration))  # JSON is YAML
        self.log = open(folder / "prometheus.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                         f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)
        while not self.ready():
            if self.process.poll() is not None:
                self.log.close()
                raise RuntimeError("prometheus does not start:\n" + (folder / "prometheus.log").read_text()[-2000:])
            time.sleep(0.05)

    def ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False

    def query_range(self, query, begin, end, step):
        """[(labels, [(time, value)])]"""
        words = urllib.parse.urlencode({"query": query, "start": begin, "end": end, "step": step})
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/query_range?{words}", timeout=60) as answer:
            found = json.load(answer)["data"]["result"]
        return [(one["metric"], [(when, float(value)) for when, value in one["values"]]) for one in found]

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def filled(query):
    """The query as Grafana sends it, with everything chosen."""
    return query.replace("$__rate_interval", f"{4 * SCRAPE}s").replace("$kind", ".+")


def legend(form, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda name: labels.get(name[1], ""), form).strip()


def panels(prometheus, begin, end):
    """[(panel, [(legend, [(time, value)])])]"""
    board = json.loads((HERE / "board.json").read_text())
    return [(panel, [(legend(target["legendFormat"], labels), values) for target in panel["targets"]
                     for labels, values in prometheus.query_range(filled(target["expr"]), begin, end, SCRAPE)])
            for panel in board["panels"]]


def alerts(prometheus, begin, end):
    """{alert that fired: the seconds after `begin` at which it did first}"""
    fired = {}
    for labels, values in prometheus.query_range('ALERTS{alertstate="firing"}', begin, end, SCRAPE):
        name, first = labels["alertname"], values[0][0] - begin
        fired[name] = min(first, fired.get(name, first))
    return fired


def shown(value, unit):
    if unit == "percentunit":
        return f"{value:.0%}"
    if unit == "s":
        return f"{value * 1000:g} ms" if value < 1 else f"{value:g} s"
    return f"{value:g} /s" if unit == "ops" else f"{value:g}"


def with_gaps(values):
    """(times, values), with nothing where nothing was scraped."""
    times, line = [], []
    for when, value in values:
        if times and when - times[-1] > 1.5 * SCRAPE:
            times.append(times[-1] + SCRAPE)
            line.append(float("nan"))
        times.append(when)
        line.append(value)
    return times, line


def draw(rows, begin, end, marks, file):
    """`rows`: of panels(); `marks`: [(time, text)]."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel, _ in rows)
    with plt.rc_context({"font.size": 8, "text.color": "#ccccdc", "axes.labelcolor": "#ccccdc", "xtick.color": "#9a9aa8", "ytick.color": "#9a9aa8",
                         "axes.edgecolor": "#33343b", "font.family": "DejaVu Sans"}):
        figure = plt.figure(figsize=(14, 0.42 * height + 1), facecolor="#111217")
        top = 1 - 0.7 / (0.42 * height + 1)
        for panel, series in rows:
            at, unit = panel["gridPos"], panel["fieldConfig"]["defaults"]["unit"]
            left, width = at["x"] / COLUMNS, at["w"] / COLUMNS
            tall = at["h"] / height * (top - 0.02)
            low = top - (at["y"] + at["h"]) / height * (top - 0.02)
            axes = figure.add_axes((left + 0.045, low + 0.045 * 28 / height, width - 0.06, tall - 0.075 * 28 / height), facecolor="#181b1f")
            for i, (name, values) in enumerate(series):
                times, line = with_gaps(values)
                axes.plot([when - begin for when in times], line, color=COLOURS[i % len(COLOURS)], linewidth=1.1, label=name)
            axes.set_xlim(0, end - begin)
            axes.set_ylim(bottom=0)
            if axes.get_ylim()[1] < 1e-9 or not any(value > 0 for _, values in series for _, value in values):
                axes.set_ylim(0, 1)
            for i, (when, _) in enumerate(marks, 1):
                axes.axvline(when - begin, color="#6e7077", linewidth=0.7, linestyle=":")
                axes.text(when - begin, 1.0, str(i), transform=axes.get_xaxis_transform(), fontsize=6, ha="center", va="bottom", color="#9a9aa8")
            axes.yaxis.set_major_formatter(lambda value, _, unit=unit: shown(value, unit))
            axes.grid(color="#26282e", linewidth=0.6)
            axes.tick_params(length=0)
            axes.set_title(panel["title"], loc="left", fontsize=9, fontweight="bold", pad=10)
            if series:
                axes.legend(fontsize=6.5, loc="upper center", bbox_to_anchor=(0.5, -0.11), ncols=3, frameon=False, handlelength=1.2)
            else:
                axes.text(0.5, 0.5, "No data", transform=axes.transAxes, ha="center", color="#9a9aa8")
        figure.text(0.012, 1 - 0.3 / (0.42 * height + 1), "Holdfast: locks", fontsize=13, fontweight="bold", va="center")
        figure.text(0.15, 1 - 0.3 / (0.42 * height + 1), "seconds; " + "; ".join(f"{i} {text}" for i, (_, text) in enumerate(marks, 1)), va="center", fontsize=8,
                    color="#9a9aa8")
        figure.savefig(file, dpi=110, facecolor=figure.get_facecolor(), metadata={"Software": None})
        plt.close(figure)
