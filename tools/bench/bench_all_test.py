#!/usr/bin/env python3
"""tools/bench-all: what was interrupted goes on where it was, and takes nothing away before all is measured."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# In place of holdfast: writes down how it was called, and is interrupted at the suite that STOP names.
HOLDFAST = """#!/bin/sh
echo "$*" >> calls.txt
[ "$1" = bench ] || { mkdir -p "$4"; touch "$4/made_from.txt"; exit 0; }
for argument; do file="$argument"; done
case "$*" in
  *"--suite ${STOP:-none}"*) echo '{ "complete": false }' > "$file"; exit 130 ;;
esac
echo '{ "complete": true }' > "$file"
"""
PROXY = """#!/bin/sh
echo proxy >> calls.txt
for argument; do case "$argument" in --benchmark_out=*) echo '{}' > "${argument#*=}" ;; esac; done
"""


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def run(folder, stop=""):
    (folder / "calls.txt").unlink(missing_ok=True)
    done = subprocess.run([folder / "tools/bench-all"], env={**os.environ, "STOP": stop}, capture_output=True, text=True)
    return done.returncode, (folder / "calls.txt").read_text().splitlines()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "tools").mkdir()
        shutil.copy(ROOT / "tools/bench-all", folder / "tools/bench-all")
        program(folder / "build/holdfast", HOLDFAST)
        program(folder / "build/bench_proxy", PROXY)
        program(folder / "tools/setup/setup", "#!/bin/sh\n")
        for script in ("bench/plot/tables.py", "bench/oversell/oversell.py", "bench/articles/articles.py"):
            program(folder / "tools" / script, "")
        data = folder / "results/data"
        (data / "hunts").mkdir(parents=True)
        (data / "hunts/kept.json").write_text("kept")
        (data / "scale.json").write_text("old")

        code, calls = run(folder, stop="scale")
        assert code == 130 and len(calls) == 4, (code, calls)  # uncontended, contended, seckill, scale
        assert (data / "scale.json").read_text() == "old", "an interrupted run took a result away"

        code, calls = run(folder)
        assert code == 0, code
        assert calls[0].startswith("bench --suite scale"), calls
        assert sum("--suite" in call for call in calls) == 5 and "proxy" in calls, calls
        for file in ("uncontended", "contended", "seckill", "scale", "watchdog", "failover", "oversell/embedded", "oversell/real"):
            assert json.loads((data / f"{file}.json").read_text()) == {"complete": True}, file
        assert (data / "hunts/kept.json").read_text() == "kept"
        assert not (folder / "results/data.new").exists()

        # Another holdfast measures all anew.
        run(folder, stop="watchdog")
        program(folder / "build/holdfast", HOLDFAST + "# built anew\n")
        code, calls = run(folder)
        assert code == 0 and sum("--suite" in call for call in calls) == 8, calls


if __name__ == "__main__":
    main()
