#!/usr/bin/env python3
"""The rules of mechanical mutants on small sources, and mechanical.py on programs of a few lines in the place of the real ones."""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from cpp_mutants import cpp_mutants  # pylint: disable=wrong-import-position
from lua_mutants import compiles, lua_mutants, without_comments  # pylint: disable=wrong-import-position


def changes(mutants):
    return [(one.rule, one.line, one.new) for one in mutants]


class Rules(unittest.TestCase):
    def test_lua(self):
        text = "\n".join(["-- KEYS[3] is no number",
                          "local call, key, owner = redis.call, KEYS[1], ARGV[1]",
                          "if call('get', key) == owner and KEYS[2] then -- 5",
                          "  call('del', key)",
                          "end",
                          "return '7'"]) + "\n"
        self.assertEqual(changes(lua_mutants("x.lua", text)), [
            ("drop", 4, ""),
            ("drop", 6, ""),
            ("negate", 3, "if not (call('get', key) == owner and KEYS[2]) then -- 5"),
            ("negate", 3, "if call('get', key) ~= owner and KEYS[2] then -- 5"),
            ("key", 2, "local call, key, owner = redis.call, KEYS[2], ARGV[1]"),
            ("key", 3, "if call('get', KEYS[2]) == owner and KEYS[2] then -- 5"),
            ("key", 3, "if call('get', key) == owner and KEYS[1] then -- 5"),
            ("key", 4, "call('del', KEYS[2])")])

    def test_lua_that_no_person_would_break(self):
        rules = {"negate": ("while not a do b() end", "while a do b() end"), "bound": ("return a < b", "return a <= b"),
                 "number": ("return a[1] + 9", "return a[1] + 10")}
        for rule, (text, new) in rules.items():
            self.assertIn(new, [one.text for one in lua_mutants("x.lua", text) if one.rule == rule])
        self.assertEqual([one.rule for one in lua_mutants("x.lua", "return ARGV[1]")], ["drop"], "ARGV[2] is another rule's")
        self.assertTrue(compiles("return 1"))
        self.assertFalse(compiles("return ("))
        with self.assertRaisesRegex(ValueError, "line 2: no Lua"):
            lua_mutants("x.lua", "return 1\n$")

    def test_comments(self):
        self.assertEqual(without_comments("a() -- b\n-- c\nd('--e')\n"), "a()\n\nd('--e')\n")

    def test_cpp(self):
        text = "\n".join(["#include <map>",
                          "// if (a == 1) b();",
                          "int f(std::map<int, int> a) {",
                          "  if (a.size() < 2) g(\"1\", 'x');",
                          "  a.clear();",
                          "  return h({x, y(z)});",
                          "}"]) + "\n"
        self.assertEqual(changes(cpp_mutants("x.cc", text)), [
            ("drop", 5, ";"),
            ("negate", 4, "if (a.size() >= 2) g(\"1\", 'x');"),
            ("bound", 4, "if (a.size() <= 2) g(\"1\", 'x');"),
            ("number", 4, "if (a.size() < 3) g(\"1\", 'x');"),
            ("key", 6, "return h({y(z), x});")])

    def test_cpp_conditions(self):
        self.assertEqual(changes(one for one in cpp_mutants("x.cc", "void f() {\n  if (!a && b) g();\n}\n") if one.rule == "negate"), [
            ("negate", 2, "if (!(!a && b)) g();"), ("negate", 2, "if (a && b) g();")])
        self.assertEqual(changes(cpp_mutants("x.cc", "void f() {\n  if (int a = b(); a) g();\n}\n")), [], "it declares something")


