#!/usr/bin/env python3
"""Tests of tools/setup/setup with the system's commands replaced by stand-ins: nothing is installed or built.

Run: tools/setup/setup_test.py (CTest: setup_test).
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent
REAL = "bash env dirname awk sort comm cat grep tee chmod rm printf sed mktemp".split()


class Setup(unittest.TestCase):
    """A checkout in a temporary folder, and a PATH that holds only the stand-ins and a few plain tools."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.temporary.name).resolve()
        (self.root / "tools/setup").mkdir(parents=True)
        (self.root / "bin").mkdir()
        for name in ("setup", "packages.txt", "clients.txt", "scale.txt", "package.txt", "dashboard.txt", "comparisons.txt"):
            shutil.copy(TOOLS / name, self.root / "tools/setup" / name)
        for name in REAL:
            (self.root / "bin" / name).symlink_to(shutil.which(name))
        self.log = self.root / "log"
        self.policy = self.root / "policy-rc.d"
        self.listed = [line.split("#")[0].strip() for line in (TOOLS / "packages.txt").read_text().splitlines()]
        self.listed = [name for name in self.listed if name]
        self.installed(self.listed)
        self.stand_in("id", "echo 0")
        self.stand_in("ninja", 'echo "ninja $*" >> "$LOG"')
        self.stand_in("systemctl", 'echo "systemctl $*" >> "$LOG"')
        # Configuring leaves what it leaves.
        self.stand_in(
            "cmake",
            'echo "cmake $*" >> "$LOG"; "$MKDIR" -p "$ROOT/build"\n'
            'echo > "$ROOT/build/build.ninja"; echo "CMAKE_HOME_DIRECTORY:INTERNAL=$ROOT" > "$ROOT/build/CMakeCache.txt"',
        )
        # Installing works only while services are forbidden to start.
        self.stand_in(
            "apt-get",
            'echo "apt-get $*" >> "$LOG"\ncase "$*" in *" install "*) "$POLICY" || echo "policy $?" >> "$LOG";; esac',
        )

    def tearDown(self):
        self.temporary.cleanup()

    def stand_in(self, name, body):
        path = self.root / "bin" / name
        path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        path.chmod(0o755)

    def installed(self, names):
        self.stand_in("dpkg-query", "\n".join(f"echo installed {name}" for name in names) or ":")

    def run_setup(self, *arguments):
        environment = {
            "PATH": str(self.root / "bin"),
            "LOG": str(self.log),
            "ROOT": str(self.root),
            "MKDIR": shutil.which("mkdir"),
            "POLICY": str(self.policy),
            "HOLDFAST_POLICY_FILE": str(self.policy),
            "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        }
        done = subprocess.run(
            ["bash", str(self.root / "tools/setup/setup"), *arguments],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )
        log = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return done, log

    def test_nothing_missing_installs_nothing_and_configures_once(self):
        done, log = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(log, ["cmake --preset release --fresh", f"ninja -C {self.root}/build"])
        done, log = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(log, [f"ninja -C {self.root}/build"])

    def test_what_is_missing_is_installed_and_no_service_may_start(self):
        self.installed([name for name in self.listed if name not in ("redis-server", "cmake")])
        done, log = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(log[0].endswith(" update"), log)
        self.assertTrue(log[1].endswith("install -y --no-install-recommends cmake redis-server"), log)
        self.assertEqual(log[2], "policy 101")
        self.assertEqual(log[3], "systemctl --quiet disable redis-server")
        self.assertFalse(self.policy.exists())
        self.assertEqual(done.stdout, "")

    def test_the_administrators_policy_stays(self):
        self.installed([])
        self.policy.write_text("#!/bin/sh\nexit 104\n")
        self.policy.chmod(0o755)
        done, log = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("policy 104", log)
        self.assertEqual(self.policy.read_text(), "#!/bin/sh\nexit 104\n")

    def left_behind(self):
        """What a set-up leaves that is killed while it installs."""
        self.installed([])
        self.stand_in("apt-get", 'case "$*" in *" install "*) kill -KILL $PPID;; esac')
        done, _ = self.run_setup()
        self.assertEqual(done.returncode, -9)
        self.assertTrue(self.policy.exists())

    def test_the_policy_of_a_killed_set_up_goes_when_nothing_is_missing_any_more(self):
        self.left_behind()
        self.installed(self.listed)
        done, log = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(self.policy.exists())
        self.assertFalse(any(line.startswith("apt-get") for line in log), log)

    def test_who_may_not_remove_it_is_told_how_and_builds(self):
        self.left_behind()
        self.installed(self.listed)
        self.stand_in("id", "echo 1000")
        done, log = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"  rm {self.policy}\n", done.stderr)
        self.assertTrue(any(line.startswith("ninja") for line in log), log)

    def test_nothing_missing_leaves_the_administrators_policy(self):
        self.policy.write_text("#!/bin/sh\nexit 104\n")
        self.assertEqual(self.run_setup()[0].returncode, 0)
        self.assertEqual(self.policy.read_text(), "#!/bin/sh\nexit 104\n")

    def test_a_failed_installation_leaves_no_policy_behind(self):
        self.installed([])
        self.stand_in("apt-get", 'case "$*" in *" install "*) exit 100;; esac')
        done, _ = self.run_setup()
        self.assertEqual(done.returncode, 69)
        self.assertIn("apt-get install -y --no-install-recommends", done.stderr)
        self.assertFalse(self.policy.exists())

    def test_neither_root_nor_sudo_prints_the_line_and_ends_69(self):
        self.installed([name for name in self.listed if name != "redis-server"])
        self.stand_in("id", "echo 1000")
        done, log = self.run_setup()
        self.assertEqual(done.returncode, 69)
        self.assertIn("  apt-get install -y --no-install-recommends redis-server\n", done.stderr)
        self.assertEqual(log, [])

    def test_sudo_does_when_root_is_not_there(self):
        self.installed([name for name in self.listed if name != "ccache"])
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", 'shift; [ "$1" = true ] || echo "sudo $1" >> "$LOG"; PATH="$PATH:/usr/bin:/bin"; "$@"')
        done, log = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(any(line.endswith("install -y --no-install-recommends ccache") for line in log), log)

    def test_clients_are_another_list_and_two_folders_of_npm(self):
        listed = [line.split("#")[0].strip() for line in (TOOLS / "clients.txt").read_text().splitlines()]
        self.installed([name for name in listed if name and name != "php-symfony-lock"])
        self.stand_in("npm", 'echo "npm $*" >> "$LOG"')
        done, log = self.run_setup("--clients")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(log[1].endswith("install -y --no-install-recommends php-symfony-lock"), log)
        self.assertEqual(log[-2:], [f"npm ci --prefix {folder} --ignore-scripts"
                                    for folder in ("scenarios/external/node", "tools/proxy/toxiproxy_node")])
        self.assertFalse(any("ninja" in line or "cmake" in line for line in log), log)

    def test_engines_are_another_list_and_their_services_stay_away(self):
        done, log = self.run_setup("--scale")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(log[1].endswith("install -y --no-install-recommends munge parallel slurm-client slurmctld slurmd"), log)
        self.assertEqual(log[2], "policy 101")
        self.assertEqual(log[3:], [f"systemctl --quiet disable {name}" for name in ("munge", "slurmctld", "slurmd")])

    def test_what_draws_the_dashboard_is_another_list(self):
        done, log = self.run_setup("--dashboard")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(log[1].endswith("install -y --no-install-recommends prometheus"), log)
        self.assertEqual(log[2:], ["policy 101", "systemctl --quiet disable prometheus"])

    def test_engines_to_compare_with_are_installed_and_found_by_a_new_build(self):
        self.installed([*self.listed, "libpq-dev"])
        self.assertEqual(self.run_setup()[1], ["cmake --preset release --fresh", f"ninja -C {self.root}/build"])
        done, log = self.run_setup("--comparisons")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(log[1].endswith("install -y --no-install-recommends default-jre-headless etcd-server "
                                        "libzookeeper-st-dev postgresql-15 zookeeper"), log)
        self.assertEqual(log[2:], ["policy 101", "systemctl --quiet disable postgresql", "systemctl --quiet disable etcd",
                                   "cmake --preset release --fresh", f"ninja -C {self.root}/build"])

    def test_npm_that_fails_is_seen(self):
        listed = [line.split("#")[0].strip() for line in (TOOLS / "clients.txt").read_text().splitlines()]
        self.installed([name for name in listed if name])
        self.stand_in("npm", 'case "$*" in *toxiproxy*) exit 0;; esac; exit 1')
        self.assertEqual(self.run_setup("--clients")[0].returncode, 1)

    def test_an_unknown_preset_ends_64(self):
        done, log = self.run_setup("fast")
        self.assertEqual(done.returncode, 64)
        self.assertEqual(log, [])


if __name__ == "__main__":
    unittest.main()
