"""Mutant: one small change of one source file, made by a rule and not by a person."""
import dataclasses
import functools
import hashlib


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str  # from the top of the tree
    line: int
    rule: str  # drop, negate, number, bound, key
    old: str  # the line, and what it became
    new: str
    text: str  # of the whole file

    @functools.cached_property
    def digest(self):
        """Stays while the file is the same, wherever the list changes."""
        return hashlib.sha256(f"{self.file}\0{self.text}".encode()).hexdigest()[:16]


def mutant(file, text, start, end, new, rule):
    """`text` with text[start:end] replaced, which may span lines: then the first of them is told, in one line."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    last = len(text) if last < 0 else last
    whole = text[:start] + new + text[end:]
    one_line = lambda lines: " ".join(lines.split())
    return Mutant(file, text.count("\n", 0, start) + 1, rule, one_line(text[first:last]),
                  one_line(text[first:start] + new + text[end:last]), whole)


def distinct(mutants):
    """Without those that change nothing or are the same file as one before."""
    seen = set()
    for one in mutants:
        if one.old != one.new and one.digest not in seen:
            seen.add(one.digest)
            yield one
