#!/usr/bin/env python3
"""redis-py's own Lock, unchanged, as a client of Holdfast: a flash sale under it.

The lock's name is in HOLDFAST_KEYS, its server at HOLDFAST_REDIS_URL. What it does goes to standard output, one JSON line
for each thing; the stock is behind HOLDFAST_EFFECTS. See checker/README.md, "What a program tells".
"""
import json
import os
import random
import socket
import sys
import time

try:
    import redis
    from redis.backoff import ConstantBackoff
    from redis.retry import Retry
except ImportError:
    sys.exit((print("redis-py is missing: apt-get install python3-redis", file=sys.stderr), 69)[1])

KEY = os.environ["HOLDFAST_KEYS"].split(",")[0]
LEASE_MS = int(os.environ["HOLDFAST_LEASE_MS"])
THINK_MS = [int(word) for word in (sys.argv[1] if len(sys.argv) > 1 else "300..600").split("..")]
PATIENCE_S = 10
random.seed(int(os.environ["HOLDFAST_SEED"]))


def tell(type, f, **more):
    print(json.dumps({"type": type, "f": f, "key": KEY, **more}), flush=True)


class Stock:
    def __init__(self):
        host, port = os.environ["HOLDFAST_EFFECTS"].rsplit(":", 1)
        self.file = socket.create_connection((host, int(port))).makefile("rw")

    def ask(self, line):
        self.file.write(line + "\n")
        self.file.flush()
        return self.file.readline().strip()


client = redis.Redis.from_url(os.environ["HOLDFAST_REDIS_URL"], socket_timeout=2, socket_connect_timeout=2,
                              retry=Retry(ConstantBackoff(0.05), 40),
                              retry_on_error=[redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError])
lock = client.lock(KEY, timeout=LEASE_MS / 1000, sleep=0.02)
stock = Stock()


def acquire():
    """redis-py's blocking acquire, as its users call it; asked one try at a time, so that it is known when each was sent."""
    tell("invoke", "acquire")
    end = time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < end:
            sent = time.monotonic()
            if lock.acquire(blocking=False):
                tell("ok", "acquire", valid_for_ms=LEASE_MS - (time.monotonic() - sent) * 1000)
                return True
            time.sleep(0.02)
        tell("fail", "acquire", error="timeout")
    except redis.RedisError as error:
        tell("info", "acquire", error=str(error)[:100])
    return False


def release():
    tell("invoke", "release")
    try:
        lock.release()
        tell("ok", "release")
    except redis.exceptions.LockError:
        tell("fail", "release", error="not-owner")
    except redis.RedisError as error:
        tell("info", "release", error=str(error)[:100])


while True:
    if not acquire():
        continue
    left = int(stock.ask("READ"))
    if left > 0:
        time.sleep(random.uniform(*THINK_MS) / 1000)
        stock.ask(f"SELL {left - 1}")
    release()
    if left <= 0:
        break
