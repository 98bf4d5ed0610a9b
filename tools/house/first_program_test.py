#!/usr/bin/env python3
"""Follows lib/FIRST.md from the installed library on: writes its files, runs its commands, compares what they print.

Run: tools/house/first_program_test.py --build BUILD [--compiler CXX] [--sanitize LIST]. (CTest: first_program_test) Ports of the page are
replaced by free ones. Exit 77: openssl or redis-cli is missing. All servers are gone at the end, whatever happened.
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
PAGE = SOURCE / "lib/FIRST.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
options = None


def steps(page):
    """(file, text) or (None, [(command, what it prints)]) of each block that is followed."""
    text = page.split("<!-- A test does", 1)[1]
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
        elif name:
            yield name.group(1), inside


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

    def test_the_page_can_be_followed_word_for_word(self):
        done = subprocess.run(["cmake", "--install", options.build, "--prefix", self.folder / ".local"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = PAGE.read_text()
        names = sorted(set(re.findall(r"\b(?:6379|639\d|2639\d)\b", page)))
        self.assertEqual(len(names), 6)
        ports = dict(zip(names, free_ports(len(names))))
        page = re.sub(r"\b(?:6379|639\d|2639\d)\b", lambda name: ports[name.group(0)], page)
        written, runs = [], 0
        for file, what in steps(page):
            if file:
                (self.work / file).write_text(what)
                written.append(file)
                continue
            for command, printed in what:
                done = self.call(command)
                while "ckquorum" in command and not done.stdout.startswith("OK 3"):  # the page says: some seconds later
                    done = self.call(command)
                self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}")
                if printed:
                    self.assertEqual(done.stdout.strip().splitlines(), printed, command)
                    runs += "build/first" in command
        self.assertEqual(written, ["main.cc", "CMakeLists.txt", "tls.conf", "sentinel.conf"])
        self.assertEqual(runs, 3)


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
