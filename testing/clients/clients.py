#!/usr/bin/env python3
"""Runs the tests of programs for Metal on anymetal, and writes the table of their results.

    clients.py run --prefix PREFIX FOLDER [NAME...]   runs scripts, and records their results in results.json
    clients.py record NAME OUTPUT...                  records the outputs of a script that ran by hand, in parts
    clients.py table                                  writes docs/reference/clients.md from the records
    clients.py list                                   names, sources and dates of the last runs

PREFIX is what `cargo xtask libmetal --prefix PREFIX` made. clients.toml has a row for each script, and the failures that are
known, each with its reason. The exit code of `run` is 1 after a failure that is not known.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RESULTS = HERE / "results.json"
DOCUMENT = ROOT / "docs/reference/clients.md"

# Whose a failure is, as clients.toml says it, and as the table shows it.
CLASSES = {
    "ours": "anymetal",
    "theirs": "the client",
    "hardware": "needs Apple's hardware, system or compiler",
    "unsupported": "not supported: graphics, ray tracing and the like",
    "environment": "the machine or its time limit",
}


class Clients:
    """clients.toml and results.json."""

    def __init__(self):
        table = tomllib.loads((HERE / "clients.toml").read_text())
        self.rows, self.failures = table["client"], table.get("failure", [])
        for row in self.failures:
            assert row["client"] in self.rows and row["class"] in CLASSES, f"clients.toml: {row}"
        self.results = self.recorded()

    def known(self, client, test):
        """The row of a failure, if there is one."""
        rows = (row for row in self.failures if row["client"] == client)
        return next((row for row in rows if re.search(row["test"], test)), None)

    @staticmethod
    def recorded():
        return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}

    def record(self, client, result):
        # Read again: another run may have recorded its result.
        self.results = self.recorded() | {client: result}
        RESULTS.write_text(json.dumps(self.results, indent=2, sort_keys=True) + "\n")


def commit():
    """The commit that is tested, with a mark if files differ from it."""
    git = lambda *args: subprocess.run(["git", "-C", ROOT, *args], capture_output=True, text=True, check=True).stdout.strip()
    return git("rev-parse", "--short=10", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")


def outcome_of(name, lines, status):
    """The counts of a script's last line and the names of failures, or that it has no such line."""
    last = re.compile(rf"{re.escape(name)}: (\d+) passed, (\d+) failed, (\d+) skipped, exit (\d+)")
    counts = next((match for match in map(last.fullmatch, reversed(lines)) if match), None)
    # pytest prints such lines too, with the reason after the name.
    failures = [line.removeprefix("FAILED ").split(" - ")[0] for line in lines if line.startswith("FAILED ")]
    if counts is None:
        return {"unfinished": f"the script ended with {status}"}
    passed, failed, skipped, code = map(int, counts.groups())
    return {"passed": passed, "failed": failed, "skipped": skipped, "exit": code, "failures": sorted(set(failures))}


def run_one(clients, name, args):
    """Runs a script, shows and keeps its output, and records its result. Returns whether all is as it should be."""
    sources = dict(pair.split("=", 1) for pair in args.source)
    command = [HERE / f"{name}.sh", args.prefix, args.folder / name, *([sources[name]] if name in sources else [])]
    log, begun, lines = args.folder / f"{name}.log", time.monotonic(), []
    with open(log, "w") as output:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        for line in process.stdout:
            output.write(line)
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    result = outcome_of(name, lines, process.wait()) | {"seconds": round(time.monotonic() - begun)}
    return keep(clients, name, result, args.note)


def keep(clients, name, result, note):
    """Records a result, and prints failures that are not known. Returns whether there are none."""
    result |= {"date": datetime.date.today().isoformat(), "commit": commit()}
    result |= {"note": note} if note else {}
    clients.record(name, result)
    unknown = [test for test in result.get("failures", []) if clients.known(name, test) is None]
    print("".join(f"not known: {name}: {test}\n" for test in unknown), end="")
    return "unfinished" not in result and not unknown


