#!/usr/bin/env python3
"""Tests of tools/package/release in a repository of its own (CTest: release_test), and that this tree names one version only."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FILES = ("CMakeLists.txt", "README.md", "lib/README.md", "lib/FIRST.md", "lib/async/README.md", "tools/house/install_test.py",
         "tools/package/consumers_test.py", "tools/package/vcpkg/holdfast/vcpkg.json")
LOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A lock.\n\n## [0.1.0] - 2026-11-21\n\nFirst version.\n"


class Release(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.temporary.name)
        for file in FILES:
            (self.root / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / file, self.root / file)
        self.now = re.search(r"project\(holdfast VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
        self.major, self.minor, self.patch = map(int, self.now.split("."))
        self.next = f"{self.major}.{self.minor + 1}.0"
        (self.root / "CHANGELOG.md").write_text(LOG)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "somebody")
        self.git("config", "user.email", "somebody@example.org")
        self.commit()

    def tearDown(self):
        self.temporary.cleanup()

    def git(self, *arguments):
        return subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self):
        self.git("add", ".")
        self.git("commit", "-q", "-m", "x")

    def call(self, *arguments):
        return subprocess.run([sys.executable, SOURCE / "tools/package/release", "--root", self.root, *arguments],
                              capture_output=True, text=True)

    def refused(self, text, version=None):
        before = self.git("rev-parse", "HEAD")
        done = self.call(version or self.next, "--do")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(text, done.stdout)
        self.assertEqual(self.git("rev-parse", "HEAD"), before)

    def log(self, text):
        (self.root / "CHANGELOG.md").write_text(text)
        self.commit()

    def test_without_do_nothing_is_changed(self):
        before = self.git("rev-parse", "HEAD")
        done = self.call(self.next)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for file in ("CHANGELOG.md", "CMakeLists.txt", "README.md", "vcpkg.json", f"v{self.next}"):
            self.assertIn(file, done.stdout)
        self.assertEqual((self.git("rev-parse", "HEAD"), self.git("status", "--porcelain"), self.git("tag")), (before, "", ""))

    def test_a_release_is_one_commit_and_one_tag(self):
        done = self.call(self.next, "--do")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.git("log", "-1", "--format=%s"), f"Release {self.next}")
        self.assertEqual(self.git("rev-list", "--count", "HEAD"), "2")
        self.assertEqual(self.git("cat-file", "-t", f"v{self.next}"), "tag")
        self.assertEqual(self.git("rev-parse", f"v{self.next}^{{commit}}"), self.git("rev-parse", "HEAD"))
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.assertRegex((self.root / "CHANGELOG.md").read_text(),
                         rf"## \[Unreleased\]\n\n## \[{self.next}\] - \d{{4}}-\d\d-\d\d\n\n### Added\n\n- A lock.")
        minor = self.next.rsplit(".", 1)[0]
        for file in FILES[1:-1]:
            self.assertEqual(set(re.findall(r"find_package\(holdfast ([\d.]+)", (self.root / file).read_text())), {minor}, file)
        self.assertIn(f'"version-semver": "{self.next}"', (self.root / FILES[-1]).read_text())
        self.assertIn(f"project(holdfast VERSION {self.next} ", (self.root / "CMakeLists.txt").read_text())
        self.refused("nothing under Unreleased", f"{self.major}.{self.minor + 2}.0")
        self.refused(f"the tag v{self.next} exists")

    def test_what_is_not_committed_is_in_the_way(self):
        (self.root / "more").write_text("x")
        self.refused("not committed")

    def test_a_version_must_rise_and_be_one(self):
        self.refused("does not come after", self.now)
        self.refused("does not come after", "0.0.9")
        self.refused("is no version", "1.2")

    def test_a_patch_removes_nothing(self):
        self.log(LOG.replace("### Added\n", "### Removed\n"))
        self.refused("may break nothing", f"{self.major}.{self.minor}.{self.patch + 1}")
        self.assertEqual(self.call(f"{self.major + 1}.0.0").returncode, 0)

    def test_an_empty_changelog_is_in_the_way(self):
        self.log(LOG.replace("- A lock.\n", ""))
        self.refused("nothing under Unreleased")

    def test_places_that_disagree_are_told(self):
        vcpkg = self.root / FILES[-1]
        vcpkg.write_text(vcpkg.read_text().replace(self.now, "9.9.9"))
        self.commit()
        self.refused("vcpkg.json says 9.9.9")


if __name__ == "__main__":
    unittest.main()
