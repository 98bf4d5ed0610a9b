#!/usr/bin/env python3
"""Runs the examples of lib/examples against a real Redis of its own, several at once, and with wrong arguments.

Run: tools/house/examples_test.py --build BUILD. (CTest: examples_test)
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import unittest

from install_test import Redis

SOURCE = pathlib.Path(__file__).resolve().parents[2]
options = None


def start(name, *arguments):
    return subprocess.Popen([str(pathlib.Path(options.build) / "examples" / name), *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def end(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out.strip(), err.strip()


class Examples(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.redis = Redis(self.temporary.name).__enter__()
        self.url = f"redis://127.0.0.1:{self.redis.port}"

    def tearDown(self):
        self.redis.__exit__()
        self.temporary.cleanup()

    def test_stock_is_sold_once_by_two_shops(self):
        shops = [start("stock", self.url), start("stock", self.url)]
        for code, out, err in map(end, shops):
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(out, "sold 20, left 0")

    def test_stock_is_right_when_the_lock_is_not(self):
        """Somebody takes the lock away again and again, so that two sell at a time."""
        shops = [start("stock", self.url), start("stock", self.url)]
        taken = 0
        while any(shop.poll() is None for shop in shops):
            taken += self.redis.call("DEL example:stock:lock").startswith(":1")
        self.assertGreater(taken, 0)
        for code, out, err in map(end, shops):
            self.assertEqual((code, out, err), (0, "sold 20, left 0", ""))

    def test_the_job_runs_once_on_three_machines(self):
        machines = [start("scheduled_job", self.url, "2026-11-21") for _ in range(3)]
        outcomes = [end(machine) for machine in machines]
        self.assertEqual([(code, err) for code, _, err in outcomes], [(0, "")] * 3)
        self.assertEqual([out for _, out, _ in outcomes].count("done here"), 1, outcomes)
        self.assertEqual(end(start("scheduled_job", self.url, "2026-11-21"))[1], "was done before")
        self.assertEqual(end(start("scheduled_job", self.url, "2026-11-22"))[1], "done here")

    def test_the_old_system_gets_three_at_a_time(self):
        code, out, err = end(start("rate_of_work", self.url))
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"^30 requests, at most [123] at once$")

    def test_what_is_wrong_is_said_in_one_line(self):
        self.redis.call("CONFIG SET requirepass top")
        for example in sorted(path.stem for path in (SOURCE / "lib/examples").glob("*.cc")):
            more = ["night"] if example == "scheduled_job" else []
            for arguments, code, text in (
                ([], 64, f"usage: {example} URL"),
                (["localhost", *more], 64, "bad Redis URL"),
                (["http://:hunter2@localhost", *more], 64, "not supported"),
                (["rediss://:hunter2@localhost?ca_file=/none", *more], 64, "there is no file"),
                (["redis://127.0.0.1:1", *more], 1, "connection refused"),
                ([self.url, *more], 1, "asks for a password"),
            ):
                done = end(start(example, *arguments))
                self.assertEqual(done[0], code, done)
                self.assertIn(text, done[2])
                self.assertNotIn("hunter2", done[2])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
