#!/usr/bin/env python3
"""redis-py's own Lock, unchanged, as a client of Holdfast: a flash sale under it.

Arguments: LOW..HIGH, milliseconds between read and write; patience=MS of one acquire, then this program gives up (it never
does); timeout=none, as Lock has it when nothing is said (the scenario's lease); tries=N of redis-py for one command (80);
pages=N, so many pages of a cache are kept in the same Redis during the work (0).

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
    from redis.cluster import ClusterNode, RedisCluster
    from redis.retry import Retry
    from redis.sentinel import Sentinel
except ImportError:
    sys.exit((print("redis-py is missing: apt-get install python3-redis", file=sys.stderr), 69)[1])

KEY = os.environ["HOLDFAST_KEYS"].split(",")[0]
LEASE_MS = int(os.environ["HOLDFAST_LEASE_MS"])
THINK_MS = [int(word) for word in (sys.argv[1] if len(sys.argv) > 1 else "300..600").split("..")]
MORE = dict(word.split("=") for word in sys.argv[2:])
PATIENCE_S = float(MORE.get("patience", "inf")) / 1000
TIMEOUT_S = None if MORE.get("timeout") == "none" else LEASE_MS / 1000
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


def connect():
    """To the address in front of the primary; with Sentinels to whom they name, as redis-py finds it; HOLDFAST_NODES=cluster: by
    the map of its slots."""
    if os.environ.get("HOLDFAST_NODES") == "cluster":
        nodes = [url.split("/")[2].rsplit(":", 1) for url in os.environ["HOLDFAST_REDIS_NODES"].split(",")]
        return RedisCluster(startup_nodes=[ClusterNode(host, int(port)) for host, port in nodes],
                            socket_timeout=2, socket_connect_timeout=2)
    patience = dict(socket_timeout=2, socket_connect_timeout=2, retry=Retry(ConstantBackoff(0.05), int(MORE.get("tries", 80))),
                    retry_on_error=[redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError])
    if "HOLDFAST_SENTINELS" not in os.environ:
        return redis.Redis.from_url(os.environ["HOLDFAST_REDIS_URL"], **patience)
    sentinels = [address.rsplit(":", 1) for address in os.environ["HOLDFAST_SENTINELS"].split(",")]
    return Sentinel(sentinels, socket_timeout=1).master_for(os.environ["HOLDFAST_PRIMARY_NAME"], **patience)


client = connect()
lock = client.lock(KEY, timeout=TIMEOUT_S, sleep=0.02)
stock = Stock()


def acquire():
    """redis-py's blocking acquire, as its users call it; asked one try at a time, so that it is known when each was sent.
    False: its patience is over; None: nobody knows."""
    tell("invoke", "acquire")
    end = time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < end:
            sent = time.monotonic()
            if lock.acquire(blocking=False):
                left_ms = LEASE_MS - (time.monotonic() - sent) * 1000
                tell("ok", "acquire", **({} if TIMEOUT_S is None else {"valid_for_ms": left_ms}))
                return True
            time.sleep(0.02)
        tell("fail", "acquire", error="timeout")
        return False
    except redis.RedisError as error:
        tell("info", "acquire", error=str(error)[:100])
        return None


def keep_pages():
    for page in range(int(MORE.get("pages", 0))):
        client.set(f"page:{page}", "x" * 100_000)


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
    granted = acquire()
    if granted is None:
        continue
    if not granted:
        break
    left = int(stock.ask("READ"))
    if left > 0:
        keep_pages()
        time.sleep(random.uniform(*THINK_MS) / 1000)
        stock.ask(f"SELL {left - 1}")
    release()
    if left <= 0:
        break
