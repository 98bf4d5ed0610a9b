#!/usr/bin/env python3
"""The table of guarantees, lock x fault, from what scenarios/guarantees/*.toml expect of each lock.

  tools/house/guarantees.py            prints the table
  tools/house/guarantees.py --write    puts it between the two markers of lib/README.md
  tools/house/guarantees.py --check    fails when lib/README.md has another one (CTest: guarantees)
  tools/house/guarantees.py --self-test

A cell is what a scenario states of its lock; that runs agree is the business of `holdfast run scenarios/guarantees`
and of sim/scenario/guarantees_test.cc:

  double grant   lease-exclusion is violated by a double-grant
  overrun        mutual-exclusion is violated by an overrun
  unavailable    no exclusion is violated, but the mark granted-during-fault (of a latch: latch.opened) is never
                 reached, or progress is violated, on some seeds at least; or latch by never-opened
  opens early    latch is violated by opened-early
  holds          mutual-exclusion and lease-exclusion hold; of a latch: latch holds

One file is one fault; the base and each variant named after its lock fill a cell. A variant `with-WHAT-LOCK` adds
what WHAT changes: "double grant; with WHAT: unavailable". A variant `MODE-LOCK`, of the modes below, fills a cell of a
row of its own. Other variants (controls) have no cell. The locks and which of them are historic come from
`holdfast list locks` (--command FILE, usually build/holdfast).

Locks of other servers have a table of their own, from scenarios/comparators/ENGINE_FAULT.toml; which variant fills which
of its cells is told in OTHERS. One that is held by a session has no lease: for it mutual-exclusion says all.
"""
import argparse
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = ROOT / "lib" / "README.md"
BEGIN, END = "<!-- guarantees: begin -->", "<!-- guarantees: end -->"
# The columns: file, and what stands above.
FAULTS = {
    "pause": "pause",
    "watchdog_pause": "watchdog pause",
    "lost_reply": "lost reply",
    "partition": "partition",
    "failover": "lag + failover",
    "restart": "restart",
    "client_clock_step": "client clock",
    "server_clock_step": "server clock",
    "lost_message": "lost message",
    "client_crash": "client crash",
    "no_memory": "no memory",
    "read_only": "read only",
    "cut_connections": "cut connections",
    "flushed_scripts": "flushed scripts",
}
# The columns of a second table: what becomes of the servers of one replicated set. Only locks that live on one.
ROLES = {
    "split_brain": "split brain",
    "power_loss": "power loss",
    "rejoin": "rejoin",
    "sentinel_failover": "Sentinel failover",
    "cluster_failover": "Cluster failover",
}
# Locks that refuse to work there, so that no scenario can say anything of them.
REFUSE = {"cluster_failover": ("survivor", "survivor-fair", "survivor-read-write")}
# The ways to use a lock that have a row below it: lock, the name that its variants begin with, and what the row says.
MODES = [
    ("read-write", "readers", "mostly readers"),
    ("semaphore", "three-permits", "3 permits"),
    ("permit-semaphore", "three-permits", "3 permits"),
]

