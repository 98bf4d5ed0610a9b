#!/usr/bin/env python3
"""Eight shards on any engine give the bytes of one hunt; the scripts do what they say, whatever ends before its time.

Run: tools/scale/scale_test.py HOLDFAST [--long] (CTest: scale_test, scale_test_long). Without --long Slurm's programs are replaced by
stand-ins; with it they must be installed, else this is skipped (77).
"""
import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHARD, SLURM_HERE = HERE / "shard", HERE / "slurm_here"
LONG = "--long" in sys.argv
if LONG:
    sys.argv.remove("--long")
HOLDFAST = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else ROOT / "build/holdfast").resolve()
SLURM = ("munged", "slurmctld", "slurmd", "sinfo", "sbatch", "scancel", "squeue")
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
ENGINE = ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "SLURM_CPUS_PER_TASK")


def timeless(path):
    """Without what differs between two hunts that were asked the same."""
    return re.sub(r'"seconds": [-+.e0-9]+', '"seconds": ?', path.read_text())


def run(*words, **more):
    environment = {name: value for name, value in os.environ.items() if name not in ENGINE} | more.pop("env", {})
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, env=environment, **more)


def keeps_signals(process):
    """Whether it is a hunt by now: before that, a signal would end it at once."""
    with contextlib.suppress(OSError):
        caught = re.search(r"SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{process}/status").read_text())
        return pathlib.Path(f"/proc/{process}/exe").resolve() == HOLDFAST and bool(int(caught[1], 16) & 1 << signal.SIGTERM - 1)
    return False


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def shard(self, which, *command, holdfast=HOLDFAST, **engine):
        return run(SHARD, "--holdfast", holdfast, self.out, which, *command, env=engine)

    def expect_ran(self, ran, code=0):
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)

    def expect_one_hunt(self, hunt):
        """The shards in `out` are the hunt, byte for byte but for times: what it knows, and each file of a find."""
        one, merged = self.folder / "one", self.folder / "merged"
        code = run(HOLDFAST, *hunt, "--out", one).returncode
        self.expect_ran(run(HOLDFAST, "merge", self.out, "--out", merged), code)
        self.assertEqual(timeless(merged / "hunt.json"), timeless(one / "hunt.json"))
        files = sorted(file.name for file in one.iterdir())
        self.assertEqual(sorted(file.name for file in merged.iterdir()), files)
        for name in files:
            if name != "hunt.json":
                self.assertEqual((merged / name).read_bytes(), (one / name).read_bytes(), name)
        return files

    def stand_in(self, name, body):
        (self.folder / "bin").mkdir(exist_ok=True)
        path = self.folder / "bin" / name
        path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        path.chmod(0o755)
        return path


HUNT = ("hunt", "fair", "--no-feedback", "--no-shrink", "--runs", "16")


