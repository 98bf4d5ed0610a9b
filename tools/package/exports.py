#!/usr/bin/env python3
"""What the shared library exports: tools/package/exports.py [--check | --write] --archive BUILD/libholdfast.a.

lib/holdfast.map, the version script of the linker, names each function of namespace holdfast that an installed header declares
and the archive defines, and what the compiler makes of each class of theirs (vtable, type, thunks of its functions). Nothing
else leaves the shared library: nothing of what is internal, of hiredis or of the standard library. What is inline or a template
is compiled into its users.

--check compares the file with the headers and the archive: one line a finding, and exit 1. --write writes it. A line that goes
breaks programs that are linked already: then HOLDFAST_ABI in CMakeLists.txt rises (CONTRIBUTING.md). The headers are read by
clang; exit 77: no clang.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAP = ROOT / "lib/holdfast.map"
FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl", "CXXConversionDecl"}
OPEN = {"NamespaceDecl", "LinkageSpecDecl", "FriendDecl", "CXXRecordDecl"}
OF_A_CLASS = ("_ZTV", "_ZTI", "_ZTS", "_ZTT")  # vtable, type information, its name, table of vtables
HEADER = """# What libholdfast.so exports. Written by tools/package/exports.py --write; a test compares.
# A new line is a new function. A line that goes breaks programs that are linked already: raise HOLDFAST_ABI then.
"""


def run(*command, **kwargs):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **kwargs)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def public_headers(root):
    text = (root / "tools/cmake/install.cmake").read_text()
    return re.findall(r"lib/\S+\.h", re.search(r"set\(HOLDFAST_PUBLIC_HEADERS(.*?)\)", text, re.S).group(1))


def tree_of(root, headers, clang):
    """The declarations of namespace holdfast, as clang tells them."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "all.cc"
        source.write_text("".join(f'#include "{header}"\n' for header in headers))
        text = run(clang, "-std=c++20", "-I", root, "-fsyntax-only", "-Xclang", "-ast-dump=json", "-Xclang",
                   "-ast-dump-filter=holdfast", source)
    decoder, at, found = json.JSONDecoder(), 0, []
    while (at := text.find("{", at)) >= 0:
        node, at = decoder.raw_decode(text, at)
        if node.get("kind") == "NamespaceDecl" and node.get("name") == "holdfast":
            found.append(node)
    return found


class Declared:
    """The functions and the classes below some nodes."""

    def __init__(self, nodes):
        self.functions = {}  # mangled name -> whether somebody must define it
        self.classes = set()  # as _ZTV has them behind it
        for node in nodes:
            self.walk(node, ())

    def walk(self, node, path):
        kind = node.get("kind")
        if kind in FUNCTIONS:
            if "mangledName" in node and not node.get("isImplicit"):
                body = any(part.get("kind") in ("CompoundStmt", "CXXTryStmt") for part in node.get("inner", ()))
                free = body or node.get("pure") or node.get("explicitlyDeleted") or node.get("explicitlyDefaulted")
                for name in self.variants(kind, node["mangledName"]):
                    self.functions[name] = self.functions.get(name, True) and not free and name == node["mangledName"]
            return
        if kind not in OPEN or (kind == "CXXRecordDecl" and not node.get("completeDefinition")):
            return
        if kind in ("NamespaceDecl", "CXXRecordDecl"):
            path = (*path, node.get("name", ""))
        if kind == "CXXRecordDecl" and all(path):
            self.classes.add("N" + "".join(f"{len(name)}{name}" for name in path) + "E")
        for inner in node.get("inner", ()):
            self.walk(inner, path)

    @staticmethod
    def variants(kind, name):
        """Constructors and destructors have several symbols: complete object, base object, deleting."""
        letters = {"CXXConstructorDecl": ("C1E", ("C1E", "C2E")), "CXXDestructorDecl": ("D1E", ("D0E", "D1E", "D2E"))}.get(kind)
        if not letters:
            return {name}
        first, others = letters
        places = [found.start() for found in re.finditer(first, name)]
        return {name[:place] + other + name[place + len(first):] for place in places for other in others} or {name}


def defined(archive):
    """Mangled name -> letter of nm, of what an archive or a library defines for others."""
    listed = run("nm", "--defined-only", "--extern-only", "--format=posix", archive)
    return {parts[0]: parts[1] for line in listed.splitlines() if len(parts := line.split()) >= 2}


def exports(declared, symbols):
    found = set()
    for name, letter in symbols.items():
        if name[:4] in OF_A_CLASS:
            if name[4:] in declared.classes:
                found.add(name)
        elif letter == "T" and (name in declared.functions or
                                re.sub(r"^_ZT(h|v|c)(n?\d+_)+", "_Z", name) in declared.functions):
            found.add(name)
    return found


def undefined(declared, symbols):
    """Declared, and nowhere there to be linked."""
    return sorted(name for name, wanted in declared.functions.items() if wanted and name not in symbols)


def listed(text):
    return set(re.findall(r"^ +(_Z\w+);", text, re.M))


def readable(names):
    return dict(zip(names, run("c++filt", input="\n".join(names)).splitlines()))


def written(names, abi):
    told = readable(sorted(names))
    lines = [f"    {name};  # {told[name]}\n" for name in sorted(names, key=lambda name: (told[name], name))]
    return f"{HEADER}HOLDFAST_{abi} {{\n  global:\n{''.join(lines)}  local:\n    *;\n}};\n"


def abi_number(root):
    return re.search(r"set\(HOLDFAST_ABI (\d+)\)", (root / "CMakeLists.txt").read_text()).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--archive", required=True, help="libholdfast.a of a build of this tree")
    parser.add_argument("--root", default=ROOT, type=pathlib.Path, help="the tree")
    parser.add_argument("--map", type=pathlib.Path, help="the version script; default: lib/holdfast.map")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    clang = shutil.which("clang++-19") or shutil.which("clang++")
    if not clang:
        print("skipped: no clang++")
        return 77
    path = options.map or options.root / "lib/holdfast.map"
    declared = Declared(tree_of(options.root, public_headers(options.root), clang))
    symbols = defined(options.archive)
    wanted = exports(declared, symbols)
    text = written(wanted, abi_number(options.root))
    if options.write:
        path.write_text(text)
        print(f"{path}: {len(wanted)} names")
        return 0
    old = path.read_text() if path.exists() else ""
    there = listed(old)
    told = readable(sorted(wanted | there | set(undefined(declared, symbols))))
    found = [f"{path}:1: lacks {told[name]}: tools/package/exports.py --write" for name in sorted(wanted - there)]
    found += [f"{path}:1: {told[name]} is public or defined no more: tools/package/exports.py --write, and HOLDFAST_ABI rises "
              "if a release had it" for name in sorted(there - wanted)]
    found += [f"{path}:1: {told[name]} is declared in a public header and defined nowhere" for name in undefined(declared, symbols)]
    if not found and options.check and old != text:
        found = [f"{path}:1: not as tools/package/exports.py --write writes it"]
    for line in found:
        print(line)
    print(f"exports: {len(wanted)} names, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