# The columns of a third table, of locks of other servers: file without the name of the engine, and what stands above.
OTHER_FAULTS = {
    "paused_holder": "pause",
    "partitioned_holder": "partition",
    "server_restart": "restart",
    "failover": "failover",
}
SESSIONS = {
    "paused_holder": {"": "{lock}"},
    "partitioned_holder": {"": "{lock}"},
    "server_restart": {"": "unheard-{lock}"},
    "failover": {"": "unheard-{lock}"},
}
OF_ONE = {"paused_holder": {"": "base"}, "partitioned_holder": {"": "base"}, "server_restart": {"": "base", "its disk lost": "disk-lost"}}
OF_THREE = {"paused_holder": {"": "ensemble"}, "partitioned_holder": {"": "one-of-three"}}
HELD_BY_SESSIONS = ("pg-advisory", "pg-advisory-xact", "pg-row", "zk-recipe")
# Its rows: engine, lock, what the row says of it, and of each column what changes there ("": nothing) and the variant.
OTHERS = [
    ("postgresql", "pg-advisory", "", {**SESSIONS, "paused_holder": {"": "base"}, "partitioned_holder": {"": "base"}}),
    ("postgresql", "pg-advisory-xact", "", SESSIONS),
    ("postgresql", "pg-row", "", {**SESSIONS, "paused_holder": {"": "{lock}", "an idle timeout": "pg-row-idle-timeout"}}),
    (
        "postgresql",
        "pg-table",
        "",
        {
            "paused_holder": {"": "{lock}"},
            "partitioned_holder": {"": "{lock}"},
            "server_restart": {"": "{lock}"},
            "failover": {"": "base", "a synchronous replica": "synchronous"},
        },
    ),
    ("etcd", "etcd-lock", "one server", OF_ONE),
    (
        "etcd",
        "etcd-lock",
        "three servers",
        {**OF_THREE, "failover": {"": "base", "the holder beside the old leader": "minority-with-holder", "two of three killed": "majority-killed"}},
    ),
    ("zookeeper", "zk-recipe", "one server", OF_ONE),
    (
        "zookeeper",
        "zk-recipe",
        "three servers",
        {**OF_THREE, "failover": {"": "base", "the holder beside the old leader": "minority-with-holder", "two of three killed": "majority-killed"}},
    ),
]


class Wrong(Exception):
    """A file that says nothing that could stand in a cell."""


def cell(expectations: list[dict], where: str, leases: bool = True) -> str:
    """What a list of [[expect]] tables states; `leases`: of a lock that has some."""

    def states(check: str, violated: bool, **more: object) -> bool:
        return any(
            e["check"] == check
            and (e.get("is", "holds") == "violated") == violated
            and all(e.get(key) == value for key, value in more.items())
            for e in expectations
        )

    if states("lease-exclusion", True, kind="double-grant"):
        return "double grant"
    if states("mutual-exclusion", True, kind="overrun") or (not leases and states("mutual-exclusion", True)):
        return "overrun"
    if states("latch", True, kind="opened-early"):
        return "opens early"
    if states("latch", True, kind="never-opened") or states("reached", True, marks=["latch.opened"]):
        return "unavailable"
    if states("latch", False):
        return "unavailable" if any(e["check"] == "latch" and e.get("seeds", "all") != "all" for e in expectations) else "holds"
    named = {e["check"] for e in expectations}
    if states("reached", True, marks=["granted-during-fault"]) and not named & {
        "mutual-exclusion",
        "lease-exclusion",
    }:
        return "unavailable"  # nobody is granted anything: there is nothing to compare
    for check in ("mutual-exclusion", "lease-exclusion") if leases else ("mutual-exclusion",):
        if not states(check, False):
            raise Wrong(f"{where}: states neither a violation nor that {check} holds")
    if states("reached", True, marks=["granted-during-fault"]) or states("progress", True):
        return "unavailable"
    if any(e["check"] == "progress" and e.get("seeds", "all") != "all" for e in expectations):
        return "unavailable"  # on some seeds
    return "holds"


def row_of(lock: str, mode: str = "") -> str:
    return f"`{lock}`, {mode}" if mode else f"`{lock}`"


def cells_of(document: dict, where: str) -> dict[tuple[str, str], str]:
    """(row, "" or WHAT) -> cell."""
    found = {(row_of(document["lock"]["kind"]), ""): cell(document["expect"], where)}
    modes = {f"{begin}-{lock}": row_of(lock, says) for lock, begin, says in MODES}
    for variant in document.get("variant", []):
        expectations = variant.get("expect", document["expect"])
        name = variant.get("name", "")
        if "locks" in variant:
            names = [(f"{name}-{lock}" if name else lock, lock) for lock in variant["locks"]]
        else:
            changed = variant.get("set", {})
            names = [(name, changed.get("lock.kind", changed.get("lock", {}).get("kind", document["lock"]["kind"])))]
        for full, lock in names:
            row, what = row_of(lock), ""
            if full in modes:
                row = modes[full]
            elif full == lock:
                pass
            elif full.startswith("with-") and full.endswith(f"-{lock}"):
                what = full[len("with-") : -len(lock) - 1]
            else:
                continue
            if (row, what) in found:
                raise Wrong(f"{where}: two cells for the lock {full}")
            found[row, what] = cell(expectations, f"{where}, variant {full}")
    return found


