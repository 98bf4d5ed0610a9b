#!/usr/bin/env python3
"""Tests of the plot scripts (CTest: plot). What needs matplotlib is skipped where no python3 of this machine has it."""
import contextlib
import copy
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
try:
    import matplotlib  # noqa: F401
    HAS_MATPLOTLIB = True
except ImportError:  # Debian's package belongs to Debian's interpreter
    HAS_MATPLOTLIB = False
    if os.path.exists("/usr/bin/python3") and os.environ.get("PLOT_TEST_AGAIN") is None:
        os.execve("/usr/bin/python3", ["/usr/bin/python3", *sys.argv], {**os.environ, "PLOT_TEST_AGAIN": "1"})

sys.path.insert(0, HERE)
import data  # noqa: E402
import tables  # noqa: E402

RATES = {"pairs": 900.0, "jain": 1.0, "commands": 3.0, "hand_off_p50": 250.0, "wait_p50": 60.0, "p99_by_fair_share": 1.0,
         "longest_wait": 70.0, "min_max": 0.9, "starved": 0.0}


def metric(suite, name, value, low=None, high=None, count=3):
    return {"unit": data.UNITS[suite][name], "count": count, "mean": value, "median": value, "low": value if low is None else low,
            "high": value if high is None else high, "rounds": [value] * count}


def measured(suite, subject, world, parameters, **values):
    return {"suite": suite, "subject": subject, "world": world, "parameters": parameters,
            "metrics": {name: value if isinstance(value, dict) else metric(suite, name, value) for name, value in values.items()}}


def busy(subject, world="real/fibers", **values):
    return measured("contended", subject, world, {"clients": "50", "hold_ms": "1", "processes": "one each"}, **{**RATES, **values})


def sale(subject, world, fault, oversold, sold=4.0, cut=0.0, protection="lock", count=2):
    m = measured("seckill", subject, world, {"buyers": "4", "fault": fault, "protection": protection, "stock": "4"},
                 sold=sold, oversold=oversold, runs_oversold=min(1.0, oversold), cut=cut)
    for value in m["metrics"].values():
        value["count"] = count
    return m


def document(measurements):
    return {"document": "holdfast-bench", "version": data.VERSION, "command": "holdfast bench", "started": "now", "seconds": 1,
            "complete": True, "quick": False, "machine": {"cpu": "c"}, "versions": {}, "seeds": {}, "notes": [],
            "measurements": measurements}


def whole():
    """A small result of every suite."""
    points = [measured("uncontended", s, w, {"clients": str(n), "connections": "shared"}, pairs=r, of_benchmark=0.8, commands=2.0)
              for s, w, r in (("reentrant", "real/fibers", 9e4), ("fair", "real/fibers", 5e4), ("redis-semaphore", "real/peer", 3e4))
              for n in (1, 50)]
    points += [busy("one after the other (no lock)"), busy("reentrant"), busy("spin", min_max=0.0, starved=3.0)]
    points += [sale(s, w, f, o) for s in ("reentrant", "fair") for w in ("embedded", "real/fibers") for f, o in
               (("no-fault", 0.0), ("holder-paused", 0.5))]
    points += [measured("scale", s, "embedded", {"clients": str(n), "keys": "1", "what": w}, pairs=10.0 * n, commands=2.0)
               for s in ("reentrant", "fair") for w in ("one key", "a key each") for n in (10, 100)]
    points += [measured("watchdog", "reentrant", "real/fibers", {"lease_s": "3", "locks": n}, client_cpu=1.0, server_cpu=1.0,
                        scripts=1.0, client_cpu_at_30s=0.1) for n in ("10", "100")]
    grants = measured("failover", "reentrant", "embedded", {"picture": "throughput", "clients": "10"}, grants=9.0, longest_gap=1.0)
    grants["curves"] = {"grants_per_s": [[0, 1], [1, 0], [2, 1]]}
    grants["bands"] = [{"row": "fault", "label": "crash r1", "from": 1, "to": 2},
                       {"row": "fault", "label": "promote r2", "from": 1.5, "to": 2}]
    holders = measured("failover", "reentrant", "embedded", {"picture": "timeline", "fault": "holder-paused"}, sold=5.0, oversold=1.0)
    holders["bands"] = [{"row": c, "label": label, "from": a, "to": b} for c, label, a, b in
                        (("c1", "hold", 0, 2), ("c1", "promised", 0, 1), ("c2", "hold", 1, 3), ("c2", "sale", 2, 2),
                         ("c1", "told of loss", 1, 1), ("fault", "pause c1", 0.5, 2))]
    return document([*points, grants, holders])


