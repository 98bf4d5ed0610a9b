#!/usr/bin/env python3
"""The rules of the house that a compiler does not check: tools/house/tidy.py [--self-test] [ROOT].

1. Time, threads, randomness and the environment come through the ports (lib, sim, checker).
2. Rooms know only the rooms below them: lib and checker nobody, sim both, tools all; in lib
   lock -> redis -> net -> runtime; in checker story -> checks -> linearizability -> holds -> history. Tests may know any
   room; test support in lib/testing and checker/testing may not.
   Every include of a file of the tree is written from its top: "lib/net/network.h".
3. No source file beyond 500 lines (a test file: 800).
4. Formatted by .clang-format (mend: clang-format -i FILE), which leaves comments alone: no comment line beyond 110 columns.
5. No path of one machine, no file at the top level beyond the agreed ones.
6. tools/setup/packages.txt has the Debian package of everything that the build looks for or includes, one a line, with a
   word on what it is for. Only a fresh machine would tell otherwise.

Prints one line a finding, file:line: text; exit 1 if there is one.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

FORBIDDEN = re.compile(
    r"\b(steady_clock|system_clock|high_resolution_clock|random_device|this_thread|thread_local|getenv)\b"
    r"|\bstd::((recursive_|timed_|shared_)*mutex|condition_variable(_any)?|thread|jthread|async)\b"
    r"|(?<![\w:.>])(s?rand|clock_gettime|gettimeofday|nanosleep|usleep|pthread_\w+)\s*\("
)
# Where a port is implemented on the system, child processes are handled, or an application stands.
PORTS = (
    "lib/testing/server/",
    "lib/runtime/thread_runtime.cc",
    "lib/runtime/process_identity.cc",
    "lib/net/socket_network.cc",
    "lib/redis/environment.cc",
    "lib/async/awaiter.",
    "lib/async/loop.cc",
    "lib/async/loop_network.cc",
    "lib/async/operation.",
    "lib/runtime/fibers/event_loop.cc",
    "lib/runtime/fibers/fiber.cc",
    "sim/world/process_wide.h",
    "sim/cluster/",
    "sim/external/program_shim.c",
    "lib/examples/",
)
# In these rooms a folder knows those before it only.
LAYERS = {
    "lib": {"runtime": 0, "net": 1, "tls": 2, "redis": 3, "lock": 4, "async": 5},
    "checker": {"history": 0, "holds": 1, "linearizability": 2, "checks": 3, "story": 4},
}
ROOMS = {"lib": {"lib"}, "checker": {"checker"}, "sim": {"lib", "checker", "sim"}, "tools": {"lib", "checker", "sim", "tools"}}
TOP = {"CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md",
       "SECURITY.md", "action.yml", "lib", "sim", "checker", "scenarios", "tools", "results"}
# What CMake looks for, or a source includes from the system, and the Debian package that has it.
PROVIDERS = {
    "Threads": "g++", "PkgConfig": "pkg-config", "fmt": "libfmt-dev", "OpenSSL": "libssl-dev",
    "nlohmann_json": "nlohmann-json3-dev", "GTest": "libgtest-dev", "benchmark": "libbenchmark-dev",
    "Boost": "libboost-context1.81-dev", "hiredis": "libhiredis-dev", "lua5.1": "liblua5.1-0-dev",
    "lua5.1-cjson": "lua-cjson-dev", "lua5.1-bitop": "lua-bitop-dev", "Python3": "python3", "ccache": "ccache",
    "valgrind": "valgrind", "libtcmalloc_minimal": "libgoogle-perftools-dev",
}
HEADERS = {
    "toml++/": "libtomlplusplus-dev", "CLI/": "libcli11-dev", "rapidcheck": "librapidcheck-dev", "boost/": "libboost1.81-dev",
    "gmock/": "libgmock-dev", "valgrind/": "valgrind", "gperftools/": "libgoogle-perftools-dev",
}
SOUGHT = re.compile(r"^\s*(?:find_package\((\S+)|pkg_check_modules\(\w+ REQUIRED(?: IMPORTED_TARGET)? ([^)]+)|find_program\(\w+ ([\w.+-]+))")
SYSTEM_INCLUDE = re.compile(r"^\s*#\s*include\s+<([^>]+)>")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
MACHINE = re.compile(r"(?<![\w.])/(work|root|home)/\w")


def without_comments(text):
    """Comments and string literals blanked out, line structure kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def target_of(include):
    """The repository path that an include names, None for one from outside, "" for one that is not written from the top."""
    first = include.split("/")[0]
    if first in ROOMS:
        return include
    return None if first == "generated" else ""


