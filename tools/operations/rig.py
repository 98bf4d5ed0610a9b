"""Servers, clients and locks for the measurements of tools/operations: all of their own, on loopback, gone with the block."""
import contextlib
import ctypes
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 60.0  # seconds for anything that is sure to come: a busy machine, not a limit that means something
KEY = "stock:42"


class Missing(Exception):
    """Something that is not on this machine, or not built."""


def with_parent():
    """In a child: it ends with the thread that started it, however that ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Redis:
    """One connection, RESP 2. An error reply is returned as an Exception, not raised."""

    def __init__(self, port, user=None, password=None):
        self.link = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.stream = self.link.makefile("rb")
        if user:
            self("AUTH", user, password)

    def __call__(self, *words):
        self.send(*words)
        return self.reply()

    def send(self, *words):
        parts = [str(word).encode() if not isinstance(word, bytes) else word for word in words]
        self.link.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))

    def reply(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server has closed the connection")
        kind, text = line[:1], line[1:-2].decode()
        if kind == b"+":
            return text
        if kind == b"-":
            return RuntimeError(text)
        if kind == b":":
            return int(text)
        if kind == b"$":
            return None if text == "-1" else self.stream.read(int(text) + 2)[:-2].decode(errors="replace")
        return None if text == "-1" else [self.reply() for _ in range(int(text))]

    def close(self):
        self.stream.close()
        self.link.close()


class Server:
    """A redis-server. `settings`: words of its command line behind the usual ones."""

    def __init__(self, *settings, port=None, folder=None):
        if not shutil.which("redis-server"):
            raise Missing("redis-server is missing (Debian: redis-server)")
        self.port, self.settings = port or free_port(), settings
        self.folder = folder or tempfile.mkdtemp(prefix="operations-")
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process = self.admin = None
        self.start()

    def start(self):
        words = ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--dir", self.folder, "--save", "", *self.settings]
        self.process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=with_parent)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.admin = Redis(self.port)
                if self.admin("PING") == "PONG":
                    return self
            except OSError:
                pass
            if self.process.poll() is not None:
                raise Missing("redis-server ended at once")
            if time.monotonic() > end:
                raise Missing("redis-server does not answer")
            time.sleep(0.01)

    def end(self, how=signal.SIGKILL):
        self.admin.close()
        self.process.send_signal(how)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def version(self):
        return next(line[14:] for line in self.admin("INFO", "server").split("\r\n") if line.startswith("redis_version:"))

    def keys(self):
        found, cursor = [], "0"
        while True:
            cursor, some = self.admin("SCAN", cursor, "COUNT", 1000)
            found += some
            if cursor == "0":
                return sorted(set(found))

    def bytes(self):
        return sum(self.admin("MEMORY", "USAGE", key, "SAMPLES", 0) for key in self.keys())

    def connections(self):
        """Of clients, but this one."""
        mine = self.admin("CLIENT", "ID")
        lines = self.admin("CLIENT", "LIST", "TYPE", "normal").splitlines() + self.admin("CLIENT", "LIST", "TYPE", "pubsub").splitlines()
        return sum(1 for line in lines if not line.startswith(f"id={mine} "))

    def settled_connections(self):
        """Those that are ending have ended."""
        last = None
        for _ in range(50):
            now = self.connections()
            if now == last:
                return now
            last = now
            time.sleep(0.02)
        return last


class Monitor:
    """What clients send in a block, command by command: (from a script?, words)."""

    def __init__(self, server):
        self.server, self.commands = server, []

    def __enter__(self):
        self.link = Redis(self.server.port)
        self.link("MONITOR")
        return self

    def __exit__(self, *_):
        end = f"end-{os.getpid()}-{time.monotonic_ns()}"
        self.server.admin("ECHO", end)
        while True:
            line = self.link.stream.readline().decode(errors="replace")
            if end in line:
                break
            where = line[line.index("[") + 1:line.index("]")]
            self.commands.append((where.endswith(" lua"), line[line.index("]") + 2:].split(" ")[0].strip('"\r\n').lower()))
        self.link.close()

    def sent(self):
        return [name for in_script, name in self.commands if not in_script]

    def run(self):
        """Without EVALSHA itself: what it ran is there."""
        return [name for _, name in self.commands]


class Probe:
    """A process with one lock of the library (lock_probe.cc)."""

    program = None

    def __init__(self, kind, *words, key=KEY):
        if not self.program or not os.access(self.program, os.X_OK):
            raise Missing(f"{self.program or 'lock_probe'} is missing: ninja -C build lock_probe")
        self.process = subprocess.Popen([str(self.program), kind, key, *map(str, words)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=with_parent)
        self.text = b""

    def __call__(self, request):
        self.send(request)
        return self.answer()

    def send(self, request):
        self.process.stdin.write(request.encode() + b"\n")
        self.process.stdin.flush()

    def answer(self, patience=PATIENCE):
        """One line; None: none within that time."""
        end = time.monotonic() + patience
        while b"\n" not in self.text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            some = os.read(self.process.stdout.fileno(), 65536)
            if not some:
                raise Missing("lock_probe has ended: " + self.process.stderr.read().decode())
            self.text += some
        line, _, self.text = self.text.partition(b"\n")
        return line.decode()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        """As a program ends: locks that are held are left."""
        self.process.stdin.close()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                stream.close()


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"waited {PATIENCE:.0f} s for {what}")
        time.sleep(0.002)
