#!/usr/bin/env python3
"""redisson_lock.java and its scenario, where there is a JDK: redisson_lock_test.py BUILD_FOLDER.

Redisson's jar is not at hand. The adapter is compiled against the few interfaces that it uses, and run on a stand-in that
sends what this project's re-implementation of Redisson 3.13 sends. That a missing jar is told is tested everywhere.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TOOL = pathlib.Path(sys.argv.pop()) / "holdfast" if len(sys.argv) > 1 else ROOT / "build/holdfast"
SERVER = shutil.which("redis-server")
JDK = shutil.which("javac") and shutil.which("jar")


class RedissonLock(unittest.TestCase):
    def run_scenario(self, *arguments, jar=""):
        environment = {**os.environ, "HOLDFAST_REDISSON_JAR": str(jar)}
        command = [TOOL, "run", HERE / "redisson_lock.toml", "--world", "real", "--seed", "1", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    @unittest.skipUnless(SERVER, "no redis-server")
    def test_a_missing_jar_is_69_and_what_to_do(self):
        if list((HERE / "redisson").glob("*.jar")):
            self.skipTest("the jar is there")
        ran = self.run_scenario("--variant", "base")
        self.assertEqual(ran.returncode, 69, ran.stdout + ran.stderr)
        self.assertIn("apt-get install default-jdk-headless" if not JDK else "put redisson-all-VERSION.jar into",
                      ran.stdout + ran.stderr)

    @unittest.skipUnless(SERVER and JDK, "no redis-server, or no JDK")
    def test_it_compiles_and_its_scenario_is_as_expected(self):
        with tempfile.TemporaryDirectory() as temporary:
            classes, jar = pathlib.Path(temporary) / "classes", pathlib.Path(temporary) / "stand_in.jar"
            sources = sorted((HERE / "redisson_stand_in").rglob("*.java"))
            subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", classes, *sources], check=True)
            subprocess.run(["javac", "-Xlint:all", "-Werror", "-cp", classes, "-d", pathlib.Path(temporary) / "adapter",
                            HERE / "redisson_lock.java"], check=True)
            for script in (ROOT / "sim/historic/redisson").glob("*.lua"):
                shutil.copy(script, classes)
            subprocess.run(["jar", "cf", jar, "-C", classes, "."], check=True)
            ran = self.run_scenario(jar=jar)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            self.assertIn("4 cases, 4 runs, 0 unexpected", ran.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=1)
