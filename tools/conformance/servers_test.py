#!/usr/bin/env python3
"""Drives servers.py over servers and tests that are scripts. Needs no Redis.
Run: tools/conformance/servers_test.py. (CTest: servers_test)
"""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "servers.py"
SERVER = """#!/bin/sh
[ "$1" = --version ] && echo "%s server v=%s sha=00000000:0 malloc=libc bits=64" && exit
echo "%s got $*" $#
"""
# Starts a server as the tests do, and passes where the server is not the bad one.
TESTS = """#!/bin/sh
redis-server --port 1 --bind-source-addr 127.0.0.1 --enable-debug-command yes --replicaof 'a 2' --save 'x y' >> "$OUT/started"
echo '[  PASSED  ] 7 tests.'
echo '[  SKIPPED ] 2 tests.'
if tail -n 1 "$OUT/started" | grep -q '^bad'; then
  echo '[  FAILED  ] Ports/Lock.Holds/threads, where GetParam() = x (3 ms)'
  echo '[  FAILED  ] 1 test, listed below:'
  exit 1
fi
"""
COMMAND = """#!/bin/sh
redis-server scenario "$2" "$4" >> "$OUT/started"
! tail -n 1 "$OUT/started" | grep -q '^worse'
"""


class Servers(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        (self.folder / "servers").mkdir()
        (self.folder / "build").mkdir()
        self.script("build/test_holdfast", TESTS)
        self.script("build/holdfast", COMMAND)

    def script(self, name, text):
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o755)

    def server(self, name, version, product="Redis"):
        self.script(f"servers/{name}", SERVER % (product, version, name))

    def run_script(self, *arguments):
        return subprocess.run([SCRIPT, self.folder / "servers", "--build", self.folder / "build", "--page", self.folder / "page.md",
                               "--scenarios", "one.toml", "two.toml", *arguments],
                              capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "OUT": str(self.folder)})

    def page(self):
        return (self.folder / "page.md").read_text()

    def started(self):
        return (self.folder / "started").read_text().splitlines()

    def test_each_server_stands_in_for_redis_server(self):
        self.server("a", "7.2.6")
        self.server("b", "8.0.1", "Valkey")
        self.script("servers/nameless", "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Server v=7.2.7 sha=0'\n")
        (self.folder / "servers" / "notes.txt").write_text("no server")
        self.script("servers/tool", "#!/bin/sh\necho something else\n")
        ran = self.run_script()
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("| a | 7.2.6 | 7 | 2 | 0 | 2 of 2 |\n| b | 8.0.1 | 7 | 2 | 0 | 2 of 2 |\n", self.page())
        self.assertIn("| nameless | 7.2.7 |", self.page())
        self.assertNotIn("| tool", self.page())
        self.assertEqual(self.started(), [
            "a got --port 1 --bind-source-addr 127.0.0.1 --enable-debug-command yes --replicaof a 2 --save x y 10", "a got scenario one.toml real 3",
            "a got scenario two.toml real 3", "b got --port 1 --bind-source-addr 127.0.0.1 --enable-debug-command yes --replicaof a 2 --save x y 10",
            "b got scenario one.toml real 3", "b got scenario two.toml real 3"])

    def test_an_old_server_is_not_given_what_it_does_not_know(self):
        self.server("old", "6.2.14")
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(self.started()[0], "old got --port 1 --replicaof a 2 --save x y 7")

    def test_what_fails_is_on_the_page(self):
        self.server("bad", "7.4.1")
        self.server("good", "7.4.1")
        self.server("worse", "7.4.1")
        ran = self.run_script()
        self.assertEqual(ran.returncode, 1)
        self.assertIn("| bad | 7.4.1 | 7 | 2 | 1 | 2 of 2 |", self.page())
        self.assertIn("## bad\n\n- Ports/Lock.Holds/threads\n", self.page())
        self.assertNotIn("## good", self.page())
        self.assertIn("## worse\n\n- one.toml\n- two.toml\n", self.page())

    def test_tests_that_do_not_run_have_not_passed(self):
        self.server("a", "7.2.6")
        self.script("build/test_holdfast", "#!/bin/sh\necho nothing\n")
        self.assertEqual(self.run_script().returncode, 1)
        self.assertIn("## a\n\n- no test ran\n", self.page())
        self.script("build/test_holdfast", "#!/bin/sh\nkill -9 $$\n")
        self.assertEqual(self.run_script().returncode, 1)
        self.assertIn("- test_holdfast ended with -9", self.page())

    def test_wrong_arguments(self):
        ran = self.run_script()
        self.assertEqual(ran.returncode, 69)
        self.assertIn("no file in it says with --version that it is a Redis or Valkey server", ran.stderr)
        self.server("a", "7.2.6")
        self.assertEqual(self.run_script("--no-such").returncode, 64)
        (self.folder / "build" / "holdfast").unlink()
        ran = self.run_script()
        self.assertEqual(ran.returncode, 69)
        self.assertIn("has no holdfast: build it", ran.stderr)
        self.assertFalse((self.folder / "page.md").exists())


if __name__ == "__main__":
    unittest.main()