def check_file(path, text):
    """Findings of one file, as (line, text)."""
    room = path.parts[0]
    test = path.name.endswith("_test.cc") or "testing" in path.parts
    lines = text.split("\n")
    if room in ("lib", "sim", "checker") and not test and not str(path).startswith(PORTS):
        for number, line in enumerate(without_comments(text).split("\n"), 1):
            found = FORBIDDEN.search(line)
            if found:
                yield number, f"`{found.group(0)}` outside the ports: use Runtime (lib/runtime/runtime.h)"
    if room in ROOMS:
        for number, line in enumerate(lines, 1):
            found = INCLUDE.match(line)
            target = target_of(found.group(1)) if found else None
            if target == "":
                yield number, f"write the include from the top of the tree: {found.group(1)}"
            if not target or path.name.endswith("_test.cc"):
                continue
            other = target.split("/")
            if other[0] not in ROOMS:
                continue
            if other[0] not in ROOMS[room]:
                yield number, f"{room} must not know {other[0]}: {found.group(1)}"
            elif room == other[0] and room in LAYERS and len(other) > 2 and path.parts[1] in LAYERS[room]:
                if LAYERS[room].get(other[1], 0) > LAYERS[room][path.parts[1]]:
                    yield number, f"{room}/{path.parts[1]} must not know {room}/{other[1]}: {found.group(1)}"
    if len(lines) > (801 if test else 501):
        yield len(lines), f"{len(lines) - 1} lines: look for the second thing that it does"
    for number, line in enumerate(lines, 1):
        if len(line) > 110 and line.lstrip().startswith("//"):
            yield number, f"a comment of {len(line)} columns: 110 at most"
        if MACHINE.search(line):
            yield number, "a path of one machine"


def check_packages(root, files):
    """Findings about tools/setup/packages.txt."""
    path = pathlib.Path("tools/setup/packages.txt")
    listed = {}
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        name, _, why = line.partition("#")
        if not name.strip():
            continue
        if len(name.split()) != 1 or not why.strip():
            yield f"{path}:{number}: expected `package  # what it is for`"
        listed[name.strip()] = number
    for file in files:
        cmake = file.name == "CMakeLists.txt" or file.suffix == ".cmake"
        if not cmake and file.suffix not in (".h", ".cc"):
            continue
        for number, line in enumerate((root / file).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            wanted = []
            if cmake and (found := SOUGHT.match(line)):
                for name in (found.group(1) or found.group(2) or found.group(3)).rstrip(")").split():
                    if name not in PROVIDERS:
                        yield f"{file}:{number}: tell tools/house/tidy.py which Debian package has `{name}`"
                    wanted.append(PROVIDERS.get(name))
            elif not cmake and (found := SYSTEM_INCLUDE.match(line)):
                wanted = [package for start, package in HEADERS.items() if found.group(1).startswith(start)]
            for package in wanted:
                if package and package not in listed:
                    yield f"{file}:{number}: needs {package}, which is not in {path}"


def findings(root, files, formatter=True):
    sources = [f for f in files if f.suffix in (".h", ".cc", ".c")]
    for path in files:
        if path.parts[0] not in TOP and not path.parts[0].startswith("."):
            yield f"{path}:1: not one of the agreed top-level names: {', '.join(sorted(TOP))}"
    for path in sources:
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        for number, finding in check_file(path, text):
            yield f"{path}:{number}: {finding}"
    if (root / "tools/setup/packages.txt").exists():
        yield from check_packages(root, files)
    if formatter and sources:
        run = subprocess.run(["clang-format", "--dry-run", "-Werror", *map(str, sources)], cwd=root, capture_output=True, text=True)
        places = {}  # of a file: its first
        for found in re.finditer(r"^(\S+?):(\d+):\d+: error:", run.stderr, re.M):
            places.setdefault(found.group(1), found.group(2))
        for path, number in places.items():
            yield f"{path}:{number}: not formatted: clang-format -i {path}"
        if run.returncode != 0 and not places:
            yield f".clang-format:1: clang-format: {run.stderr.strip()[:200]}"


def tracked(root):
    out = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True)
    return [pathlib.Path(line) for line in out.stdout.splitlines() if (root / line).is_file()]


