#!/usr/bin/env python3
"""Runs generated programs on anymetal and compares their results with the expected ones.

    run.py PROGRAMS.jsonl.xz... --anymetal PATH [--jobs N] [--on EXECUTOR...] [--keep FOLDER] [-o RESULTS.jsonl]
    run.py --table RESULTS.jsonl...

Prints a table of outcomes for each mode and executor, and the names of all programs whose results are wrong, that are refused, or
that do not end within the limits; their sources are written to FOLDER. The exit code is 1 if there are any but slow ones.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

import program as programs

# Environment and options of each.
EXECUTORS = {
    "cpu": ({}, []),
    "interpreter": ({"ANYMETAL_LLVM": "none"}, []),
    "sse": ({"ANYMETAL_CPU_LEVEL": "x86-64"}, []),
    "unchecked": ({}, ["--checks", "off"]),
}
# What is right, what is a fault, and what only takes long.
OUTCOMES = ["agree", "wrong", "refused", "failed", "too long to run", "too long to compile"]
FAULTS = ["wrong", "refused", "failed"]


def run(program, executor, binary, seconds, keep):
    """One program on one executor: its outcome as a row of the results."""
    environment, options = EXECUTORS[executor]
    suffix = "." + program.suffix
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, program.name + suffix)
        with open(source, "w", encoding="utf-8") as file:
            file.write(program.text)
        command = [binary, "run", source, *launch(program), *options, "--timeout", str(seconds), "--json"]
        code, out, err, used = finished(command, environment, folder, 3 * seconds)
    outcome, detail = judge(program, code, out, err)
    if outcome != "agree" and keep:
        os.makedirs(keep, exist_ok=True)
        with open(os.path.join(keep, program.name + suffix), "w", encoding="utf-8") as file:
            file.write(f"// {executor}: {outcome}: {detail}\n// anymetal run {' '.join(launch(program) + options)}\n{program.text}")
    return {"name": program.name, "mode": program.mode, "executor": executor, "outcome": outcome, "detail": detail,
            "seconds": round(used, 2)}


def finished(command, environment, folder, seconds):
    """Exit code, output, messages and CPU seconds of a process that may use so many of them."""
    paths = [os.path.join(folder, name) for name in ("out", "err")]
    with open(paths[0], "wb") as out, open(paths[1], "wb") as err:
        child = subprocess.Popen(
            command, stdout=out, stderr=err, env={**os.environ, "ANYMETAL_CACHE": "off", "ANYMETAL_CPU_THREADS": "1", **environment},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)))
        _, status, usage = os.wait4(child.pid, 0)
    # Reaped here, not by `subprocess`, for its times.
    child.returncode = os.waitstatus_to_exitcode(status)
    texts = []
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            texts.append(file.read())
    return child.returncode, *texts, usage.ru_utime + usage.ru_stime


def launch(program):
    """The options of `anymetal run` for a program."""
    options = ["-k", program.kernel, "--threads", ",".join(map(str, program.threads)), "--math", "safe"]
    if program.group:
        options += ["--group", ",".join(map(str, program.group))]
    for index, argument in enumerate(program.arguments):
        options += ["--arg", f"{index}={argument}"]
    return [*options, "--print", f"0:{len(program.expected)}"]


def judge(program, code, out, err):
    """The outcome of a process, with what it says."""
    if code in (-9, -24):
        return "too long to compile", ""
    try:
        answer = json.loads(out)
    except json.JSONDecodeError:
        return "failed", f"exit code {code}: {err.strip()[-300:]}"
    if code == 0:
        values = answer["outputs"][0]["values"]
        if values == program.expected:
            return "agree", ""
        at = next(i for i, (ours, theirs) in enumerate(zip(values, program.expected)) if ours != theirs)
        wrong = sum(ours != theirs for ours, theirs in zip(values, program.expected))
        return "wrong", f"{wrong} of {len(values)} threads, the first is {at}: {values[at]} instead of {program.expected[at]}"
    if answer["status"] == "timeout":
        return "too long to run", ""
    error = answer["error"]
    messages = error.get("diagnostics") or [error]
    first = next((message for message in messages if message.get("severity") == "error"), messages[0])
    about = f"{first.get('id', error.get('id', answer['status']))}: {first.get('message', error['message'])}"
    return ("refused" if code == 1 else "failed"), about[:300]


def table(rows):
    """The counts as Markdown, with the median of the CPU seconds."""
    counts = collections.defaultdict(collections.Counter)
    seconds = collections.defaultdict(list)
    for row in rows:
        counts[row["mode"], row["executor"]][row["outcome"]] += 1
        seconds[row["mode"], row["executor"]].append(row["seconds"])
    lines = ["| mode | executor | programs | " + " | ".join(OUTCOMES) + " | median CPU s | longest |",
             "|---|---|" + "---:|" * (len(OUTCOMES) + 3)]
    for key, of in sorted(counts.items()):
        numbers = [sum(of.values()), *(of[outcome] or "" for outcome in OUTCOMES)]
        times = seconds[key]
        lines.append("| " + " | ".join(map(str, [*key, *numbers, f"{statistics.median(times):.1f}", f"{max(times):.1f}"])) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--anymetal")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--on", nargs="+", choices=list(EXECUTORS), default=["cpu", "interpreter"])
    parser.add_argument("--seconds", type=int, default=20, help="for the run; the process has three times as much CPU time")
    parser.add_argument("--keep")
    parser.add_argument("-o", "--output")
    parser.add_argument("--table", action="store_true", help="the files are results")
    options = parser.parse_args()
    if options.table:
        rows = [json.loads(line) for path in options.files for line in open(path, encoding="utf-8")]
        print(table(rows))
        return 0
    if not options.anymetal:
        parser.error("--anymetal is missing")
    binary = os.path.abspath(options.anymetal)
    work = [(program, executor) for path in options.files for program in programs.read(path) for executor in options.on]
    rows = []
    output = open(options.output, "a", encoding="utf-8") if options.output else None
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(run, *pair, binary, options.seconds, options.keep) for pair in work]
        for done in concurrent.futures.as_completed(runs):
            rows.append(done.result())
            if output:
                print(json.dumps(rows[-1]), file=output, flush=True)
            if rows[-1]["outcome"] != "agree":
                print("{name} on {executor}: {outcome} {detail}".format(**rows[-1]), flush=True)
    print(table(rows))
    return int(any(row["outcome"] in FAULTS for row in rows))


if __name__ == "__main__":
    sys.exit(main())