class Shard(Case):
    def test_the_engine_says_which(self):
        self.expect_ran(self.shard("8", *HUNT, SLURM_ARRAY_TASK_ID="1"))
        self.expect_ran(self.shard("8", *HUNT, JOB_COMPLETION_INDEX="7"))
        self.expect_ran(self.shard("2/8", *HUNT))
        self.assertEqual(sorted(file.name for file in self.out.glob("*.json")), ["1-of-8.json", "2-of-8.json", "8-of-8.json"])
        for k in (1, 2, 8):
            self.assertEqual(json.loads((self.out / f"{k}-of-8.json").read_text())["shard"], k)

    def test_what_is_there_is_not_done_again(self):
        self.expect_ran(self.shard("1/2", *HUNT))
        before = (self.out / "1-of-2.json").stat()
        ran = self.shard("1/2", *HUNT)
        self.expect_ran(ran)
        self.assertIn("is there already", ran.stdout)
        self.assertEqual((self.out / "1-of-2.json").stat().st_mtime_ns, before.st_mtime_ns)

    def test_what_a_hunt_finds_is_no_failure_of_the_shard(self):
        self.expect_ran(self.shard("1/2", "hunt", "setnx-expire", "--no-feedback", "--no-shrink", "--runs", "32"))
        self.assertTrue(json.loads((self.out / "1-of-2.json").read_text())["violations"])

    def test_an_interrupted_hunt_keeps_what_it_has(self):
        # All processes of the job are asked to end, as Slurm does.
        words = [SHARD, "--holdfast", HOLDFAST, self.out, "1/2", "hunt", "fair", "--no-feedback", "--runs", "100000000"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True) as script:
            try:
                self.wait_until_hunting(script)
                os.killpg(script.pid, signal.SIGTERM)
                self.assertEqual(script.wait(), 130)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(script.pid, signal.SIGKILL)
        self.assertEqual(list(self.out.glob("*.json")), [])
        kept = json.loads((self.out / "unfinished/1-of-2.json").read_text())
        self.assertLess(0, kept["runs"])

    def wait_until_hunting(self, script):
        while not any(map(keeps_signals, pathlib.Path(f"/proc/{script.pid}/task/{script.pid}/children").read_text().split())):
            self.assertIsNone(script.poll())
            time.sleep(0.01)

    def test_an_interrupted_hunt_is_gone_on_with(self):
        hunt = ("hunt", "fair", "--no-feedback", "--no-shrink", "--runs")
        self.expect_ran(self.shard("1/2", *hunt, "160"))
        part = self.out / "unfinished/2-of-2.json"
        self.assertIn(run(HOLDFAST, *hunt, "128", "--shard", "2/2", "--json", part).returncode, (0, 1))
        part.write_text(part.read_text().replace('"asked_runs": 128', '"asked_runs": 160'))
        ran = self.shard("2/2", *hunt, "160")
        self.expect_ran(ran)
        self.assertIn("16 runs are left", ran.stdout)
        self.assertFalse(part.exists())
        self.expect_one_hunt((*hunt, "160"))

    def test_half_a_file_is_begun_anew(self):
        (self.out / "unfinished").mkdir(parents=True)
        (self.out / "unfinished/1-of-2.json").write_text('{"kind": "hu')
        self.expect_ran(self.shard("1/2", *HUNT))
        self.assertEqual(json.loads((self.out / "1-of-2.json").read_text())["runs"], 8)

    def test_a_run_is_one_in_shards_too(self):
        words = ("run", ROOT / "scenarios/happy_path.toml", "--seeds", "1..7")
        for k in (3, 1, 2):
            self.expect_ran(self.shard(f"{k}/3", *words))
        for name, merge in (("one", words), ("merged", ("merge", self.out))):
            self.expect_ran(run(HOLDFAST, *merge, "--json", self.folder / f"{name}.json"))
        self.assertEqual(timeless(self.folder / "merged.json"), timeless(self.folder / "one.json"))

    def test_what_ends_without_a_whole_shard_is_a_failure(self):
        whole = '{"shard": 1, "shards": 2, "asked_runs": 16, "runs": 8}'
        write = 'while [ "$1" != --json ]; do shift; done; echo \'%s\' > "$2"; exit %d'
        for body, code in (("exit 70", 70), ("exit 0", 70), ("kill -KILL $$", 137), (write % (whole.replace("8}", "7}"), 130), 130),
                           (write % ("{", 74), 74)):
            self.expect_ran(self.shard("1/2", *HUNT, holdfast=self.stand_in("holdfast", body)), code)
            self.assertEqual(list(self.out.glob("*.json")), [])
            shutil.rmtree(self.out)
        # A find of the harness's own ends with 70, and again with each try: `merge` tells of it.
        self.expect_ran(self.shard("1/2", *HUNT, holdfast=self.stand_in("holdfast", write % (whole, 70))))
        self.assertTrue((self.out / "1-of-2.json").exists())

    def test_jobs_are_those_of_the_engine_or_of_the_command(self):
        for engine, more, jobs in (({}, [], ["--jobs", "1"]), ({"SLURM_CPUS_PER_TASK": "4"}, [], ["--jobs", "4"]),
                                   ({"SLURM_CPUS_PER_TASK": "4"}, ["-j", "3"], ["-j", "3"])):
            log = self.folder / "log"
            self.shard("1/2", *HUNT, *more, holdfast=self.stand_in("holdfast", f'echo "$*" > {log}'), **engine)
            words = log.read_text().split()
            self.assertEqual([word for word in words if re.match(r"-j|--jobs", word)], jobs[:1])
            self.assertIn(jobs[1], words)
            shutil.rmtree(self.out)

    def test_wrong_arguments(self):
        for arguments, engine, text in (
                (("9/8", *HUNT), {}, "`9/8` is no shard, expected K/N such as 3/8"),
                (("0/8", *HUNT), {}, "`0/8` is no shard"),
                (("8", *HUNT), {}, "N where Slurm or Kubernetes says which"),
                (("8", *HUNT), {"SLURM_ARRAY_TASK_ID": "9"}, "$SLURM_ARRAY_TASK_ID is 9, expected one from 1 to 8"),
                (("8", *HUNT), {"JOB_COMPLETION_INDEX": "8"}, "$JOB_COMPLETION_INDEX is 8, expected one from 0 to 7"),
                (("1/2",), {}, "no command"),
                (("1/2", "check", "x"), {}, "`check` has no shards"),
                (("1/1", "run", "x"), {}, "expected 2 or more"),
                (("1/2", *HUNT, "--out=x"), {}, "--out is written by this script"),
                (("1/2", *HUNT, "--shard", "1/2"), {}, "--shard is written by this script")):
            ran = self.shard(*arguments, **engine)
            self.expect_ran(ran, 64)
            self.assertIn(text, ran.stderr)
            self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
        self.expect_ran(self.shard("1/2", *HUNT))
        ran = self.shard("2/2", *HUNT, "--seed", "2")
        self.expect_ran(ran, 64)
        self.assertIn("has shards of another command", ran.stderr)
        self.expect_ran(self.shard("1/2", *HUNT, holdfast=self.folder / "none"), 69)

    def test_the_job_of_kubernetes_is_one_hunt(self):
        documents = {one["metadata"]["name"]: one for one in yaml.safe_load_all((HERE / "kubernetes.yaml").read_text())}
        job, merge = (documents[name]["spec"] for name in ("hunt-fair", "merge-fair"))
        self.assertEqual(job["completionMode"], "Indexed")
        (container,) = job["template"]["spec"]["containers"]
        (claim,) = container["volumeMounts"]
        script, out, shards, *command = container["command"]
        self.assertEqual(ROOT / script, SHARD)
        self.assertEqual(int(shards), job["completions"])
        self.assertEqual(pathlib.PurePath(out).parent, pathlib.PurePath(claim["mountPath"]))
        self.assertIn(out, merge["template"]["spec"]["containers"][0]["command"])
        command[command.index("--runs") + 1] = "16"
        for index in range(job["completions"]):
            self.expect_ran(self.shard(shards, *command, JOB_COMPLETION_INDEX=str(index)))
        self.expect_one_hunt(command)