def self_test():
    """Every rule catches its planted breach, and passes the clean twin."""
    cases = [
        ("lib/lock/x.cc", "int a = std::chrono::steady_clock::now();\n", "int a = runtime.now();  // not steady_clock\n"),
        ("sim/client/x.cc", "std::mutex m;\n", "Mutex m(runtime);\n"),
        ("checker/x.cc", "int a = rand();\n", "int a = operand();\n"),
        ("checker/holds/x.cc", '#include "checker/checks/check.h"\n', '#include "checker/history/history.h"\n'),
        ("lib/redis/x.cc", '#include "lib/lock/api/lock.h"\n', '#include "lib/net/network.h"\n'),
        ("lib/net/x.cc", '#include "sim/world/world.h"\n', '#include "lib/runtime/time.h"\n'),
        ("lib/lock/fair/x.cc", '#include "sim/historic/spring/spring_registry.h"\n', '#include "lib/lock/api/lock.h"\n'),
        ("lib/testing/x.h", '#include "sim/world/world.h"\n', '#include "lib/runtime/time.h"\n'),
        ("lib/net/x_test.cc", '#include "network.h"\n', '#include "sim/world/world.h"\n'),
        ("checker/x.h", '#include "lib/runtime/time.h"\n', '#include "checker/history/history.h"\n'),
        ("sim/world/x.h", '#include "tools/holdfast/commands.h"\n', '#include "checker/history/history.h"\n'),
        ("sim/world/y.h", "\n" * 502, "\n" * 400),
        ("tools/x.cc", "const char* p = \"/home/somebody/x\";\n", "const char* p = \"build/x\";\n"),
        ("extra/x.cc", "\n", None),
        ("NOTES.md", "\n", None),
        ("lib/lock/w.cc", "  // " + "word " * 22 + "\n", "  // " + "word " * 20 + "\n"),
        ("lib/lock/z.cc", "int  main( ) {}\n", "int main() {}\n"),
        ("lib/redis/y.cc", "clock_gettime(0, &now);\n", "runtime.sleep_for(std::chrono::seconds(1));\n"),
        ("tools/setup/packages.txt", "cmake\n", "cmake  # build\n"),
        ("sim/scenario/x.cc", "#include <toml++/toml.h>\n", "#include <tomb>\n"),
        ("CMakeLists.txt", "find_package(fmt REQUIRED)\n", "# find_package(fmt)\n"),
        ("tools/cmake/x.cmake", "pkg_check_modules(X REQUIRED IMPORTED_TARGET hiredis)\n", "find_package(Threads)\n"),
        ("tools/cmake/y.cmake", "find_package(unheard_of)\n", "find_program(CCACHE ccache)\n"),
    ]
    failures = 0
    for name, breach, clean in cases:
        for text, wanted in ((breach, True), (clean, False)):
            if text is None:
                continue
            with tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                (root / "tools/setup").mkdir(parents=True)
                (root / "tools/setup/packages.txt").write_text("g++  # compiler\nccache  # quick\n")
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
                (root / ".clang-format").write_text("BasedOnStyle: Google\nColumnLimit: 110\nMaxEmptyLinesToKeep: 600\n")
                formatter = name.endswith("z.cc")
                found = list(findings(root, [pathlib.Path(name)], formatter))
                if bool(found) != wanted:
                    failures += 1
                    print(f"self-test: {name}: {'nothing found' if wanted else found} in {text.strip()[:60]!r}")
    print(f"self-test: {len(cases)} breaches, {failures} failures")
    return failures


def main(arguments):
    if "--self-test" in arguments:
        return 1 if self_test() else 0
    root = pathlib.Path(arguments[0] if arguments else ".").resolve()
    found = list(findings(root, tracked(root)))
    for line in found:
        print(line)
    print(f"tidy: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
