"""Mechanical mutants of a Lua script.

drop: a statement of one line is left out. negate: a comparison says the opposite, a condition is put into `not (...)`, a `not` is left
out. bound: `<` becomes `<=`, and so on. number: one more. key: another of the script's keys. Only what compiles is a mutant.
"""
import ctypes
import functools
import re

from mutant import distinct, mutant

TOKEN = re.compile(r"(?P<comment>--[^\n]*)|(?P<string>'(?:\\.|[^'\\\n])*')|(?P<number>\d+)|(?P<name>[A-Za-z_]\w*)"
                   r"|(?P<sign>==|~=|<=|>=|\.\.|[-+*/%<>=(){}\[\];:,.#])|(?P<space>\s+)")
OPPOSITE = {"==": "~=", "~=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
BOUND = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
ENDS = {"if": "then", "elseif": "then", "while": "do"}


def tokens(text):
    """(kind, text, start) of all that means something."""
    found, at = [], 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if not token:
            raise ValueError(f"line {text.count(chr(10), 0, at) + 1}: no Lua that this reads: {text[at:at + 20]!r}")
        if token.lastgroup not in ("space", "comment"):
            found.append((token.lastgroup, token.group(), at))
        at = token.end()
    return found


def without_comments(text):
    """The lines keep their numbers."""
    kept, at = [], 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token.lastgroup != "comment":
            kept.append(token.group())
        at = token.end()
    return "\n".join(line.rstrip() for line in "".join(kept).split("\n"))


@functools.cache
def lua():
    library = ctypes.CDLL("liblua5.1.so.0")  # Debian: liblua5.1-0, which the harness needs, too
    library.luaL_newstate.restype = ctypes.c_void_p
    library.luaL_loadbuffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
    library.lua_settop.argtypes = [ctypes.c_void_p, ctypes.c_int]
    return library, library.luaL_newstate()


def compiles(text):
    library, state = lua()
    code = text.encode()
    status = library.luaL_loadbuffer(state, code, len(code), b"script")
    library.lua_settop(state, 0)
    return status == 0


def dropped(file, text):
    at = 0
    for line in text.split("\n"):
        code = without_comments(line).strip()
        if code and not re.match(r"(local|end|else|elseif|until)\b", code):
            yield mutant(file, text, at + len(line) - len(line.lstrip()), at + len(line), "", "drop")
        at += len(line) + 1


def negated(file, text, words):
    for i, (kind, word, start) in enumerate(words):
        if word in OPPOSITE and kind == "sign":
            yield mutant(file, text, start, start + len(word), OPPOSITE[word], "negate")
        if word == "not":
            yield mutant(file, text, start, words[i + 1][2], "", "negate")
        if word in ENDS:
            end = next(j for j in range(i, len(words)) if words[j][1] == ENDS[word])
            inside = [one for _, one, _ in words[i + 1:end]]
            if not any(one in ("and", "or") for one in inside) and any(one in OPPOSITE or one == "not" for one in inside):
                continue  # the same as its comparison or `not`
            first, last = words[i + 1][2], words[end - 1][2] + len(words[end - 1][1])
            yield mutant(file, text, first, last, f"not ({text[first:last]})", "negate")


def moved(file, text, words):
    for i, (kind, word, start) in enumerate(words):
        if word in BOUND and kind == "sign":
            yield mutant(file, text, start, start + len(word), BOUND[word], "bound")
        if kind == "number" and not (i >= 2 and words[i - 1][1] == "[" and words[i - 2][1] in ("KEYS", "ARGV")):
            yield mutant(file, text, start, start + len(word), str(int(word) + 1), "number")


def swapped(file, text, words):
    """Each use of a key, by its name or as KEYS[i], becomes the script's next key."""
    keys = sorted({int(words[i + 2][1]) for i, (_, word, _) in enumerate(words)
                   if word == "KEYS" and words[i + 1][1] == "[" and words[i + 2][0] == "number"})
    names = {}  # of keys that `local` binds
    for bound in re.finditer(r"^local ([\w, ]+) = (.+)$", text, re.M):
        for name, value in zip(bound[1].split(", "), bound[2].split(", ")):
            if key := re.fullmatch(r"KEYS\[(\d+)\]", value):
                names[name] = int(key[1])
    texts = {key: f"KEYS[{key}]" for key in keys}
    texts.update({key: name for name, key in names.items()})
    after = dict(zip(keys, keys[1:] + keys[:1]))
    bound = set()  # where a name is bound or a field of that name begins: no use
    for i, (_, word, _) in enumerate(words):
        if word == "local":
            j = i + 1
            while j < len(words) and words[j][1] != "=" and (words[j][0] == "name" or words[j][1] == ","):
                bound.add(j)
                j += 1
    for i, (kind, word, start) in enumerate(words):
        if word == "KEYS" and words[i + 1][1] == "[" and words[i + 2][0] == "number":
            end = words[i + 3][2] + 1
            yield mutant(file, text, start, end, f"KEYS[{after[int(words[i + 2][1])]}]", "key")
        elif kind == "name" and word in names and i not in bound and words[i - 1][1] not in (".", ":"):
            yield mutant(file, text, start, start + len(word), texts[after[names[word]]], "key")


def lua_mutants(file, text):
    """In the order of the rules, and of the text. Raises ValueError for what it cannot read."""
    words = tokens(text)
    everything = [*dropped(file, text), *negated(file, text, words), *moved(file, text, words), *swapped(file, text, words)]
    return [one for one in distinct(everything) if compiles(one.text)]
