#!/usr/bin/env python3
"""Drives tools/soak on its own servers: a clean run holds, one whose records are removed does not, bad arguments are told.
Run: tools/attack/soak_test.py BUILD. (CTest: soak_test)
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "soak"
BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "build").resolve()
PATIENT = ["--slack", "60", "--build", str(BUILD)]  # a busy machine


class Soak(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def soak(self, *arguments):
        return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False, cwd=self.folder)

    def test_a_lock_that_holds(self):
        ran = self.soak("2s", "--kinds", "fenced", "--parts", "kills", "--keep", "kept", *PATIENT)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertTrue(ran.stdout.endswith("all held\n"), ran.stdout)
        self.assertTrue((self.folder / "kept" / "fenced-kills.jsonl").exists())

    def test_processes_that_fork(self):
        ran = self.soak("3s", "--kinds", "fair", "--parts", "forks", "--keep", "kept", *PATIENT)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn('f1/0","type":"ok","f":"acquire"', (self.folder / "kept" / "fair-forks.jsonl").read_text(), "a child was granted it")

    def test_records_that_are_removed_are_found(self):
        # Those that spin ask all the time: somebody comes while a record is missing.
        ran = self.soak("4s", "--kinds", "spin", "--parts", "kills", "--sabotage", *PATIENT)
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertIn("✗ lease-exclusion", ran.stdout)
        self.assertIn("1 of 1 parts went wrong", ran.stdout)
        self.assertTrue((self.folder / "spin-kills.jsonl").exists(), "the history of a failure is kept")

    def test_bad_arguments(self):
        for arguments, text in [(["5"], "'5' is no time, expected 90s, 5m or 1h"), (["1s", "--kinds", "no"], "'no' is not known"),
                                ([], "the following arguments are required: time")]:
            ran = self.soak(*arguments)
            self.assertEqual(ran.returncode, 64, ran.stderr)
            self.assertIn(text, ran.stderr)
        ran = self.soak("1s", "--build", str(self.folder))
        self.assertEqual(ran.returncode, 69, ran.stderr)
        self.assertIn("soak_worker is missing", ran.stderr)


if __name__ == "__main__":
    unittest.main()
