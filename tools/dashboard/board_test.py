#!/usr/bin/env python3
"""Asks a real Prometheus the queries of board.json, and promtool about alerts.yml; draws a board of made-up numbers.

Run: tools/dashboard/board_test.py. (CTest: board_test.) What needs prometheus or matplotlib is skipped without it.
"""
import http.server
import json
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import board

HERE = pathlib.Path(__file__).resolve().parent
LOCK = 'lock_kind="fenced",lock_mode=""'


def page(counts):
    """Each metric that LockMetrics writes, risen `counts` times."""
    lines = []
    for name in ("acquires", "waits", "grants", "refusals", "acquire_failures", "renewals", "renewal_failures", "extensions", "releases",
                 "release_failures", "losses"):
        lines += [f"# TYPE holdfast_lock_{name}_total counter", f"holdfast_lock_{name}_total{{{LOCK}}} {counts}"]
    for name in ("wait_duration", "hold_duration", "renewal_delay"):
        lines.append(f"# TYPE holdfast_lock_{name}_seconds histogram")
        lines += [f'holdfast_lock_{name}_seconds_bucket{{{LOCK},le="{le}"}} {counts}' for le in ("0.001", "0.01", "+Inf")]
        lines += [f"holdfast_lock_{name}_seconds_sum{{{LOCK}}} {counts * 0.001}", f"holdfast_lock_{name}_seconds_count{{{LOCK}}} {counts}"]
    for name in ("commands", "unanswered_calls", "connections", "reconnections", "connection_failures"):
        lines += [f"# TYPE holdfast_redis_{name}_total counter", f'holdfast_redis_{name}_total{{client="locks"}} {counts}']
    return "\n".join(lines) + "\n"


class Target(http.server.ThreadingHTTPServer):
    """What is scraped. Each scrape finds more."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.scrapes += 1
            body = page(10 * self.server.scrapes).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.scrapes = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()


@unittest.skipUnless(shutil.which("prometheus") and shutil.which("promtool"), "there is no prometheus")
class WithPrometheus(unittest.TestCase):
    def test_each_query_of_the_board_has_an_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            target = Target()
            self.addCleanup(target.end)
            prometheus = board.Prometheus(folder, [f"127.0.0.1:{target.server_address[1]}"])
            self.addCleanup(prometheus.end)
            begin = time.time()
            while target.scrapes < 6:
                self.assertIsNone(prometheus.process.poll())
                time.sleep(0.05)
            rows = board.panels(prometheus, begin, time.time())
            asked = json.loads((HERE / "board.json").read_text())["panels"]
            self.assertEqual(len(rows), len(asked))
            for panel, series in rows:
                self.assertEqual(len(series), len(panel["targets"]), panel["title"])
                for name, values in series:
                    self.assertTrue(any(value > 0 for _, value in values), f"{panel['title']}: {name}")
                    self.assertNotIn("{{", name)
            self.assertIn("HoldfastLockLost", board.alerts(prometheus, begin, time.time()))

    def test_the_alerts_are_rules(self):
        told = subprocess.run(["promtool", "check", "rules", HERE / "alerts.yml"], capture_output=True, text=True, check=False)
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)

    def test_a_prometheus_that_does_not_start_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(RuntimeError, "prometheus does not start"):
                board.Prometheus(folder, ["no target://"])


class Drawing(unittest.TestCase):
    def test_a_board(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("there is no matplotlib")
        panels = json.loads((HERE / "board.json").read_text())["panels"]
        rows = [(panel, [("one", [(100 + i, i / 10) for i in range(20)]), ("not a number", [(100, float("nan"))])]) for panel in panels[:-1]]
        rows.append((panels[-1], []))
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "board.png"
            board.draw(rows, 100, 120, [(105, "something"), (110, "something else")], file)
            self.assertEqual(file.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            self.assertGreater(file.stat().st_size, 20_000)

    def test_what_grafana_puts_into_queries(self):
        for panel in json.loads((HERE / "board.json").read_text())["panels"]:
            for target in panel["targets"]:
                self.assertNotIn("$", board.filled(target["expr"]))
        self.assertEqual(board.legend("p50 {{lock_kind}} {{lock_mode}}", {"lock_kind": "fair", "lock_mode": ""}), "p50 fair")

    def test_where_nothing_was_scraped_no_line_is_drawn(self):
        times, line = board.with_gaps([(1, 5), (2, 6), (9, 7)])
        self.assertEqual(times, [1, 2, 3, 9])
        self.assertEqual([value for value in line if value == value], [5, 6, 7])

    def test_units(self):
        self.assertEqual([board.shown(0.25, "percentunit"), board.shown(0.25, "s"), board.shown(2, "s"), board.shown(3, "ops"), board.shown(4, "short")],
                         ["25%", "250 ms", "2 s", "3 /s", "4"])


if __name__ == "__main__":
    unittest.main()
