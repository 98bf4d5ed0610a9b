"""Results of `holdfast bench`: read, checked, and asked for points."""
import glob
import json
import os
import sys

VERSION = 1


class BadResult(Exception):
    pass


def load(path):
    """The measurements of one result, or of all results in a folder (later files win), and the documents."""
    files = sorted(glob.glob(os.path.join(path, "*.json"))) if os.path.isdir(path) else [path]
    if not files:
        raise BadResult(f"{path}: no result (*.json) in it")
    documents, points = [], {}
    for file in files:
        try:
            with open(file, encoding="utf-8") as handle:
                document = json.load(handle)
        except OSError as error:
            raise BadResult(f"{file}: {error.strerror}") from None
        except ValueError:
            raise BadResult(f"{file}: was cut short or damaged (it is not whole JSON)") from None
        if not isinstance(document, dict) or document.get("document") != "holdfast-bench":
            raise BadResult(f"{file}: is not a result of `holdfast bench`")
        if document.get("version") != VERSION:
            raise BadResult(f"{file}: document version {document.get('version')}, this reads {VERSION}; run "
                            "`holdfast bench` again")
        documents.append(document)
        for m in document["measurements"]:
            points[(m["suite"], m["subject"], m["world"], tuple(sorted(m["parameters"].items())))] = m
    return documents, Points(points.values())


def load_proxy(path):
    """What `bench_proxy --benchmark_out` wrote: its context, and rows by (variant, connections, pipeline)."""
    try:
        with open(path, encoding="utf-8") as handle:
            document = json.load(handle)
        rows = {}
        for b in document["benchmarks"]:
            if not b.get("error_occurred"):
                name, connections, pipeline = b["name"].split("/")[:3]
                rows[name, int(connections.split(":")[1]), int(pipeline.split(":")[1])] = b
    except (ValueError, KeyError, IndexError, TypeError):
        raise BadResult(f"{path}: is not what bench_proxy wrote, or was cut short; run `build/bench_proxy` again") from None
    return document["context"], rows


class Points:
    """A list of measurements that can be narrowed: points.where(suite="contended", hold_ms="1")."""

    def __init__(self, measurements):
        self.all = list(measurements)

    def where(self, **wanted):
        def fits(m):
            for name, value in wanted.items():
                have = m[name] if name in ("suite", "subject", "world") else m["parameters"].get(name)
                if callable(value):
                    if have is None or not value(have):
                        return False
                elif have != str(value):
                    return False
            return True
        return Points(m for m in self.all if fits(m))

    def __iter__(self):
        return iter(self.all)

    def __len__(self):
        return len(self.all)

    def first(self):
        return self.all[0] if self.all else None

    def having(self, metric):
        return Points(m for m in self.all if metric in m["metrics"])

    def subjects(self):
        return list(dict.fromkeys(m["subject"] for m in self.all))

    def values(self, parameter):
        return list(dict.fromkeys(m["parameters"][parameter] for m in self.all if parameter in m["parameters"]))


def median(m, metric, otherwise=None):
    return m["metrics"][metric]["median"] if m and metric in m["metrics"] else otherwise


def mean(m, metric):
    rounds = m["metrics"][metric]["rounds"]
    return sum(rounds) / len(rounds)


def spread(m, metric):
    """(below, above) the median, for error bars."""
    x = m["metrics"][metric]
    return x["median"] - x["low"], x["high"] - x["median"]


def number(value):
    """For people: three digits that count."""
    if value is None:
        return ""
    size = abs(value)
    if size >= 99_950:
        return f"{value / 1e3:,.0f}k"
    if size >= 9_995:
        return f"{value / 1e3:.1f}k"
    if size >= 999.5:
        return f"{value:,.0f}"
    if size >= 99.95:
        return f"{value:.0f}"
    if size >= 9.995:
        return f"{value:.1f}"
    if size >= 0.9995:
        return f"{value:.2f}"
    return "0" if size == 0 else f"{value:.2g}"


def complain(error):
    print(f"holdfast plot: {error}", file=sys.stderr)
