"""Whether a site is whole: each link, anchor and picture leads to something, and no page needs the network to be shown."""
import html.parser
import pathlib
import posixpath
import re
import urllib.parse

# What a browser loads by itself when it shows a page.
LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("source", "srcset"), ("img", "srcset"),
          ("object", "data"), ("embed", "src"), ("video", "src"), ("audio", "src"), ("use", "href")}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self.anchors, self.links, self.loaded, self.in_text, self.styles, self.depth = set(), [], [], set(), [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if value is None:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name == "style":
                self.styles.append(value)
            elif (tag, name) in LOADED:
                self.loaded.append(value)
            elif name == "href":
                self.links.append(value)
                if self.depth:
                    self.in_text.add(value)
        self.depth += tag == "main"

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        self.depth -= tag == "main"


def outside(link):
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//", link) is not None


def findings(site, guides):
    """One line each. `guides`: the files that the text of the first page must lead to, and no list beside it alone."""
    files = {str(path.relative_to(site)) for path in pathlib.Path(site).rglob("*") if path.is_file()}
    pages = {file: Page((site / file).read_text(encoding="utf-8")) for file in sorted(files) if file.endswith(".html")}
    for file, page in pages.items():
        here = posixpath.dirname(file)
        for link in page.loaded:
            if outside(link):
                yield f"{file}: loads {link}, which is not of the site"
            elif posixpath.normpath(posixpath.join(here, link)) not in files:
                yield f"{file}: loads {link}, which is not there"
        for style in page.styles:
            yield from style_findings(file, style, files)
        for link in page.links:
            if re.match(r"(https?|mailto):", link):
                continue
            if outside(link):
                yield f"{file}: leads to {link}"
                continue
            path, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(here, urllib.parse.unquote(path))) if path else file
            if target not in files:
                yield f"{file}: leads to {link}, which is not there"
            elif anchor and target in pages and urllib.parse.unquote(anchor) not in pages[target].anchors:
                yield f"{file}: leads to {link}, but that page has no such anchor"
    for file in sorted(files):
        if file.endswith(".css"):
            yield from style_findings(file, (site / file).read_text(encoding="utf-8"), files)
    first = {link.partition("#")[0] for link in pages["index.html"].in_text} if "index.html" in pages else set()
    for guide in guides:
        if guide not in files:
            yield f"{guide}: no such page"
        elif guide not in first:
            yield f"index.html: no link to {guide}"


def style_findings(file, text, files):
    for link in re.findall(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)", text):
        link = link[0] or link[1]
        if link.startswith("data:"):
            continue
        if outside(link):
            yield f"{file}: loads {link}, which is not of the site"
        elif posixpath.normpath(posixpath.join(posixpath.dirname(file), link)) not in files:
            yield f"{file}: loads {link}, which is not there"
