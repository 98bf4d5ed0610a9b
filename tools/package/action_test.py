#!/usr/bin/env python3
"""Whether action.yml is an action, and calls tools/run with what its user says (CTest: action_test).

Run: tools/package/action_test.py [--command HOLDFAST]: with the command, that a scenario that fails is marked at its line.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
options = None
FAILS = """schema = 1
name   = "said-to-be-broken"
about  = "A healthy lock, of which the file expects a double grant"

[run]
seeds = "1"
time  = "2s"

[cluster]
topology = "single"
nodes    = ["r1"]

[lock]
kind  = "reentrant"
lease = "1s"

[workload]
kind    = "critical-section"
clients = 2

[[expect]]
check = "lease-exclusion"
is    = "violated"
"""


class Action(unittest.TestCase):
    def setUp(self):
        self.action = yaml.safe_load((SOURCE / "action.yml").read_text())
        self.step = self.action["runs"]["steps"][0]

    def run_step(self, folder, scenarios, arguments):
        given = {"inputs.scenarios": scenarios, "inputs.arguments": arguments, "github.action_path": str(folder)}
        environment = {name: re.sub(r"\$\{\{ (\S+) \}\}", lambda found: given[found.group(1)], value)
                       for name, value in self.step["env"].items()}
        return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.step["run"]], cwd=folder,
                              env={**os.environ, **environment}, capture_output=True, text=True)

    def stand_in(self, folder, body):
        (folder / "tools").mkdir()
        (folder / "tools/run").write_text(f"#!/bin/bash\n{body}\n")
        (folder / "tools/run").chmod(0o755)

    def test_it_is_an_action(self):
        self.assertEqual(self.action["runs"]["using"], "composite")
        self.assertEqual(len(self.action["runs"]["steps"]), 1)
        self.assertTrue(self.action["name"] and self.action["description"])
        for name, told in self.action["inputs"].items():
            self.assertTrue(told["description"])
            self.assertIn(f"${{{{ inputs.{name} }}}}", " ".join(self.step["env"].values()))
        self.assertEqual(self.step["shell"], "bash")
        self.assertNotIn("${{", self.step["run"])  # what a user says is a variable's value, and never a piece of the script
        self.assertLessEqual(len([line for line in (SOURCE / "action.yml").read_text().splitlines() if line]), 13)

    def test_it_passes_on_what_the_user_says_word_by_word(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.stand_in(folder, 'printf "%s\\n" "$@"')
            done = self.run_step(folder, "a.toml locks", "--seeds 1..5 $(touch bad) `touch bad` ; touch bad")
            self.assertEqual(done.stdout.split("\n"), ["a.toml", "locks", "--seeds", "1..5", "$(touch", "bad)", "`touch", "bad`", ";",
                                                       "touch", "bad", "--github", ""])
            self.assertFalse((folder / "bad").exists())

    def test_a_failed_expectation_is_marked_at_its_line_and_fails_the_step(self):
        if not options.command:
            self.skipTest("no --command")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.stand_in(folder, f'exec "{options.command}" run "$@"')
            (folder / "broken.toml").write_text(FAILS)
            done = self.run_step(folder, "broken.toml", "--seeds 1..2")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            line = FAILS.split("\n").index("[[expect]]") + 1
            self.assertRegex(done.stdout, rf"(?m)^::error file=broken\.toml,line={line},")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--command")
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
