#!/usr/bin/env python3
"""Installs the library into a temporary folder and uses it from there, as its users do.

Run: tools/house/install_test.py --build BUILD [--compiler CXX] [--sanitize LIST]. (CTest: install_test). Asserts, in this order:
1. the library alone is configured where nothing but hiredis, OpenSSL and threads is found;
2. `cmake --install` leaves a prefix with the public headers of lib/ and no other, in which each compiles alone;
3. a program that includes a private header does not compile, and the archive has nothing of the published designs;
4. a project that knows only find_package(holdfast) builds lib/examples/stock.cc, which includes one lock's header
   alone, and that works on a real Redis that the test starts, and says in one line what is wrong with a server;
5. README.md's "Use a lock" compiles, links and runs as it stands there;
6. pkg-config alone says how to compile and link that example, also when the prefix was moved, and without --static, for
   where only the archive is installed, it needs no flag. tools/package/consumers_test.py is the same for the shared library.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HARNESS_ONLY = "fmt nlohmann_json GTest benchmark Boost Python3".split()
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(consumer CXX)
find_package(holdfast 0.1 REQUIRED)
add_executable(consumer consumer.cc)
target_link_libraries(consumer PRIVATE holdfast::holdfast)
"""
options = None


def run(*command, **kwargs):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


