#!/usr/bin/env python3
"""Two builds of the harness side by side: how much user CPU time each needs for the same work.

  tools/microbench/against.py --old ../before/build --new build
  tools/microbench/against.py --old ../before/build --new build --rounds 15 storm failover

Each round runs every row with both builds, one after the other, and the next round the other way round. What is
compared is the CPU time in user mode, within a round: other load on the machine moves both alike. The rows are files
and benchmarks that both builds have to know; a row that one of them does not know is told and left out.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCENARIOS = os.path.join(HERE, "against")

# Each takes a second or so of a build of today.
ROWS = {
    "failover": ["holdfast", "run", f"{SCENARIOS}/failover.toml", "--seeds", "1..200", "--jobs", "1"],
    "storm": ["holdfast", "run", f"{SCENARIOS}/storm.toml", "--seeds", "1..40", "--jobs", "1"],
    "hunt": ["holdfast", "hunt", "reentrant", "--runs", "512", "--jobs", "1", "--no-shrink", "--out", "{scratch}"],
    "bare": ["bench_world", "--benchmark_filter=world_bare/1000/"],
    "scenario": ["bench_world", "--benchmark_filter=world_scenario/1000/"],
}


def user_seconds(build, row, scratch):
    """Runs the row; the user CPU time of that process, or what it said where it did not do the work."""
    program, *flags = [word.replace("{scratch}", scratch) for word in ROWS[row]]
    command = [os.path.join(build, program), *flags]
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    # 1: expectations were not met, or a hunt found something: the work was done all the same.
    if child.returncode not in (0, 1) or "Failed to match any benchmarks" in text:
        return None, text.strip().splitlines()[-1] if text.strip() else f"exit {child.returncode}"
    return usage.ru_utime, ""


def summary(pairs):
    ratios = [old / new for old, new in pairs]
    old, new = (statistics.median(column) for column in zip(*pairs))
    return old, new, statistics.median(ratios), min(ratios), max(ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True, help="a build directory")
    parser.add_argument("--new", required=True, help="another one")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; none: all")
    options = parser.parse_args()
    unknown = [row for row in options.rows if row not in ROWS]
    if unknown or options.rounds < 1:
        parser.error(f"no row {unknown[0]}; expected {', '.join(ROWS)}" if unknown else "--rounds: at least 1")
    pairs = {row: [] for row in (options.rows or ROWS)}
    builds = {"old": options.old, "new": options.new}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(options.rounds):
            turns = ["old", "new"] if number % 2 == 0 else ["new", "old"]
            for row in list(pairs):
                took = {}
                for which in turns:
                    took[which], why = user_seconds(builds[which], row, os.path.join(scratch, f"{row}{number}{which}"))
                    if took[which] is None:
                        print(f"{row}: left out: {builds[which]} says: {why}", file=sys.stderr)
                        del pairs[row]
                        break
                else:
                    pairs[row].append((took["old"], took["new"]))
    print(f"user CPU seconds, medians of {options.rounds} rounds; ratios within a round\n")
    print("| row | old | new | old / new | lowest | highest |")
    print("|---|---|---|---|---|---|")
    for row, measured in pairs.items():
        old, new, ratio, least, most = summary(measured)
        print(f"| {row} | {old:.2f} | {new:.2f} | {ratio:.2f} | {least:.2f} | {most:.2f} |")
    return 0 if pairs else 1


if __name__ == "__main__":
    sys.exit(main())
