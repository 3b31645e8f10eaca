#!/usr/bin/env python3
"""Checks shaders that Apple's compiler accepted: the MSL that SPIRV-Cross, naga and tint expect from their writers.

    shaders.py get FOLDER                            fetches them, at fixed commits, without their histories
    shaders.py run FOLDER --checker PATH -o results.jsonl
    shaders.py table results.jsonl                   results by corpus, as in docs/reference/shaders.md
    shaders.py refused results.jsonl                 what is reported, by the number of files

The checker is `cargo build --release -p anymetal-msl --example check`. expectations.toml has the files that are not valid,
each with its reason.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
# Seconds for one file.
TIMEOUT = 20


class Corpus:
    """The files of one repository."""

    def __init__(self, name, row):
        self.name, self.repository, self.commit = name, row["repository"], row["commit"]
        self.folders, self.pattern = row["folders"], re.compile(row["files"])
        self.module = re.compile(row["module"], re.MULTILINE) if "module" in row else None

    def get(self, folder):
        root = folder / self.name
        if not root.is_dir():
            git = lambda *args: subprocess.run(["git", "-C", root, *args], check=True)
            root.mkdir(parents=True)
            git("init", "-q")
            git("remote", "add", "origin", self.repository)
            git("sparse-checkout", "set", "--no-cone", *(f"/{inner}" for inner in self.folders))
            git("fetch", "-q", "--depth", "1", "--filter", "blob:none", "origin", self.commit)
            git("checkout", "-q", "FETCH_HEAD")
        return root

    def modules(self, text):
        """The programs in a file, each on the lines that it has there. Text before the first is ignored."""
        starts = [match.start() for match in self.module.finditer(text)] if self.module else []
        for start, end in zip(starts, [*starts[1:], len(text)]):
            yield "\n" * text.count("\n", 0, start) + text[start:end]
        if not starts:
            yield text

    def files(self, folder):
        root = folder / self.name
        paths = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        return sorted(path for path in paths if self.pattern.search(path))


class Expectations:
    """corpora.toml and expectations.toml."""

    def __init__(self):
        corpora = tomllib.loads((HERE / "corpora.toml").read_text())
        self.corpora = [Corpus(name, row) for name, row in corpora.items()]
        table = tomllib.loads((HERE / "expectations.toml").read_text())
        self.floor = table["floor"]
        self.rows = {kind: [(re.compile(row["pattern"]), row["reason"]) for row in table.get(kind, [])]
                     for kind in ("file", "text", "report")}

    def first(self, kind, text):
        return next((reason for pattern, reason in self.rows[kind] if pattern.search(text)), None)


class Checker:
    """A process that checks files one after the other."""

    def __init__(self, program, folder):
        self.program, self.process = program, None
        self.path = Path(folder) / f"{threading.get_ident()}.metal"

    def check(self, text):
        """The report: `{"diagnostics": …}`, or `{"crash": …}`, `{"hang": …}`."""
        self.path.write_text(text)
        if self.process is None:
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True, errors="replace")
        process, killed = self.process, threading.Event()
        timer = threading.Timer(TIMEOUT, lambda: (killed.set(), process.kill()))
        timer.start()
        try:
            process.stdin.write(f"{self.path}\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        timer.cancel()
        if line.strip():
            return json.loads(line)
        self.process = None
        return {"hang": f"more than {TIMEOUT} s"} if killed.is_set() else {"crash": f"exit status {process.wait()}"}


def record_of(corpus, name, text, checker, expectations):
    """The record of one file."""
    record = {"corpus": corpus.name, "file": name}
    reason = expectations.first("file", f"{corpus.name}/{name}") or expectations.first("text", text)
    if reason:
        return record | {"left_out": reason}
    errors = []
    for module in corpus.modules(text):
        outcome = checker.check(module)
        if "diagnostics" not in outcome:
            return record | outcome
        errors += [f"{item['line']}: {item['id']}: {item['message']}" for item in outcome["diagnostics"]
                   if item["severity"] == "error"]
    justified = [error for error in errors if expectations.first("report", error)]
    return record | {"errors": errors, "justified": bool(errors) and len(justified) == len(errors)}


def run(args):
    expectations, local, work = Expectations(), threading.local(), []
    for corpus in expectations.corpora:
        if not args.corpus or corpus.name in args.corpus:
            work += [(corpus, name) for name in corpus.files(args.folder)[::args.every]]

    def check(item):
        corpus, name = item
        if not hasattr(local, "checker"):
            local.checker = Checker(args.checker, scratch)
        text = (args.folder / corpus.name / name).read_text(errors="replace")
        return record_of(corpus, name, text, local.checker, expectations)

    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(args.threads) as executor:
        records = list(executor.map(check, work))
    seconds = time.monotonic() - begun
    with open(args.output, "w") as output:
        output.writelines(json.dumps(record) + "\n" for record in records)
    print(f"{len(records)} files in {seconds:.1f} s, {len(records) / seconds:.0f} a second\n")
    print_table(records)
    fallen = [name for name, least in expectations.floor.items() if args.floor and share(records, name) < least]
    print("".join(f"below the floor: {name}\n" for name in fallen), end="")
    return 1 if fallen or any("crash" in record or "hang" in record for record in records) else 0


def of_corpus(records, name):
    return [record for record in records if record["corpus"] == name and "left_out" not in record]


def share(records, name):
    """Percent of a corpus's files that are accepted."""
    rows = of_corpus(records, name)
    return 100 * sum(record.get("errors") == [] for record in rows) / len(rows) if rows else 100


