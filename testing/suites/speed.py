#!/usr/bin/env python3
"""Compares the kernels' time of OpenCL programs on anymetal with that on other OpenCL implementations.

    speed.py run SUITE FOLDER --home HOME --against NAME=ICD... -o RESULTS.jsonl [--rounds N] [--only REGEX]
    speed.py table RESULTS.jsonl... [--least RATIO]

The same executable runs on the stand-in for libOpenCL and, through the system's ICD loader, on each driver whose ICD
file is given, alternating for N rounds; `timing.cpp` is preloaded and measures launches. Sizes are those of the
suite's `speed` table in `suites.toml`. A launch's time is the least of all rounds, a kernel's the sum of its launches.
The table has the other's time over ours, and in brackets the same by processor time of all threads, which other
programs on the machine disturb less.
"""

import argparse
import json
import math
import os
import re
import subprocess

import suites

LOADER = "libOpenCL.so.1"
CLOCKS = ("seconds", "processor_seconds")


class Contender:
    """An OpenCL implementation: the folder of its libOpenCL.so and the environment that selects it."""

    def __init__(self, name, folder, environment):
        self.name, self.folder, self.environment = name, folder, environment


def contenders(home, against):
    found = [Contender("anymetal", home, {})]
    loader = os.path.join(home, "loader")
    os.makedirs(loader, exist_ok=True)
    listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    path = re.search(rf"{re.escape(LOADER)} .*x86-64.*=> (\S+)", listing)
    if not path:
        raise SystemExit(f"no {LOADER} is installed")
    suites.link_to(path[1], os.path.join(loader, "libOpenCL.so"))
    for entry in against:
        name, icd = entry.split("=", 1)
        with open(icd) as file:
            driver = os.path.dirname(file.read().strip())
        # The libraries of a driver that is not installed system-wide are in its folder.
        folders = loader + (f":{driver}" if driver else "")
        found.append(Contender(name, folders, {"OCL_ICD_VENDORS": os.path.abspath(icd)}))
    return found


def run(options):
    suite = suites.suite_named(options.suite)
    speed = suite["speed"]
    suite.update({key: value for key, value in speed.items() if key != "runs"})
    home = os.path.abspath(options.home)
    all_of = contenders(home, options.against)
    for program in suites.programs(suite, options.folder, home):
        own = speed.get("runs", {}).get(program.name)
        is_selected = not options.only or re.search(options.only, program.name)
        if not is_selected or own is None and "runs" in speed:
            continue
        program.own = {**program.own, **(own or {})}
        result = measure(program, all_of, options.rounds)
        result["suite"] = options.suite
        with open(options.output, "a") as file:
            file.write(json.dumps(result) + "\n")
        print(f"{program.name}: {result['outcome']}", flush=True)


def measure(program, all_of, rounds):
    result = {"program": program.name, "outcome": "not built"}
    built = program.build()
    command = program.command() if built.returncode == 0 or "run" in program.own else None
    if not command or not os.path.exists(os.path.join(program.folder, command[0])):
        return {**result, "why": suites.first_error(built.stderr)}
    times = {}
    texts = {}
    outcomes = {}
    for _ in range(rounds):
        for contender in all_of:
            ended, texts[contender.name], kernels = once(program, command, contender)
            # One wrong round is enough.
            if outcomes.get(contender.name) in (None, "right", "no verdict"):
                outcomes[contender.name] = program.verdict(ended)
            for clock in CLOCKS:
                combine(times.setdefault((clock, contender.name), {}), kernels, clock)
    result["outcome"], result["why"] = judged(program, outcomes, texts)
    result["outcomes"] = outcomes
    for (clock, name), kernels in times.items():
        result.setdefault(clock, {})[name] = {kernel: sum(each) for kernel, each in kernels.items()}
    result["launches"] = {kernel: len(each) for kernel, each in times["seconds", "anymetal"].items()}
    return result