SCRIPT = """-- A script of a few lines.
local held = redis.call('get', KEYS[1]) == ARGV[1]
if held then redis.call('del', KEYS[1]) end
redis.call('publish', 'a', 'b')
return held and 1 or 0
"""
OTHER = "-- A script that no hunt runs: what is done with it changes the course of none.\nreturn 1\n"
# Its tests see what the text of the script says; its hunt sees more.
TESTS = """#!{python} -SE
import fnmatch, sys
TEXT, SHA1, OTHER = '''{text}''', '{sha1}', '''{other}'''
wanted = next(word for word in sys.argv if word.startswith('--gtest_filter=')).removeprefix('--gtest_filter=')
positive, _, negative = wanted.partition('-')
tests = {{'Embedded/Script.Grants': "get" in TEXT and "== ARGV" in TEXT, 'Embedded/Script.Releases': "del" in TEXT, 'Embedded/Others.Pass': True, 'Threads.Fails': False}}
failed = False
fits = lambda name, patterns: any(fnmatch.fnmatchcase(name, one) for one in patterns.split(':'))
for name, passes in tests.items():
    if (positive and not fits(name, positive)) or fits(name, negative):
        continue
    print('[ RUN      ] ' + name)
    print(('[       OK ] ' if passes else '[  FAILED  ] ') + name + ' (0 ms)')
    failed = failed or not passes
sys.exit(failed)
"""
HUNT = """#!{python} -SE
import json, sys
TEXT, SHA1, OTHER = '''{text}''', '{sha1}', '''{other}'''
words = sys.argv
file = words[words.index('--json' if '--json' in words else '--resume') + 1]
runs = int(words[words.index('--runs') + 1])
lock = json.load(open(file))['lock'] if '--resume' in words else words[2]
wrong = {wrong} or lock == 'redisson' and runs >= 512 and 'not (held)' in TEXT
finds = [dict(check='lease-exclusion', kind='double-grant', first_run=99)] if wrong else []
json.dump(dict(lock=lock, runs=runs, virtual_ns=len(TEXT.split()), grants=1, marks=[], coverage=[SHA1 + ' 1 7'], violations=finds), open(file, 'w'))
sys.exit(bool(finds))
"""


