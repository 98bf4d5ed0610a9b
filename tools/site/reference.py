"""The API reference: Doxygen's pages of the public headers, in the frame of the site.

Doxygen is run as the test of the headers runs it (tools/house/docs.py: its headers, its settings, the copies that it makes); of its HTML only
what stands between title and footer is taken. Its scripts, pictures and style stay behind, so its pages need none.
"""
import html
import pathlib
import re
import subprocess
import tempfile
import xml.etree.ElementTree

from book import ROOT
import docs  # of tools/house

SETTINGS = """
HTML_HEADER = {folder}/header.html
HTML_FOOTER = {folder}/footer.html
GENERATE_TAGFILE = {folder}/tags.xml
DISABLE_INDEX = YES
SEARCHENGINE = NO
CLASS_GRAPH = TEXT
SHOW_USED_FILES = NO
VERBATIM_HEADERS = NO
"""
KEPT = re.compile(r"^(class|struct|union|namespace)holdfast.*\.html$|^[\w-]+_8h\.html$|^hierarchy\.html$")
CONTENT = re.compile(r'<div class="headertitle">(.*?)</div>\s*</div><!--header-->\s*<div class="contents">(.*)</div><!-- contents -->', re.S)


def public_name(path):
    """lib/lock/fair/fair_lock.h -> holdfast/fair_lock.h, as an application includes it."""
    return re.sub(r"^lib/", "holdfast/", re.sub(r"^lib/lock/.*/", "holdfast/", path))


