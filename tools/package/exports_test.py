#!/usr/bin/env python3
"""Tests of tools/package/exports.py on a small library of its own (CTest: exports_test). Exit 77: no clang++.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

EXPORTS = pathlib.Path(__file__).resolve().parent / "exports.py"
HEADER = """#pragma once
namespace holdfast {
class Inner;
class Lock {
 public:
  Lock();
  virtual ~Lock();
  virtual void lock() = 0;
  void unlock();
  int depth() const { return depth_; }
 private:
  Inner* inner_ = nullptr;
  int depth_ = 0;
};
template <typename T> T twice(T x) { return x + x; }
int answer(int question);
}  // namespace holdfast
"""
SOURCE = """#include "lib/lock/lock.h"
namespace holdfast {
class Inner { public: void work(); };
void Inner::work() {}
void helper() {}
Lock::Lock() = default;
Lock::~Lock() { delete inner_; }
void Lock::unlock() { --depth_; }
int answer(int question) { return twice(question); }
}  // namespace holdfast
"""


class Exports(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.temporary.name)
        for folder in ("lib/lock", "tools/cmake"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "CMakeLists.txt").write_text("set(HOLDFAST_ABI 7)\n")
        (self.root / "tools/cmake/install.cmake").write_text("set(HOLDFAST_PUBLIC_HEADERS\n    lib/lock/lock.h)\n")
        self.build()
        self.assertEqual(self.call("--write").returncode, 0)

    def tearDown(self):
        self.temporary.cleanup()

    def build(self, header=HEADER, source=SOURCE):
        (self.root / "lib/lock/lock.h").write_text(header)
        (self.root / "lock.cc").write_text(source)
        subprocess.run(["g++", "-std=c++20", "-I", self.root, "-c", self.root / "lock.cc", "-o", self.root / "lock.o"], check=True)
        (self.root / "lock.a").unlink(missing_ok=True)
        subprocess.run(["ar", "rcs", self.root / "lock.a", self.root / "lock.o"], check=True)

    def call(self, *arguments):
        return subprocess.run([sys.executable, EXPORTS, "--root", self.root, "--archive", self.root / "lock.a", *arguments],
                              capture_output=True, text=True)

    def finds(self, text):
        done = self.call("--check")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(text, done.stdout)

    def test_what_is_declared_is_named_and_nothing_else(self):
        written = (self.root / "lib/holdfast.map").read_text()
        self.assertTrue(written.split("\n")[2] == "HOLDFAST_7 {", written)
        for name in ("Lock::Lock()", "Lock::~Lock()", "Lock::unlock()", "answer(int)", "vtable for holdfast::Lock"):
            self.assertIn(name, written)
        for name in ("Inner", "helper", "twice", "depth"):
            self.assertNotIn(name, written)
        self.assertEqual(self.call("--check").returncode, 0)

    def test_a_function_that_is_gone_is_told(self):
        self.build(HEADER.replace("int answer(int question);\n", ""), SOURCE.replace("int answer", "static int answer"))
        self.finds("holdfast::answer(int) is public or defined no more")

    def test_a_function_that_is_new_is_told(self):
        self.build(HEADER.replace("void unlock();", "void unlock();\n  void relock();"), SOURCE.replace(
            "void Lock::unlock", "void Lock::relock() {}\nvoid Lock::unlock"))
        self.finds("lacks holdfast::Lock::relock()")

    def test_a_function_without_a_definition_is_told(self):
        self.build(HEADER.replace("void unlock();", "void unlock();\n  void relock();"))
        self.finds("holdfast::Lock::relock() is declared in a public header and defined nowhere")

    def test_another_number_of_the_abi_is_told(self):
        (self.root / "CMakeLists.txt").write_text("set(HOLDFAST_ABI 8)\n")
        self.finds("not as tools/package/exports.py --write writes it")


if __name__ == "__main__":
    if not (shutil.which("clang++-19") or shutil.which("clang++")):
        print("skipped: no clang++")
        sys.exit(77)
    unittest.main()