class Tool(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("lib/lock/redisson", "build", "results"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "lib/lock/redisson/a_script.lua").write_text(SCRIPT)
        (self.folder / "lib/lock/redisson/other.lua").write_text(OTHER)
        self.said = self.folder / "said.toml"
        self.programs("False")

    def programs(self, wrong):
        for name, text in (("test_holdfast", TESTS), ("holdfast", HUNT)):
            program = self.folder / "build" / name
            program.write_text(text.format(python=sys.executable, text=SCRIPT, sha1=hashlib.sha1(SCRIPT.encode()).hexdigest(), wrong=wrong,
                                           other=OTHER + hashlib.sha1(OTHER.encode()).hexdigest()))
            program.chmod(0o755)

    def tool(self, *words, code=0):
        ran = subprocess.run([sys.executable, HERE / "mechanical.py", "--source", self.folder, "--looked-at", self.said, "--runs", "1024", *words],
                             capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran.stdout + ran.stderr

    def results(self):
        mutants = json.loads((self.folder / "results/data/mutations/mechanical.json").read_text())["mutants"].values()
        return {(one["rule"], one["line"], one["new"]): one for one in mutants}

    def page(self):
        return (self.folder / "results/mechanical-mutants.md").read_text()

    def test_what_becomes_of_each(self):
        self.tool()
        results = self.results()
        by = lambda rule, line, new: results[rule, line, new]
        self.assertEqual(by("negate", 2, "local held = redis.call('get', KEYS[1]) ~= ARGV[1]")["tests"], "Embedded/Script.Grants")
        self.assertEqual(by("drop", 3, "")["tests"], "Embedded/Script.Releases")
        found = by("negate", 3, "if not (held) then redis.call('del', KEYS[1]) end")
        self.assertEqual((found["tests"], found["lock"], found["run"], found["promise"]), ("", "redisson", 100, "lease-exclusion/double-grant"))
        live = by("drop", 4, "")
        self.assertEqual((live["runs"], live["otherwise"]), (1024, ["redisson"]))
        live = by("number", 5, "return held and 2 or 0")
        self.assertEqual((live["runs"], live["otherwise"]), (1024, []))
        live = len([one for one in results.values() if not one["tests"]])
        self.assertIn(f"{len(results)} of {len(results)} mutants tried", self.page())
        self.assertIn(f"**Of the {live} that they let live the hunt kills 1, half of them within 100 runs; equivalent: 0, escape: 0", self.page())
        self.assertIn("| lease-exclusion/double-grant | redisson | 100 |", self.page())
        self.assertIn("| `lib/lock/redisson/a_script.lua` | redisson |", self.page())
        self.assertIn("| `lib/lock/redisson/other.lua` | **by none** |", self.page())

    def test_it_goes_on_where_it_ended(self):
        self.assertIn("1 of ", self.tool("--most", "1"))
        before = self.results()
        self.assertIn("2 of ", self.tool("--most", "1"))
        self.assertEqual({key: self.results()[key] for key in before}, before)
        self.tool()
        self.assertIn("0 findings", self.tool("--most", "1"))
        # A mutant of a source that is another one now is forgotten.
        (self.folder / "lib/lock/redisson/a_script.lua").write_text(SCRIPT.replace("and 1", "and 2"))
        # (To leave out the line that has changed gives the same script as before.)
        of_other = len([one for one in self.results().values() if one["file"].endswith("other.lua")])
        self.assertIn(f"{1 + of_other} of {len(self.results())} mutants tried", self.tool("--page"))

    def test_what_a_person_said(self):
        entry = '[[mutant]]\nfile = "lib/lock/redisson/a_script.lua"\nold = "{}"\nnew = "{}"\nverdict = "equivalent"\nwhy = "nobody listens"\n'
        self.said.write_text(entry.format("redis.call('publish', 'a', 'b')", ""))
        self.tool()
        self.assertIn("equivalent: 1,", self.page())
        self.assertIn("| 1024 | redisson | nobody listens |", self.page())
        self.said.write_text(entry.format("redis.call('publish', 'a', 'c')", ""))
        self.assertIn("no such mutant any more", self.tool("--check", code=1))
        self.said.write_text(entry.format("if held then redis.call('del', KEYS[1]) end", ""))
        self.assertIn("equivalent it is called, but Embedded/Script.Releases finds it", self.tool("--check", code=1))
        self.said.write_text(entry.format("a", "b").replace("equivalent", "perhaps"))
        self.assertIn("has file, old, new, verdict", self.tool("--check", code=64))

    def test_no_kill_means_anything_without_controls(self):
        self.programs("True")
        self.assertIn("the hunt finds something without a mutant", self.tool(code=69))
        self.programs("False")
        program = self.folder / "build/test_holdfast"
        program.write_text(program.read_text().replace('"del" in TEXT', '"A script" in TEXT'))
        self.assertIn("without their comments do not pass: Embedded/Script.Releases", self.tool(code=69))
        program.write_text(program.read_text().replace(hashlib.sha1(SCRIPT.encode()).hexdigest(), "0" * 40))
        self.assertIn("does not have a_script.lua as it is now", self.tool(code=69))
        program.unlink()
        self.assertIn("is missing: ninja -C build", self.tool(code=69))
        self.assertIn("whole generations", self.tool("--runs", "100", code=64))

    def test_what_stands_around_scripts(self):
        """A program has them in the guard and behind the shard, too: each whole has the mutant, and the digest of that."""
        (self.folder / "lib/lock/store").mkdir()
        around = {"survivor_guard.lua": "-- Guard.\nredis.call('time')\n--SCRIPT\n", "sharded.lua": "-- Shard.\nredis.call('ping')\n"}
        for name, text in around.items():
            (self.folder / "lib/lock/store" / name).write_text(text)
        wholes = [SCRIPT, around["survivor_guard.lua"].replace("--SCRIPT\n", SCRIPT), around["sharded.lua"] + SCRIPT]
        of_wholes = ", ".join(f"('{hashlib.sha1(one.encode()).hexdigest()}', '''{one}''')" for one in wholes)
        program = self.folder / "build/test_holdfast"
        text = program.read_text().replace("import fnmatch, sys", f"import fnmatch, hashlib, sys\nWHOLES = [{of_wholes}]")
        for test, what in (("Digests.Fit", "all(hashlib.sha1(text.encode()).hexdigest() == sha1 for sha1, text in WHOLES)"),
                           ("Wholes.SayTheSame", "all('del' in text for _, text in WHOLES)"),
                           ("Guard.Stands", "'time' in WHOLES[1][1]"), ("Shard.Stands", "'ping' in WHOLES[2][1]")):
            text = text.replace("'Threads.Fails': False", f"'Embedded/{test}': {what}, 'Threads.Fails': False")
        program.write_text(text)
        hunter = self.folder / "build/holdfast"
        hunter.write_text(hunter.read_text().replace("import json, sys", f"import json, sys\nWHOLES = [{of_wholes}]"))
        self.tool()
        killed = {(pathlib.Path(one["file"]).name, one["line"], one["new"]): one["tests"] for one in
                  json.loads((self.folder / "results/data/mutations/mechanical.json").read_text())["mutants"].values()}
        self.assertEqual(killed["survivor_guard.lua", 2, ""], "Embedded/Guard.Stands")
        self.assertEqual(killed["sharded.lua", 2, ""], "Embedded/Shard.Stands")
        self.assertNotIn("Embedded/Digests.Fit", killed.values())
        self.assertEqual(killed["a_script.lua", 5, "return held and 2 or 0"], "")
        self.assertIn(killed["a_script.lua", 3, ""], ("Embedded/Script.Releases", "Embedded/Wholes.SayTheSame"))

    def test_cpp_is_built_anew(self):
        """The build of a tree in which the program's text is the C++ itself."""
        (self.folder / "lib/lock/redlock").mkdir()
        (self.folder / "lib/lock/redlock/votes.cc").write_text("void f() {\n  if (votes > 1) grant();\n  a.tell();\n}\n")
        for name, text in (("tests.txt", TESTS), ("hunt.txt", HUNT)):
            text = text.replace('"get" in TEXT and "== ARGV" in TEXT', '"> 1" in TEXT').replace('"del" in TEXT', "True")
            (self.folder / name).write_text(text.replace("'not (held)' in TEXT", "'tell' not in TEXT").replace("'redisson'", "'redlock'"))
        (self.folder / "make.py").write_text(
            "import pathlib, sys\ntree, build = map(pathlib.Path, sys.argv[1:3])\n"
            "text = (tree / 'lib/lock/redlock/votes.cc').read_text()\nif '2' in text: sys.exit('error: no twos')\n"
            "what = {'test_holdfast': 'tests.txt', 'holdfast': 'hunt.txt'}[sys.argv[3]]\n"
            "program = (tree / what).read_text().format(python=sys.executable, text=' '.join(text.split('\\n')), sha1='', wrong=False, other='')\n"
            "(build / sys.argv[3]).write_text(program)\n(build / sys.argv[3]).chmod(0o755)\n")
        project = self.folder / "build/project.toml"
        project.write_text('[project]\nconfigure = "true"\n'
                           f'build = "{sys.executable} {{tree}}/make.py {{tree}} {{build}} test_holdfast"\nprogram = "{{build}}/test_holdfast"\n')
        (self.folder / ".gitignore").write_text("build\n")
        subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)
        self.tool("--cpp", "--project", project)
        results = {key: one["tests"] or one.get("promise", "lives") for key, one in self.results().items()}
        self.assertEqual(results, {("negate", 2, "if (votes <= 1) grant();"): "Embedded/Script.Grants",
                                   ("bound", 2, "if (votes >= 1) grant();"): "Embedded/Script.Grants",
                                   ("number", 2, "if (votes > 2) grant();"): "does not build",
                                   ("drop", 3, ";"): "lease-exclusion/double-grant"})
        self.assertEqual((self.folder / "build/mutations/tree/lib/lock/redlock/votes.cc").read_text(),
                         (self.folder / "lib/lock/redlock/votes.cc").read_text())


if __name__ == "__main__":
    unittest.main()
