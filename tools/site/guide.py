"""Pages of the tree as HTML: Markdown as GitHub reads it, with links that lead to pages of the site."""
import html
import posixpath
import re

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

from book import house, place, relative

FORMATTER = HtmlFormatter(nowrap=True)
LANGUAGES = {"edn": "clojure", "jsonl": "json", "log": "text", "": "text"}
PICTURES = (".png", ".svg", ".jpg", ".gif")
SUFFIXES = {".lua": "lua", ".pml": "c", ".in": "text", ".tcl": "tcl", ".map": "text", ".edn": "clojure", ".jsonl": "json"}
GREATEST = 400_000  # bytes of a source that is shown


def coloured(code, language):
    try:
        lexer = get_lexer_by_name(LANGUAGES.get(language, language), stripnl=False)
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    return f'<div class="scroll code"><pre>{highlight(code, lexer, FORMATTER)}</pre></div>'


def language_of(path, text):
    suffix = posixpath.splitext(path)[1]
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if text.startswith("#!"):
        return "python" if "python" in text.split("\n", 1)[0] else "bash"
    try:
        return get_lexer_for_filename(posixpath.basename(path)).aliases[0]
    except (ClassNotFound, IndexError):
        return "text"


class Links:
    """Where a link of a page of the tree leads in the site. Collects the sources and pictures that are asked for."""

    def __init__(self, book):
        self.book, self.sources, self.pictures, self.folders, self.dead = book, set(), set(), set(), []

    def target(self, page, link):
        """The file of the site, or the address outside; None (and noted in `dead`): there is no such thing."""
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            return link
        path, _, anchor = link.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
        anchor = "#" + anchor if anchor else ""
        if path in self.book.texts:
            return place(path) + anchor
        if path in self.book.files:
            if path.endswith(PICTURES):
                self.pictures.add(path)
                return path
            self.sources.add(path)
            return f"source/{path}.html{anchor}"
        if path in self.book.folders and path != ".":
            if f"{path}/README.md" in self.book.texts:
                return place(f"{path}/README.md") + anchor
            self.folder(path)
            return f"source/{path}/index.html"
        self.dead.append(f"{page}: {link}")
        return None

    def folder(self, path):
        """A folder is a page with what lies in it, and each of those is one."""
        self.folders.add(path)
        for file in self.book.files:
            if posixpath.dirname(file) == path and file not in self.book.texts:
                self.sources.add(file)
        for folder in self.book.folders:
            if posixpath.dirname(folder) == path and f"{folder}/README.md" not in self.book.texts:
                self.folder(folder)


class Guides:
    """`names`: of the API reference, what a page may mean by it -> file of the site."""

    def __init__(self, links, names):
        self.links, self.names = links, names
        self.markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])

    def render(self, source, text, at):
        """(HTML, [(level, text, anchor)]) of Markdown text of the page `source`, to stand in the site's file `at`."""
        tokens, headings, used = self.markdown.parse(text), [], {}
        for index, token in enumerate(tokens):
            if token.type == "heading_open":
                words = "".join(child.content for child in tokens[index + 1].children if child.type in ("text", "code_inline"))
                anchor = house.anchor(tokens[index + 1].content)
                used[anchor] = used.get(anchor, -1) + 1
                anchor += f"-{used[anchor]}" if used[anchor] else ""
                token.attrSet("id", anchor)
                headings.append((int(token.tag[1]), words, anchor))
        out = self.blocks(tokens, source, at, [anchor for _, _, anchor in headings])
        return out, headings

    def blocks(self, tokens, source, at, anchors):
        out, anchors = [], iter(anchors)
        renderer, options = self.markdown.renderer, self.markdown.options
        for index, token in enumerate(tokens):
            if token.type == "inline":
                out.append(self.inline(token.children, source, at))
            elif token.type == "fence":
                out.append(coloured(token.content, token.info.strip().split(" ")[0]))
            elif token.type == "code_block":
                out.append(coloured(token.content, ""))
            elif token.type == "html_block":
                out.append(self.raw(token.content))
            elif token.type == "table_open":
                out.append('<div class="scroll"><table>')
            elif token.type == "table_close":
                out.append("</table></div>\n")
            elif token.type == "heading_close":
                out.append(f' <a class="anchor" href="#{next(anchors)}" aria-label="link to this part">#</a></{token.tag}>\n')
            else:
                out.append(renderer.renderToken(tokens, index, options, {}))
        return "".join(out)

    def raw(self, text):
        """Comments are for who writes the page; nothing else of HTML is in it."""
        return html.escape(re.sub(r"<!--.*?-->", "", text, flags=re.S).strip())

    def inline(self, tokens, source, at):
        out, open_links, inside = [], [], 0
        for index, token in enumerate(tokens):
            if token.type == "link_open":
                target = self.links.target(source, token.attrs["href"])
                open_links.append(target)
                if target:
                    outside = target.startswith(("http:", "https:"))
                    link = target if re.match(r"[a-z][a-z0-9+.-]*:", target) else relative(target, at)
                    out.append(f'<a href="{html.escape(link)}"' + (' rel="noopener"' if outside else "") + ">")
                inside += 1
            elif token.type == "link_close":
                inside -= 1
                out.append("</a>" if open_links.pop() else "")
            elif token.type == "image":
                target = self.links.target(source, token.attrs["src"])
                if target:
                    link = html.escape(relative(target, at))
                    out.append(f'<a class="figure" href="{link}"><img src="{link}" alt="{html.escape(token.content)}" loading="lazy"></a>')
            elif token.type == "code_inline":
                code = f"<code>{html.escape(token.content)}</code>"
                name = None if inside else self.named(source, token.content)
                out.append(f'<a class="name" href="{relative(name, at)}">{code}</a>' if name else code)
            elif token.type == "html_inline":
                out.append(self.raw(token.content))
            elif token.type in ("softbreak", "hardbreak"):
                out.append("\n" if token.type == "softbreak" else "<br>\n")
            elif token.nesting:
                out.append(self.markdown.renderer.renderToken(tokens, index, self.markdown.options, {}))
            else:
                out.append(html.escape(token.content))
        return "".join(out)

    def named(self, source, code):
        """What the reference has under that name. The harness has types of its own, so its pages are left alone."""
        if source.startswith(("sim/", "checker/", "scenarios/", "CHANGELOG")):
            return None
        return self.names.get(re.sub(r"\(.*\)$|\{\}$", "", code).removeprefix("holdfast::"))


def source_page(book, path):
    """HTML of a file of the tree that is no page."""
    data = (book.root / path).read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    if text is None or len(data) > GREATEST:
        return f"<h1>{html.escape(path)}</h1><p>{len(data):,} bytes; not shown here, the file is in the tree.</p>"
    return f"<h1>{html.escape(path)}</h1>" + coloured(text, language_of(path, text))


def folder_page(book, path, at):
    """HTML of a folder: what lies in it."""
    rows = []
    for folder in sorted(book.folders):
        if folder != "." and posixpath.dirname(folder) == path:
            target = place(f"{folder}/README.md") if f"{folder}/README.md" in book.texts else f"source/{folder}/index.html"
            rows.append((posixpath.basename(folder) + "/", target))
    for file in sorted(book.files):
        if posixpath.dirname(file) == path:
            rows.append((posixpath.basename(file), place(file) if file in book.texts else f"source/{file}.html"))
    items = "".join(f'<li><a href="{relative(target, at)}"><code>{html.escape(name)}</code></a></li>' for name, target in rows)
    return f"<h1>{html.escape(path)}/</h1><ul>{items}</ul>"
