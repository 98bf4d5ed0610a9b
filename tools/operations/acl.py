"""What a user needs so that a lock works: proved by running the lock under it, and by taking each right away."""
import glob
import re

from rig import ROOT, Probe, wait_until

# Commands, key patterns, channels. `stock:*` stands for the application's own keys. The commands are what the lock sends
# and what its scripts do; HELLO and AUTH are everybody's. `evalsha`, and `eval` for a server that does not know the script yet.
WAKE = "&holdfast:wake:*"
SCRIPTS = "evalsha eval"
LISTEN = "subscribe publish"
QUEUE = "~stock:* ~holdfast:fair:queue:{stock:* ~holdfast:fair:patience:{stock:*"
REENTRANT = f"set {SCRIPTS} get pttl pexpire del time zadd zrem zrange zscore zpopmin {LISTEN}"
SEMAPHORE = (
    f"{SCRIPTS} exists get set persist hget hset hdel hincrby del time pttl pexpire pexpireat zadd zcard zrem zrange zrangebyscore "
    f"zremrangebyscore zscore {LISTEN}",
    "~stock:* ~holdfast:semaphore:taken:{stock:* ~holdfast:semaphore:permits:{stock:* ~holdfast:semaphore:queue:{stock:* "
    "~holdfast:semaphore:patience:{stock:* ~holdfast:semaphore:wants:{stock:*", WAKE)
POLLING = f"set {SCRIPTS} get pttl pexpire del time zpopmin"
RULES = {
    "reentrant": (REENTRANT, QUEUE, WAKE),
    "spin": (POLLING + " zrem", QUEUE, ""),
    "fenced": (REENTRANT, QUEUE + " ~holdfast:token:{stock:*", WAKE),
    "fair": (REENTRANT, QUEUE, WAKE),
    "redisson": (f"{SCRIPTS} exists get set hexists hset hdel hkeys hlen del time pttl pexpire pexpireat zadd zrem zrange zscore {LISTEN}",
                 "~stock:* ~holdfast:redisson:queue:{stock:* ~holdfast:redisson:patience:{stock:* ~holdfast:redisson:in-a-row:{stock:* "
                 "~redisson_lock__channel:{stock:*", WAKE + " &redisson_lock__channel:{stock:*"),
    "read-write": (f"{SCRIPTS} exists get set del time pttl pexpire pexpireat zadd zcard zrem zrange zscore zremrangebyscore {LISTEN}",
                   "~stock:* ~holdfast:rw:readers:{stock:* ~holdfast:rw:line:{stock:* ~holdfast:rw:line-writers:{stock:* "
                   "~holdfast:rw:line-patience:{stock:* ~holdfast:rw:channel:{stock:*", WAKE + " &holdfast:rw:channel:{stock:*"),
    "semaphore": SEMAPHORE,
    "permit-semaphore": SEMAPHORE,
    "count-down-latch": (f"{SCRIPTS} hmget hget hset hincrby exists sismember sadd rename pttl pexpire del {LISTEN}",
                         "~stock:* ~holdfast:latch:counted:{stock:* ~holdfast:latch:channel:{stock:* ~holdfast:latch:counted-before:{stock:*",
                         "&holdfast:latch:channel:{stock:*"),
    "redlock": (POLLING, QUEUE, ""),
}
USER, PASSWORD = "app", "app-password"
PATIENCES = (50, 1000, 10000)  # ms that a try waits; more where the machine is busy
LEASES = 12  # times that: who is not woken for want of a right comes back then
WAITS_WITHOUT_CHANNEL = {"spin", "redlock"}


