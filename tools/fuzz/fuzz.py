#!/usr/bin/env python3
"""Runs fuzz targets: tools/fuzz/fuzz.py [--build] [--seconds N] [TARGET...]; without a target all of them.

--build builds them (preset fuzz, in build/fuzz) and runs none. What a target finds new stays in build/fuzz/corpus/NAME, and
the next run begins with it and the committed corpus/NAME. An input that ends the program is kept in build/fuzz/found/, and
`build/fuzz/fuzz_NAME FILE` runs it again.
Exit: 0 nothing was found; 1 something was; 64 unknown target; 77 no clang 19 on this machine, or the targets are not built.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build/fuzz"
TARGETS = sorted(path.stem for path in HERE.glob("fuzz_*.cc"))


def build():
    if shutil.which("clang++-19") is None:
        print("skipped: no clang 19 on this machine; install it with: apt-get install clang-19 libclang-rt-19-dev")
        return 77
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "fuzz"], cwd=ROOT, check=True)
    return subprocess.run(["ninja", "-C", BUILD, "fuzz_targets"], check=False).returncode


def fuzz(target, seconds):
    name = target.removeprefix("fuzz_")
    program, grown, found = BUILD / target, BUILD / "corpus" / name, BUILD / "found"
    if not program.exists():
        print(f"skipped: {program} is not built; tools/fuzz/fuzz.py --build")
        return 77
    grown.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    # A second for an input of 4 KB is far too long for any of them.
    command = [program, f"-max_total_time={seconds}", "-fork=0", "-timeout=5", "-rss_limit_mb=2048", "-max_len=4096",
               "-print_final_stats=1", f"-artifact_prefix={found}/{name}-", grown, HERE / "corpus" / name]
    ran = subprocess.run(command, env={**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1"}, check=False)
    if ran.returncode != 0:
        print(f"{target}: found something; the input is in {found}", file=sys.stderr)
    return 0 if ran.returncode == 0 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("targets", nargs="*")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.targets if name not in TARGETS]
    if unknown:
        print(f"fuzz.py: unknown target {unknown[0]!r}, expected one of {', '.join(TARGETS)}", file=sys.stderr)
        return 64
    if arguments.build:
        return build()
    return max(fuzz(target, arguments.seconds) for target in arguments.targets or TARGETS)


if __name__ == "__main__":
    sys.exit(main())
