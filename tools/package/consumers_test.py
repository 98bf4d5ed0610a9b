#!/usr/bin/env python3
"""Uses the library as projects do that build it themselves, and as a shared library.

Run: tools/package/consumers_test.py --build BUILD (CTest: consumers_test; exit 77 in a build with sanitizers). A copy of lib/ and
what it needs, and of nothing else, is built once, by a project with lib/examples/stock.cc, which sells on a real Redis:

1. FetchContent, with BUILD_SHARED_LIBS=ON: the program needs libholdfast.so.N and knows nothing of hiredis; the warnings of this
   house are not those of the project;
2. what that build installs, moved to another place: the shared library exports what lib/holdfast.map names and nothing else;
   pkg-config and find_package link it, where hiredis and OpenSSL are not to be found, too; both link the archive when asked;
3. the component async, found there: a coroutine holds a lock;
4. the same project with add_subdirectory, in the same build folder, so that no source of the library is compiled again: an
   archive, and `cmake --install` of the project leaves the library out.

The build uses the options, the compiler and the depth of folders of BUILD, so that ccache has most objects already.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools/house"))
from install_test import Redis, run  # noqa: E402

PARTS = ("CMakeLists.txt", "LICENSE", "lib", "tools/cmake")
PROGRAM = "add_executable(consumer consumer.cc)\ntarget_link_libraries(consumer PRIVATE {target})\n"
BUILDS = """cmake_minimum_required(VERSION 3.25)
project(consumer CXX)
if(BUILD_SHARED_LIBS)
  set(HOLDFAST_INSTALL ON)
  include(FetchContent)
  FetchContent_Declare(holdfast SOURCE_DIR ${CMAKE_CURRENT_SOURCE_DIR}/../holdfast)
  FetchContent_MakeAvailable(holdfast)
else()
  set(HOLDFAST_INSTALL OFF)
  add_subdirectory(../holdfast _deps/holdfast-build)  # where FetchContent has it
endif()
""" + PROGRAM.format(target="holdfast::holdfast") + "install(TARGETS consumer)\n"
FOUND = """cmake_minimum_required(VERSION 3.25)
project(consumer CXX)
find_package(holdfast 0.1 REQUIRED {components})
""" + PROGRAM
# A coroutine that takes a lock and gives it back.
COROUTINE = """#include <holdfast/async/loop_client.h>
#include <holdfast/reentrant_lock.h>

#include <future>
#include <iostream>

