#!/usr/bin/env python3
"""Compares the verdicts of `anymetal check` with those that GPUVerify's tests expect.

    races.py FOLDER -o RESULTS.jsonl --home HOME [--only REGEX]
    races.py --table RESULTS.jsonl

Each test is a file with its launch and verdict in comments. GPUVerify proves for all inputs, `check` runs one: buffers
hold 0, 1, 2, ... and numbers the size of a threadgroup, or 1 where that is a float. A launch has at most two
threadgroups along each axis. Annotations of the verifier (`__requires`, `__invariant`, ...) are macros without a text.
HOME is the folder of `suites.py setup`.
"""

import argparse
import collections
import json
import os
import re
import struct
import subprocess
import tempfile

# What GPUVerify judges: races and barriers. Equal values that several threads write are no race for either.
JUDGED = re.compile(r"race-(grid|threadgroup|simdgroup)|divergent-barrier|divergent-simdgroup|early-return|null-access")
BOUNDS = re.compile(r"out-of-bounds")
EXPRESSIONS = ["requires", "ensures", "invariant", "global_invariant", "function_wide_invariant", "candidate_invariant",
               "assert", "global_assert", "global_ensures", "function_wide_candidate_invariant", "candidate_assert",
               "candidate_global_assert", "candidate_requires", "candidate_ensures", "assume", "requires_fresh_array",
               "reads_from", "writes_to", "reads_from_local", "writes_to_local", "array_snapshot"]
BARRIERS = ["barrier_invariant"] + [f"barrier_invariant_{n}" for n in range(1, 13)] + \
           [f"barrier_invariant_binary_{n}" for n in range(1, 13)]
MACROS = "".join(f"#define __{name}(...) (void)0\n" for name in EXPRESSIONS + BARRIERS) + \
         "#define __axiom(...)\n"


def sizes(text):
    """`64` or `[8,8]` or `(8,8)`."""
    found = [int(number) for number in re.findall(r"\d+", text)] or [1]
    return (found + [1, 1])[:3]


class Test:
    def __init__(self, path):
        self.path = path
        with open(path, errors="replace") as file:
            self.text = file.read()
        head = [line[2:] for line in self.text.splitlines()[:12] if line.startswith("//")]
        self.expected = next((line.strip() for line in head if line.startswith(("pass", "xfail"))), None)
        options = dict(re.findall(r"--([\w-]+)=(\S+)", " ".join(head)))
        self.options = " ".join(head)
        self.group = sizes(options.get("local_size") or options.get("blockDim") or "1")
        if "global_size" in options:
            total = sizes(options["global_size"])
            self.groups = [max(1, all // one) for all, one in zip(total, self.group)]
        else:
            self.groups = sizes(options.get("num_groups") or options.get("gridDim") or "1")
        self.groups = [min(count, 2) for count in self.groups]
        while self.group[0] * self.group[1] * self.group[2] > 1024:
            self.group[self.group.index(max(self.group))] //= 2
        self.macros = re.findall(r"-D\s*(\w+)(?:=(\S+))?", " ".join(head))


class Checker:
    def __init__(self, home, folder):
        self.home, self.folder = home, folder
        self.data = os.path.join(folder, "numbers.bin")
        with open(self.data, "wb") as file:
            file.write(b"".join(struct.pack("<i", i) for i in range(1 << 16)))

    def call(self, *words, limit=60):
        try:
            return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=limit)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, 124, "", "too slow here")

    def translate(self, test):
        kind = os.path.splitext(test.path)[1]
        source, text = os.path.join(self.folder, "test" + kind), os.path.join(self.folder, "test.metal")
        lines = "".join(f"#define {name} {value or 1}\n" for name, value in test.macros)
        with open(source, "w") as file:
            file.write(MACROS + lines + test.text)
        done = self.call(f"{self.home}/anymetal", "translate", source, "--double", "float", "-I",
                         os.path.dirname(test.path), "-o", text)
        if done.returncode != 0:
            return None, first_error(done.stderr)
        with open(text) as file:
            kernels = declared(file.read())
        if all(one["arguments"] is not None for one in kernels):
            return kernels, None
        names = [one["kernel"] for one in kernels]
        lines = self.call(f"{self.home}/compile", text, *names).stdout.splitlines()
        return [json.loads(line) for line in lines], None

    def check(self, test, kernel):
        command = [f"{self.home}/anymetal", "check", os.path.join(self.folder, "test.metal"), "-k", kernel["kernel"],
                   "--json", "--timeout", "40"]
        for option, size in (("--groups", test.groups), ("--group", test.group)):
            command += [option, ",".join(map(str, size))]
        for one in kernel["arguments"]:
            if one["threadgroup"]:
                local = sum(one["threadgroup"] for one in kernel["arguments"])
                command += ["--threadgroup-memory", f"{one['index']}={24576 // local // 16 * 16}"]
            elif one["reference"]:
                value = struct.pack("<i", test.group[0]).ljust(one["size"], b"\0")[:one["size"]]
                command += ["--arg", f"{one['index']}=hex:{value.hex()}"]
            else:
                command += ["--arg", f"{one['index']}={self.data}"]
        done = self.call(*command)
        try:
            report = json.loads(done.stdout)
        except ValueError:
            return None, first_error(done.stderr)
        return [finding["kind"] for finding in report["findings"]], None

    def judge(self, test):
        result = {"test": test.path, "expected": test.expected}
        kernels, why = self.translate(test)
        if why is None and not kernels:
            why = "no kernel"
        failed = [one["error"] for one in kernels or [] if one["error"]]
        if why is None and failed:
            why = "not compiled: " + failed[0]
        kinds = set()
        for kernel in kernels or [] if why is None else []:
            found, why = self.check(test, kernel)
            if why:
                why = "not run: " + why
                break
            kinds.update(found)
        result["why"] = why
        result["kinds"] = sorted(kinds)
        is_found = any(map(JUDGED.match, kinds))
        if "--check-array-bounds" in test.options:
            is_found |= any(map(BOUNDS.match, kinds))
        result["verdict"] = None if why else "finding" if is_found else "none"
        result["difference"] = difference(test)
        return result