class Reference:
    """REQUIRES: doxygen. `pages`: file name -> (title, what it is, HTML, its parts); `names`: of classes and members -> file of
    the site; `headers`: (path, file, its classes); `entries`: (name, kind, file) for the search; `warnings`: Doxygen's."""

    def __init__(self):
        self.pages, self.names, self.entries, self.headers = {}, {}, [], []
        self.includes = {path: public_name(path) for path in (str(path.relative_to(ROOT)) for path in docs.headers())}
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            (folder / "header.html").write_text("<!DOCTYPE html><html><head><title>$title</title></head><body><div>\n")
            (folder / "footer.html").write_text("</body></html>\n")
            self.warnings = docs.document(docs.headers(), folder, True, SETTINGS.format(folder=folder))
            written = {path.name: path.read_text(encoding="utf-8") for path in (folder / "html").glob("*.html")}
            tags = xml.etree.ElementTree.parse(folder / "tags.xml").getroot()
        self.kept = {name for name in written if KEPT.match(name)}
        self.read(tags)
        self.header_of = {name: (path, file) for path, file, classes in self.headers for name in classes}
        self.path_of = {file: path for path, file, _ in self.headers}
        for name in sorted(self.kept):
            self.pages[name] = self.page(name, written[name])

    def page(self, name, text):
        found = CONTENT.search(text)
        if not found:
            raise SystemExit(f"tools/site: {name} of this doxygen has another shape than that of Debian 12 (1.9.4)")
        title = html.unescape(re.sub(r'<span class="mlabel.*|<div class="ingroups.*|<[^>]*>', "", found.group(1), flags=re.S))
        title, kind = re.match(r"\s*(.*?)(?: (Class|Struct|Union|Namespace|File)(?: Template)? Reference)?\s*$", title, re.S).groups()
        content, include = self.tidied(found.group(2)), ""
        if title in self.header_of:
            path, file = self.header_of[title]
            include = f'<p><code>#include &lt;<a href="../{file}">{self.includes[path]}</a>&gt;</code></p>'
        content = re.sub(r"<p><code>#include .*?</code></p>", include, content, count=1)
        if f"api/{name}" in self.path_of:
            path = self.path_of[f"api/{name}"]
            title, kind = f"<{self.includes[path]}>", "header"
            content = f'<p><a href="../source/{path}.html">The header itself</a></p>' + content
        parts = re.findall(r'<a id="(\w+)"></a>\s*<h2 class="memtitle">.*?</span>(.*?)</h2>', content, re.S)
        return title, (kind or "").lower(), content, [(2, html.unescape(re.sub("<.*", "", words)).strip(), anchor) for anchor, words in parts]

    def tidied(self, text):
        text = re.sub(r' onclick="[^"]*"| (?:align|valign|cellspacing|cellpadding)="[^"]*"', "", text)
        text = re.sub(r'<img src="closed\.png"[^>]*>(&#160;)?', "", text)
        text = re.sub(r'<div class="levels">.*?</div>|<div class="dynheader">.*?</div>|<img[^>]*>', "", text)
        text = re.sub(r'<div class="textblock"><code>#include .*?</div>', "", text, flags=re.S)  # of a header; the header itself has it
        text = re.sub(r'<p>\s*<a href="[^"]*#details">More\.\.\.</a></p>', "", text)
        text = re.sub(r'<a name="(\w+)" id="\w+"></a>', r'<a id="\1"></a>', text)
        text = re.sub(r'(<a id="[\w-]+") name="[\w-]+"', r"\1", text)
        text = re.sub(r'<a [^>]*href="([^"#]+\.html)[^"]*"[^>]*>(.*?)</a>',
                      lambda link: link.group(0) if link.group(1) in self.kept else link.group(2), text, flags=re.S)
        for path, name in self.includes.items():  # what is said of files, as an application sees them
            text = re.sub(rf"&quot;((?:<a [^>]*>)?){re.escape(path)}((?:</a>)?)&quot;", rf"&lt;\1{name}\2&gt;", text)
        text = re.sub(r'(<td class="memname">(?:(?!</td>).)*?)holdfast::(?:\w+::)*(?=(?:~?\w+|operator[^<]*) ?</td>)', r"\1", text)
        text = re.sub(r"<(p|li|ul) >", r"<\1>", text)
        text = re.sub(r"<pre>(.*?)</pre>", r'<div class="scroll code"><pre>\1</pre></div>', text, flags=re.S)
        # what a base class has for those that derive from it
        text = re.sub(r'<table class="memberdecls">\s*<tr class="heading"><td colspan="2"><h2 class="groupheader"><a id="inherited">.*?</table>', "", text, flags=re.S)
        text = re.sub(r"(<table class=\"(?:fieldtable|directory)\">.*?</table>)", r'<div class="scroll">\1</div>', text, flags=re.S)
        parts = re.split(r'(<div class="fragment">.*?</div><!-- fragment -->)', text, flags=re.S)
        return "".join(part if index % 2 else code_of(part) for index, part in enumerate(parts))

    def read(self, tags):
        """Names, and the headers with what they declare, of Doxygen's tag file."""
        short = {}
        for compound in tags.findall("compound"):
            kind, name, file = compound.get("kind"), compound.findtext("name"), compound.findtext("filename")
            if kind == "file":
                full = (compound.findtext("path") or "") + name  # from lib/, or of the machine
                path = next(key for key in self.includes if full.endswith(key) or f"lib/{full}" == key)
                classes = [one.text for one in compound.findall("class") if "detail" not in one.text]
                self.headers.append((path, f"api/{file}", classes))
                self.entries.append((f"<{self.includes[path]}>", "header", f"api/{file}"))
            elif file in self.kept:
                inner = name.removeprefix("holdfast::")
                if kind in ("class", "struct"):
                    self.entries.append((inner, kind, f"api/{file}"))
                    short.setdefault(inner.split("::")[-1], []).append((inner, f"api/{file}"))
                self.names[inner] = f"api/{file}"
                for member in compound.findall("member"):
                    where = member.findtext("anchorfile"), member.findtext("anchor")
                    label = member.findtext("name")
                    if where[0] not in self.kept or label.startswith(("~", "operator")):
                        continue
                    link = f"api/{where[0]}#{where[1]}"
                    full = label if inner == "holdfast" else f"{inner}::{label}"
                    self.names.setdefault(full, link)
                    self.entries.append((full, member.get("kind"), link))
                    if kind in ("class", "struct"):
                        short.setdefault(f"{inner.split('::')[-1]}::{label}", []).append((inner, link))
        for name, found in short.items():
            if len({inner for inner, _ in found}) == 1:
                self.names.setdefault(name, found[0][1])
        self.names.pop("holdfast", None)


def code_of(text):
    """`words` in comments are code; backticks mean nothing to Doxygen without its Markdown."""
    return re.sub(r"`((?:[^`<>]|</?a\b[^>]*>|&lt;|&gt;){1,160})`", r"<code>\1</code>", text)


def summary(path):
    """The first sentence of a header's first comment."""
    lines = []
    for line in (ROOT / path).read_text(encoding="utf-8").split("\n"):
        if not line.startswith("// ") or line.startswith("// - "):
            break
        lines.append(line[3:])
    return re.split(r"(?<=\.) ", " ".join(lines) + " ", maxsplit=1)[0].strip()


def version():
    return re.search(r"project\(\w+ VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def available():
    try:
        return subprocess.run(["doxygen", "--version"], capture_output=True).returncode == 0
    except OSError:
        return False
