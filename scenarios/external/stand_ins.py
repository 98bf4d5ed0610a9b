#!/usr/bin/env python3
"""Stand-ins for clients that Debian and npm do not have: programs of ours that send what those send, a flash sale under it.

stand_ins.py LOCK [LOW..HIGH], LOCK: redsync (Go, 4.x), redlock-rb (Ruby, the gem redlock), sidekiq-lock (Ruby). They are not
those clients: what the recognisers make of commands and answers is tried with them, not what these clients make of them.
LOW..HIGH: milliseconds between read and write. HOLDFAST_NODES=all: on all servers. What it prints: checker/README.md,
"What a program tells".
"""
import base64
import concurrent.futures
import hashlib
import json
import os
import random
import socket
import sys
import time
import uuid

try:
    import redis
except ImportError:
    sys.exit((print("redis-py is missing: apt-get install python3-redis", file=sys.stderr), 69)[1])

KEY = os.environ["HOLDFAST_KEYS"].split(",")[0]
LEASE_MS = int(os.environ["HOLDFAST_LEASE_MS"])
THINK_MS = [int(word) for word in (sys.argv[2] if len(sys.argv) > 2 else "300..600").split("..")]
random.seed(int(os.environ["HOLDFAST_SEED"]))


def tell(type, f, **more):
    print(json.dumps({"type": type, "f": f, "key": KEY, **more}), flush=True)


def now_ms():
    return time.monotonic() * 1000


def servers(timeout_s):
    urls = os.environ["HOLDFAST_REDIS_NODES"].split(",") if os.environ.get("HOLDFAST_NODES") == "all" else \
        [os.environ["HOLDFAST_REDIS_URL"]]
    return [redis.Redis.from_url(url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s) for url in urls]


def script(server, text, key, *args):
    """EVALSHA, and EVAL where the server does not have it."""
    digest = hashlib.sha1(text.encode()).hexdigest()
    try:
        return server.execute_command("EVALSHA", digest, 1, key, *args)
    except redis.exceptions.NoScriptError:
        return server.execute_command("EVAL", text, 1, key, *args)


def done(request, *arguments):
    """Whether it was; a server that does not answer says no."""
    try:
        return request(*arguments)
    except redis.RedisError:
        return False


class Redsync:
    """All servers at once, each for 5 % of the lease (here half a second at least); 1 % of it for drift; gives back what was no
    majority."""
    DELETE = """local value = redis.call("GET", KEYS[1])
if value == ARGV[1] then return redis.call("DEL", KEYS[1]) end
if value == false then return -1 end
return 0"""

    def __init__(self):
        self.servers = servers(max(0.5, LEASE_MS * 0.05 / 1000))
        self.pool = concurrent.futures.ThreadPoolExecutor(len(self.servers))

    def on_most(self, request):
        votes = list(self.pool.map(lambda server: done(request, server), self.servers))
        return sum(map(bool, votes)) > len(self.servers) // 2

    def delete(self, server):
        return script(server, self.DELETE, KEY, self.value) == 1

    def acquire(self):
        self.value = base64.b64encode(random.randbytes(16)).decode()
        sent = now_ms()
        most = self.on_most(lambda server: server.execute_command("SET", KEY, self.value, "NX", "PX", LEASE_MS))
        left_ms = LEASE_MS - (now_ms() - sent) - LEASE_MS * 0.01
        if most and left_ms > 0:
            return left_ms
        self.on_most(self.delete)
        return None

    def release(self):
        return self.on_most(self.delete)


class RedlockRb:
    """One server after the other, each for half a second (there a tenth); 1 % of the lease and 2 ms for drift; its release does
    not say what came of it."""
    LOCK = """if (redis.call("exists", KEYS[1]) == 0 and ARGV[3] == "yes") or redis.call("get", KEYS[1]) == ARGV[1] then
return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) end"""
    UNLOCK = """if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end"""

    def __init__(self):
        self.servers = servers(0.5)

    def acquire(self):
        self.value = str(uuid.uuid4())
        sent = now_ms()
        votes = sum(bool(done(script, server, self.LOCK, KEY, self.value, LEASE_MS, "yes")) for server in self.servers)
        left_ms = LEASE_MS - (now_ms() - sent) - LEASE_MS * 0.01 - 2
        if votes > len(self.servers) // 2 and left_ms >= 0:
            return left_ms
        self.release()
        return None

    def release(self):
        for server in self.servers:
            done(script, server, self.UNLOCK, KEY, self.value)


class SidekiqLock:
    """One server; the job asks once, and is put back if it is refused; an answer that does not come is an error of the job."""
    def __init__(self):
        self.server = servers(1)[0]

    def acquire(self):
        self.value = random.randbytes(25).hex()
        sent = now_ms()
        if done(self.server.execute_command, "SET", KEY, self.value, "PX", LEASE_MS, "NX"):
            return LEASE_MS - (now_ms() - sent)
        return None

    def release(self):
        while True:
            try:
                return script(self.server, RedlockRb.UNLOCK, KEY, self.value) == 1
            except redis.RedisError:
                time.sleep(0.02)


class Stock:
    def __init__(self):
        host, port = os.environ["HOLDFAST_EFFECTS"].rsplit(":", 1)
        self.file = socket.create_connection((host, int(port))).makefile("rw")

    def ask(self, line):
        self.file.write(line + "\n")
        self.file.flush()
        return self.file.readline().strip()


lock = {"redsync": Redsync, "redlock-rb": RedlockRb, "sidekiq-lock": SidekiqLock}[sys.argv[1]]()
stock = Stock()
left = 1
while left > 0:
    tell("invoke", "acquire")
    while (valid_for_ms := lock.acquire()) is None:
        time.sleep(random.uniform(0.02, 0.04))
    tell("ok", "acquire", valid_for_ms=valid_for_ms)
    left = int(stock.ask("READ"))
    if left > 0:
        time.sleep(random.uniform(*THINK_MS) / 1000)
        stock.ask(f"SELL {left - 1}")
    tell("invoke", "release")
    if lock.release() is False:
        tell("fail", "release", error="not-owner")
    else:
        tell("ok", "release")
    time.sleep(random.uniform(0.04, 0.08))  # who asks at once is first, for ever
