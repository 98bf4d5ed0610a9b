"""Mechanical mutants of a C++ source.

The rules are those of lua_mutants.py, as far as they can be told without a compiler: drop leaves out a statement of one line; negate
turns a comparison or a whole `if (...)` or `while (...)` round, or leaves out a `!`; bound makes `<` of `<=`; number is one more; key
swaps two neighbours in a list `{a, b, ...}` of names or calls, as keys and arguments of scripts are given. Whether one builds the build says.
"""
import re

from mutant import distinct, mutant

TOKEN = re.compile(r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>R\"\((?:.|\n)*?\)\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
                   r"|(?P<include>^[ \t]*#[^\n]*)|(?P<number>\d[\w'.]*)|(?P<name>[A-Za-z_]\w*)"
                   r"|(?P<sign><=>|->|::|<<|>>|==|!=|<=|>=|&&|\|\||\+\+|--|[-+*/%&|^]=|[-+*/%<>=!&|^~?:;,.(){}\[\]])|(?P<space>\s+)", re.S | re.M)
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
BOUND = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
DECLARES = re.compile(r"(using|static_assert|return|throw|break|continue|case|default|const|auto|public|private|template|co_return|friend)\b")
STATEMENT = re.compile(r"[\w:.>\[\]()*-]+(?:\(.*\)|\s*[-+|&]?=\s[^=].*|\+\+|--);$|(?:\+\+|--)[\w.>-]+;$")


def tokens(text):
    found, at = [], 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if not token:
            raise ValueError(f"line {text.count(chr(10), 0, at) + 1}: no C++ that this reads: {text[at:at + 20]!r}")
        if token.lastgroup not in ("space", "comment", "include"):
            found.append((token.lastgroup, token.group(), at))
        at = token.end()
    return found


def closing(words, i):
    """Where the bracket at i is closed."""
    depth = 0
    for j in range(i, len(words)):
        depth += (words[j][1] in "([{" and words[j][0] == "sign") - (words[j][1] in ")]}" and words[j][0] == "sign")
        if depth == 0:
            return j
    raise ValueError("a bracket is not closed")


def spaced(text, word, start):
    """Whether a `<` or `>` compares: clang-format puts blanks around it then, and none around those of a template."""
    return text[start - 1] in " \n" and text[start + len(word)] in " \n"


def dropped(file, text):
    at = 0
    for line in text.split("\n"):
        code = re.sub(r"\s*//.*$", "", line).strip()
        if STATEMENT.match(code) and not DECLARES.match(code) and code.count("(") == code.count(")") and text[:at].rstrip()[-1:] in ";{})":
            start = at + len(line) - len(line.lstrip())
            yield mutant(file, text, start, start + len(code), ";", "drop")
        at += len(line) + 1


def negated(file, text, words):
    for i, (kind, word, start) in enumerate(words):
        if word in OPPOSITE and kind == "sign" and spaced(text, word, start) and words[i - 1][1] != "operator":
            yield mutant(file, text, start, start + len(word), OPPOSITE[word], "negate")
        if word == "!" and kind == "sign":
            yield mutant(file, text, start, start + 1, "", "negate")
        if word in ("if", "while") and words[i + 1][1] == "(":
            end = closing(words, i + 1)
            inside = [one for _, one, _ in words[i + 2:end]]
            if ";" in inside or "=" in inside:
                continue  # it declares something
            if not any(one in ("&&", "||") for one in inside) and any(one in OPPOSITE or one == "!" for one in inside):
                continue  # the same as its comparison or `!`
            yield mutant(file, text, words[i + 1][2], words[end][2] + 1, f"(!({text[words[i + 1][2] + 1:words[end][2]]}))", "negate")


def moved(file, text, words):
    for kind, word, start in words:
        if word in BOUND and kind == "sign" and spaced(text, word, start):
            yield mutant(file, text, start, start + len(word), BOUND[word], "bound")
        if kind == "number" and (digits := re.match(r"\d[\d']*", word)) and not word.startswith("0x"):
            more = str(int(digits[0].replace("'", "")) + 1)
            yield mutant(file, text, start, start + len(digits[0]), more, "number")


def swapped(file, text, words):
    for i, (kind, word, _) in enumerate(words):
        if word != "{" or kind != "sign":
            continue
        end, elements, begun, j = closing(words, i), [], i + 1, i + 1
        while j < end:
            if words[j][1] in ("(", "{", "["):
                j = closing(words, j)
            elif words[j][1] == "," and words[j][0] == "sign":
                elements.append((begun, j - 1))
                begun = j + 1
            elif words[j][1] in (";", "="):
                break
            j += 1
        else:
            elements.append((begun, end - 1))
            spans = [(words[a][2], words[b][2] + len(words[b][1])) for a, b in elements if b >= a]
            for (a, b), (c, d) in zip(spans, spans[1:]):
                yield mutant(file, text, a, d, text[c:d] + text[b:c] + text[a:b], "key")


def cpp_mutants(file, text):
    """In the order of the rules, and of the text. Raises ValueError for what it cannot read."""
    words = tokens(text)
    return list(distinct([*dropped(file, text), *negated(file, text, words), *moved(file, text, words), *swapped(file, text, words)]))