def text_of(cells: dict[tuple[str, str], str], row: str) -> str:
    parts = []
    for (its, what), value in cells.items():
        if its == row:
            shown = f"**{value}**" if value == "double grant" else value
            parts.append(f"with {what}: {shown}" if what else shown)
    return "; ".join(parts)


def columns_of(faults: dict[str, str], documents: dict[str, dict]) -> dict[str, dict[tuple[str, str], str]]:
    columns = {}
    for fault in faults:
        if fault not in documents:
            raise Wrong(f"scenarios/guarantees/{fault}.toml is missing")
        columns[fault] = cells_of(documents[fault], f"scenarios/guarantees/{fault}.toml")
    return columns


def role_table(documents: dict[str, dict], locks: list[tuple[str, bool]]) -> str:
    """A lock that has a cell in one of its columns needs one in each."""
    columns = columns_of(ROLES, documents)
    lines = ["| | " + " | ".join(ROLES.values()) + " |", "|---" + "|---" * len(ROLES) + "|"]
    for lock, _ in locks:
        texts = {fault: text_of(columns[fault], row_of(lock)) for fault in ROLES}
        if not any(texts.values()):
            continue
        for fault, text in texts.items():
            if (lock in REFUSE.get(fault, ())) == bool(text):
                raise Wrong(f"scenarios/guarantees/{fault}.toml: {'a' if text else 'no'} cell for {row_of(lock)}")
            texts[fault] = text or "refused"
        lines.append(f"| {row_of(lock)} | " + " | ".join(texts.values()) + " |")
    return "\n".join(lines) + "\n"


def table(documents: dict[str, dict], locks: list[tuple[str, bool]]) -> str:
    """`locks`: name, historic. Every lock needs a cell in every column."""
    columns = columns_of(FAULTS, documents)
    for fault in documents:
        if fault not in FAULTS and fault not in ROLES:
            raise Wrong(f"scenarios/guarantees/{fault}.toml has no column, expected one in tools/house/guarantees.py")
    head = "| | " + " | ".join(FAULTS.values()) + " |\n|---" + "|---" * len(FAULTS) + "|\n"
    rows = []
    for historic in (False, True):
        if historic and any(its for _, its in locks):
            rows.append("| *historic* |" + " |" * len(FAULTS))
        for lock, its in locks:
            if its != historic:
                continue
            for row in [row_of(lock), *(row_of(lock, says) for its_lock, _, says in MODES if its_lock == lock)]:
                texts = [text_of(columns[fault], row) for fault in FAULTS]
                for fault, text in zip(FAULTS, texts):
                    if not text:
                        raise Wrong(f"scenarios/guarantees/{fault}.toml: no cell for {row}, expected a variant")
                rows.append(f"| {row} | " + " | ".join(texts) + " |")
    return head + "\n".join(rows) + "\n"


