"""Which pages the site has: those of the tree, in the groups of book.toml, and the places of all of them."""
import pathlib
import posixpath
import re
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools/house"))
import pages as house  # noqa: E402  (what is in the tree, and how GitHub makes anchors)


def heading(text):
    """A page's first heading, without its markup."""
    found = re.search(r"^# +(.*)$", text, re.M)
    return re.sub(r"[`*]", "", found.group(1)).strip() if found else None


def label(path, text):
    """The name of a page that has none in book.toml."""
    title = heading(text) or posixpath.basename(path)
    if re.fullmatch(r"[\w-]+(/[\w-]+)*: .*", title):  # "lib/redis: the RESP client"
        before, after = title.split(": ", 1)
        return after[0].upper() + after[1:] if path.endswith("README.md") and len(title) < 48 else before
    return title


class Book:
    """REQUIRES: `root` is a tree of git."""

    def __init__(self, root=ROOT):
        self.root = root
        self.files = set(house.tracked(root))
        self.folders = {str(parent) for file in self.files for parent in pathlib.PurePath(file).parents}
        self.texts = {path: (root / path).read_text(encoding="utf-8") for path in sorted(self.files)
                      if path.endswith(".md") and not path.startswith((".", "tools/site/index.md"))}
        plan = tomllib.loads((HERE / "book.toml").read_text(encoding="utf-8"))
        self.reference = plan["reference"]
        self.groups, self.missing = [], []
        named = {page: name for group in plan["group"] for page, name in group["pages"]}
        for group in plan["group"]:
            entries = [(page, name) for page, name in group["pages"] if page in self.texts]
            self.missing += [page for page, _ in group["pages"] if page not in self.texts]
            for path in self.texts:
                if path not in named and self.home(plan, path) is group:
                    entries.append((path, label(path, self.texts[path])))
            self.groups.append((group["title"], entries))

    @staticmethod
    def home(plan, path):
        fitting = [group for group in plan["group"] if "rest" in group and path.startswith(group["rest"])]
        return max(fitting, key=lambda group: len(group["rest"]))

    def name(self, path):
        return next(name for _, entries in self.groups for page, name in entries if page == path)


def place(path):
    """Where a page of the tree is in the site."""
    return path[:-3] + ".html"


def relative(target, page):
    """A link from the file `page` of the site to its file `target`."""
    path, _, anchor = target.partition("#")
    link = posixpath.relpath(path, posixpath.dirname(page) or ".")
    return link + ("#" + anchor if anchor else "")
