#!/usr/bin/env python3
"""redis-py's Lock and the locks of this library on one key, while both run: what lib/OPERATIONS.md says of the upgrade.
Run: tools/operations/redis_py_test.py BUILD. (CTest: redis_py_upgrade; without redis-py: exit 77)
"""
import multiprocessing
import os
import pathlib
import re
import sys
import threading
import time
import unittest

from rig import KEY, PATIENCE, Missing, Probe, Redis, Server, wait_until

try:
    import redis
    from redis.exceptions import LockNotOwnedError
except ImportError:
    redis = None
BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "build").resolve()
LONG = 600000
SAME_LAYOUT = ["reentrant", "non-reentrant", "spin", "fenced", "fair"]
ROUNDS = 15


def theirs(server, **options):
    return redis.Redis(port=server.port).lock(KEY, **options)


def redis_py_worker(port, rounds, holds):
    """A process of the old service: takes the lock `rounds` times, and notes when it was inside."""
    lock = redis.Redis(port=port).lock(KEY, timeout=600, sleep=0.003)
    for _ in range(rounds):
        lock.acquire()
        begin = time.monotonic()
        time.sleep(0.002)
        holds.put(("redis-py", begin, time.monotonic()))
        lock.release()
        time.sleep(0.001)


def our_worker(server, kind, rounds, holds):
    with Probe(kind, server.url, "--lease", LONG) as probe:
        for _ in range(rounds):
            while (answer := probe("take")) == "refused":  # redis-py calls nobody that waits
                time.sleep(0.003)
            begin = time.monotonic()
            time.sleep(0.002)
            holds.put((kind if answer == "granted" else answer, begin, time.monotonic()))
            probe("give")
            time.sleep(0.001)