def load(result):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.json")
        with open(path, "w", encoding="utf-8") as out:
            out.write(result if isinstance(result, str) else json.dumps(result))
        return data.load(path)


def places(value, path=()):
    """The path of every value in a document."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


def changed(result, path, value):
    """A copy with that value at that place; `None` takes it out."""
    if not path:
        return value
    result = copy.deepcopy(result)
    at = result
    for key in path[:-1]:
        at = at[key]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return result


ODD = (None, [], {}, "", "x", "\x1b[31m", "$\\frac{", -1, 0, 1e308, 10 ** 30, True, float("nan"), [[]], [{}], {"a": []})


def sample(result, count):
    """Some of all the places of a document, each with an odd value; the same ones every time."""
    return random.Random(1).sample([(path, odd) for path in places(result) for odd in ODD if path], count)


class Reading(unittest.TestCase):
    def test_a_whole_result_is_read(self):
        documents, points = load(whole())
        self.assertEqual(len(documents), 1)
        self.assertEqual(data.median(points.where(subject="fair", clients=50, suite="uncontended").first(), "pairs"), 5e4)

    def test_what_is_no_result_is_one_line_with_its_place(self):
        def after(*path_and_value):
            return json.dumps(changed(whole(), ("measurements", 0, *path_and_value[:-1]), path_and_value[-1]))
        for text, said in (("", "is empty"), ("hello", ":1:1: is not whole JSON"), (json.dumps(whole())[:-20], "is not whole JSON"),
                           ("{}", "no result of"), ("[1]", "no result of"), ("[" * 100_000, "no JSON that can be read"),
                           (json.dumps({**whole(), "version": 1}), "document version 1, expected 2"),
                           (after("metrics", "pairs", "unit", "s"), "measurement 1: metric `pairs`"),
                           (after("metrics", "speed", {}), "unknown metric `speed`"),
                           (after("parameters", "clients", "many"), "`many`, expected digits")):
            with self.assertRaises(data.BadResult) as caught:
                load(text)
            self.assertIn(said, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

    def test_odd_values_anywhere_are_refused_or_understood(self):
        """Values of a result replaced, one at a time: the tables are made, or one BadResult is thrown, never anything else."""
        result, refused, read = whole(), 0, 0
        for path, odd in sample(result, 600):
            try:
                _, points = load(changed(result, path, odd))
                tables.pages(points, HERE, {}, {})
                read += 1
            except data.BadResult:
                refused += 1
        self.assertGreater(refused, 200)
        self.assertGreater(read, 20)

    def test_a_proxy_result_that_is_none_is_one_line(self):
        for text in ("[]", '{"context": {}, "benchmarks": [{"name": "x"}]}', '{"context": 1, "benchmarks": []}', "{}"):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(text)
                file.flush()
                self.assertRaises(data.BadResult, data.load_proxy, file.name)

    def test_a_metric_that_the_table_lacks_is_a_mistake(self):
        self.assertRaises(KeyError, data.median, None, "of_limit")

    def test_numbers_have_three_digits(self):
        for value, text in ((0, "0"), (0.0123, "0.012"), (0.8, "0.80"), (1, "1.00"), (12.34, "12.3"), (999.6, "1,000"), (131_000, "131k"),
                            (8_620_000, "8.62M"), (None, "")):
            self.assertEqual(data.number(value), text)


class Tables(unittest.TestCase):
    def points(self, *measurements):
        return load(document(list(measurements)))[1]

    def test_both_worlds_are_compared_cell_by_cell(self):
        text = tables.both_worlds(self.points(
            sale("reentrant", "embedded", "no-fault", 0.0), sale("reentrant", "real/fibers", "no-fault", 0.0, count=1),
            sale("reentrant", "embedded", "holder-paused", 0.5), sale("reentrant", "real/fibers", "holder-paused", 0.0, count=1),
            sale("reentrant", "embedded", "clock", 0.0), sale("reentrant", "real/fibers", "partition", 0.0, count=1),
            sale("reentrant", "embedded", "failover", 0.0, cut=0.5), sale("reentrant", "real/fibers", "failover", 0.0, sold=0.0, count=1)))
        self.assertIn("3 cells, 2 / 1 runs each: in 2 both worlds oversell, or both hold. In bold", text)
        self.assertIn("| lock | protection | no fault | holder paused | partition | failover |", text)
        self.assertIn("| `reentrant` | lock | 0% / 0% | **50% / 0%** | – | stalls / no sale |", text)
        self.assertEqual(tables.both_worlds(self.points()), "No cell was measured in both worlds.\n")

    def test_a_rare_oversell_is_not_rounded_to_none(self):
        self.assertEqual(tables.answer(sale("fair", "embedded", "f", 0.001)), "1%")

    def test_a_goal_is_met_or_missed_by_its_bound(self):
        goals = tables.Goals()
        for bound, wanted, value in (("at least", 0.9, 0.9), ("above", 0.9, 0.9), ("below", 3, 3), ("at most", 3, 3), ("below", 3, None)):
            goals.add("g", value, "c", bound, wanted)
        self.assertEqual([row[3] for row in goals.rows], ["met", "missed", "missed", "met", ""])

    def test_blocks_are_put_between_their_marks(self):
        self.assertEqual(tables.filled("a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n", {"x": "new\n"}),
                         "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n")

    def test_check_sees_a_page_that_says_something_else(self):
        with tempfile.TemporaryDirectory() as folder:
            where, pages = os.path.join(folder, "data"), os.path.join(folder, "results")
            os.makedirs(where)
            os.makedirs(os.path.join(pages, "figures"))
            with open(os.path.join(where, "r.json"), "w", encoding="utf-8") as out:
                json.dump(whole(), out)
            with open(os.path.join(pages, "figures", "made_from.txt"), "w", encoding="utf-8") as out:
                out.write(data.made_from(where, ["x"]))
            with open(os.path.join(pages, "figures", "x.png"), "w", encoding="utf-8"):
                pass
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
                def run(*flags):
                    sys.argv = ["tables.py", *flags, where, pages]
                    return tables.main()
                self.assertEqual(run(), 0)
                self.assertEqual(run("--check"), 0)
                with open(os.path.join(pages, "scale.md"), "a", encoding="utf-8") as out:
                    out.write("more\n")
                self.assertEqual(run("--check"), 1)
                self.assertIn("scale.md", said.getvalue())
                self.assertEqual(run(), 0)
                with open(os.path.join(where, "s.json"), "w", encoding="utf-8") as out:
                    json.dump(document([]), out)
                self.assertEqual(run("--check"), 1)
                self.assertIn("figures/ was drawn from other results", said.getvalue())


@unittest.skipUnless(HAS_MATPLOTLIB, "no python3 with matplotlib on this machine")
class Figures(unittest.TestCase):
    def draw(self, result):
        """Exit code and output of plot.py, and the figures."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            with open(path, "w", encoding="utf-8") as out:
                json.dump(result, out)
            ran = subprocess.run([sys.executable, os.path.join(HERE, "plot.py"), path, os.path.join(folder, "out")], capture_output=True,
                                 text=True, check=False)
            names = sorted(os.listdir(os.path.join(folder, "out"))) if ran.returncode == 0 else []
            return ran.returncode, ran.stdout + ran.stderr, names

    def titles(self, result):
        """name -> the title, of each figure; nothing is rendered."""
        import figures_cost
        import figures_load
        import figures_sale
        import figures_time
        import style

        class Titles:
            found = {}

            def save(self, figure, name):
                self.found[name] = figure.texts[0].get_text()
                self.axes_of(figure)
                style.plt.close(figure)

            def axes_of(self, figure):
                for axes in figure.axes:
                    for axis in (axes.xaxis, axes.yaxis):
                        low, high = axis.get_view_interval()
                        shown = [t for t in axis.get_majorticklocs() if low <= t <= high]
                        if axis.get_scale() == "log" and len(shown) < 2:
                            raise AssertionError(f"an axis with {len(shown)} labels: {low} to {high}")
        sheet = Titles()
        sheet.found = {}
        points = load(result)[1]
        for module in (figures_load, figures_sale, figures_cost, figures_time):
            module.all_figures(sheet, points)
        return sheet.found

    def test_every_suite_is_drawn(self):
        code, said, names = self.draw(whole())
        self.assertEqual(code, 0, said)
        for name in ("uncontended_50", "throughput_by_clients", "contended_real", "contended_real_wait", "oversell_by_lock_embedded",
                     "scale_embedded", "watchdog", "failover_embedded", "failover_holders"):
            self.assertIn(name + ".png", names)
            self.assertIn(name + ".svg", names)

    def test_what_cannot_be_drawn_is_one_line_and_64(self):
        for result in (document([]), {}, [], changed(whole(), ("measurements", 0, "metrics"), 7)):
            code, said, _ = self.draw(result)
            self.assertEqual(code, 64, said)
            self.assertEqual(said.count("\n"), 1, said)

    def test_odd_values_are_drawn_or_refused(self):
        result = whole()
        for path, odd in sample(result, 60):
            with contextlib.suppress(data.BadResult):
                self.titles(changed(result, path, odd))

    def test_a_sound_lock_above_the_ceiling_by_noise_is_not_accused(self):
        bare = busy("one after the other (no lock)", pairs=metric("contended", "pairs", 900.0, 880.0, 930.0))
        near = busy("fair", pairs=metric("contended", "pairs", 960.0, 940.0, 1010.0))
        title = self.titles(document([bare, near, busy("reentrant")]))["contended_real"]
        self.assertNotIn("more than one", title)
        self.assertIn("2 of 2", title)
        far = busy("lock-interface-reentrant", pairs=metric("contended", "pairs", 23_100.0, 22_300.0, 25_600.0))
        title = self.titles(document([bare, near, far]))["contended_real"]
        self.assertIn("lock-interface-reentrant grants more than one at a time", title)
        self.assertNotIn("fair grants", title)

    def test_a_logarithmic_axis_has_labels_whatever_its_length(self):
        import style
        for low, high, least in ((1, 10_000, 4), (300, 900, 3), (2, 4, 3), (3.1, 3.3, 2), (7, 7, 2)):
            figure, axes = style.plt.subplots()
            style.log_axis(axes.yaxis, low, high)
            shown = [t for t in axes.yaxis.get_majorticklocs() if axes.get_ylim()[0] <= t <= axes.get_ylim()[1]]
            style.plt.close(figure)
            self.assertGreaterEqual(len(shown), least, (low, high, shown))

    def test_the_starved_are_in_the_figure_of_waits(self):
        title = self.titles(document([busy("fair"), busy("spin", min_max=0.0, starved=3.0, longest_wait=2000.0)]))["contended_real_wait"]
        self.assertIn("1 of 2 locks", title)
        self.assertIn("2.00 s", title)


if __name__ == "__main__":
    unittest.main()
