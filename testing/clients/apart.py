#!/usr/bin/env python3
"""Runs each test of Rust's test programs in its own process, and reports as the test programs do.

    cargo test --no-run --message-format=json | apart.py SECONDS [WORD...]

Only tests whose names contain one of the words run, all without one. A test that does not end in the time fails.
"""

import json
import subprocess
import sys
import textwrap
from pathlib import Path


def programs(messages):
    """The test programs that cargo built, each with the folder of its package."""
    for line in messages:
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("executable") and message.get("profile", {}).get("test"):
            yield message["executable"], Path(message["manifest_path"]).parent


def tests(program, folder):
    listed = subprocess.run([program, "--list", "--format", "terse"], cwd=folder, capture_output=True, text=True, check=True)
    return [line.removesuffix(": test") for line in listed.stdout.splitlines() if line.endswith(": test")]


def outcome(program, folder, test, seconds):
    """The word that the test program would print, and the output of a test that failed."""
    try:
        ran = subprocess.run(
            [program, "--exact", test, "--test-threads=1"], cwd=folder, capture_output=True, text=True, errors="replace", timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return "FAILED", f"did not end in {seconds} s"
    if ran.returncode == 0:
        return ("ignored" if "1 ignored" in ran.stdout else "ok"), ""
    # Indented, so that the test program's own verdict is not read as another test's.
    return "FAILED", textwrap.indent(f"exit {ran.returncode}\n{ran.stdout}{ran.stderr}", "    ")


def main():
    seconds, words = float(sys.argv[1]), sys.argv[2:]
    counts = {"ok": 0, "FAILED": 0, "ignored": 0}
    for program, folder in list(programs(sys.stdin)):
        print(f"Running {program}", flush=True)
        for test in tests(program, folder):
            if words and not any(word in test for word in words):
                continue
            word, text = outcome(program, folder, test, seconds)
            counts[word] += 1
            print(f"{text.rstrip()}\n" if text else "", f"test {test} ... {word}", sep="", flush=True)
    verdict = "FAILED" if counts["FAILED"] else "ok"
    print(f"test result: {verdict}. {counts['ok']} passed; {counts['FAILED']} failed; {counts['ignored']} ignored; 0 measured")
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