def other_table(documents: dict[str, dict], locks: list[str]) -> str:
    """`documents`: by ENGINE_FAULT; `locks`: each needs a row."""
    lines = ["| | " + " | ".join(OTHER_FAULTS.values()) + " |", "|---" + "|---" * len(OTHER_FAULTS) + "|"]
    for engine, lock, says, columns in OTHERS:
        texts = []
        for fault in OTHER_FAULTS:
            name = f"{engine}_{fault}"
            if fault not in columns:
                texts.append("-")
                continue
            if name not in documents:
                raise Wrong(f"scenarios/comparators/{name}.toml is missing")
            document = documents[name]
            stated = {"base": document["expect"]}
            for variant in document.get("variant", []):
                its = variant.get("name", "")
                names = [f"{its}-{one}" if its else one for one in variant["locks"]] if "locks" in variant else [its]
                stated.update({full: variant.get("expect", document["expect"]) for full in names})
            cells = {}
            for what, variant in columns[fault].items():
                where = f"scenarios/comparators/{name}.toml, variant {variant.format(lock=lock)}"
                if variant.format(lock=lock) not in stated:
                    raise Wrong(f"{where}: there is no such one")
                leases = lock not in HELD_BY_SESSIONS
                cells[lock, what] = cell(stated[variant.format(lock=lock)], where, leases)
            texts.append(text_of(cells, lock))
        lines.append(f"| {row_of(lock, says)} | " + " | ".join(texts) + " |")
    for lock in locks:
        if lock not in {its for _, its, _, _ in OTHERS}:
            raise Wrong(f"{lock} has no row, expected one in OTHERS of tools/house/guarantees.py")
    return "\n".join(lines) + "\n"


def replaced(readme: str, new: str) -> str:
    begin, end = readme.find(BEGIN), readme.find(END)
    if begin < 0 or end < begin:
        raise Wrong(f"lib/README.md: no lines `{BEGIN}` and `{END}`")
    return readme[: begin + len(BEGIN)] + "\n" + new + readme[end:]


def locks_of(command: str) -> tuple[list[tuple[str, bool]], list[str]]:
    """Those of Redis, and those of other servers."""
    lines = subprocess.run([command, "list", "locks"], check=True, capture_output=True, text=True).stdout.splitlines()
    others = [line for line in lines if line.endswith("; real world only")]
    ours = [(line.split()[0], line.split()[1] == "(historic)") for line in lines if line not in others]
    return ours, [line.split()[0] for line in others]


