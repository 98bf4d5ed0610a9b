"""Results of `holdfast bench`: read, checked, and asked for measurements.

`load()` checks every part that the scripts rely on, so that whatever passes it can be drawn: names and units of metrics
against ../metrics.json, types of parameters, numbers, points and bands. What it refuses is a BadResult, one line.
"""
import contextlib
import glob
import hashlib
import json
import os
import sys

VERSION = 2
HERE = os.path.dirname(os.path.abspath(__file__))
AGAIN = "run `holdfast bench` again"
WORLDS = ("embedded", "real/fibers", "real/threads", "real/peer")


class BadResult(Exception):
    """One line: file, what is wrong, what was expected."""


def load_table():
    with open(os.path.join(HERE, "..", "metrics.json"), encoding="utf-8") as handle:
        return json.load(handle)


TABLE = load_table()  # by suite: about, parameters, metrics (name, unit, meaning)
UNITS = {suite: {m["name"]: m["unit"] for m in entry["metrics"]} for suite, entry in TABLE.items()}
NAMES = {name for units in UNITS.values() for name in units}


def read_json(path, what):
    try:
        with open(path, encoding="utf-8") as handle:
            text = handle.read()
    except OSError as error:
        raise BadResult(f"{path}: {error.strerror}") from None
    except ValueError:
        raise BadResult(f"{path}: is not UTF-8 text, expected {what}") from None
    if not text.strip():
        raise BadResult(f"{path}: is empty, expected {what}")
    try:
        return json.loads(text, parse_constant=lambda name: float(name))
    except json.JSONDecodeError as error:
        raise BadResult(f"{path}:{error.lineno}:{error.colno}: is not whole JSON ({error.msg}), expected {what}; "
                        f"if it was cut short, {AGAIN}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits; lists in lists
        raise BadResult(f"{path}: is no JSON that can be read, expected {what}") from None


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15


def is_point(point):
    return isinstance(point, list) and len(point) == 2 and all(map(is_number, point))


def is_band(band):
    return (isinstance(band, dict) and all(is_name(band.get(key)) for key in ("row", "label"))
            and all(is_number(band.get(key)) for key in ("from", "to")) and band["from"] <= band["to"])


def is_name(text):
    return isinstance(text, str) and text.isprintable() and len(text) < 200


class Checker:
    """Looks at one document; `fail` names the place in it."""

    def __init__(self, path):
        self.path, self.place = path, ""

    def fail(self, found, expected):
        raise BadResult(f"{self.path}: {self.place}{found}, expected {expected}; {AGAIN}")

    def get(self, table, name, kind, expected):
        value = table.get(name)
        if type(value) is not kind:
            self.fail(f"`{name}` is missing" if value is None else f"`{name}` is of another type", expected)
        return value

    def texts(self, table, name):
        for key, value in self.get(table, name, dict, "a table of texts").items():
            if not (is_name(key) and is_name(value)):
                self.fail(f"`{name}`: `{key[:40]}` is of another type or cannot be printed", "a short text")

    def document(self, document):
        if not isinstance(document, dict) or document.get("document") != "holdfast-bench":
            raise BadResult(f"{self.path}: is no result of `holdfast bench`, expected what --json wrote")
        if document.get("version") != VERSION:
            raise BadResult(f"{self.path}: document version {str(document.get('version'))[:20]}, expected {VERSION}; {AGAIN}")
        for name in ("command", "started"):
            self.get(document, name, str, "a text")
        self.get(document, "complete", bool, "true or false")
        for name in ("machine", "versions", "seeds"):
            self.texts(document, name)
        took = document.get("suite_seconds", {})  # older results have none
        if not isinstance(took, dict) or not all(is_name(name) and is_number(value) for name, value in took.items()):
            self.fail("`suite_seconds` has something else", "a table of numbers")
        if not all(isinstance(note, str) for note in self.get(document, "notes", list, "a list of texts")):
            self.fail("`notes` has something else", "texts")
        for i, m in enumerate(self.get(document, "measurements", list, "a list")):
            self.place = f"measurement {i + 1}: "
            if not isinstance(m, dict):
                self.fail("is of another type", "a table")
            self.measurement(m)
        self.place = ""

    def measurement(self, m):
        for name in ("suite", "subject", "world"):
            if not is_name(self.get(m, name, str, "a text")):
                self.fail(f"`{name}` cannot be printed", "a short text")
        if m["suite"] not in TABLE:
            self.fail(f"unknown suite `{m['suite'][:40]}`", "one of " + ", ".join(TABLE))
        if m["world"] not in WORLDS:
            self.fail(f"unknown world `{m['world'][:40]}`", "one of " + ", ".join(WORLDS))
        entry = TABLE[m["suite"]]
        self.texts(m, "parameters")
        sorts = {**entry["parameters"], **entry.get("optional", {})}
        for name in entry["parameters"]:
            if name not in m["parameters"]:
                self.fail(f"no parameter `{name}`", "it for each measurement of this suite")
        for name, value in m["parameters"].items():
            if sorts.get(name) == "number" and not (value.isdecimal() and value.isascii() and len(value) < 10):
                self.fail(f"parameter `{name}` is `{value[:40]}`", "digits")
        for name, metric in self.get(m, "metrics", dict, "a table").items():
            self.metric(m["suite"], name, metric)
        m.setdefault("curves", {})
        m.setdefault("bands", [])
        for name, points in self.get(m, "curves", dict, "a table").items():
            if not (isinstance(points, list) and len(points) > 1 and all(map(is_point, points))):
                self.fail(f"curve `{name[:40]}` is of another form", "two or more pairs of numbers")
        if not all(map(is_band, self.get(m, "bands", list, "a list"))):
            self.fail("a band is of another form", "row and label (texts), from and to (seconds, in order)")

    def metric(self, suite, name, metric):
        unit = UNITS[suite].get(name)
        if unit is None:
            self.fail(f"unknown metric `{name[:40]}`", "those of tools/bench/metrics.json")
        self.place += f"metric `{name}`: "
        if not isinstance(metric, dict):
            self.fail("is of another type", "a table")
        if metric.get("unit") != unit:
            self.fail("has another unit", f"`{unit}`")
        shown = TABLE[suite]["shown"]
        for key in (shown, "count") if shown == "mean" else (shown, "low", "high", "count"):
            if not is_number(metric.get(key)):
                self.fail(f"`{key}` is no number", "a finite one")
        if shown == "median" and not metric["low"] <= metric["median"] <= metric["high"]:
            self.fail("low, median and high are out of order", "low <= median <= high")
        self.place = self.place[:self.place.rindex("metric `")]


def load(path):
    """The documents, and the measurements of one result or of all results of a folder (later files win)."""
    files = sorted(glob.glob(os.path.join(glob.escape(path), "*.json"))) if os.path.isdir(path) else [path]
    if not files:
        raise BadResult(f"{path}: has no result (*.json) in it, expected what `holdfast bench --json` wrote")
    documents, found = [], {}
    for file in files:
        document = read_json(file, "what `holdfast bench --json` wrote")
        Checker(file).document(document)
        documents.append(document)
        for m in document["measurements"]:
            m["document"] = document
            found[(m["suite"], m["subject"], m["world"], tuple(sorted(m["parameters"].items())))] = m
    return documents, Measurements(found.values())


def load_proxy(path):
    """What `bench_proxy --benchmark_out` wrote: its context, and rows by (variant, connections, pipeline)."""
    document = read_json(path, "what `build/bench_proxy --benchmark_out=FILE` wrote")
    wanted = ("items_per_second", "bytes_per_second", "p50_us", "p99_us", "added_us", "of_relay", "of_relay_low", "of_direct",
              "cpu_us", "iterations")
    rows = {}
    try:
        for b in document["benchmarks"]:
            if not b.get("error_occurred"):
                name, connections, pipeline = b["name"].split("/")[:3]
                if not all(is_number(b[key]) for key in wanted):
                    raise ValueError
                rows[name, int(connections.split(":")[1]), int(pipeline.split(":")[1])] = b
        return dict(document["context"]), rows
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        raise BadResult(f"{path}: is not what bench_proxy wrote; run `build/bench_proxy` again") from None


class Measurements:
    """A list that can be narrowed: measurements.where(suite="contended", hold_ms=1)."""

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
        return Measurements(m for m in self.all if fits(m))

    def having(self, *metrics):
        require(*metrics)
        return Measurements(m for m in self.all if all(name in m["metrics"] for name in metrics))

    def __iter__(self):
        return iter(self.all)

    def __len__(self):
        return len(self.all)

    def first(self):
        return self.all[0] if self.all else None

    def subjects(self):
        return list(dict.fromkeys(m["subject"] for m in self.all))

    def values(self, parameter):
        return list(dict.fromkeys(m["parameters"][parameter] for m in self.all if parameter in m["parameters"]))


def require(*metrics):
    """A name that ../metrics.json does not have is a mistake of the scripts."""
    for name in metrics:
        if name not in NAMES:
            raise KeyError(f"`{name}` is not in tools/bench/metrics.json")


def value_of(m, metric, which, otherwise=None):
    require(metric)
    return m["metrics"][metric][which] if m and metric in m["metrics"] else otherwise


def median(m, metric, otherwise=None):
    return value_of(m, metric, "median", otherwise)


def mean(m, metric, otherwise=0):
    return value_of(m, metric, "mean", otherwise)


def number(value):
    """For people: three digits that count."""
    if value is None:
        return ""
    size = abs(value)
    if size >= 999_500:
        return f"{value / 1e6:,.2f}M" if size < 9_995_000 else f"{value / 1e6:,.1f}M"
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
    if size >= 0.0995:
        return f"{value:.2f}"
    return "0" if size == 0 else f"{value:.2g}"


def world_name(world):
    return {"embedded": "embedded world", "real/fibers": "real Redis", "real/threads": "real Redis, threads",
            "real/peer": "real Redis, other libraries"}[world]


def made_from(path, figures):
    """What figures were made of, as text: their names, the results and the scripts with their SHA-256."""
    results = sorted(glob.glob(os.path.join(glob.escape(path), "*.json"))) if os.path.isdir(path) else [path]
    scripts = sorted(glob.glob(os.path.join(glob.escape(HERE), "figures_*.py")))
    scripts += [os.path.join(HERE, name) for name in ("plot.py", "style.py", "data.py", "../metrics.json")]

    def digest(files):
        total = hashlib.sha256()
        for file in files:
            with open(file, "rb") as handle:
                total.update(handle.read())
        return total.hexdigest()
    lines = [f"figure {name}" for name in sorted(figures)]
    lines += [f"result {os.path.basename(file)} {digest([file])}" for file in results]
    return "\n".join([*lines, f"scripts {digest(scripts)}"]) + "\n"


def write_file(path, content):
    """All of it or nothing: a temporary name beside `path`, then moved. Bytes. Raises OSError."""
    temporary = os.path.join(os.path.dirname(path), f".holdfast-{os.getpid()}")
    try:
        with open(temporary, "wb") as out:
            out.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def complain(error):
    text = "".join(c if c.isprintable() else "?" for c in str(error))
    with contextlib.suppress(OSError):
        print(f"holdfast plot: {text}", file=sys.stderr, flush=True)
