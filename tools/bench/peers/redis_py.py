#!/usr/bin/env python3
"""redis-py's Lock under the load of `holdfast bench`: threads of one process, a connection each.

Prints one JSON line, as every peer does: version, seconds (measured), grants (by caller), wait / pair / hand_off (ns),
unfinished (waits that were not granted until the end), longest_wait (ns), errors.
"""
import argparse
import json
import threading
import time

import redis

arguments = argparse.ArgumentParser()
arguments.add_argument("--port", type=int, required=True)
arguments.add_argument("--callers", type=int, required=True)
arguments.add_argument("--keys", type=int, default=0)  # 0: a key for each caller
arguments.add_argument("--hold-ms", type=float, default=0)
arguments.add_argument("--seconds", type=float, required=True)
arguments.add_argument("--shared", action="store_true")  # not possible: its connections serve one command at a time
args = arguments.parse_args()

now = time.perf_counter_ns
ready = threading.Barrier(args.callers + 1)
go = threading.Event()
end = 0
last_release = 0
lanes = [{"grants": 0, "wait": [], "pair": [], "hand_off": [], "longest": 0, "errors": 0,
          "unfinished": []} for _ in range(args.callers)]


def call(i):
    global last_release
    lane = lanes[i]
    client = redis.Redis(port=args.port)
    key = f"peer:{i if args.keys == 0 else i % args.keys}"
    lock = client.lock(key, timeout=30)
    client.ping()
    ready.wait()
    go.wait()
    while True:
        begin = now()
        if begin >= end:
            return
        try:
            if not lock.acquire(blocking=True, blocking_timeout=max(0.0, (end - begin) / 1e9)):
                lane["longest"] = max(lane["longest"], now() - begin)
                lane["unfinished"].append(now() - begin)
                return
            granted = now()
            if args.keys == 1 and last_release:
                lane["hand_off"].append(granted - last_release)
            if args.hold_ms > 0:
                time.sleep(args.hold_ms / 1e3)
            leaving = now()
            last_release = leaving
            lock.release()
            if granted <= end:
                lane["grants"] += 1
                lane["wait"].append(granted - begin)
                lane["pair"].append(granted - begin + now() - leaving)
            lane["longest"] = max(lane["longest"], granted - begin)
        except redis.exceptions.RedisError:
            lane["errors"] += 1


threads = [threading.Thread(target=call, args=(i,)) for i in range(args.callers)]
for thread in threads:
    thread.start()
ready.wait()
start = now()
end = start + int(args.seconds * 1e9)
go.set()
for thread in threads:
    thread.join()
print(json.dumps({
    "version": redis.__version__,
    "seconds": args.seconds,
    "grants": [lane["grants"] for lane in lanes],
    "wait": [x for lane in lanes for x in lane["wait"]],
    "pair": [x for lane in lanes for x in lane["pair"]],
    "hand_off": [x for lane in lanes for x in lane["hand_off"]],
    "unfinished": [x for lane in lanes for x in lane["unfinished"]],
    "longest_wait": max(lane["longest"] for lane in lanes),
    "errors": sum(lane["errors"] for lane in lanes),
}))