def self_test() -> None:
    holds = [{"check": "mutual-exclusion"}, {"check": "lease-exclusion"}]
    double = [{"check": "lease-exclusion", "is": "violated", "kind": "double-grant"}]
    overrun = [{"check": "mutual-exclusion", "is": "violated", "kind": "overrun"}, {"check": "lease-exclusion"}]
    never = [{"check": "reached", "is": "violated", "marks": ["granted-during-fault"]}]
    assert cell(holds, "f") == "holds"
    assert cell(double, "f") == "double grant"
    assert cell(overrun, "f") == "overrun"
    assert cell(holds + never, "f") == "unavailable"
    assert cell(holds + [{"check": "progress", "is": "violated"}], "f") == "unavailable"
    assert cell(holds + [{"check": "progress", "seeds": ">= 60%"}], "f") == "unavailable"
    assert cell(holds + [{"check": "progress"}], "f") == "holds"
    assert cell([{"check": "latch"}], "f") == "holds"
    assert cell([{"check": "latch", "seeds": ">= 90%"}], "f") == "unavailable"
    assert cell([{"check": "latch", "is": "violated", "kind": "opened-early"}], "f") == "opens early"
    assert cell([{"check": "latch", "is": "violated", "kind": "never-opened"}], "f") == "unavailable"
    assert cell([{"check": "reached", "is": "violated", "marks": ["latch.opened"]}], "f") == "unavailable"
    assert cell(double + never, "f") == "double grant"
    document = {
        "lock": {"kind": "a"},
        "expect": holds,
        "variant": [
            {"locks": ["b", "c-d"], "expect": double},
            {"name": "e", "set": {"lock.kind": "e"}},
            {"name": "with-luck", "locks": ["b"], "expect": overrun},
            {"name": "control", "expect": overrun},
            {"name": "three-permits", "locks": ["semaphore"], "expect": double},
        ],
    }
    cells = cells_of(document, "f")
    assert cells == {
        ("`a`", ""): "holds",
        ("`b`", ""): "double grant",
        ("`c-d`", ""): "double grant",
        ("`e`", ""): "holds",
        ("`b`", "luck"): "overrun",
        ("`semaphore`, 3 permits", ""): "double grant",
    }, cells
    assert text_of(cells, "`b`") == "**double grant**; with luck: overrun"
    for wrong in ({"lock": {"kind": "a"}, "expect": []}, {**document, "variant": [{"locks": ["a"]}]}):
        try:
            cells_of(wrong, "f")
        except Wrong:
            continue
        raise AssertionError(wrong)
    documents = {fault: document for fault in FAULTS}
    locks = [("a", False), ("b", True)]
    whole = table(documents, locks)
    assert whole.index("`a`") < whole.index("*historic*") < whole.index("`b`")
    for few, names in ((dict(list(documents.items())[1:]), locks), (documents, [("unknown", False)])):
        try:
            table(few, names)
        except Wrong:
            continue
        raise AssertionError(names)
    roles = {fault: document for fault in ROLES}
    assert "| `a` | holds | holds | holds |" in role_table(roles, [*locks, ("unknown", False)])
    try:
        role_table({**roles, "rejoin": {"lock": {"kind": "e"}, "expect": holds}}, locks)
    except Wrong:
        pass
    else:
        raise AssertionError("a lock without a cell")
    survives = {"lock": {"kind": "survivor"}, "expect": holds}
    refusing = {fault: document if "survivor" in REFUSE.get(fault, ()) else survives for fault in ROLES}
    assert "| `survivor` | holds | holds | holds | holds | refused |" in role_table(refusing, [("survivor", False)])
    try:
        role_table({fault: survives for fault in ROLES}, [("survivor", False)])
    except Wrong:
        pass
    else:
        raise AssertionError("a cell of a lock that refuses")
    session = [{"check": "mutual-exclusion"}]
    assert cell(session, "f", leases=False) == "holds"
    assert cell(session + never, "f", leases=False) == "unavailable"
    assert cell([{"check": "mutual-exclusion", "is": "violated"}], "f", leases=False) == "overrun"
    variants = {variant.format(lock=lock) for _, lock, _, columns in OTHERS for its in columns.values() for variant in its.values()}
    compared = {
        f"{engine}_{fault}": {"expect": overrun, "variant": [{"name": name, "expect": holds} for name in sorted(variants - {"base"})]}
        for engine, _, _, columns in OTHERS
        for fault in columns
    }
    assert "| `etcd-lock`, one server | overrun | overrun | overrun; with its disk lost: holds | - |" in other_table(compared, ["pg-row"])
    for few, names in (({**compared, "etcd_failover": {"expect": holds}}, []), (compared, ["unknown"]), ({}, [])):
        try:
            other_table(few, names)
        except Wrong:
            continue
        raise AssertionError(names)
    readme = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert replaced(readme, "new\n") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="the table of guarantees in lib/README.md")
    parser.add_argument("--command", default=str(ROOT / "build" / "holdfast"), help="the holdfast command")
    for mode in ("write", "check", "self-test"):
        parser.add_argument(f"--{mode}", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return 0

    def read(folder: str) -> dict[str, dict]:
        files = sorted((ROOT / "scenarios" / folder).glob("*.toml"))
        return {file.stem: tomllib.loads(file.read_text()) for file in files}

    try:
        documents = read("guarantees")
        locks, others = locks_of(arguments.command)
        new = table(documents, locks) + "\nOf locks that live on one replicated set, when its servers change their roles:\n\n"
        new += role_table(documents, locks)
        new += "\nOf locks of other servers, which only the real world has:\n\n" + other_table(read("comparators"), others)
        readme = README.read_text()
        if arguments.write:
            README.write_text(replaced(readme, new))
        elif arguments.check:
            if replaced(readme, new) != readme:
                print("lib/README.md has another table, expected that of tools/house/guarantees.py --write:\n\n" + new)
                return 1
        else:
            print(new, end="")
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
