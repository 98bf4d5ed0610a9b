#!/usr/bin/env python3
"""Drives tools/beside_load over a build folder with tests of its own making. Run: tools/house/beside_load_test.py. (CTest:
beside_load_test)
"""
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "beside_load"
TESTS = """
add_test(good "true")
add_test(red "false")
add_test(every_second "sh" "-c" "if rm '{0}/flag'; then exit 1; else : >'{0}/flag'; fi")
add_test(left_out "sh" "-c" "exit 77")
set_tests_properties(left_out PROPERTIES SKIP_RETURN_CODE 77)
add_test(missing "{0}/no such program")
add_test(looks "sh" "-c" "ps -eo ppid=,pid=,stat= >'{0}/processes'")
"""


class BesideLoad(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        (self.folder / "CTestTestfile.cmake").write_text(TESTS.format(self.folder))

    def tearDown(self):
        self.temporary.cleanup()

    def run_it(self, *arguments, build=None):
        done = subprocess.run([str(SCRIPT), "--build", str(build or self.folder), *arguments], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def test_what_was_red_is_named_and_counted(self):
        log = self.folder / "log"
        code, out, err = self.run_it("-n", "4", "--loops", "1", "--log", str(log), "good|red|every_second|left_out")
        self.assertEqual((code, err), (1, ""))
        self.assertIn("round 1: 1 of 3 red", out)
        self.assertIn("round 2: 2 of 3 red", out)
        summary = out.splitlines()[-3:]
        self.assertEqual(summary[:2], ["red in 4 of 4 rounds: red", "red in 2 of 4 rounds: every_second"])
        self.assertIn("4 rounds, 12 tests run, 6 red; 8 at a time beside 1 busy loops", summary[2])
        self.assertIn("every_second", log.read_text())

    def test_green(self):
        code, out, err = self.run_it("--loops", "0", "good")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("1 rounds, 1 tests run, 0 red", out)

    def test_what_cannot_be_started_is_red(self):
        code, out, _ = self.run_it("--loops", "0", "missing")
        self.assertEqual(code, 1)
        self.assertIn("red in 1 of 1 rounds: missing", out)

    def test_the_loops_burn_meanwhile_and_are_gone_then(self):
        began = os.times()
        self.assertEqual(self.run_it("--loops", "3", "looks")[0], 0)
        processes = [line.split() for line in (self.folder / "processes").read_text().splitlines()]
        children = {}
        for parent, process, state in processes:
            children.setdefault(parent, []).append((process, state))
        # Ours are the children of a child of this test: the loops, and ctest.
        loops = [grandchild for child, _ in children[str(os.getpid())] for grandchild in children.get(child, [])]
        self.assertEqual(len(loops), 4, loops)
        self.assertGreaterEqual(sum(state.startswith("R") for _, state in loops), 1, loops)
        self.assertGreater(os.times().children_user, began.children_user)
        for _ in range(1000):
            if not any(pathlib.Path(f"/proc/{process}").exists() for process, _ in loops):
                break
            time.sleep(0.01)
        else:
            self.fail("busy loops are left behind")

    def test_nothing_to_run_is_no_success(self):
        code, _, err = self.run_it("no such test")
        self.assertEqual(code, 1)
        self.assertIn("no test was run whose name matches `no such test`", err)

    def test_what_is_wrong_is_said_in_one_line(self):
        for arguments, code, text in ((["-n", "0"], 64, "`0`, expected a number, 1 or more"),
                                      (["--loops", "-1"], 64, "expected"), (["--sideways"], 64, "--sideways")):
            done = self.run_it(*arguments)
            self.assertEqual((done[0], done[1], done[2].count("\n")), (code, "", 1), done)
            self.assertIn(text, done[2])
        code, _, err = self.run_it(build=self.folder / "nowhere")
        self.assertEqual((code, err.count("\n")), (69, 1))


if __name__ == "__main__":
    unittest.main()
