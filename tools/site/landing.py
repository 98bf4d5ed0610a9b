"""The first page: index.md, with what it takes from other pages."""
import html
import re

from book import HERE, place

DIRECTIVE = re.compile(r"<!-- (take (\S+) (lead|table|part) ?(.*?)|guides) -->")


def taken(text, how, name):
    """A piece of a page's Markdown. REQUIRES: it is there."""
    if how == "lead":
        return re.split(r"^## ", text, maxsplit=1, flags=re.M)[0]
    if how == "table":
        return re.search(r"(?:^\|.*\n)+", text, re.M).group(0)
    found = re.search(rf"^## {re.escape(name)}$.*?(?=^## |\Z)", text, re.M | re.S)
    if not found:
        raise SystemExit(f"tools/site/index.md takes a part `{name}` that is not there")
    return found.group(0)


def landing(book, guides, groups):
    """(HTML, headings) of the first page. `groups`: (title, [(name, file)])."""
    out, headings, at = [], [], 0
    text = (HERE / "index.md").read_text(encoding="utf-8")

    def add(source, markdown):
        rendered, found = guides.render(source, markdown, "index.html")
        out.append(rendered)
        headings.extend(found)

    for directive in DIRECTIVE.finditer(text):
        add("tools/site/index.md", text[at:directive.start()])
        at = directive.end()
        if directive.group(1) == "guides":
            out.append(cards(groups))
        else:
            _, file, how, name = directive.groups()
            add(file, taken(book.texts[file], how, name))
    add("tools/site/index.md", text[at:])
    return "".join(out), headings


def cards(groups):
    out = []
    for title, entries in groups:
        items = "".join(f'<li><a href="{file}">{html.escape(name)}</a></li>' for name, file in entries)
        out.append(f"<section><h3>{html.escape(title)}</h3><ul>{items}</ul></section>")
    return f'<div class="cards">{"".join(out)}</div>'
