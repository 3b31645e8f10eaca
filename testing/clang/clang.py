#!/usr/bin/env python3
"""Runs clang's own annotated tests through the front end and compares, line by line, what is reported.

    clang.py get FOLDER                                   clang's tests, from Debian's source package
    clang.py run FOLDER --checker PATH -o results.jsonl   checks each test that makes sense in MSL
    clang.py table results.jsonl                          results by folder, as in docs/reference/clang-tests.md
    clang.py misses results.jsonl                         messages of clang whose errors are not found, by frequency
    clang.py refused results.jsonl                        what is reported for files without errors
    clang.py truncate FOLDER --checker PATH               cuts each test at many bytes, and looks for crashes and hangs

FOLDER is clang's `test` directory. The checker is `cargo build -p anymetal-msl --example check`. README.md explains
what is selected and rewritten; expectations.toml has what does not apply, each with its reason.
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

import annotations

FOLDERS = ["CXX", "SemaCXX", "SemaTemplate", "Parser", "Lexer", "Preprocessor", "SemaOpenCL"]
PACKAGE = "llvm-toolchain-19"
HERE = Path(__file__).parent
# Language modes of a RUN line, best first. Metal is C++17 in our front end; `None` is clang 19's default.
MODES = ["c++17", "c++1z", "gnu++17", None, "c++14", "c++1y", "gnu++14", "c++11", "c++0x", "gnu++11"]
# Seconds for one file.
TIMEOUT = 20


class Expectations:
    """The rows of expectations.toml."""

    def __init__(self, path=HERE / "expectations.toml"):
        table = tomllib.loads(path.read_text())
        compiled = lambda kind: [(re.compile(row["pattern"]), row["reason"]) for row in table.get(kind, [])]
        self.flags, self.names, self.texts = compiled("flag"), compiled("file"), compiled("text")
        self.floor = table["floor"]
        self.messages, self.reports = compiled("message"), compiled("report")

    def of_file(self, name, code):
        return first(self.names, name) or first(self.texts, code)

    def of_message(self, message):
        return first(self.messages, message)

    def is_right_in_msl(self, report):
        return first(self.reports, report) is not None


def first(rows, text):
    return next((reason for pattern, reason in rows if pattern.search(text)), None)


class Test:
    """A file with the RUN line that fits Metal best."""

    def __init__(self, path, root, expectations):
        self.path, self.name = path, str(path.relative_to(root))
        self.text = path.read_bytes().decode("utf-8", "surrogateescape")
        self.reason = self.expected = self.is_clean = None
        if re.search(r"XFAIL:\s*\*", self.text):
            self.reason = "clang itself does not pass it"
            return
        run = self.choose_run(expectations)
        if run is None:
            self.reason = self.reason or "no RUN line for a language mode that MSL has"
            return
        self.definitions = re.findall(r"-D\s*([^\s]+)", run)
        if path.suffix == ".cl":
            self.definitions.append("__OPENCL_C_VERSION__=120")
        self.mode = mode_of(run)
        self.reason = expectations.of_file(self.name, code_of(self.text))
        if self.reason:
            return
        prefixes = {prefix for group in re.findall(r"-verify(?:=(\S+))?", run) for prefix in (group or "expected").split(",")}
        macros = {"__cplusplus": version_macro(self.mode), "__STDC__": "1", "__METAL__": "1"}
        macros |= {name: body if is_given else "1" for name, is_given, body in (item.partition("=") for item in self.definitions)}
        found, self.is_clean, self.lines = annotations.expectations(self.text, prefixes, macros)
        self.expected, self.inapplicable = {}, collections.Counter()
        for item in found:
            if item.severity == "optional":
                self.expected.setdefault(("optional", item.line), []).append(item.message)
            if item.severity not in ("error", "warning"):
                continue
            reason = expectations.of_message(item.message) if item.severity == "error" else None
            if reason:
                self.inapplicable[reason] += 1
                self.expected.setdefault(("optional", item.line), []).append(item.message)
            else:
                self.expected.setdefault((item.severity, item.line), []).append(item.message)
        self.source = rewritten(self.text, path.suffix)

    def choose_run(self, expectations):
        text = self.text.replace("\\\n", " ")
        runs = [run for run in re.findall(r"RUN:(.*)", text) if re.search(r"%clang_cc1|%clang\b.*-cc1", run) and "-verify" in run
                and not re.search(r"^\s*not ", run)]
        if not runs:
            self.reason = "no RUN line with -verify"
            return None
        best = None
        for run in runs:
            reason = first(expectations.flags, run)
            if reason or mode_of(run) not in MODES:
                self.reason = reason or self.reason
                continue
            if best is None or MODES.index(mode_of(run)) < MODES.index(mode_of(best)):
                best = run
        return best


def mode_of(run):
    modes = re.findall(r"-std=(\S+)", run)
    return modes[-1] if modes else None


def version_macro(mode):
    return {"1": "201103L", "x": "201103L", "4": "201402L", "y": "201402L"}.get((mode or "c++17")[-1], "201703L")


def code_of(text):
    """The text without comments and the contents of strings."""
    without = lambda match: '""' if match[0].startswith('"') else " "
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", without, text, flags=re.S)


# Words of OpenCL C for what MSL has.
OPENCL = {"__global": "device", "global": "device", "__constant": "constant", "__local": "threadgroup", "local": "threadgroup",
          "__private": "thread", "private": "thread", "__kernel": "kernel"}


def rewritten(text, suffix):
    """The test in Metal's types and address spaces; lines stay where they are. `double` does not exist: it becomes
    `float`, and `float` becomes `half` where a test has both, so that overloads stay apart."""
    if suffix == ".cl":
        text = re.sub(r"\b(" + "|".join(OPENCL) + r")\b", lambda match: OPENCL[match[0]], text)
    if re.search(r"\bdouble\b", text):
        if re.search(r"\bfloat\b", code_of(text)):
            text = re.sub(r"\bfloat\b", "half", text)
        text = re.sub(r"\bdouble\b", "float", text)
    return text


def tests_in(root, expectations, folders=FOLDERS, only=None):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cpp", ".cl") and not (path.suffix == ".c" and folder in ("Lexer", "Preprocessor")):
                continue
            if only and not re.search(only, str(path.relative_to(root))):
                continue
            yield Test(path, root, expectations)


class Checker:
    """A process that checks files one after the other."""

    def __init__(self, program):
        self.program, self.process = program, None

    def check(self, path, definitions, cut=None):
        """What is reported: `{"diagnostics": …}`, or `{"crash": …}`, `{"hang": …}`."""
        if self.process is None:
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, text=True, errors="replace")
            self.tail = collections.deque(maxlen=20)
            threading.Thread(target=self.tail.extend, args=(self.process.stderr,), daemon=True).start()
        process, killed = self.process, threading.Event()
        timer = threading.Timer(TIMEOUT, lambda: (killed.set(), process.kill()))
        timer.start()
        try:
            fields = [str(path), "" if cut is None else str(cut), *definitions]
            process.stdin.write("\t".join(fields) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        timer.cancel()
        if line.strip():
            if killed.is_set():
                self.process = None
            return json.loads(line)
        process.wait()
        self.process = None
        if killed.is_set():
            return {"hang": f"more than {TIMEOUT} s"}
        time.sleep(0.05)
        return {"crash": " ".join(self.tail)[-400:] or f"exit status {process.returncode}"}

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


class Pool:
    """Checkers for several threads."""

    def __init__(self, program, threads):
        self.local, self.program, self.threads, self.all = threading.local(), program, threads, []

    def map(self, function, items):
        with ThreadPoolExecutor(self.threads) as executor:
            yield from executor.map(lambda item: function(self.checker(), item), items)
        for checker in self.all:
            checker.close()

    def checker(self):
        if not hasattr(self.local, "checker"):
            self.local.checker = Checker(self.program)
            self.all.append(self.local.checker)
        return self.local.checker


def write_source(folder, test):
    path = Path(folder) / test.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(test.source.encode("utf-8", "surrogateescape"))
    for name in re.findall(r'#\s*include\s*"([^"]+)"', test.source):
        included, link = test.path.parent / name, path.parent / name
        if included.is_file() and included != test.path and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(included.resolve())
    return path


def definitions_of(test):
    version = [] if version_macro(test.mode) == "201703L" else [f"__cplusplus={version_macro(test.mode)}"]
    return [*version, *test.definitions]


def compare(test, outcome, expectations):
    """The record of one test."""
    record = {"file": test.name, "folder": test.name.split("/")[0], "mode": test.mode}
    for kind in ("crash", "hang"):
        if kind in outcome:
            return record | {kind: outcome[kind]}
    wanted = {line for kind, line in test.expected if kind == "error"}
    ours = {"error": collections.defaultdict(list), "warning": collections.defaultdict(list)}
    for item in outcome["diagnostics"]:
        text, line = f"{item['id']}: {item['message']}", item["line"] if item["file"] == outcome["name"] else None
        is_error = item["severity"] == "error"
        if item["severity"] in ours and not (is_error and line not in wanted and expectations.is_right_in_msl(text)):
            ours[item["severity"]][line].append(text)
    internal = [text for texts in ours["error"].values() for text in texts if text.startswith("not-understood")]
    record["internal"] = internal
    for severity in ("error", "warning"):
        lines = {line: messages for (kind, line), messages in test.expected.items() if kind == severity}
        anything = ours["error"] if severity == "error" else ours["error"] | ours["warning"]
        record[severity + "s"] = len(lines)
        record[severity + "s_found"] = sum(line in anything for line in lines)
        record["missed_" + severity + "s"] = [[line, *messages] for line, messages in sorted(lines.items()) if line not in anything]
    expected_lines = {line for (kind, line) in test.expected}
    record["extra"] = [[line, *texts] for line, texts in ours["error"].items() if line not in expected_lines]
    record["inapplicable"] = sum(test.inapplicable.values())
    may_have_errors = any(kind == "optional" for kind, line in test.expected)
    record["without_errors"] = not record["errors"] and not record["inapplicable"] and not may_have_errors
    return record


def run(args):
    expectations, start = Expectations(), time.monotonic()
    reasons, applicable = collections.Counter(), []
    tests = list(tests_in(args.folder, expectations, only=args.only))
    for test in tests[::args.every]:
        if test.reason:
            reasons[test.reason] += 1
        else:
            applicable.append(test)
    with tempfile.TemporaryDirectory() as folder, open(args.output, "w") as output:
        pool, begun = Pool(args.checker, args.threads), time.monotonic()
        check = lambda checker, test: compare(test, checker.check(write_source(folder, test), definitions_of(test)), expectations)
        records = list(pool.map(check, applicable))
        seconds = time.monotonic() - begun
        for record in records:
            output.write(json.dumps(record) + "\n")
        output.write(json.dumps({"left_out": reasons.most_common()}) + "\n")
    print(f"{len(records)} files in {seconds:.1f} s, {len(records) / max(seconds, 0.001):.0f} a second "
          f"({time.monotonic() - start:.1f} s in all); {sum(reasons.values())} files left out\n")
    print_table(records)
    fallen = below_floor(records, expectations.floor) if args.floor else []
    print("".join(f"below the floor: {text}\n" for text in fallen), end="")
    return 1 if fallen or any(is_fault(record) for record in records) else 0


def below_floor(records, floor):
    """What is less than expectations.toml says."""
    done = [record for record in records if "errors" in record]
    clean = [record for record in done if record["without_errors"]]
    found = 100 * sum(record["errors_found"] for record in done) / max(sum(record["errors"] for record in done), 1)
    accepted = 100 * sum(not record["extra"] for record in clean) / max(len(clean), 1)
    measured = {"found": found, "accepted": accepted}
    return [f"{name} {measured[name]:.1f} %, at least {floor[name]} %" for name in measured if measured[name] < floor[name]]


def is_fault(record):
    return bool("crash" in record or "hang" in record or record["internal"])


def read(path):
    rows = [json.loads(line) for line in open(path)]
    return [row for row in rows if "file" in row], next((row["left_out"] for row in rows if "left_out" in row), [])


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "–"


def print_table(records):
    print("| folder | files | error lines | found | | files without errors | accepted | | crashes | hangs | internal errors |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for folder in [*FOLDERS, None]:
        rows = [record for record in records if folder in (None, record["folder"])]
        if not rows:
            continue
        done = [row for row in rows if "errors" in row]
        errors, found = sum(row["errors"] for row in done), sum(row["errors_found"] for row in done)
        clean = [row for row in done if row["without_errors"]]
        accepted = sum(not row["extra"] for row in clean)
        faults = [sum("crash" in row for row in rows), sum("hang" in row for row in rows), sum(bool(row["internal"]) for row in done)]
        cells = [folder or "all", len(rows), errors, found, percent(found, errors), len(clean), accepted, percent(accepted, len(clean)), *faults]
        print("| " + " | ".join(map(str, cells)) + " |")


def general(message):
    """A message without the names in it."""
    return re.sub(r"'[^']*'", "'…'", re.sub(r"\s+", " ", message))[:100]


def misses(args):
    counts, examples = collections.Counter(), collections.defaultdict(list)
    for record in read(args.results)[0]:
        for line, *messages in record.get(f"missed_{args.severity}s", []):
            for message in messages[:1]:
                counts[general(message)] += 1
                examples[general(message)].append(f"{record['file']}:{line}")
    for message, count in counts.most_common(args.count):
        print(f"{count:5} {message}   {' '.join(examples[message][:args.examples])}")


def refused(args):
    counts, examples, files = collections.Counter(), collections.defaultdict(list), collections.defaultdict(set)
    for record in read(args.results)[0]:
        if args.clean and not record.get("without_errors"):
            continue
        for line, *texts in record.get("extra", []):
            text = re.sub(r"`[^`]*`", "`…`", texts[0])[:110]
            counts[text] += 1
            files[text].add(record["file"])
            examples[text].append(f"{record['file']}:{line}")
    for text, count in sorted(counts.items(), key=lambda item: (-len(files[item[0]]), -item[1]))[:args.count]:
        print(f"{count:5} in {len(files[text]):3} files: {text}   {' '.join(examples[text][:args.examples])}")


def table(args):
    records, left_out = read(args.results)
    print_table(records)
    print()
    for reason, count in left_out:
        print(f"{count:5} files left out: {reason}")
    for record in records:
        for kind in ("crash", "hang", "internal"):
            if record.get(kind):
                print(f"{kind}: {record['file']}: {record[kind]}")


def truncate(args):
    """Each test is cut at `--cuts` places, spread evenly, and at the last bytes."""
    tests = [test for test in tests_in(args.folder, Expectations(), only=args.only) if not test.reason][::args.every]

    def check(checker, test):
        path, faults = write_source(folder, test), []
        size = len(test.source)
        for cut in sorted({size * n // args.cuts for n in range(args.cuts)}):
            outcome = checker.check(path, definitions_of(test), cut)
            kind = next((kind for kind in ("crash", "hang") if kind in outcome), None)
            if kind:
                faults.append(f"{kind}: {test.name} cut at {cut}: {outcome[kind]}")
            elif any(item["id"] == "not-understood" for item in outcome["diagnostics"]):
                faults.append(f"internal: {test.name} cut at {cut}")
        return faults

    with tempfile.TemporaryDirectory() as folder:
        faults = [fault for found in Pool(args.checker, args.threads).map(check, tests) for fault in found]
    print("\n".join(faults))
    print(f"{len(tests)} files, up to {args.cuts} cuts of each: {len(faults)} faults")
    return 1 if faults else 0


def get(args):
    """Needs `deb-src` lines in apt's sources."""
    args.folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "source", "--download-only", PACKAGE], cwd=args.folder, check=True)
    archive = next(args.folder.glob(f"{PACKAGE}_*.orig.tar.xz"))
    subprocess.run(["tar", "-xf", archive.name, "--wildcards", *(f"*/clang/test/{folder}" for folder in FOLDERS)], cwd=args.folder, check=True)
    print(next(args.folder.glob("*/clang/test")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, function in [("get", get), ("run", run), ("truncate", truncate)]:
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        command.add_argument("folder", type=Path)
        if name == "get":
            continue
        command.add_argument("--checker", required=True)
        command.add_argument("--threads", type=int, default=os.cpu_count())
        command.add_argument("--only", help="a pattern of file names")
        command.add_argument("--every", type=int, default=1, help="one test of each N")
        if name == "run":
            command.add_argument("-o", "--output", default="results.jsonl")
            command.add_argument("--floor", action="store_true", help="fail if less is found than expectations.toml says")
        else:
            command.add_argument("--cuts", type=int, default=40)
    for name, function in [("table", table), ("misses", misses), ("refused", refused)]:
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        command.add_argument("results")
        command.add_argument("--count", type=int, default=60)
        command.add_argument("--examples", type=int, default=2)
        command.add_argument("--severity", choices=["error", "warning"], default="error")
        command.add_argument("--clean", action="store_true", help="only files without errors")
    args = parser.parse_args()
    return args.function(args)


if __name__ == "__main__":
    sys.exit(main())