SIZES = {"char": 1, "uchar": 1, "bool": 1, "short": 2, "ushort": 2, "half": 2, "int": 4, "uint": 4, "unsigned": 4,
         "unsigned int": 4, "float": 4, "long": 8, "ulong": 8, "size_t": 8, "unsigned long": 8}


def declared(text):
    """The kernels of a translated text with their arguments; None where a type's size is not seen here."""
    kernels = []
    for found in re.finditer(r"\bkernel\s+void\s+(\w+)\s*\(", text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        head, arguments = text[found.end():end], []
        for space, type_name, mark, name, kind, index in re.findall(
                r"\b(device|constant|threadgroup)\s+([\w\s]*?)\s*([*&])[\s*]*(?:const\s+|restrict\s+|__restrict\s+)*(\w+)"
                r"\s*\[\[(buffer|threadgroup)\((\d+)\)\]\]", head):
            type_name = re.sub(r"\b(const|volatile|restrict)\b", "", type_name).strip()
            size = SIZES.get(type_name, 0 if mark == "*" else None)
            arguments.append({"name": name, "index": int(index), "threadgroup": kind == "threadgroup",
                              "reference": mark == "&", "size": size})
        is_whole = len(arguments) == head.count("[[buffer(") + head.count("[[threadgroup(")
        is_known = is_whole and all(one["size"] is not None for one in arguments)
        kernels.append({"kernel": found[1], "error": "", "arguments": arguments if is_known else None})
    return kernels


def first_error(text):
    return next((line.strip() for line in text.splitlines() if "error" in line), text.strip()[:200] or "?")[:300]


def difference(test):
    """Why verdicts may differ, as far as the test's text tells."""
    if re.search(r"__\w*(assert|invariant|requires|ensures|assume|read|write|implies|fresh)", test.text):
        return "contracts and assertions of the verifier"
    if "async_work_group" in test.text:
        return "which event a copy belongs to: a wait waits for all"
    if "--warp-sync" in test.options or "warpSize" in test.text:
        return "threads of a warp in lock step (--warp-sync)"
    if "--only-" in test.options or "--no-benign" in test.options or "--adversarial" in test.options:
        return "an option that narrows or widens what is verified"
    if "--kernel-args" in test.options or "--equality-abstraction" in test.options:
        return "given values of arguments, or races that keep a value"
    return "other"


def tests(folder):
    for path, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            if name.endswith((".cl", ".cu")):
                test = Test(os.path.join(path, name))
                if test.expected:
                    yield test


def table(path):
    counts, reasons, differences, odd = (*(collections.Counter() for _ in range(3)), [])
    with open(path) as file:
        results = [json.loads(line) for line in file]
    for one in results:
        expected = re.split(r"[\s(]", one["expected"])[0].strip(":")
        counts[expected, one["verdict"] or "not run"] += 1
        if one["verdict"] is None:
            reasons[re.sub(r"`[^`]*`", "`...`", one["why"])] += 1
        elif (one["verdict"] == "finding") != (expected == "xfail:NOT_ALL_VERIFIED"):
            odd.append(one)
            differences[expected, one["verdict"], one["difference"]] += 1
    print("| expected | findings | none | not run |\n|---|---|---|---|")
    for expected in sorted({key[0] for key in counts}):
        cells = [str(counts[expected, verdict]) for verdict in ("finding", "none", "not run")]
        print(f"| {expected} | " + " | ".join(cells) + " |")
    print("\nnot run:")
    for reason, count in reasons.most_common(40):
        print(f"{count:4} {reason}")
    print("\ndifferent:")
    for (expected, verdict, why), count in sorted(differences.items()):
        print(f"{count:4} {expected}, {verdict}: {why}")
    for one in odd:
        print(one["expected"], one["test"], ",".join(one["kinds"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("-o", "--output")
    parser.add_argument("--home")
    parser.add_argument("--only", default="")
    parser.add_argument("--table")
    options = parser.parse_args()
    if options.table:
        return table(options.table)
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(os.path.abspath(options.home), folder)
        for test in tests(options.folder):
            if re.search(options.only, test.path):
                result = checker.judge(test)
                result["test"] = os.path.relpath(test.path, options.folder)
                with open(options.output, "a") as file:
                    file.write(json.dumps(result) + "\n")


main()
