"""What is around each page: the bar, the list of pages, the list of a page's parts."""
import html
import string

from book import HERE, place, relative


class Frame:
    """`reference`: (label, file) for the list of pages. `version`: of the library."""

    def __init__(self, book, reference, version):
        self.book, self.version = book, version
        self.template = string.Template((HERE / "theme/page.html").read_text(encoding="utf-8"))
        self.groups = [(title, [(name, place(path)) for path, name in entries]) for title, entries in book.groups]
        self.groups.insert(1, (book.reference["title"], reference))
        self.groups = [(title, entries) for title, entries in self.groups if entries]

    def navigation(self, at, owner):
        """`owner`: the file in whose group a page stands that the list does not name."""
        out = []
        for number, (title, entries) in enumerate(self.groups):
            inside = any(file in (at, owner) for _, file in entries)
            items = "".join(f'<li><a href="{relative(file, at)}"{" aria-current=page" if file == at else ""}>{html.escape(name)}</a></li>'
                            for name, file in entries)
            opened = " open" if inside or number == 0 else ""
            out.append(f"<details{opened}><summary>{html.escape(title)}</summary><ul>{items}</ul></details>")
        return "\n".join(out)

    def page(self, at, title, content, headings=(), kind="guide", owner=None, origin=""):
        parts = [(level, words, anchor) for level, words, anchor in headings if level in (2, 3)]
        if len([1 for level, _, _ in parts if level == 3]) > 30:
            parts = [part for part in parts if part[0] == 2]
        items = "".join(f'<li class="l{level}"><a href="#{anchor}">{html.escape(words)}</a></li>' for level, words, anchor in parts)
        return self.template.substitute(
            title=html.escape(title if title == "Holdfast" else f"{title} · Holdfast"), root="../" * at.count("/"), kind=kind,
            navigation=self.navigation(at, owner), content=content, version=self.version,
            parts=f"<p>On this page</p><ul>{items}</ul>" if len(parts) > 1 else "",
            origin=f" Made from <code>{html.escape(origin)}</code>." if origin else "")
