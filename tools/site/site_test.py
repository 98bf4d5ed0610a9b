#!/usr/bin/env python3
"""The site is made of this tree, whole, and by itself: tools/site/site_test.py. Exit 77: a tool is missing. (CTest: site_test)

Whole: each link, anchor and picture leads to something, no page needs the network, the first page leads to every guide, and the
reference has each public type of the locks. What finds that is shown sites with one thing wrong.
"""
import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def load():
    loader = importlib.machinery.SourceFileLoader("build", str(HERE / "build"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("build", loader))
    try:
        loader.exec_module(module)  # starts this program again where Debian's Python has the libraries
    except SystemExit:
        print("site_test: skipped, a library is missing")
        sys.exit(77)
    if not module.api.available():
        print("site_test: skipped, there is no doxygen on this machine; as root: apt-get install doxygen")
        sys.exit(77)
    return module


build = load()
check, ROOT, place = build.check, build.ROOT, build.place


class OfThisTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.temporary.name)
        cls.site = build.Site(cls.out)
        cls.found = cls.site.make()

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def read(self, file):
        return (self.out / file).read_text(encoding="utf-8")

    def test_nothing_is_amiss(self):
        self.assertEqual(self.found, [])

    def test_every_page_of_the_tree_is_one_of_the_site(self):
        listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
        pages = [path for path in listed.stdout.split() if not path.startswith((".", "tools/site/index.md"))]
        self.assertGreater(len(pages), 50)
        for path in pages:
            self.assertTrue((self.out / place(path)).exists(), path)
            self.assertIn(place(path), self.site.guide_files())  # which findings() asks the first page for

    def test_each_public_type_of_the_locks_has_its_page(self):
        headers = [path for path in self.site.reference.includes if path.startswith(("lib/lock/", "lib/async/"))]
        found = 0
        for path in headers:
            text = re.sub(r"^namespace \w*detail \{.*?^\}  // namespace", "", (ROOT / path).read_text(), flags=re.M | re.S)
            for kind, name in re.findall(r"^(class|struct) (\w+)\b[^;(]*\{", text, re.M):
                pages = list(self.out.glob(f"api/{kind}holdfast_1_1*{name}.html"))
                said = [page for page in pages if re.search(rf"\b{name}(&lt;.*)? <small>{kind}</small>", page.read_text())]
                self.assertTrue(said, f"{path}: {name}")
                found += 1
        for name in ("ReentrantLocks", "FairLocks", "FencedLocks", "SpinLocks", "NonReentrantLocks", "ReadWriteLocks", "Semaphores", "PermitSemaphore",
                     "CountDownLatch", "MultiLock", "Redlocks", "RedissonLocks"):
            self.assertIn(f"classholdfast_1_1{name}.html", self.read("api/index.html"))
        self.assertGreater(found, 40)

    def test_a_class_says_what_to_include_and_what_it_promises(self):
        page = self.read("api/classholdfast_1_1MultiLock.html")
        self.assertIn("holdfast/multi_lock.h</a>&gt;", page)
        self.assertRegex(page, r"<li>\s*It waits for one member at a time")
        self.assertNotIn("lib/lock/", re.sub(r"<a [^>]*>", "", page))

    def test_pages_have_their_figures_and_their_names_lead_to_the_reference(self):
        self.assertIn('<img src="figures/contended_real.png"', self.read("results/contended.html"))
        self.assertEqual((self.out / "results/figures/contended_real.png").read_bytes(), (ROOT / "results/figures/contended_real.png").read_bytes())
        self.assertIn('href="../api/structholdfast_1_1LockOptions.html#', self.read("lib/README.html"))

    def test_the_same_tree_gives_the_same_pages(self):
        pages = build.Guides(build.Links(self.site.book), self.site.reference.names)
        for path in ("README.md", "lib/README.md"):
            content, headings = pages.render(path, self.site.book.texts[path], place(path))
            self.assertEqual(self.read(place(path)), self.site.frame.page(place(path), self.site.book.name(path), content, headings, origin=path))
        self.assertNotIn(str(ROOT), "".join(path.read_text() for path in self.out.rglob("*.html")))

    def test_wide_things_scroll_in_boxes_of_their_own(self):
        for file in ("lib/README.html", "results/README.html", "README.html"):
            self.assertEqual(len(re.findall("<table>", self.read(file))), len(re.findall('<div class="scroll"><table>', self.read(file))))
            self.assertEqual(len(re.findall("<pre>", self.read(file))), len(re.findall('<div class="scroll code"><pre>', self.read(file))))


