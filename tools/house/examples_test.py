#!/usr/bin/env python3
"""Runs the examples of lib/examples against a real Redis of its own, several at once, and with wrong arguments.

Run: tools/house/examples_test.py --build BUILD. (CTest: examples_test)
"""
import argparse
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

from install_test import Redis

SOURCE = pathlib.Path(__file__).resolve().parents[2]
options = None


def start(name, *arguments):
    return subprocess.Popen([str(pathlib.Path(options.build) / "examples" / name), *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def end(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out.strip(), err.strip()


class Service:
    """async_stock on a free port."""

    def __init__(self, url):
        self.process = start("async_stock", url)
        self.port = int(self.process.stdout.readline().rsplit(" ", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def stop(self):
        self.process.terminate()
        code, _, err = end(self.process)
        return code, err


class Buyer(threading.Thread):
    """Buys one after the other until nothing is left, or the service is gone."""

    def __init__(self, service):
        super().__init__(daemon=True)
        self.connection = socket.create_connection(("127.0.0.1", service.port), timeout=120)
        self.answers = []
        self.start()

    def run(self):
        try:
            with self.connection, self.connection.makefile("rw") as talk:
                while not self.answers or self.answers[-1] != "sold out":
                    print("one, please", file=talk, flush=True)
                    answer = talk.readline()
                    if not answer:
                        return
                    self.answers.append(answer.strip())
        except OSError:  # it was killed
            pass

    def buy_until_sold_out(self):
        self.join(timeout=120)
        return self.answers


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

    def test_the_service_sells_each_unit_once(self):
        with Service(self.url) as one, Service(self.url) as other:
            buyers = [Buyer(shop) for shop in (one, other) for _ in range(8)]
            answers = [answer for buyer in buyers for answer in buyer.buy_until_sold_out()]
            sold = [answer for answer in answers if answer.startswith("sold, ")]
            self.assertEqual((len(sold), len(set(sold))), (20, 20), answers)
            self.assertEqual((self.get("stock"), self.get("sold")), ("0", "20"))
            pages = [self.scraped(shop) for shop in (one, other)]
            for page in pages:
                self.assertRegex(page, r'(?m)^holdfast_redis_connections_total\{client="locks"\} [1-9]')
            grants = [float(re.search(r'(?m)^holdfast_lock_grants_total\{lock_kind="fenced",lock_mode=""\} (\d+)', page)[1]) for page in pages]
            self.assertEqual(sum(grants), len(answers))
            self.assertEqual([one.stop(), other.stop()], [(0, ""), (0, "")])

    def scraped(self, service):
        with urllib.request.urlopen(f"http://127.0.0.1:{service.port}/metrics", timeout=120) as page:
            self.assertEqual(page.headers["Content-Type"], "text/plain; version=0.0.4")
            return page.read().decode()

    def test_the_service_is_right_when_one_is_killed_and_the_lock_is_not(self):
        """One is killed while it sells, and the lock is taken away again and again, so that two sell at a time."""
        with Service(self.url) as one, Service(self.url) as other:
            buyers = [Buyer(shop) for shop in (one, other) for _ in range(8)]
            taken = 0
            while self.get("stock") != "0":
                taken += self.redis.call("DEL {example}:async-lock").startswith(":1")
                if int(self.get("sold") or 0) >= 5:
                    one.process.kill()
                self.assertIsNone(other.process.poll())
            self.assertGreater(taken, 0)
            for buyer in buyers[8:]:
                self.assertEqual(buyer.buy_until_sold_out()[-1], "sold out")
            self.assertEqual((self.get("stock"), self.get("sold")), ("0", "20"))
            self.assertEqual(other.stop(), (0, ""))

    def test_the_service_ends_while_customers_wait_for_a_lock_of_somebody_else(self):
        """What is told to a context that is gone, a build with sanitizers tells."""
        self.redis.call("SET {example}:async-lock another PX 600000")
        with Service(self.url) as shop:
            buyers = [Buyer(shop) for _ in range(4)]
            while not re.search(r'(?m)^holdfast_lock_waits_total\{lock_kind="fenced",lock_mode=""\} [1-9]', self.scraped(shop)):
                self.assertIsNone(shop.process.poll())
            self.assertEqual(shop.stop(), (0, ""))
            self.assertEqual([buyer.buy_until_sold_out() for buyer in buyers], [[]] * 4)

    def get(self, name):
        reply = self.redis.call(f"GET {{example}}:async-{name}").split("\r\n")
        return reply[1] if len(reply) > 1 else ""

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