class Bench:
    """One server, and two processes that log in as USER."""

    def __init__(self, server, kind, rule):
        self.server, self.kind, self.rule, self.patience = server, kind, rule, PATIENCES[0]
        self.url = f"redis://{USER}:{PASSWORD}@127.0.0.1:{server.port}"

    def allow(self, rule):
        """Exactly that, from a clean sheet."""
        answer = self.server.admin("ACL", "SETUSER", USER, "reset", "on", ">" + PASSWORD, "-@all", *rule)
        assert answer == "OK", answer

    def clean(self):
        for words in (("FLUSHALL",), ("SCRIPT", "FLUSH"), ("ACL", "LOG", "RESET"), ("CLIENT", "KILL", "USER", USER), ("CONFIG", "RESETSTAT")):
            self.server.admin(*words)

    def denied(self):
        """What the server has refused: "command pexpire", "key stock:42", "channel ..."."""
        entries = [dict(zip(entry[::2], entry[1::2])) for entry in self.server.admin("ACL", "LOG")]
        return {f"{entry['reason']} {entry['object']}" for entry in entries} - {"command info"}  # for the warning of eviction only

    def refused(self, command):
        return any(f"command|{command}" == f"{entry[entry.index('reason') + 1]}|{entry[entry.index('object') + 1]}"
                   for entry in self.server.admin("ACL", "LOG"))

    def used(self):
        """Commands that ran or were refused since clean(), and not by this connection."""
        names = set()
        for line in self.server.admin("INFO", "commandstats").split("\r\n"):
            stat = re.match(r"cmdstat_([\w|-]+):calls=(\d+)", line)
            if stat and int(stat.group(2)):
                names.add(stat.group(1))
        return names

    def run(self, until_denied=False):
        """What the two processes answer, and what was refused. With `until_denied` no further than to the first refusal that
        somebody was told of."""
        self.clean()
        told = []
        other = {"read-write": "read-write, a reader"}.get(self.kind, self.kind)
        words = [self.url, "--lease", LEASES * self.patience, "--command-timeout", 20000]
        with Probe(self.kind, *words) as first, Probe(other, *words) as second:
            for step in self.steps(first, second):
                told.append(step)
                if until_denied and self.denied() and refusal(step):
                    break
            else:
                told += [first("warnings"), second("warnings")]
        return told, self.denied()

    def listened(self, probe):
        """Until the one that waits is known to the server, or is told no, or may not be woken at all."""
        def ready():
            if probe.text or self.denied():
                return True
            if self.kind in WAITS_WITHOUT_CHANNEL:
                return len(self.used()) > 0
            return bool(self.server.admin("PUBSUB", "CHANNELS"))
        wait_until(ready, "a waiter")

    def steps(self, first, second):
        """Every call of the lock's that a service makes, each in the states in which its script does something else."""
        if self.kind == "count-down-latch":
            yield first("take")
            yield second(f"take {self.patience}")
            second.send("take 600000")
            self.listened(second)
            yield first("give")
            yield first("give")
            yield second.answer()
            yield first("take")
            return
        yield first("take")
        yield second("take")
        yield second(f"take {self.patience}")
        second.send("take 600000")
        self.listened(second)
        yield first("extend 700000")
        yield first("give")
        yield second.answer()
        yield second("extend 700000")
        yield second("give")
        if "semaphore" in self.kind:
            yield first("free")
            yield first("permits 1")
        if self.kind in ("permit-semaphore", "redlock"):
            return
        yield first("take")
        detached = first("detach")
        yield detached
        if detached.startswith("detached ") and self.kind != "read-write":
            yield second("adopt " + detached[9:])
            yield second("give")
        yield first("take")
        yield second("force")
        yield first("give")


def refusal(answer):
    """Whether a caller can see from it that a right is missing."""
    return "NOPERM" in answer or "ERR The user executing the script can't" in answer


def whole(rule):
    """(commands, keys, channels) as ACL SETUSER takes them."""
    commands, keys, channels = (part.split() for part in rule)
    return ["+" + command for command in commands] + keys + channels


