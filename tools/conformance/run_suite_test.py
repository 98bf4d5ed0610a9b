#!/usr/bin/env python3
"""Drives run_suite.py over a suite of its own making: a fake tclsh that prints, a fake server. Needs no tcl.
Run: tools/conformance/run_suite_test.py. (CTest: run_suite_test)
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "run_suite.py"
TCLSH = """#!/bin/sh
case "$*" in
*--list-tests*) printf 'unit/good\\nunit/bad\\nunit/idle\\n'; exit;;
esac
for word; do unit=$next; next=; [ "$last" = --single ] && name=$word; [ "$last" = --skiptest ] && skipped=$word; last=$word; done
echo "Testing $name"
[ -n "$skipped" ] && echo "[skip]: $skipped"
cat "tests/$name.tcl"
"""
SERVER = """#!/bin/sh
echo "the embedded Redis listens at 127.0.0.1:1; Ctrl-C ends it"
exec sleep 600
"""
END = "Execution time of different units:\n  0 seconds - x\n"
GOOD = "[ok]: one [a] (3 ms)\n[ok]: two (0 ms)\n[ignore]: three: Not supported on external server\n" + END
BAD = ("[ok]: passes (1 ms)\n[err]: fails * in tests/unit/bad.tcl\nExpected 1 to be 2\n[err]: fails * in tests/unit/bad.tcl\nagain\n" + END +
       "*** [err]: fails * in tests/unit/bad.tcl\n")
IDLE = "[ignore]: Not supported on external server\n" + END
REASONS = """
[not-run]
"Not supported on external server" = "It must start the server."
[[reason]]
unit = "unit/bad"
tests = ["fails *"]
why = "On purpose."
"""


class RunSuite(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        for name, text in {"bin/tclsh": TCLSH, "server": SERVER, "source/tests/test_helper.tcl": "",
                           "source/src/version.h": '#define REDIS_VERSION "9.8.7"\n', "reasons.toml": REASONS}.items():
            self.write(name, text)
        for name in ("bin/tclsh", "server"):
            (self.folder / name).chmod(0o755)
        self.suite(GOOD, BAD, IDLE)

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def suite(self, good, bad, idle):
        for name, text in {"good": good, "bad": bad, "idle": idle}.items():
            self.write(f"source/tests/unit/{name}.tcl", text)

    def run_it(self, *arguments):
        done = subprocess.run([str(SCRIPT), str(self.folder / "source"), "--server", str(self.folder / "server"), "--reasons",
                               str(self.folder / "reasons.toml"), "--out", str(self.folder / "page.md"), *arguments],
                              capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"})
        return done.returncode, done.stdout, done.stderr

    def page(self):
        return (self.folder / "page.md").read_text()

    def test_what_has_its_reason_is_no_finding(self):
        code, out, err = self.run_it()
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("3 tests pass, 2 fail, 0 findings", out)
        page = self.page()
        self.assertIn("**3 tests of the suite of Redis 9.8.7 pass, 2 fail", page)
        self.assertIn("| `unit/good` | 2 | 0 | 1 |", page)
        self.assertIn(r"| fails \* (2 times) | On purpose. |", page)
        self.assertIn("Whole units: `unit/idle`.", page)
        self.assertIn("| `unit/good` | three | It must start the server. |", page)

    def test_a_failure_without_a_reason(self):
        self.suite(GOOD + "", BAD.replace("[ok]: passes (1 ms)", "[err]: new in tests/unit/bad.tcl\nwhy"), IDLE)
        code, out, _ = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("no reason: unit/bad: new: why", out)
        self.assertIn("| new | **no reason is known** |", self.page())

    def test_a_reason_for_what_passes(self):
        self.write("reasons.toml", REASONS.replace('"fails *"', '"fails *", "passes", "/^gone"'))
        code, out, _ = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("nothing needs this reason: unit/bad: passes (it passes)", out)
        self.assertIn("nothing needs this reason: unit/bad: /^gone", out)

    def test_what_is_not_run_needs_a_reason_too(self):
        self.write("reasons.toml", REASONS.replace('"Not supported', '"Never said'))
        code, out, _ = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("not run without a reason: unit/good: three: Not supported on external server", out)
        self.assertIn("nothing needs this reason: not-run: Never said on external server", out)

    def test_a_unit_that_ends_in_the_middle(self):
        self.suite(GOOD, BAD, "[ok]: early (0 ms)\n[exception]: it broke\n")
        code, out, _ = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("no reason: unit/idle: (the rest of the file): it broke", out)

    def test_a_unit_without_progress_names_the_test(self):
        self.suite(GOOD, BAD, "[ok]: early (0 ms)\n[TIMEOUT]: clients state report follows.\nsock5 => (IN PROGRESS) stuck\n" + END)
        code, out, _ = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("no reason: unit/idle: stuck: no progress", out)

    def test_the_limit_of_a_unit(self):
        self.write("bin/tclsh", TCLSH + '[ "$name" = unit/idle ] && exec sleep 600\n')
        code, out, _ = self.run_it("--limit", "1")
        self.assertEqual(code, 1)
        self.assertIn("no reason: unit/idle: (the rest of the file): more than 1 s", out)

    def test_skipped_and_changed(self):
        self.write("reasons.toml", REASONS + '[[reason]]\nunit = "unit/good"\ntests = ["spoils"]\nwhy = "It spoils."\nskip = true\n'
                   '[[change]]\nunit = "unit/good"\ntext = "two (0"\ninstead = "zwei (0"\nwhy = "In German."\n')
        code, out, _ = self.run_it()
        self.assertEqual(code, 0, out)
        self.assertIn("| `unit/good` | spoils | It spoils. |", self.page())
        self.assertIn("| `unit/good` | two (0 | zwei (0 | In German. |", self.page())
        self.assertIn("two", (self.folder / "source/tests/unit/good.tcl").read_text())

    def test_wrong_arguments(self):
        self.assertEqual(self.run_it("--unit", "unit/nosuch")[0], 64)
        self.assertEqual(self.run_it("--nosuch")[0], 64)
        self.write("reasons.toml", REASONS + '[[reason]]\nunit = "unit/good"\n')
        self.assertEqual(self.run_it()[0], 64)
        self.write("reasons.toml", '[[reason]]\nunit = "unit/gone"\ntests = ["x"]\nwhy = "y"\n')
        self.assertEqual(self.run_it()[0], 64)

    def test_what_is_missing(self):
        self.assertEqual(self.run_it("--server", "/nonexistent/server")[0], 69)
        (self.folder / "source/tests/test_helper.tcl").unlink()
        self.assertEqual(self.run_it()[0], 69)


if __name__ == "__main__":
    unittest.main()