struct Coroutine {
  struct promise_type {
    Coroutine get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

Coroutine sell(holdfast::async::AsyncLock lock, std::promise<void>& sold) {
  holdfast::async::Hold hold = co_await lock.async_lock();
  std::cout << hold.key() << (hold.is_held() ? " is held" : " is lost") << std::endl;
  co_await std::move(hold).async_release();
  sold.set_value();
}

int main(int, char** argv) {
  holdfast::async::LoopClient redis(argv[1]);
  const auto locks = redis.locks<holdfast::ReentrantLocks>(holdfast::LockOptions{});
  std::promise<void> sold;
  sell(locks.obtain("stock:42"), sold);
  sold.get_future().wait();
}
"""
options = None


def cached(name):
    """What the build in options.build was told."""
    found = re.search(rf"^{name}:\w+=(.*)$", (options.build / "CMakeCache.txt").read_text(), re.M)
    return found.group(1) if found else ""


class Consumers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name).resolve()
        cls.redis = Redis(cls.folder)
        cls.redis.__enter__()
        try:
            top = cls.folder / "project"
            for part in PARTS:
                target = top / "holdfast" / part
                target.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if (SOURCE / part).is_dir() else shutil.copy)(SOURCE / part, target)
            cls.source = cls.consumer(top / "consumer", BUILDS)
            below = options.build.relative_to(SOURCE) if options.build.is_relative_to(SOURCE) else "build"
            cls.build = top / "holdfast" / below
            os.environ["CCACHE_BASEDIR"], os.environ["CCACHE_NOHASHDIR"] = str(top / "holdfast"), "1"
            cls.configure(cls.source, cls.build, "-DBUILD_SHARED_LIBS=ON", "-DHOLDFAST_BUILD_ASYNC=ON")
            run("cmake", "--build", cls.build)
            cls.commands = run("ninja", "-C", cls.build, "-t", "commands", "consumer")
            cls.fetched = cls.build / "fetched"
            shutil.copy(cls.build / "consumer", cls.fetched)
            run("cmake", "--install", cls.build, "--prefix", cls.folder / "first")
            cls.prefix = cls.folder / "elsewhere"
            (cls.folder / "first").rename(cls.prefix)
            cls.libraries = next(cls.prefix.rglob("libholdfast.so")).parent
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.redis.__exit__()
        cls.temporary.cleanup()

    @classmethod
    def configure(cls, source, build, *more):
        names = ("CMAKE_BUILD_TYPE", "CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "CMAKE_CXX_FLAGS_DEBUG", "HOLDFAST_DEVELOPER")
        return run("cmake", "-G", "Ninja", "-S", source, "-B", build, *(f"-D{name}={cached(name)}" for name in names), *more)

    @staticmethod
    def consumer(folder, text):
        folder.mkdir(parents=True)
        (folder / "CMakeLists.txt").write_text(text)
        shutil.copy(SOURCE / "lib/examples/stock.cc", folder / "consumer.cc")
        return folder

    def sells(self, program, **environment):
        told = run(program, f"redis://localhost:{self.redis.port}", env={**os.environ, **environment})
        self.assertEqual(told, "sold 20, left 0\n")

    @staticmethod
    def needed(program):
        return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", program))

    def soname(self):
        text = (SOURCE / "CMakeLists.txt").read_text()
        return "libholdfast.so." + re.search(r"set\(HOLDFAST_ABI (\d+)\)", text).group(1)

    def linked_with_the_shared_library(self, program):
        self.assertIn(self.soname(), self.needed(program))
        self.assertFalse([name for name in self.needed(program) if re.match("lib(hiredis|ssl|crypto)", name)])

    def linked_with_the_archive(self, program):
        self.assertNotIn(self.soname(), self.needed(program))
        self.assertTrue([name for name in self.needed(program) if name.startswith("libhiredis")])

    def test_fetch_content_with_a_shared_library(self):
        self.linked_with_the_shared_library(self.fetched)
        self.sells(self.fetched)
        mine = [line for line in self.commands.splitlines() if line.endswith("consumer.cc")]
        self.assertEqual(len(mine), 1)
        self.assertNotIn("-W", mine[0])

    def test_the_shared_library_exports_the_public_functions_and_nothing_else(self):
        library = self.libraries / "libholdfast.so"
        self.assertIn(f"Library soname: [{self.soname()}]", run("readelf", "-d", library))
        self.assertEqual((self.libraries / self.soname()).resolve(), library.resolve())
        symbols = run("nm", "-D", "--defined-only", library).splitlines()
        exported = {line.split()[-1].split("@")[0] for line in symbols if " A " not in line}
        named = set(re.findall(r"^ +(_Z\w+);", (SOURCE / "lib/holdfast.map").read_text(), re.M))
        self.assertGreater(len(named), 200)
        if "clang" not in cached("CMAKE_CXX_COMPILER"):
            self.assertEqual(exported, named)
        else:  # which leaves the complete constructor of an abstract class out
            self.assertLessEqual(exported, named)
            self.assertGreater(len(exported), 200)

    def test_pkg_config_links_either(self):
        folder = next(self.prefix.rglob("holdfast.pc")).parent
        environment = {**os.environ, "PKG_CONFIG_PATH": str(folder)}

        def told(*what):
            return run("pkg-config", *what, "holdfast", env=environment).split()

        self.assertNotIn("-lhiredis", told("--libs"))
        self.assertIn("-lhiredis", told("--libs", "--static"))
        self.assertIn("-lssl", told("--libs", "--static"))
        compiler, made = cached("CMAKE_CXX_COMPILER"), self.folder / "stock.o"
        run(compiler, "-std=c++20", *told("--cflags"), "-c", SOURCE / "lib/examples/stock.cc", "-o", made)
        shared, static = self.folder / "by_pkg_config", self.folder / "by_pkg_config_static"
        run(compiler, made, *told("--libs"), "-o", shared)
        self.linked_with_the_shared_library(shared)
        self.sells(shared, LD_LIBRARY_PATH=str(self.libraries))
        archive = [part.replace("-lholdfast", "-l:libholdfast.a") for part in told("--libs", "--static")]
        run(compiler, made, *archive, "-o", static)
        self.linked_with_the_archive(static)
        self.sells(static)

    def test_find_package_links_either(self):
        project = self.consumer(self.folder / "found", FOUND.format(components="", target="holdfast::holdfast"))
        nothing = ("-DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=TRUE", "-DHOLDFAST_HIREDIS_LIBRARY=HOLDFAST_HIREDIS_LIBRARY-NOTFOUND",
                   "-DCMAKE_IGNORE_PATH=/usr/include;/usr/lib/x86_64-linux-gnu;/usr/lib/aarch64-linux-gnu")
        self.configure(project, project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", *nothing)
        run("cmake", "--build", project / "build")
        self.linked_with_the_shared_library(project / "build/consumer")
        self.sells(project / "build/consumer")
        project = self.consumer(self.folder / "found_static", FOUND.format(components="COMPONENTS static", target="holdfast::static"))
        with self.assertRaisesRegex(AssertionError, "libholdfast.a needs hiredis and OpenSSL"):
            self.configure(project, project / "without", f"-DCMAKE_PREFIX_PATH={self.prefix}", *nothing)
        self.configure(project, project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", project / "build")
        self.linked_with_the_archive(project / "build/consumer")

    def test_async_is_a_component(self):
        project = self.consumer(self.folder / "async", FOUND.format(components="COMPONENTS async", target="holdfast::async"))
        (project / "consumer.cc").write_text(COROUTINE)
        self.configure(project, project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", project / "build")
        self.assertEqual(run(project / "build/consumer", f"redis://localhost:{self.redis.port}"), "stock:42 is held\n")

    def test_add_subdirectory_gives_an_archive_and_installs_nothing(self):
        self.configure(self.source, self.build, "-DBUILD_SHARED_LIBS=OFF", "-DHOLDFAST_BUILD_ASYNC=OFF")
        told = run("cmake", "--build", self.build)
        self.assertNotIn(".cc.o", told.replace("consumer.cc.o", ""))  # built once
        self.linked_with_the_archive(self.build / "consumer")
        self.sells(self.build / "consumer")
        run("cmake", "--install", self.build, "--prefix", self.folder / "installed")
        self.assertEqual([path.name for path in (self.folder / "installed").rglob("*") if path.is_file()], ["consumer"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=lambda name: pathlib.Path(name).resolve())
    options, rest = parser.parse_known_args()
    if cached("HOLDFAST_SANITIZE"):
        print("skipped: how the library is linked is tested without sanitizers")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