def wrong(bench, rule):
    """What is wrong with a rule under which the lock should work: findings in words."""
    bench.allow(whole(rule))
    for bench.patience in PATIENCES:
        told, denied = bench.run()
        found = [f"{bench.kind}: {right} is refused under its rule" for right in sorted(denied)]
        if not denied:
            unused = set(rule[0].split()) - bench.used()
            found += [f"{bench.kind}: +{name} is in its rule and was not used" for name in sorted(unused)]
            found += [f"{bench.kind}: answered {text!r}" for text in told if "error" in text and not EXPECTED.search(text)]
        if not found or denied:
            break
    return found


def dispensable(bench, rule):
    """Rights of a rule without which everything goes on, or without which nobody is told what is missing."""
    for missing in whole(rule):
        bench.allow([right for right in whole(rule) if right != missing])
        for bench.patience in PATIENCES:
            told, denied = bench.run(until_denied=True)
            known = any(refusal(text) for text in told) or (bench.kind, missing) in UNTOLD
            if denied and known:
                break
        else:
            yield f"{bench.kind}: works without {missing}" if not denied else f"{bench.kind}: without {missing} nobody is told"


def unheard(kind, rule):
    """Commands that its scripts have, and that are not in the rule: paths that no run went."""
    prefix = SCRIPTS_OF.get(kind)
    named = set()
    for path in glob.glob(str(ROOT / "lib/lock/**" / f"{prefix}_*.lua"), recursive=True) if prefix else ():
        with open(path, encoding="utf-8") as script:
            named |= set(re.findall(r"call\(\s*'(\w+)'", re.sub(r"--.*", "", script.read())))
    return sorted(named - set(rule[0].split()))


# Of the locks that poll, what stands in the scripts for others is not asked for.
SCRIPTS_OF = {"reentrant": "reentrant", "fenced": "reentrant", "fair": "reentrant", "redisson": "redisson", "read-write": "read_write",
              "semaphore": "semaphore", "permit-semaphore": "semaphore", "count-down-latch": "latch"}
# Leaving the queue after a wait in vain, which goes on in the background, is all that needs it: ACL LOG names it.
UNTOLD = {("redisson", "+exists")}
EXPECTED = re.compile("LockLost|NotOwner|cannot be forced open")  # of force, and after it

# Besides, of any kind: (when, right, what the client is asked to do). `more`: options of the probe; `path`: behind the URL.
BESIDES = [
    ("`LockOptions::replicas`", "wait", {"more": ["--replicas", 1, "--replica-timeout", 20]}, "the acquire is `Rejected`"),
    ("a database other than 0", "select", {"path": "/1"}, "the acquire is `Unavailable`"),
    ("several nodes, or Sentinels", "role", {"two": True}, "the acquire is `Rejected`"),
    ("a waiter that hears nothing for `keep_alive`", "ping", {"quiet": True}, "subscribes anew each time, and asks again"),
    ("`ClientOptions::strict`, and the warning of eviction", "info", {}, "neither looks: a server that evicts is taken"),
]


def missed(server, right, how, given):
    """What the server refused when a reentrant lock was used in that way, with or without the right."""
    bench = Bench(server, "reentrant", RULES["reentrant"])
    bench.allow(whole(RULES["reentrant"]) + (["+" + right] if given else []))
    bench.clean()
    urls = [bench.url + how.get("path", "")]
    if how.get("two"):
        urls.append(urls[0].replace("127.0.0.1", "localhost"))
    words = [*urls, "--lease", 60000, "--command-timeout", 200 if how.get("quiet") else 400, *how.get("more", [])]
    with Probe("reentrant", *words) as first, Probe("reentrant", *words) as second:
        first("take")
        if how.get("quiet"):
            second.send("take 60000")
            wait_until(lambda: server.admin("PUBSUB", "CHANNELS"), "a waiter")
            wait_until(lambda: "ping" in bench.used() - {"acl"} or bench.refused(right), "a PING")
    return bench.refused(right)