def print_table(records):
    print("| corpus | files | accepted | | refused with a reason | refused | crashes and hangs |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name in dict.fromkeys(record["corpus"] for record in records):
        rows = of_corpus(records, name)
        accepted = sum(row.get("errors") == [] for row in rows)
        justified = sum(row.get("justified", False) for row in rows)
        faults = sum("errors" not in row for row in rows)
        cells = [name, len(rows), accepted, f"{share(records, name):.1f} %", justified,
                 len(rows) - accepted - justified - faults, faults]
        print("| " + " | ".join(map(str, cells)) + " |")


def read(path):
    return [json.loads(line) for line in open(path)]


def refused(args):
    counts, examples = collections.Counter(), collections.defaultdict(list)
    for record in read(args.results):
        if args.corpus and record["corpus"] not in args.corpus:
            continue
        for error in {re.sub(r"`[^`]*`", "`…`", error.partition(": ")[2]): error for error in record.get("errors", [])}.items():
            counts[error[0]] += 1
            examples[error[0]].append(f"{record['corpus']}/{record['file']}:{error[1]}")
    for text, count in counts.most_common(args.count):
        print(f"{count:5} {text}")
        for example in examples[text][:args.examples]:
            print(f"          {example}")


def table(args):
    records = read(args.results)
    print_table(records)
    left_out = collections.Counter((record["corpus"], record["left_out"]) for record in records if "left_out" in record)
    print("\n| corpus | files left out | reason |\n|---|--:|---|")
    for (name, reason), count in sorted(left_out.items()):
        print(f"| {name} | {count} | {reason} |")


def get(args):
    for corpus in Expectations().corpora:
        print(corpus.get(args.folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, function in [("get", get), ("run", run)]:
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        command.add_argument("folder", type=Path)
        if name == "run":
            command.add_argument("--checker", required=True)
            command.add_argument("--threads", type=int, default=os.cpu_count())
            command.add_argument("--every", type=int, default=1, help="one file of each N")
            command.add_argument("--corpus", action="append", help="only this one")
            command.add_argument("-o", "--output", default="results.jsonl")
            command.add_argument("--floor", action="store_true", help="fail if less is accepted than expectations.toml says")
    for name, function in [("table", table), ("refused", refused)]:
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        command.add_argument("results")
        command.add_argument("--corpus", action="append", help="only this one")
        command.add_argument("--count", type=int, default=60)
        command.add_argument("--examples", type=int, default=2)
    args = parser.parse_args()
    return args.function(args)


if __name__ == "__main__":
    sys.exit(main())