class Finds(unittest.TestCase):
    """One thing wrong in a small site, and it is told; the twin without it is quiet."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.site = pathlib.Path(self.temporary.name)
        self.write("index.html", '<main><a href="a/guide.html">A</a><a href="a/guide.html#part">B</a><a href="https://redis.io">C</a></main>')
        self.write("a/guide.html", '<link rel="stylesheet" href="../s.css"><h2 id="part">P</h2><img src="../x.png"><a href="#part">up</a>')
        self.write("s.css", "body { background: url(x.png) }")
        self.write("x.png", "")

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, file, text):
        (self.site / file).parent.mkdir(exist_ok=True)
        (self.site / file).write_text(text)

    def add(self, file, text):
        self.write(file, (self.site / file).read_text() + text)

    def findings(self):
        return list(check.findings(self.site, ["a/guide.html"]))

    def test_nothing(self):
        self.assertEqual(self.findings(), [])

    def test_what_is_planted(self):
        planted = [
            ("index.html", '<a href="a/gone.html">', "index.html: leads to a/gone.html, which is not there"),
            ("a/guide.html", '<a href="guide.html#gone">', "a/guide.html: leads to guide.html#gone, but that page has no such anchor"),
            ("a/guide.html", '<a href="#gone">', "a/guide.html: leads to #gone, but that page has no such anchor"),
            ("index.html", '<img src="gone.png">', "index.html: loads gone.png, which is not there"),
            ("index.html", '<img src="https://example.org/x.png">', "index.html: loads https://example.org/x.png, which is not of the site"),
            ("index.html", '<script src="//example.org/x.js"></script>', "index.html: loads //example.org/x.js, which is not of the site"),
            ("index.html", '<link href="http://example.org/x.css">', "index.html: loads http://example.org/x.css, which is not of the site"),
            ("s.css", "@font-face { src: url('https://example.org/f') }", "s.css: loads https://example.org/f, which is not of the site"),
            ("s.css", '@import "//example.org/x.css";', "s.css: loads //example.org/x.css, which is not of the site"),
            ("index.html", '<p style="background: url(gone.png)">', "index.html: loads gone.png, which is not there"),
            ("index.html", '<a href="file:///x">', "index.html: leads to file:///x"),
        ]
        for file, text, wanted in planted:
            before = (self.site / file).read_text()
            self.add(file, text)
            self.assertEqual(self.findings(), [wanted])
            self.write(file, before)

    def test_a_guide_that_only_the_list_beside_the_text_names(self):
        self.write("index.html", '<nav><a href="a/guide.html">A</a></nav><main></main>')
        self.assertEqual(self.findings(), ["index.html: no link to a/guide.html"])

    def test_a_guide_that_is_not_there(self):
        self.assertEqual(list(check.findings(self.site, ["a/guide.html", "b.html"])), ["b.html: no such page"])


class Pages(unittest.TestCase):
    class Tree:
        files = {"a.md", "lib/README.md", "lib/x.h", "lib/deep/y.lua", "p.png"}
        folders = {".", "lib", "lib/deep"}
        texts = {"a.md": "", "lib/README.md": ""}

    def setUp(self):
        self.links = build.Links(self.Tree())
        self.guides = build.Guides(self.links, {"Lock": "api/l.html", "Lock::lock": "api/l.html#1"})

    def html(self, text, source="a.md"):
        return self.guides.render(source, text, place(source))[0].strip()

    def test_links(self):
        cases = [("[x](lib/README.md#p)", "lib/README.html#p"), ("[x](lib/)", "lib/README.html"), ("[x](lib/x.h)", "source/lib/x.h.html"),
                 ("[x](lib/deep)", "source/lib/deep/index.html"), ("[x](https://redis.io)", "https://redis.io"), ("[x](#p)", "a.html#p")]
        for text, wanted in cases:
            self.assertIn(f'<a href="{wanted}"', self.html(text))
        self.assertEqual(self.links.sources, {"lib/x.h", "lib/deep/y.lua"})
        self.assertEqual(self.links.dead, [])
        self.assertEqual(self.html("[x](gone.md)"), "<p>x</p>")
        self.assertEqual(self.html("![x](gone.png)", "lib/README.md"), "<p></p>")
        self.assertEqual(self.links.dead, ["a.md: gone.md", "lib/README.md: gone.png"])

    def test_headings_have_the_anchors_of_github(self):
        _, headings = self.guides.render("a.md", "# One `x()`\n## Two, three\n## Two, three\n", "a.html")
        self.assertEqual(headings, [(1, "One x()", "one-x"), (2, "Two, three", "two-three"), (2, "Two, three", "two-three-1")])

    def test_names(self):
        self.assertIn('<a class="name" href="../api/l.html#1"><code>Lock::lock()</code></a>', self.html("`Lock::lock()`", "lib/README.md"))
        self.assertIn('<a href="../a.html"><code>Lock</code></a>', self.html("[`Lock`](../a.md)", "lib/README.md"))
        self.assertEqual(self.html("`Nothing`"), "<p><code>Nothing</code></p>")

    def test_text_is_text(self):
        self.assertEqual(self.html("a <b> & <!-- said to writers -->c"), "<p>a &lt;b&gt; &amp; c</p>")
        self.assertIn("&lt;key&gt;", self.html("```console\n$ x <key>\n```"))


class Command(unittest.TestCase):
    def test_another_folder_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "mine").write_text("x")
            done = subprocess.run([sys.executable, HERE / "build", "--out", folder], capture_output=True, text=True)
            self.assertEqual(done.returncode, 64, done)
            self.assertTrue((pathlib.Path(folder) / "mine").exists())


if __name__ == "__main__":
    unittest.main()