@unittest.skipIf(redis is None, "redis-py is missing")
class RedisPy(unittest.TestCase):
    def setUp(self):
        Probe.program = BUILD / "lock_probe"
        self.server = Server()
        self.addCleanup(self.server.__exit__)

    def probe(self, kind, *words):
        probe = Probe(kind, self.server.url, "--lease", LONG, *words)
        self.addCleanup(probe.__exit__)
        return probe

    def asked(self):
        """How many scripts were answered."""
        calls = re.findall(r"cmdstat_eval(?:sha)?:calls=(\d+),.*rejected_calls=0,failed_calls=(\d+)", self.server.admin("INFO", "commandstats"))
        return sum(int(number) - int(failed) for number, failed in calls)

    def test_each_keeps_the_other_out(self):
        for kind in SAME_LAYOUT:
            with self.subTest(kind):
                lock, ours = theirs(self.server, timeout=600), self.probe(kind)
                self.assertTrue(lock.acquire(blocking=False))
                self.assertEqual(ours("take"), "refused")
                self.assertEqual(ours("take 20"), "refused")
                self.assertTrue(lock.owned(), "whoever gave up left it alone")
                lock.release()
                self.assertEqual(ours("take"), "granted")
                self.assertFalse(lock.acquire(blocking=False))
                with self.assertRaises(LockNotOwnedError):
                    stranger = theirs(self.server, timeout=600)
                    stranger.local.token = b"not mine"
                    stranger.release()
                self.assertEqual(ours("extend 700000"), "extended")
                self.assertEqual(ours("give"), "given")

    def test_a_crowd_of_both(self):
        for kind in ("reentrant", "fair", "fenced", "spin"):
            with self.subTest(kind):
                self.server.admin("FLUSHALL")
                holds = multiprocessing.Queue()
                old = [multiprocessing.Process(target=redis_py_worker, args=(self.server.port, ROUNDS, holds)) for _ in range(2)]
                new = [threading.Thread(target=our_worker, args=(self.server, kind, ROUNDS, holds)) for _ in range(2)]
                for worker in old + new:
                    worker.start()
                seen = sorted((holds.get(timeout=PATIENCE) for _ in range(4 * ROUNDS)), key=lambda hold: hold[1])
                for worker in old + new:
                    worker.join()
                self.assertEqual({who for who, _, _ in seen}, {"redis-py", kind})
                for (who, _, end), (other, begin, _) in zip(seen, seen[1:]):
                    self.assertLessEqual(end, begin, f"{other} came in while {who} held it")

    def test_a_crowd_notices_a_lock_that_is_no_lock(self):
        holds = multiprocessing.Queue()
        over = threading.Event()

        link = Redis(self.server.port)

        def sabotage():
            while not over.wait(0.001):
                link("DEL", KEY)

        saboteur = threading.Thread(target=sabotage)
        saboteur.start()
        old = [multiprocessing.Process(target=redis_py_worker_heedless, args=(self.server.port, 40, holds)) for _ in range(3)]
        for worker in old:
            worker.start()
        seen = sorted((holds.get(timeout=PATIENCE) for _ in range(120)), key=lambda hold: hold[1])
        for worker in old:
            worker.join()
        over.set()
        saboteur.join()
        link.close()
        self.assertTrue(any(end > begin for (_, _, end), (_, begin, _) in zip(seen, seen[1:])), "nobody was ever inside beside another one")

    def test_a_holder_that_dies_is_waited_for(self):
        ours = self.probe("reentrant")
        child = multiprocessing.Process(target=lambda: (theirs(self.server, timeout=600).acquire(), os._exit(9)))
        child.start()
        child.join()
        self.assertEqual(ours("take"), "refused")
        self.assertEqual(self.server.admin("PEXPIRE", KEY, 200), 1, "the timeout of a process that died")
        self.assertEqual(ours("lock"), "granted")
        ours.kill()
        self.assertEqual(self.server.admin("PEXPIRE", KEY, 200), 1, "the lease of a process that was killed")
        lock = theirs(self.server, timeout=600, sleep=0.01)
        self.assertTrue(lock.acquire())

    def test_who_waits_is_not_called(self):
        """redis-py's release tells nobody: ours looks again when the time is over that it was told; `spin` asks all the while."""
        for kind in ("reentrant", "spin"):
            with self.subTest(kind):
                lock, ours = theirs(self.server, timeout=600), self.probe(kind)
                lock.acquire()
                ours.send("take 600000")
                if kind == "reentrant":
                    wait_until(lambda: self.server.admin("PUBSUB", "CHANNELS"), "a waiter")
                    wait_until(lambda: self.asked() >= 2, "the question that follows the subscription")
                else:
                    wait_until(lambda: self.asked() >= 1, "a question")
                lock.release()
                if kind == "spin":
                    self.assertEqual(ours.answer(), "granted")
                else:
                    self.assertIsNone(ours.answer(1.0), "it was called")
                ours.kill()

    def test_a_lock_without_a_timeout_is_refused(self):
        lock = theirs(self.server)
        lock.acquire()
        for kind in SAME_LAYOUT:
            with self.subTest(kind):
                answer = self.probe(kind)("take")
                self.assertIn("error Rejected", answer)
                self.assertIn("WRONGTYPE", answer)
        self.assertTrue(lock.owned())

    def test_other_kinds_do_not_share_the_key(self):
        for kind in ("redisson", "read-write", "read-write, a reader", "semaphore", "permit-semaphore", "count-down-latch"):
            with self.subTest(kind):
                self.server.admin("FLUSHALL")
                lock, ours = theirs(self.server, timeout=600), self.probe(kind)
                lock.acquire()
                answer = ours("take")
                self.assertTrue(answer.startswith("error Rejected") or answer == "refused", answer)
                self.assertTrue(lock.owned())
                lock.release()
                self.assertEqual(ours("take"), "granted")
                self.assertFalse(lock.acquire(blocking=False))


def redis_py_worker_heedless(port, rounds, holds):
    """As redis_py_worker(), for a lock that is taken away from it."""
    for _ in range(rounds):
        lock = redis.Redis(port=port).lock(KEY, timeout=600, sleep=0.001)
        lock.acquire()
        begin = time.monotonic()
        time.sleep(0.005)
        holds.put(("redis-py", begin, time.monotonic()))
        try:
            lock.release()
        except LockNotOwnedError:
            pass


if __name__ == "__main__":
    if redis is None:
        print("redis-py is missing (Debian: python3-redis)")
        sys.exit(77)
    try:
        unittest.main()
    except Missing as missing:
        print(missing, file=sys.stderr)
        sys.exit(69)
