#!/usr/bin/env python3
"""Tests of tools/package/abi: what breaks a small library is told, what only adds to it is not (CTest: abi_test). Exit 77: no abidiff.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ABI = pathlib.Path(__file__).resolve().parent / "abi"
HEADER = """#pragma once
namespace holdfast {
struct Options { long lease = 0; int tries = 3; };
enum class Mode { one, two };
class Inner;
class Lock {
 public:
  explicit Lock(const Options& options);
  virtual ~Lock();
  virtual void lock();
  void unlock(Mode mode);
 private:
  Inner* inner_;
};
int answer(int question);
}  // namespace holdfast
"""
SOURCE = """#include "holdfast/lock.h"
namespace holdfast {
class Inner { public: long a = 0; };
Lock::Lock(const Options& options) : inner_(new Inner) { inner_->a = options.lease; }
Lock::~Lock() { delete inner_; }
void Lock::lock() {}
void Lock::unlock(Mode mode) { inner_->a += mode == Mode::one; }
int answer(int question) { return question; }
}  // namespace holdfast
"""


class Abi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        (cls.folder / "include/holdfast").mkdir(parents=True)
        cls.build(HEADER, SOURCE)
        done = cls.call("--write")
        if done.returncode != 0:
            raise AssertionError(done.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def build(cls, header, source, soname="libsmall.so.0"):
        (cls.folder / "include/holdfast/lock.h").write_text(header)
        (cls.folder / "lock.cc").write_text(source)
        subprocess.run(["g++", "-g", "-std=c++20", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-I", cls.folder / "include",
                        cls.folder / "lock.cc", "-o", cls.folder / "libsmall.so"], check=True)

    @classmethod
    def call(cls, *arguments):
        return subprocess.run([sys.executable, ABI, "--library", cls.folder / "libsmall.so", "--headers", cls.folder / "include",
                               "--baseline", cls.folder / "baseline.xml.xz", *arguments], capture_output=True, text=True)

    def changed(self, old, new, source_old="", source_new=""):
        self.assertIn(old, HEADER)
        self.build(HEADER.replace(old, new), SOURCE.replace(source_old, source_new))
        return self.call()

    def breaks(self, text, *change):
        done = self.changed(*change)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(text, done.stdout)
        self.assertIn("raise HOLDFAST_ABI", done.stdout)

    def test_the_same_is_the_same(self):
        self.build(HEADER, SOURCE)
        done = self.call()
        self.assertEqual((done.returncode, done.stdout), (0, "abi: libsmall.so.0 is what the baseline is, 0 functions added\n"))

    def test_a_function_more_breaks_nothing(self):
        done = self.changed("int answer(int question);", "int answer(int question);\nint ask();",
                            "int answer", "int ask() { return 1; }\nint answer")
        self.assertEqual((done.returncode, done.stdout), (0, "abi: libsmall.so.0 is what the baseline is, 1 functions added\n"))

    def test_what_no_header_shows_may_change(self):
        done = self.changed("class Inner;", "class Inner;", "long a = 0;", "long a = 0, b = 0; virtual void c() {}")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_function_that_is_gone_breaks(self):
        self.breaks("holdfast::answer(int)", "int answer(int question);", "", "int answer(int question) { return question; }", "")

    def test_a_member_of_a_struct_breaks(self):
        self.breaks("long int wait", "long lease = 0;", "long lease = 0; long wait = 0;")

    def test_a_virtual_function_breaks(self):
        self.breaks("virtual", "virtual void lock();", "virtual void lock();\n  virtual void relock();",
                    "void Lock::lock() {}", "void Lock::lock() {}\nvoid Lock::relock() {}")

    def test_a_private_member_breaks(self):
        self.breaks("depth_", "Inner* inner_;", "Inner* inner_; int depth_ = 0;")

    def test_the_value_of_an_enumerator_breaks(self):
        self.breaks("Mode::one", "enum class Mode { one, two };", "enum class Mode { zero, one, two };")

    def test_another_soname_is_not_compared(self):
        self.build(HEADER, SOURCE, soname="libsmall.so.1")
        done = self.call()
        self.assertEqual(done.returncode, 64, done.stdout)
        self.assertIn("the baseline is of libsmall.so.0", done.stderr)


if __name__ == "__main__":
    if not (shutil.which("abidiff") and shutil.which("g++")):
        print("skipped: no abidiff")
        sys.exit(77)
    unittest.main()
