#!/usr/bin/env python3
"""A service of coroutines under load while what it stands on breaks: build/examples/async_stock on three Redis servers with three
Sentinels for the lock and one server for the stock. A service is killed, the Sentinels are asked to switch, the primary is killed, the
next one is stopped for longer than they wait, and a service is stopped for longer than its lease.

Run: tools/attack/service_trial.py --build BUILD [--buyers N]. (CTest: service_trial, label long.) Prints what each fault did to the
sales. --board FILE: a Prometheus scrapes the services meanwhile, FILE is a picture of their dashboard (tools/dashboard/board.py), and the
alerts that fired are printed. Exit: 1 when a unit was sold twice, or more was sold than the stock lost, or nobody could buy after a fault; 77 without
redis-server and redis-cli.
"""
import argparse
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "dashboard"))
import board  # noqa: E402

STOCK = 1_000_000
LIMIT = 60  # s that a step may take until somebody buys again


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A redis-server, or a Sentinel of `primary`."""

    def __init__(self, folder, name, *settings, primary=None):
        self.port, self.folder, self.settings = free_port(), folder / name, list(settings)
        self.folder.mkdir()
        if primary is not None:
            file = self.folder / "sentinel.conf"
            file.write_text(f"port {self.port}\nsentinel monitor mymaster 127.0.0.1 {primary.port} 2\n"
                            "sentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n")
            self.command = ["redis-server", str(file), "--sentinel"]
        else:
            self.command = ["redis-server", "--port", str(self.port), "--save", "", *self.settings]
        self.start()

    def start(self):
        self.process = subprocess.Popen([*self.command, "--bind", "127.0.0.1", "--dir", str(self.folder)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while self.call("PING") is None:
            if self.process.poll() is not None:
                raise RuntimeError(f"redis-server at port {self.port} ended with {self.process.returncode}")
            time.sleep(0.01)

    def call(self, *words):
        """The lines of the reply; None: no answer."""
        try:
            told = subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, timeout=10)
            return told.stdout.split("\n")[:-1] if told.returncode == 0 else None
        except subprocess.TimeoutExpired:
            return None

    def is_primary(self):
        return (self.call("ROLE") or [""])[0] == "master"

    def end(self):
        self.process.kill()
        self.process.wait()


class Service:
    def __init__(self, build, url, stock_url):
        self.words, self.port = [str(build / "examples/async_stock"), url, None, stock_url], free_port()
        self.words[2] = str(self.port)
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not self.process.stdout.readline():
            raise RuntimeError(self.process.communicate()[1])

    def end(self):
        self.process.kill()
        self.process.communicate()


class Tally:
    def __init__(self):
        self.lock, self.answers, self.left, self.twice, self.over = threading.Lock(), {}, set(), [], False

    def add(self, answer):
        with self.lock:
            kind = answer.split(",")[0]
            self.answers[kind] = self.answers.get(kind, 0) + 1
            if kind == "sold":
                if answer in self.left:
                    self.twice.append(answer)
                self.left.add(answer)

    def counts(self):
        with self.lock:
            return dict(self.answers)


def buy(service, tally):
    while not tally.over:
        try:
            with socket.create_connection(("127.0.0.1", service.port), timeout=LIMIT) as connection, connection.makefile("rw") as talk:
                while not tally.over:
                    print("one, please", file=talk, flush=True)
                    answer = talk.readline()
                    if not answer:
                        tally.add("no answer")  # it was killed: sold or not
                        break
                    tally.add(answer.strip())
        except OSError:
            time.sleep(0.05)  # it is not there


def show(name, before, after, seconds):
    print(f"{name:<44}{seconds:>8.1f}" + "".join(f"{after.get(kind, 0) - before.get(kind, 0):>12}" for kind in KINDS), flush=True)


KINDS = ("sold", "try again", "perhaps sold", "no answer")


def main():
    parser = argparse.ArgumentParser(description="a service of coroutines while what it stands on breaks")
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--buyers", type=int, default=16)
    parser.add_argument("--board", type=pathlib.Path, help="a picture of the dashboard; needs prometheus and python3-matplotlib")
    options = parser.parse_args()
    if shutil.which("redis-server") is None or shutil.which("redis-cli") is None:
        print("skipped: there is no redis-server or no redis-cli")
        return 77
    if options.board is not None and shutil.which("prometheus") is None:
        print("--board: there is no prometheus: apt-get install prometheus", file=sys.stderr)
        return 69
    things, tally, missing, marks, begun = [], Tally(), [], [], time.time()
    pause = 8 if options.board is not None else 0  # s: what happens is to be seen apart
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            def added(thing):
                things.append(thing)
                return thing

            stock = added(Server(folder, "stock"))
            stock.call("SET", "{example}:async-stock", str(STOCK))
            nodes = [added(Server(folder, "r1"))]
            nodes += [added(Server(folder, f"r{i}", "--replicaof", "127.0.0.1", str(nodes[0].port))) for i in (2, 3)]
            sentinels = [added(Server(folder, f"s{i}", primary=nodes[0])) for i in (1, 2, 3)]
            while any("num-other-sentinels" not in (told := sentinel.call("SENTINEL", "MASTER", "mymaster"))
                      or told[told.index("num-other-sentinels") + 1] != "2" or told[told.index("num-slaves") + 1] != "2"
                      for sentinel in sentinels):
                time.sleep(0.1)
            url = "redis+sentinel://" + ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in sentinels) + "/mymaster"
            services = [added(Service(options.build, url, f"redis://127.0.0.1:{stock.port}")) for _ in range(2)]
            if options.board is not None:
                prometheus = added(board.Prometheus(folder, [f"127.0.0.1:{service.port}" for service in services]))
                begun = time.time()
            buyers = [threading.Thread(target=buy, args=(services[i % 2], tally), daemon=True) for i in range(options.buyers)]
            for buyer in buyers:
                buyer.start()

            def primary():
                while True:
                    for node in nodes:
                        if node.process.poll() is None and node.is_primary():
                            return node
                    time.sleep(0.05)

            def step(name, act, least=1.0):
                """Acts, and waits until it is over and somebody buys again."""
                before, begin = tally.counts(), time.monotonic()
                if name != "nothing":
                    marks.append((time.time(), name))
                act()
                while time.monotonic() - begin < least + pause:
                    time.sleep(0.05)
                sold = tally.counts().get("sold", 0)
                while tally.counts().get("sold", 0) < sold + 10:
                    for service in services:
                        if service.process.poll() is not None:
                            raise RuntimeError(f"a service ended: {service.process.returncode} {service.process.stderr.read()}")
                    if time.monotonic() - begin > LIMIT:
                        missing.append(name)
                        break
                    time.sleep(0.05)
                show(name, before, tally.counts(), time.monotonic() - begin)

            def paused(thing, seconds):
                thing.process.send_signal(signal.SIGSTOP)
                time.sleep(seconds)
                thing.process.send_signal(signal.SIGCONT)

            def restarted(thing):
                thing.end()
                thing.start()

            def killed_primary():
                dead = primary()
                dead.end()
                while not any(node.process.poll() is None and node.is_primary() for node in nodes):
                    time.sleep(0.05)
                dead.start()

            print(f"{'':<44}{'s':>8}" + "".join(f"{kind:>12}" for kind in KINDS))
            step("nothing", lambda: None, 3)
            step("a service is killed and started again", lambda: restarted(services[0]))
            step("a Sentinel is asked to switch", lambda: sentinels[0].call("SENTINEL", "FAILOVER", "mymaster"), 3)
            step("the primary is killed, and comes back", killed_primary, 3)
            step("the primary stands still for 5 s", lambda: paused(primary(), 5), 7)
            step("a service stands still for 12 s", lambda: paused(services[1], 12), 13)
            step("nothing", lambda: None, 3)
            if options.board is not None:
                board.draw(board.panels(prometheus, begun, time.time()), begun, time.time(), marks, options.board)
                fired = board.alerts(prometheus, begun, time.time())
                print()
                print("\n".join(f"alert after {after:.0f} s: {name}" for name, after in sorted(fired.items(), key=lambda one: one[1])) or "no alert fired")
            tally.over = True
            for buyer in buyers:
                buyer.join(timeout=LIMIT)
            left = int(stock.call("GET", "{example}:async-stock")[0])
            sold = int((stock.call("GET", "{example}:async-sold") or ["0"])[0])
        finally:
            for thing in reversed(things):
                thing.end()
    counts = tally.counts()
    acknowledged, unknown = counts.get("sold", 0), counts.get("perhaps sold", 0) + counts.get("no answer", 0)
    print(f"\nthe stock lost {STOCK - left}; {sold} sales were written, {acknowledged} customers have one, {unknown} do not know")
    wrong = []
    if tally.twice:
        wrong.append(f"{len(tally.twice)} units were sold twice, such as `{tally.twice[0]}`")
    if STOCK - left != sold:
        wrong.append(f"oversold: {sold} sales of {STOCK - left} units")
    if not acknowledged <= sold <= acknowledged + unknown:
        wrong.append("customers were told something else than what was written")
    wrong += [f"nobody could buy for {LIMIT} s after: {name}" for name in missing]
    print("\n".join(wrong) or "nothing was sold twice")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