def once(program, command, contender):
    """How a run ended, its results, and the times of each launch by kernel."""
    path = os.path.join(program.folder, "suites.times.jsonl")
    if os.path.exists(path):
        os.remove(path)
    program.extra = {**contender.environment, "SUITES_TIMES": path}
    ended, text = program.results(command, contender.folder, ("libpreload.so", "libtiming.so"))
    return ended, text, {line["kernel"]: line for line in suites.lines_of(path)}


def combine(times, kernels, clock):
    """Keeps the least time of each launch, where all runs have the same launches."""
    for kernel, line in kernels.items():
        each = line[clock]
        if not each:
            # No launch succeeded.
            continue
        before = times.setdefault(kernel, each)
        if len(before) == len(each):
            times[kernel] = list(map(min, before, each))
        elif len(each) < len(before):
            # Data-dependent numbers of launches: the shortest run counts.
            times[kernel] = each


def judged(program, outcomes, texts):
    """Whether our results are right: by the program, or beside those of the first of the others that ran."""
    ours = outcomes["anymetal"]
    if ours != "no verdict":
        return ours, None
    if "host" in program.own:
        return program.compared(None, texts["anymetal"])
    for name, outcome in outcomes.items():
        if name != "anymetal" and outcome == "no verdict":
            return program.agreement(texts["anymetal"], texts[name])
    return "no verdict", "no other implementation ran it"


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def ratios_of(line, kernel, clock):
    """The others' times of a kernel over ours, by name."""
    ours = line[clock]["anymetal"][kernel]
    # Processor time may be counted in ticks, of which a short launch has none.
    return {name: kernels[kernel] / ours
            for name, kernels in line[clock].items() if name != "anymetal" and ours and kernels.get(kernel)}


def table(options):
    results = [line for path in options.results for line in suites.lines_of(path)]
    right = [line for line in results if line["outcome"] == "right"]
    names = list(dict.fromkeys(name for line in right for name in line["seconds"] if name != "anymetal"))
    rows = [(line, kernel, *(ratios_of(line, kernel, clock) for clock in CLOCKS))
            for line in right for kernel in line["seconds"]["anymetal"]]
    rows = sorted((row for row in rows if row[2]), key=lambda row: min(row[2].values()))
    print("| program | kernel | " + " | ".join(names) + " | launches | ms of ours |")
    print("|---" * (len(names) + 4) + "|")
    for line, kernel, by_time, by_processor in rows:
        cells = [f"{by_time[name]:.2f} ({by_processor.get(name, math.nan):.2f})" if name in by_time else "–" for name in names]
        ours = 1e3 * line["seconds"]["anymetal"][kernel]
        print(f"| {line['program'].split('/')[-1]} | {kernel} | " + " | ".join(cells)
              + f" | {line['launches'][kernel]} | {ours:.3f} |")
    print()
    for suite in dict.fromkeys(line["suite"] for line in right):
        for name in names:
            each = [row for row in rows if row[0]["suite"] == suite and name in row[2]]
            means = [geometric_mean([row[at][name] for row in each if name in row[at]]) for at in (2, 3)]
            least = min((row[2][name] for row in each), default=float("nan"))
            below = sum(row[2][name] < options.least for row in each)
            print(f"{suite} against {name}: geometric mean {means[0]:.2f} ({means[1]:.2f}) of {len(each)} kernels, "
                  f"least {least:.2f}, {below} below {options.least}")
    left_out = [f"{line['program'].split('/')[-1]} ({line['outcome']})" for line in results if line not in right]
    print("left out:", ", ".join(left_out) or "none")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run")
    one.add_argument("suite"), one.add_argument("folder"), one.add_argument("-o", "--output", required=True)
    one.add_argument("--home", required=True), one.add_argument("--only")
    one.add_argument("--against", nargs="+", required=True, metavar="NAME=ICD", help="drivers, by their ICD files")
    one.add_argument("--rounds", type=int, default=3)
    one = commands.add_parser("table")
    one.add_argument("results", nargs="+"), one.add_argument("--least", type=float, default=0.9)
    options = parser.parse_args()
    run(options) if options.command == "run" else table(options)


if __name__ == "__main__":
    main()
