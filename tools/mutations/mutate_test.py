#!/usr/bin/env python3
"""Drives mutate.py on a project of one file whose program is a script: no compiler, no library. (CTest: mutate_test)"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "mutate.py"

# What a program of googletest does, for tests of the numbers in values.txt, which stand in it at its end.
PROGRAM = textwrap.dedent("""\
    #!/usr/bin/env python3
    import fnmatch, os, sys, time
    wanted = next((a.split("=", 1)[1] for a in sys.argv if a.startswith("--gtest_filter=")), "*")
    positive, _, negative = wanted.partition("-")
    fits = lambda name, patterns: any(fnmatch.fnmatchcase(name, one) for one in patterns.split(":") if one)
    flaky, begun = [os.path.join(os.path.dirname(os.path.abspath(__file__)), name) for name in ("flaky", "begun")]
    def unsteady():
        if VALUES["one"] == 1 or os.path.exists(flaky):
            return True
        open(flaky, "w").close()
        return False
    def hangs():
        if VALUES["two"] == 0:
            with open(begun + ".part", "w") as file:
                file.write(str(os.getpid()))
            os.rename(begun + ".part", begun)
        while VALUES["two"] == 0:
            time.sleep(1)
        return VALUES["two"] == 2
    tests = {"Numbers.One": lambda: VALUES["one"] < 5, "Numbers.Two": hangs, "Numbers.Unsteady": unsteady,
             "Others.Ends": lambda: VALUES["three"] or os._exit(3), "LongHunt.Never": lambda: False}
    failed = 0
    for name, test in tests.items():
        if not fits(name, positive or "*") or fits(name, negative):
            continue
        print("[ RUN      ] " + name, flush=True)
        passed = test()
        print(("[       OK ] " if passed else "[  FAILED  ] ") + name + " (0 ms)", flush=True)
        failed += not passed
        if failed and "--gtest_fail_fast" in sys.argv:
            break
    sys.exit(1 if failed else 0)
    """)
MAKE = """import pathlib, sys
tree, build = map(pathlib.Path, sys.argv[1:])
text = (tree / "values.txt").read_text()
values = eval(text, {})  # what is no dictionary does not build
program = (tree / "program.txt").read_text().replace("import fnmatch", "VALUES = " + repr(values) + "\\nimport fnmatch", 1)
(build / "program").write_text(program)
(build / "program").chmod(0o755)
"""
LIST = """
[project]
configure = "true"
build = "{python} {{tree}}/make.py {{tree}} {{build}}"
program = "{{build}}/program"
"""
ENTRY = """
[[mutation]]
name = "{name}"
breaks = "{name} is wrong"
promise = "values.txt: | {name}"
file = "values.txt"
old = '{old}'
new = '{new}'
tests = "{tests}"
"""


class Mutate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in [("values.txt", '{"one": 1, "two": 2, "three": 3}\n'), ("program.txt", PROGRAM), ("make.py", MAKE),
                           (".gitignore", "build\n")]:
            (self.folder / name).write_text(text)
        (self.folder / "results").mkdir()
        subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)
        self.list = LIST.format(python=sys.executable)

    def add(self, name, old, new, tests="Numbers.*", more=""):
        self.list += ENTRY.format(name=name, old=old, new=new, tests=tests) + more

    def mutate(self, *arguments):
        (self.folder / "build").mkdir(exist_ok=True)
        entries = self.folder / "build/list.toml"
        entries.write_text(self.list)
        return subprocess.run([sys.executable, TOOL, "--source", self.folder, "--list", entries, *arguments], capture_output=True,
                              text=True, check=False)

    def test_one_is_found_and_one_survives(self):
        self.add("found", '"one": 1', '"one": 7')
        self.add("survivor", '"one": 1', '"one":  1')
        ran = self.mutate()
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertIn("found: found: Numbers.One", ran.stdout)
        self.assertIn("survivor: survived: survivor is wrong (values.txt)", ran.stdout)
        self.assertIn("1 of 2 found, 1 findings", ran.stdout)
        page = (self.folder / "results/mutations.md").read_text()
        self.assertIn("**1 of 2 mutations", page)
        self.assertIn("| `found` | found is wrong | `values.txt` | values.txt: \\| found | `Numbers.One` |", page)
        self.assertIn("| survived: no test |", page)
        self.assertEqual((self.folder / "values.txt").read_text(), '{"one": 1, "two": 2, "three": 3}\n')

    def test_a_survivor_that_is_explained(self):
        self.add("equivalent", '"one": 1', '"one":  1', more='survives = "a blank more"\n')
        ran = self.mutate()
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("survived: a blank more", (self.folder / "results/mutations.md").read_text())
        self.list = LIST.format(python=sys.executable)
        self.add("equivalent", '"one": 1', '"one": 7', more='survives = "a blank more"\n')
        ran = self.mutate()
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("found by Numbers.One, though the list says why it survives", ran.stdout)

    def test_the_rest_of_the_program_is_run_after_the_named_tests(self):
        self.add("ends", '"three": 3', '"three": 0', tests="Numbers.One")
        ran = self.mutate()
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("ends: found: Others.Ends (ends the program)", ran.stdout)

    def test_what_fails_once_does_not_count(self):
        self.add("unsteady", '"one": 1', '"one": 2', tests="*Unsteady")
        ran = self.mutate()
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertIn("unsteady: survived", ran.stdout)

    def test_a_mutant_that_hangs_is_found(self):
        self.add("hangs", '"two": 2', '"two": 0')
        ran = self.mutate("--least-limit", "1")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("hangs: found: Numbers.Two (hangs)", ran.stdout)

    def test_what_cannot_be_applied_or_built_is_told(self):
        self.add("gone", "no such text", "x")
        self.add("twice", ", ", "x")
        ran = self.mutate()
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("gone: the old text stands 0 times in values.txt", ran.stdout)
        self.assertIn("twice: the old text stands 2 times in values.txt", ran.stdout)
        self.assertFalse((self.folder / "build/mutations").exists(), "nothing was built")
        self.list = LIST.format(python=sys.executable)
        self.add("unbuildable", '"one": 1', '"one": ')
        ran = self.mutate()
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("unbuildable: does not build: SyntaxError", ran.stdout)

    def test_a_part_of_the_list_and_a_second_run(self):
        self.add("found", '"one": 1', '"one": 7')
        self.add("survivor", '"one": 1', '"one":  1')
        ran = self.mutate("--only", "fou*")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertFalse((self.folder / "results/mutations.md").exists(), "not all of it was run")
        # What an interrupted run leaves behind in its copy is made good.
        (self.folder / "build/mutations/tree/values.txt").write_text("half")
        ran = self.mutate("--resume")
        self.assertIn("1/1 survivor", ran.stdout)
        self.assertIn("1 of 2 found, 1 findings", ran.stdout)
        kept = json.loads((self.folder / "build/mutations/outcomes.json").read_text())
        self.assertEqual(kept["found"]["by"], "Numbers.One")

    def test_an_interruption_leaves_nothing_behind(self):
        self.add("hangs", '"two": 2', '"two": 0')
        (self.folder / "build").mkdir()
        entries, copy = self.folder / "build/list.toml", self.folder / "build/mutations/tree"
        entries.write_text(self.list)
        for end in (signal.SIGINT, signal.SIGTERM):
            begun = copy / "build/begun"
            begun.unlink(missing_ok=True)
            with subprocess.Popen([sys.executable, TOOL, "--source", self.folder, "--list", entries], stdout=subprocess.DEVNULL) as tool:
                while not begun.exists():
                    self.assertIsNone(tool.poll())
                    time.sleep(0.01)
                self.assertIn('"two": 0', (copy / "values.txt").read_text())
                hanging = int(begun.read_text())
                tool.send_signal(end)
                self.assertEqual(tool.wait(), 130)
            self.assertIn('"two": 2', (copy / "values.txt").read_text())
            with self.assertRaises(ProcessLookupError):
                os.kill(hanging, 0)

    def test_a_clean_tree_that_fails_is_no_ground(self):
        (self.folder / "values.txt").write_text('{"one": 9, "two": 2, "three": 3}\n')
        self.add("any", '"one": 9', '"one": 8')
        ran = self.mutate()
        self.assertEqual(ran.returncode, 69, ran.stdout)
        self.assertIn("the clean program does not pass: Numbers.One", ran.stderr)

    def test_wrong_lists_and_names(self):
        self.assertEqual(self.mutate("--only", "no").returncode, 64)
        self.add("same", '"one": 1', '"one": 7')
        self.add("same", '"one": 1', '"one": 7')
        ran = self.mutate()
        self.assertEqual(ran.returncode, 64)
        self.assertIn("same stands there twice", ran.stderr)


if __name__ == "__main__":
    unittest.main()