def sum_of(outcomes):
    """The outcome of all parts of a run, which is unfinished if one of them is."""
    unfinished = next((outcome for outcome in outcomes if "unfinished" in outcome), None)
    if unfinished:
        return unfinished
    counts = {key: sum(outcome[key] for outcome in outcomes) for key in ("passed", "failed", "skipped")}
    failures = sorted({test for outcome in outcomes for test in outcome["failures"]})
    return counts | {"exit": max(outcome["exit"] for outcome in outcomes), "failures": failures}


def record(args):
    texts = [output.read_text(errors="replace").splitlines() for output in args.output]
    outcome = sum_of([outcome_of(args.name, lines, "an unknown status") for lines in texts])
    return 0 if keep(Clients(), args.name, outcome, args.note) else 1


def run(args):
    clients = Clients()
    args.folder.mkdir(parents=True, exist_ok=True)
    unnamed = [name for name in args.names if name not in clients.rows]
    assert not unnamed, f"clients.toml has no row for {', '.join(unnamed)}"
    good = [run_one(clients, name, args) for name in args.names or clients.rows]
    return 0 if all(good) else 1


def cells(*values):
    return "| " + " | ".join(map(str, values)) + " |\n"


def result_row(name, row, result):
    client, changes = f"[{row['title']}]({row['url']})", row.get("changes", "none")
    if result is None:
        return cells(client, row["tests"], changes, "", "", "", "", "not run")
    if "unfinished" in result:
        return cells(client, row["tests"], changes, "", "", "", "", f"{result['date']}, {result['unfinished']}")
    when = f"{result['date']}, {result['commit']}"
    exact = ["" if result[key] is None else result[key] for key in ("passed", "failed", "skipped", "exit")]
    return cells(client, row["tests"], changes, *exact, when)


def failure_rows(clients, name, result):
    """The failures of a client, those of one reason in a row."""
    reasons = {}
    for test in result.get("failures", []):
        row = clients.known(name, test)
        key = (CLASSES[row["class"]], row["reason"]) if row else ("not known", "")
        reasons.setdefault(key, []).append(test)
    return [cells(name, " ".join(f"`{test}`" for test in tests), whose, reason) for (whose, reason), tests in reasons.items()]


def document(clients):
    text = (HERE / "clients.md.in").read_text()
    table = cells("client", "tests", "changes", "passed", "failed", "skipped", "exit", "last run")
    table += "|---|---|---|--:|--:|--:|--:|---|\n"
    table += "".join(result_row(name, row, clients.results.get(name)) for name, row in clients.rows.items())
    rows = [row for name in clients.rows for row in failure_rows(clients, name, clients.results.get(name, {}))]
    failures = cells("client", "tests", "whose", "reason") + "|---|---|---|---|\n" + "".join(rows)
    notes = "".join(f"- {name}: {result['note']}\n" for name, result in clients.results.items() if "note" in result)
    return text.replace("@TABLE@\n", table).replace("@FAILURES@\n", failures).replace("@NOTES@\n", notes)


def table(args):
    text = document(Clients())
    if args.check:
        return 0 if DOCUMENT.read_text() == text else f"{DOCUMENT}: differs from the records; run `clients.py table`"
    DOCUMENT.write_text(text)


def names(_):
    clients = Clients()
    for name, row in clients.rows.items():
        result = clients.results.get(name)
        print(f"{name:16} {row['title']:40} {result['date'] if result else 'not run'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("run")
    command.set_defaults(function=run)
    command.add_argument("folder", type=Path)
    command.add_argument("names", nargs="*", metavar="NAME", help="scripts; all without one")
    command.add_argument("--prefix", required=True, help="the folder of libMetal.so and its headers")
    command.add_argument("--source", action="append", default=[], metavar="NAME=FOLDER", help="a checkout for a client")
    command.add_argument("--note", help="what the table says of this run")
    command = commands.add_parser("record")
    command.set_defaults(function=record)
    command.add_argument("name")
    command.add_argument("output", type=Path, nargs="+", help="a file for each part of the run")
    command.add_argument("--note", help="what the table says of this run")
    command = commands.add_parser("table")
    command.set_defaults(function=table)
    command.add_argument("--check", action="store_true", help="only compare")
    commands.add_parser("list").set_defaults(function=names)
    args = parser.parse_args()
    return args.function(args)


if __name__ == "__main__":
    sys.exit(main())
