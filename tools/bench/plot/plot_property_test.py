#!/usr/bin/env python3
"""Properties of `holdfast plot` (CTest: plot_properties): whatever JSON it is given, it draws, or says one clear line and
exits with the documented code. Drawn by Hypothesis, the same examples every time. Exit 77: python3-hypothesis is not here.
"""
import contextlib
import copy
import io
import json
import os
import sys
import tempfile
import unittest

try:
    from hypothesis import HealthCheck, given, settings, strategies as st
except ImportError:  # Debian's package belongs to Debian's interpreter
    if os.path.exists("/usr/bin/python3") and os.environ.get("PLOT_TEST_AGAIN") is None:
        os.execve("/usr/bin/python3", ["/usr/bin/python3", *sys.argv], {**os.environ, "PLOT_TEST_AGAIN": "1"})
    print("skipped: no python3-hypothesis on this machine; install it with: apt-get install python3-hypothesis")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import data  # noqa: E402
import plot  # noqa: E402
import plot_test  # noqa: E402
import tables  # noqa: E402

NASTY = ["\x1b[2J", "\n::error::x", "\u202egpj", "\ud800", "$\\frac{", "</script>", "|", "", "x" * 5000]
TEXTS = st.one_of(st.sampled_from(NASTY), st.text(max_size=20))
NUMBERS = st.one_of(st.integers(), st.integers(10 ** 300, 10 ** 400), st.floats(), st.sampled_from([-0.0, 5e-324, 1e308, 1e15]))
VALUES = st.recursive(st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
                      lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)), max_leaves=12)
PLACES = [path for path in plot_test.places(plot_test.whole()) if path]
QUIET = {"derandomize": True, "database": None, "deadline": None, "suppress_health_check": list(HealthCheck)}


@st.composite
def nearly_whole(draw):
    """A sound result with up to three values replaced, or taken out."""
    result = plot_test.whole()
    for _ in range(draw(st.integers(1, 3))):
        path, value = draw(st.sampled_from(PLACES)), draw(VALUES)
        with contextlib.suppress(KeyError, IndexError, TypeError):  # what it is in was replaced before
            result = plot_test.changed(copy.deepcopy(result), path, value)
    return result


def told(text):
    """Exit code of plot.py for a file with this text, and what it says on standard error."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.json")
        with open(path, "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            sys.argv = ["plot.py", path, os.path.join(folder, "out")]
            code = plot.told()
        return code, said.getvalue()


class Properties(unittest.TestCase):
    def expect_told(self, text, codes):
        code, said = told(text)
        self.assertIn(code, codes, said)
        if code == 0:
            self.assertEqual(said, "")
            return
        self.assertEqual(said.count("\n"), 1, said)
        self.assertTrue(said.startswith("holdfast plot: "), said)
        self.assertTrue(said.rstrip("\n").isprintable(), ascii(said))
        self.assertLess(len(said), 1500)

    @settings(max_examples=400, **QUIET)
    @given(VALUES)
    def test_any_json(self, value):
        self.expect_told(json.dumps(value), (64,))

    @settings(max_examples=300, **QUIET)
    @given(st.binary(max_size=200))
    def test_any_bytes(self, text):
        self.expect_told(text, (64,))

    @settings(max_examples=1000, **QUIET)
    @given(nearly_whole())
    def test_what_is_nearly_a_result_is_read_or_refused(self, result):
        try:
            _, points = plot_test.load(result)
            tables.pages(points, HERE, {}, {})
        except data.BadResult as error:
            self.assertLess(len(str(error)), 1500)

    @unittest.skipUnless(plot_test.HAS_MATPLOTLIB, "no python3 with matplotlib on this machine")
    @settings(max_examples=40, **QUIET)
    @given(nearly_whole())
    def test_what_is_nearly_a_result_is_drawn_or_refused(self, result):
        class Nowhere:
            written = []

            def __init__(self, _):
                self.written = []

            def save(self, figure, name):
                style.plt.close(figure)  # to render 40 times 30 figures takes minutes
                self.written.append(name)
        import style
        sheet, write = style.Sheet, data.write_file
        style.Sheet, data.write_file = Nowhere, lambda *_: None
        try:
            self.expect_told(json.dumps(result), (0, 64))
        finally:
            style.Sheet, data.write_file = sheet, write


if __name__ == "__main__":
    unittest.main()