def is_gnu_parallel():
    """moreutils has a program of that name, too."""
    return shutil.which("parallel") is not None and "GNU parallel" in subprocess.run(["parallel", "--version"], capture_output=True, text=True,
                                                                                      check=False).stdout


@unittest.skipUnless(is_gnu_parallel(), "GNU parallel is not installed: tools/setup/setup --scale")
class Parallel(Case):
    def test_eight_shards_are_one_hunt(self):
        hunt = ("hunt", "setnx-expire", "--no-feedback", "--no-shrink", "--runs", "64")
        self.expect_ran(run("parallel", "--jobs", "2", SHARD, "--holdfast", HOLDFAST, self.out, "{}/8", *hunt, ":::", *range(1, 9)))
        self.assertGreaterEqual(len(self.expect_one_hunt(hunt)), 3, "some finds, and hunt.json")


class SlurmHere(Case):
    """With stand-ins for Slurm's programs."""

    def setUp(self):
        super().setUp()
        self.log = self.folder / "log"
        server = f'echo "$$ {{0}} $*" >> {self.log}; {{1}} exec sleep 3600'
        self.stand_in("munged", server.format("munged", 'for word; do case $word in --socket=*) : > "${word#*=}";; esac; done;'))
        self.stand_in("slurmctld", server.format("slurmctld", f"cp $SLURM_CONF {self.folder}/conf;"))
        self.stand_in("slurmd", server.format("slurmd", ""))
        self.stand_in("sinfo", "echo idle")
        self.stand_in("squeue", ":")
        self.stand_in("scancel", f'echo "0 scancel $*" >> {self.log}')
        self.path = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "TMPDIR": str(self.folder)}

    def started(self):
        lines = [line.split(" ", 2) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return {name: int(process) for process, name, _ in lines}

    def expect_nothing_left(self):
        for name, process in self.started().items():
            if process:
                with self.assertRaises(ProcessLookupError, msg=name):
                    os.kill(process, 0)
        self.assertEqual(list(self.folder.glob("holdfast-slurm-*")), [])

    def test_the_command_has_a_slurm_and_nothing_is_left(self):
        ran = run(SLURM_HERE, "--cpus", "3", "sh", "-c", 'test -f "$SLURM_CONF" && ls "$(dirname "$SLURM_CONF")"; exit 5', env=self.path)
        self.expect_ran(ran, 5)
        self.assertEqual(set(self.started()), {"munged", "slurmctld", "slurmd", "scancel"})
        self.expect_nothing_left()
        text = (self.folder / "conf").read_text()
        self.assertIn(" NodeAddr=127.0.0.1 CPUs=3 ", text)
        self.assertIn("munge.key", ran.stdout)

    def test_a_server_that_ends_is_told(self):
        self.stand_in("slurmctld", "echo 'fatal: no port'; exit 1")
        self.stand_in("sinfo", "exit 1")
        ran = run(SLURM_HERE, "true", env=self.path)
        self.expect_ran(ran, 69)
        self.assertEqual(ran.stderr, "slurm_here: slurmctld ended with 1: fatal: no port\n")
        self.expect_nothing_left()

    def test_an_interruption_leaves_nothing(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            begun = self.folder / "begun"
            with subprocess.Popen([SLURM_HERE, "sh", "-c", f": > {begun}; exec sleep 3600"], env=os.environ | self.path) as script:
                while not begun.exists():
                    self.assertIsNone(script.poll())
                    time.sleep(0.01)
                script.send_signal(number)
                self.assertEqual(script.wait(), 130)
            self.expect_nothing_left()
            begun.unlink()

    def test_wrong_arguments_and_missing_programs(self):
        self.expect_ran(run(SLURM_HERE, env=self.path), 64)
        self.expect_ran(run(SLURM_HERE, "--cpus", "0", "true", env=self.path), 64)
        ran = run(SLURM_HERE, "no-such-program", env=self.path)
        self.expect_ran(ran, 69)
        self.expect_nothing_left()
        (self.folder / "bin/sinfo").unlink()
        only = self.folder / "bin"
        for name in ("env", "python3"):
            (only / name).symlink_to(shutil.which(name))
        ran = run(SLURM_HERE, "true", env={"PATH": str(only)})
        self.expect_ran(ran, 69)
        self.assertEqual(ran.stderr, "slurm_here: sinfo is missing: tools/setup/setup --scale\n")


class LongSlurm(Case):
    """With Slurm itself."""

    def sbatch(self, *hunt):
        words = shlex.join(str(word) for word in (SHARD, "--holdfast", HOLDFAST, self.out, 8, *hunt))
        return ["sbatch", "--wait", "--array=1-8", "--output=%a.log", "--wrap", f"exec {words}"]

    def test_eight_shards_are_one_hunt(self):  # its finds made small, too
        finds = ("hunt", "setnx-expire", "--no-feedback", "--runs", "160")
        self.expect_ran(run(SLURM_HERE, *self.sbatch(*finds), env={"TMPDIR": str(self.folder)}, cwd=self.folder))
        self.assertGreaterEqual(len(self.expect_one_hunt(finds)), 3, "some finds, and hunt.json")
        self.assertEqual(list(self.folder.glob("holdfast-slurm-*")), [])

    def test_cancelled_shards_keep_what_they_have(self):
        told = self.folder / "told"
        words = [SLURM_HERE, "sh", "-c", f'echo "$SLURM_CONF" > {told}.part; mv {told}.part {told}; exec sleep infinity']
        with subprocess.Popen(words) as slurm:
            try:
                while not told.exists():
                    self.assertIsNone(slurm.poll())
                    time.sleep(0.1)
                conf = {"SLURM_CONF": told.read_text().strip()}
                job = self.sbatch("hunt", "fair", "--no-feedback", "--runs", "100000000")
                job.remove("--wait")
                self.expect_ran(run(*job, env=conf, cwd=self.folder))
                while not any(map(keeps_signals, self.mine())):
                    self.assertEqual(list(self.out.glob("*.json")), [])
                    time.sleep(0.1)
                self.expect_ran(run("scancel", "1", env=conf))
                while run("squeue", "-h", env=conf).stdout.strip():
                    time.sleep(0.1)
                kept = list((self.out / "unfinished").glob("*.json"))
                self.assertTrue(kept, "\n".join(file.read_text() for file in self.folder.glob("*.log")))
                self.assertEqual(list(self.mine()), [])
            finally:
                slurm.terminate()
                self.assertEqual(slurm.wait(), 130)

    def mine(self):
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if str(self.out) in (process / "cmdline").read_text():
                    yield process.name


if __name__ == "__main__":
    missing = [name for name in SLURM if shutil.which(name, path=PATH) is None]
    if LONG and missing:
        print(f"skipped: {missing[0]} is missing: tools/setup/setup --scale")
        sys.exit(77)
    if not LONG:
        del LongSlurm
    else:
        del Shard, Parallel, SlurmHere
    unittest.main()
