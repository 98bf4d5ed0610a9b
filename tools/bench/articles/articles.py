#!/usr/bin/env python3
"""results/articles.md: what the articles claim and what runs say of it; what each kind of lock has of what a lock needs.

  tools/bench/articles/articles.py --measure    runs every command of claims.toml, keeps what they said in
                                                results/data/articles/claims.json, and writes the page
  tools/bench/articles/articles.py --write      writes the page from what is kept
  tools/bench/articles/articles.py --check      fails when the page, a file or a command is another (CTest: articles)
  tools/bench/articles/articles.py --self-test

A claim is true when all that was run speaks for it, false when all speaks against it, and else it depends. What a run says
is an expectation of its file: --check fails when the file does not have it, --measure when the runs did not meet it. What a
measurement says is which of two locks has less of something: in the embedded world, where it is the same every time, unless
claims.toml names real servers.

The cells of the table of needs are what the files in scenarios/articles/needs and scenarios/guarantees expect of each lock.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "house"))
from guarantees import Wrong, locks_of  # noqa: E402

PAGE = ROOT / "results" / "articles.md"
DATA = ROOT / "results" / "data" / "articles" / "claims.json"
CLAIMS = pathlib.Path(__file__).with_name("claims.toml")
NEEDS = "scenarios/articles/needs"


def expectations_of(document: dict, variant: str) -> tuple[list[dict], str]:
    """The [[expect]] tables of a variant ("base": of the file) and its kind of lock."""
    kind = document["lock"]["kind"]
    if variant == "base":
        return document["expect"], kind
    for each in document.get("variant", []):
        expect = each.get("expect", document["expect"])
        name = each.get("name", "")
        for lock in each.get("locks", []):
            if variant == (f"{name}-{lock}" if name else lock):
                return expect, lock
        if "locks" not in each and variant == name:
            changed = each.get("set", {})
            return expect, changed.get("lock.kind", changed.get("lock", {}).get("kind", kind))
    raise Wrong(f"no variant `{variant}`")


def states(expectations: list[dict], check: str, violated: bool = False, kind: str = "") -> bool:
    return any(e["check"] == check and (e.get("is", "holds") == "violated") == violated
               and (not kind or e.get("kind") == kind) for e in expectations)


# --- the claims ------------------------------------------------------------------------------------------------------

def run_command(run: dict) -> list[str]:
    variant = run.get("variant", "base")
    return ["run", run["file"], "--variant", variant]


def bench_command(bench: dict) -> list[str]:
    command = ["bench", "--suite", bench["suite"], "--world", bench["world"].partition("/")[0],
               "--locks", f"{bench['less']},{bench['more']}", "--clients", str(bench["clients"])]
    if "hold" in bench:
        command += ["--hold", str(bench["hold"])]
    if bench["world"] != "embedded":  # a ratio of medians: short rounds will do
        command += ["--rounds", "5", "--seconds", "0.5", "--no-peers"]
    return command


def said(run: dict) -> str:
    """What the expectation of a run says, in words."""
    if run.get("is") != "violated":
        return f"`{run['check']}` holds"
    return f"`{run['check']}` is violated" + (f" ({run['kind']})" if "kind" in run else "")


def require_stated(claim: dict, root: pathlib.Path) -> None:
    for run in claim.get("run", []):
        where = f"{run['file']}, {run.get('variant', 'base')}"
        try:
            expectations, _ = expectations_of(tomllib.loads((root / run["file"]).read_text()), run.get("variant", "base"))
        except FileNotFoundError:
            raise Wrong(f"{run['file']}: no such file, but the claim \"{claim['says']}\" names it") from None
        except Wrong as wrong:
            raise Wrong(f"{run['file']}: {wrong}, but the claim \"{claim['says']}\" names it") from None
        if not states(expectations, run["check"], run.get("is") == "violated", run.get("kind", "")):
            raise Wrong(f"{where}: expects nothing such as \"{said(run)}\", which the claim \"{claim['says']}\" names")


def measure_run(command: str, run: dict) -> dict:
    with tempfile.TemporaryDirectory(prefix="holdfast-articles.") as folder:
        file = pathlib.Path(folder) / "run.json"
        line = [command, *run_command(run), "--json", str(file)]
        done = subprocess.run(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Wrong(f"{' '.join(run_command(run))}: exit {done.returncode}\n{done.stdout[-2000:]}")
        case = json.loads(file.read_text())["cases"][0]
    for e in case["expectations"]:
        if e["check"] == run["check"] and e["is"] == run.get("is", "holds") and e.get("kind", "") == run.get("kind", ""):
            return {"runs": case["runs"], "matching": e["matching"]}
    raise Wrong(f"{' '.join(run_command(run))}: nothing about \"{said(run)}\" among its expectations")


def measure_bench(command: str, bench: dict) -> dict:
    with tempfile.TemporaryDirectory(prefix="holdfast-articles.") as folder:
        file = pathlib.Path(folder) / "bench.json"
        line = [command, *bench_command(bench), "--json", str(file)]
        done = subprocess.run(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Wrong(f"{' '.join(bench_command(bench))}: exit {done.returncode}\n{done.stdout[-2000:]}")
        measurements = json.loads(file.read_text())["measurements"]
    wanted = bench.get("parameters", {})
    figures = {m["subject"]: m["metrics"][bench["metric"]]["median"] for m in measurements
               if m["world"] == bench["world"] and wanted.items() <= m["parameters"].items()
               and bench["metric"] in m["metrics"]}
    less, more = figures[bench["less"]], figures[bench["more"]]
    if not (less < more or (bench.get("or_equal") and less == more)):
        raise Wrong(f"{' '.join(bench_command(bench))}: {bench['metric']} of {bench['less']} is {less}, expected it below "
                    f"the {more} of {bench['more']}")
    return {"less": less, "more": more}


def verdict(claim: dict) -> str:
    sides = {each["speaks"] for each in claim.get("run", []) + claim.get("bench", [])}
    if not sides or not sides <= {"for", "against"}:
        raise Wrong(f"the claim \"{claim['says']}\": each run or measurement `speaks` \"for\" or \"against\" it")
    return "depends" if len(sides) == 2 else "true" if sides == {"for"} else "false"


def number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value / 1000:.3g}k"


def evidence(claim: dict, kept: dict) -> list[str]:
    """One line for each run and each measurement."""
    lines = []
    for run in claim.get("run", []):
        key = " ".join(run_command(run))
        it = what_is_kept(kept, key, said(run))
        lines.append(f"- {run['speaks']}: {run['shows']}. {said(run)} in {it['matching']} of {it['runs']} runs: `holdfast {key}`")
    for bench in claim.get("bench", []):
        key = " ".join(bench_command(bench))
        it = what_is_kept(kept, key, bench["metric"])
        lines.append(f"- {bench['speaks']}: {bench['shows']}. `{bench['less']}` {number(it['less'])}, `{bench['more']}` "
                     f"{number(it['more'])} {bench['unit']}: `holdfast {key}`")
    return lines


def what_is_kept(kept: dict, command: str, of: str) -> dict:
    if f"{command} {of}" not in kept:
        raise Wrong(f"results/data/articles/claims.json has nothing of `holdfast {command}`, expected --measure to be run")
    return kept[f"{command} {of}"]


def claims_table(document: dict, kept: dict) -> str:
    rows = ["| article | it claims | that is | because |", "|---|---|---|---|"]
    runs = []
    for claim in document["claim"]:
        articles = ", ".join(str(one) for one in claim["article"])
        rows.append(f"| {articles} | {claim['says']} | **{verdict(claim)}** | {claim['because']} |")
        runs += ["", f"**{claim['says']}**: {verdict(claim)}.", "", *evidence(claim, kept)]
    return "\n".join(rows) + "\n\n## The runs that say so\n" + "\n".join(runs) + "\n"


# --- the needs -------------------------------------------------------------------------------------------------------

def cells_of(document: dict, cell) -> dict[str, tuple[str, str]]:
    """lock -> (what `cell` makes of its expectations, its variant). A variant counts that is named after its lock."""
    found = {document["lock"]["kind"]: (cell(document["expect"]), "base")}
    for variant in document.get("variant", []):
        if "locks" in variant and "name" not in variant:
            names = variant["locks"]
        elif variant.get("set", {}).get("lock.kind") == variant.get("name"):
            names = [variant["name"]]
        else:
            continue
        for name in names:
            found[name] = (cell(variant.get("expect", document["expect"])), name)
    return found


def exclusion(e: list[dict]) -> str:
    if states(e, "mutual-exclusion", True) or states(e, "lease-exclusion", True):
        return "**no**"
    return "yes" if states(e, "mutual-exclusion") else "?"


def reentry(e: list[dict]) -> str:
    return "**yes, and others enter with it**" if exclusion(e) == "**no**" else "yes"


def timeout(e: list[dict]) -> str:
    stuck = states(e, "progress", True) or states(e, "reached", True)
    return "**no**" if stuck else "yes"


def availability(e: list[dict]) -> str:
    if states(e, "lease-exclusion", True, "double-grant"):
        return "granted, **twice**"
    if states(e, "reached", True) or states(e, "progress", True):
        return "not granted"
    return "granted, once"


def deadlock(e: list[dict]) -> str:
    if states(e, "progress", True, "deadlock"):
        return "**deadlock**"
    if states(e, "mutual-exclusion", True, "overrun"):
        return "the lease ends it: **overrun**"
    if exclusion(e) == "**no**":
        return "none: **it does not exclude**"
    return "none"


# Column, file, how its cell is read, and what a lock without a cell has.
COLUMNS = [
    ("exclusion", f"{NEEDS}/exclusion.toml", exclusion, None),
    ("re-entry", f"{NEEDS}/reentry.toml", reentry, "no"),
    ("a dead holder's lock ends", "scenarios/guarantees/client_crash.toml", timeout, None),
    ("after a failover", "scenarios/guarantees/failover.toml", availability, None),
    ("a wait can be interrupted", "sim/client/interruption_test.cc", None, None),
    ("two locks in opposite orders", f"{NEEDS}/deadlock.toml", deadlock, None),
]


def needs_table(documents: dict[str, dict], locks: list[tuple[str, bool]], notes: dict[str, dict[str, str]]) -> str:
    """`locks`: name, historic. `notes`: column -> lock (or "hardened": all that are) -> what stands there instead."""
    head = ["| lock | " + " | ".join(f"[{name}](../{file})" for name, file, _, _ in COLUMNS) + " |",
            "|---" * (len(COLUMNS) + 1) + "|"]
    columns = {name: cells_of(documents[file], cell) if cell else {} for name, file, cell, _ in COLUMNS}
    rows = []
    for historic in (False, True):
        if historic:
            rows.append("| *as published* |" + " |" * len(COLUMNS))
        for lock, its in locks:
            if its != historic:
                continue
            texts = []
            for name, file, _, otherwise in COLUMNS:
                noted = notes.get(name, {})
                text = noted.get(lock) or (None if historic else noted.get("hardened"))
                if text is None:
                    text = columns[name][lock][0] if lock in columns[name] else otherwise
                if text is None:
                    raise Wrong(f"{file}: nothing about the lock `{lock}`, expected a variant, or a note in claims.toml")
                texts.append(text)
            rows.append(f"| `{lock}` | " + " | ".join(texts) + " |")
    return "\n".join(head + rows) + "\n"


def page(document: dict, kept: dict, documents: dict[str, dict], locks: list[tuple[str, bool]]) -> str:
    return (document["head"].strip() + "\n\n" + claims_table(document, kept) + "\n" + document["needs"]["head"].strip() + "\n\n"
            + needs_table(documents, locks, document["needs"].get("notes", {})))


def self_test() -> None:
    holds, broken = {"check": "mutual-exclusion"}, {"check": "mutual-exclusion", "is": "violated", "kind": "overrun"}
    assert exclusion([holds]) == "yes" and exclusion([broken]) == "**no**" and exclusion([]) == "?"
    assert timeout([holds]) == "yes" and timeout([{"check": "progress", "is": "violated"}]) == "**no**"
    assert deadlock([{"check": "progress", "is": "violated", "kind": "deadlock"}]) == "**deadlock**"
    assert deadlock([broken]) == "the lease ends it: **overrun**" and deadlock([holds]) == "none"
    assert availability([{"check": "lease-exclusion", "is": "violated", "kind": "double-grant"}]) == "granted, **twice**"
    document = {"lock": {"kind": "a"}, "expect": [holds],
                "variant": [{"locks": ["b"], "expect": [broken]}, {"name": "c", "set": {"lock.kind": "c"}},
                            {"name": "control", "expect": [broken]}, {"name": "x", "locks": ["d"]}]}
    assert cells_of(document, exclusion) == {"a": ("yes", "base"), "b": ("**no**", "b"), "c": ("yes", "c")}
    assert expectations_of(document, "x-d") == ([holds], "d") and expectations_of(document, "b") == ([broken], "b")
    assert expectations_of(document, "c") == ([holds], "c") and expectations_of(document, "base") == ([holds], "a")
    claim = {"says": "it holds", "article": [1], "because": "so",
             "run": [{"file": "f.toml", "check": "mutual-exclusion", "speaks": "for", "shows": "plain"}]}
    assert verdict(claim) == "true"
    against = {**claim["run"][0], "variant": "b", "is": "violated", "kind": "overrun", "speaks": "against"}
    assert verdict({**claim, "run": [against]}) == "false" and verdict({**claim, "run": [*claim["run"], against]}) == "depends"
    kept = {"run f.toml --variant base `mutual-exclusion` holds": {"runs": 3, "matching": 3}}
    assert "in 3 of 3 runs" in claims_table({"claim": [claim]}, kept)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "f.toml").write_text('[lock]\nkind = "a"\n[[expect]]\ncheck = "mutual-exclusion"\n')
        require_stated(claim, root)
        wrong = [{**claim, "run": [{**claim["run"][0], **change}]} for change in
                 ({"is": "violated"}, {"file": "g.toml"}, {"variant": "none"}, {"check": "oversell"})]
        for each in wrong:
            refused(lambda each=each: require_stated(each, root))
    refused(lambda: claims_table({"claim": [claim]}, {}))
    bench = {"suite": "contended", "world": "embedded", "less": "a", "more": "b", "clients": 2, "hold": 1}
    assert bench_command(bench)[-4:] == ["--clients", "2", "--hold", "1"]
    assert "--no-peers" in bench_command({**bench, "world": "real/fibers"})
    refused(lambda: verdict({**claim, "run": []}))
    files = {file: document for _, file, _, _ in COLUMNS}
    notes = {"a wait can be interrupted": {"a": "yes", "b": "no"}}
    table = needs_table(files, [("a", False), ("b", True)], notes)
    assert table.index("`a`") < table.index("as published") < table.index("`b`")
    refused(lambda: needs_table(files, [("unknown", False)], notes))


def refused(call) -> None:
    try:
        call()
    except Wrong:
        return
    raise AssertionError("expected to be refused")


def main() -> int:
    parser = argparse.ArgumentParser(description="the claims of the articles, and what a lock needs: results/articles.md")
    parser.add_argument("--command", default=str(ROOT / "build" / "holdfast"), help="the holdfast command")
    for mode in ("measure", "write", "check", "self-test"):
        parser.add_argument(f"--{mode}", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return 0
    try:
        document = tomllib.loads(CLAIMS.read_text())
        for claim in document["claim"]:
            require_stated(claim, ROOT)
        if arguments.measure:
            kept = {}
            for claim in document["claim"]:
                for run in claim.get("run", []):
                    kept[f"{' '.join(run_command(run))} {said(run)}"] = measure_run(arguments.command, run)
                for bench in claim.get("bench", []):
                    kept[f"{' '.join(bench_command(bench))} {bench['metric']}"] = measure_bench(arguments.command, bench)
            DATA.parent.mkdir(parents=True, exist_ok=True)
            DATA.write_text(json.dumps(kept, indent=1) + "\n")
        kept = json.loads(DATA.read_text()) if DATA.exists() else {}
        documents = {file: tomllib.loads((ROOT / file).read_text()) for _, file, cell, _ in COLUMNS if cell}
        new = page(document, kept, documents, locks_of(arguments.command)[0])
        if arguments.measure or arguments.write:
            PAGE.write_text(new)
        elif arguments.check:
            if not PAGE.exists() or PAGE.read_text() != new:
                print("results/articles.md is another, expected what tools/bench/articles/articles.py --write writes")
                return 1
        else:
            print(new, end="")
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
