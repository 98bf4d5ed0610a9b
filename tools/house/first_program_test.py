#!/usr/bin/env python3
"""Follows lib/FIRST.md, and the first program of lib/async/README.md, from the installed library on: writes their files, runs
their commands, compares what they print.

Run: tools/house/first_program_test.py --build BUILD [--compiler CXX] [--sanitize LIST]. (CTest: first_program_test) Ports of a page are
replaced by free ones. Exit 77: openssl or redis-cli is missing. A build without the component async: its page is skipped. All
servers are gone at the end, whatever happened.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PORT = re.compile(r"\b(?:6380|639\d|2639\d)\b")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
options = None


def followed(page):
    """The part of a page that is done here."""
    return page.split("<!-- A test does", 1)[1].split("<!-- until here -->")[0]


def steps(text):
    """(file, text) or (None, [(command, what it prints)]) of each block that is followed. Without a name: ("", text)."""
    at = 0
    for block in BLOCK.finditer(text):
        before, (language, inside), at = text[at:block.start()], block.groups(), block.end()
        name = re.search(r"`([\w.]+)`(?:[:.]|, so)[^`]*$", before)
        if language == "console":
            calls = []
            for line in inside.splitlines():
                if line.startswith("$ "):
                    calls.append((line[2:], []))
                else:
                    calls[-1][1].append(line)
            yield None, calls
        else:
            yield name.group(1) if name else "", inside


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [str(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


class FirstProgram(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.work = self.folder / "first"
        self.work.mkdir()
        self.environment = {**os.environ, "HOME": str(self.folder), "CXX": options.compiler, "CMAKE_GENERATOR": "Ninja",
                            "CXXFLAGS": f"-fsanitize={options.sanitize}" if options.sanitize else ""}

    def tearDown(self):
        for process in pathlib.Path("/proc").glob("[0-9]*"):  # the servers that the page puts into the background
            try:
                if (process / "cwd").resolve() == self.work.resolve() and (process / "comm").read_text().startswith("redis-s"):
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                pass  # it ended meanwhile, or is somebody else's
        self.temporary.cleanup()

    def call(self, command):
        done = subprocess.run(["bash", "-c", f"{command}\nstatus=$?\nexport -p > {self.folder}/exported\nexit $status"], cwd=self.work,
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found = re.search(r'^declare -x HOLDFAST_REDIS_URL="(.*)"$', (self.folder / "exported").read_text(), re.M)
        if found:
            self.environment["HOLDFAST_REDIS_URL"] = found.group(1)
        return done

    def follow(self, file):
        """Follows that page. Returns (the files that it has written, how often its program ran)."""
        done = subprocess.run(["cmake", "--install", options.build, "--prefix", self.folder / ".local"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = followed((SOURCE / file).read_text())
        self.assertNotIn("6379", page)  # where systemd may have started a server
        names = sorted(set(PORT.findall(page)))
        ports = dict(zip(names, free_ports(len(names))))
        page = PORT.sub(lambda name: ports[name.group(0)], page)
        written, runs = [], 0
        for name, what in steps(page):
            if name is not None:
                (self.work / (name or "main.cc")).write_text(what if name else self.changed(what))
                written += [name] if name else []
                continue
            for command, printed in what:
                done = self.call(command)
                if printed:
                    self.assertEqual(done.stdout.strip().splitlines(), printed, command)
                    runs += "build/first" in command
                said_no = printed and "build/first" in command and "released" not in printed
                self.assertEqual(done.returncode, 1 if said_no else 0, f"{command}\n{done.stdout}")
        return written, runs

    def changed(self, instead):
        """The program with those lines in the place of its timer."""
        program, times = re.subn(r"^  boost::asio::steady_timer.*\n.*async_wait.*\n", lambda _: instead,
                                 (self.work / "main.cc").read_text(), flags=re.M)
        self.assertEqual(times, 1)
        return "#include <thread>\n" + program

    def left(self):
        return sorted(path.name for path in self.work.iterdir())

    def test_the_page_can_be_followed_word_for_word(self):
        written, runs = self.follow("lib/FIRST.md")
        self.assertEqual(written, ["main.cc", "CMakeLists.txt", "tls.conf", "sentinel.conf"])
        self.assertEqual(runs, 6)
        self.assertEqual(self.left(), ["CMakeLists.txt", "build", "main.cc"])

    def test_the_program_with_coroutines_can_be_followed_word_for_word(self):
        if "HOLDFAST_BUILD_ASYNC:BOOL=ON" not in (pathlib.Path(options.build) / "CMakeCache.txt").read_text():
            self.skipTest("a build without the component async")
        written, runs = self.follow("lib/async/README.md")
        self.assertEqual(written, ["main.cc", "CMakeLists.txt"])
        self.assertEqual(runs, 2)
        self.assertEqual(self.left(), ["CMakeLists.txt", "build", "main.cc"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--sanitize", default="")
    options, rest = parser.parse_known_args()
    for tool in ("openssl", "redis-cli", "redis-server"):
        if not shutil.which(tool):
            print(f"first_program_test: skipped, there is no {tool} on this machine")
            sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