class Redis:
    """A redis-server on a free port, gone at the end of the block."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        for _ in range(20):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            self.process = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while self.process.poll() is None:
                try:
                    if self.call("PING").startswith("+PONG"):
                        return self
                except OSError:
                    time.sleep(0.01)
        raise AssertionError("redis-server does not start")

    def call(self, line):
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(line.encode() + b"\r\n")
            return connection.recv(4096).decode()

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", options.build, "--prefix", cls.prefix)
        cls.flags = [f"-fsanitize={options.sanitize}"] if options.sanitize else []

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def configure(self, source, build, *more):
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        return run("cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_CXX_COMPILER={options.compiler}", *launcher,
                   f"-DCMAKE_CXX_FLAGS={' '.join(self.flags)}", *more)

    def test_the_library_alone_needs_hiredis_openssl_and_threads_only(self):
        self.configure(SOURCE, self.folder / "alone", "-DHOLDFAST_BUILD_HARNESS=OFF",
                       *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=TRUE" for name in HARNESS_ONLY))
        targets = run("ninja", "-C", self.folder / "alone", "-t", "targets", "all")
        self.assertIn("libholdfast.a", targets)
        self.assertNotIn("sim/", targets)

    def test_the_licence_comes_along(self):
        self.assertEqual((self.prefix / "share/doc/holdfast/LICENSE").read_text(), (SOURCE / "LICENSE").read_text())

    def compile(self, header):
        """Compiles a program that includes <HEADER>, without linking it."""
        source = self.folder / (header.replace("/", "_") + ".cc")
        source.write_text(f"#include <{header}>\n")
        return subprocess.run([options.compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                               "-I", str(self.prefix / "include"), str(source)], capture_output=True, text=True)

    def test_each_public_header_compiles_alone_and_no_other_is_installed(self):
        listed = re.findall(r"^ +lib/\S+\.h", (SOURCE / "tools/cmake/install.cmake").read_text(), re.M)
        public = sorted(self.installed_name(header.strip()) for header in listed)
        installed = sorted(str(path.relative_to(self.prefix / "include")) for path in (self.prefix / "include").rglob("*")
                           if path.is_file())
        self.assertIn("holdfast/reentrant_lock.h", installed)
        self.assertEqual(installed, public)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, done in zip(installed, pool.map(self.compile, installed)):
                self.assertEqual(done.returncode, 0, f"{name}:\n{done.stderr}")

    @staticmethod
    def installed_name(header):
        return re.sub(r"^lib/", "holdfast/", re.sub(r"^lib/lock/.*/", "holdfast/", header))

    def test_a_private_header_cannot_be_included(self):
        for private in ("holdfast/wire_lock.h", "holdfast/engine/wire_lock.h", "holdfast/lock/engine/wire_lock.h",
                        "holdfast/redis/connection.h", "lib/lock/engine/wire_lock.h", "holdfast/spring_registry.h"):
            self.assertIn("No such file" if "clang" not in options.compiler else "file not found", self.compile(private).stderr, private)

    def test_the_library_has_no_published_design(self):
        archive = next(self.prefix.rglob("libholdfast.a"))
        symbols = run("nm", "-C", archive)
        self.assertIn("holdfast::ReentrantLocks", symbols)
        for strange in ("holdfast::historic::", "holdfast::sim::", "holdfast::checker::", "holdfast::testing::"):
            self.assertNotIn(strange, symbols)

    def test_a_project_links_it_and_locks_on_a_real_redis(self):
        project = self.folder / "consumer"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(PROJECT)
        shutil.copy(SOURCE / "lib/examples/stock.cc", project / "consumer.cc")
        self.configure(project, project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", project / "build")
        consumer = project / "build/consumer"

        def failing(url, code=1):
            done = subprocess.run([str(consumer), url], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, code, done.stdout)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertNotIn("hunter2", done.stderr)
            return done.stderr

        with Redis(self.folder) as redis:
            self.assertEqual(run(consumer, f"redis://localhost:{redis.port}"), "sold 20, left 0\n")
            redis.call("CONFIG SET requirepass top")
            self.assertIn("refused user or password", failing(f"redis://:hunter2@localhost:{redis.port}"))
        self.assertIn("connection refused", failing(f"redis://127.0.0.1:{redis.port}"))
        self.assertIn("`http://` is not supported", failing("http://:hunter2@localhost", 64))
        self.assertIn("ca_file: there is no file `/none`", failing("rediss://:hunter2@localhost?ca_file=/none", 64))

    def test_pkg_config_says_how_to_link_it_wherever_it_lies(self):
        moved = self.folder / "moved"
        shutil.copytree(self.prefix, moved)
        files = list(moved.rglob("holdfast.pc"))
        self.assertEqual(len(files), 1)
        self.assertNotIn(str(self.prefix), files[0].read_text())
        environment = {**os.environ, "PKG_CONFIG_PATH": str(files[0].parent)}

        def told(*what):
            return run("pkg-config", *what, "holdfast", env=environment).split()

        version = re.search(r"project\(holdfast VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(told("--modversion"), [version])
        includes = [pathlib.Path(flag[2:]).resolve() for flag in told("--cflags") if flag.startswith("-I")]
        self.assertIn((moved / "include").resolve(), includes)
        consumer = self.folder / "by_pkg_config"
        run(options.compiler, "-std=c++20", *self.flags, SOURCE / "lib/examples/stock.cc", *told("--cflags"),
            *told("--libs", "--static"), "-o", consumer)
        if not list(moved.rglob("libholdfast.so")):
            self.assertIn("-lssl", told("--libs"))
        with Redis(self.folder) as redis:
            found = {**environment, "LD_LIBRARY_PATH": str(files[0].parent.parent)}  # by a shared library, if one was built
            self.assertEqual(run(consumer, f"redis://localhost:{redis.port}", env=found), "sold 20, left 0\n")

    def test_the_readme_can_be_followed_word_for_word(self):
        section = (SOURCE / "README.md").read_text().split("## Use a lock")[1].split("\n## ")[0]
        code, cmake = (re.search(f"```{language}\n(.*?)```", section, re.S).group(1) for language in ("cpp", "cmake"))
        project = self.folder / "shop"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject(shop CXX)\nadd_executable(shop shop.cc)\n{cmake}")
        includes = "".join(line + "\n" for line in code.split("\n") if line.startswith("#include"))
        body = "\n".join(line for line in code.split("\n") if not line.startswith("#include"))
        with Redis(self.folder) as redis:
            self.assertIn("redis://localhost:6379", body)
            body = body.replace("redis://localhost:6379", f"redis://localhost:{redis.port}")
            self.assertIn("// ... the work ...", body)
            body = body.replace("// ... the work ...", 'if (redis->call({"EXISTS", "stock:42"}).reply.integer != 1) return 1;')
            (project / "shop.cc").write_text(f"{includes}int main() {{\n{body}\n}}\n")
            self.configure(project, project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
            run("cmake", "--build", project / "build")
            run(project / "build/shop")
            self.assertEqual(redis.call("EXISTS stock:42"), ":0\r\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--sanitize", default="")
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
