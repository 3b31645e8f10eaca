#!/usr/bin/env python3
"""Writes programs of csmith or CLsmith with their expected results to a file, for run.py.

    generate.py csmith [--mode MODE...] [--seed SEED] [--count N] [--jobs N] -o PROGRAMS.jsonl.xz
    generate.py clsmith --clsmith FOLDER … (as above)

N is the number of programs for each mode. Seeds count from SEED on; those without a usable program are skipped, and the reasons counted.
"""

import argparse
import collections
import concurrent.futures
import os
import sys

import clsmith
import csmith
import program


def generate(make, modes, seed, count, jobs, reasons):
    """`count` programs of each mode, as an iterator."""
    def attempt(mode, at):
        try:
            return make(mode, at)
        except program.Unusable as error:
            return error

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for mode in modes:
            made, at = 0, seed
            while made < count and at < seed + 10 * count:
                seeds = range(at, at + count - made)
                at = seeds.stop
                for result in pool.map(attempt, [mode] * len(seeds), seeds):
                    if isinstance(result, program.Unusable):
                        reasons[mode, str(result)] += 1
                    else:
                        made += 1
                        yield result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("generator", choices=["csmith", "clsmith"])
    parser.add_argument("--mode", nargs="+", default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--clsmith", help="the folder in which CLsmith was built")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    if options.generator == "csmith":
        make, modes = csmith.generate, csmith.MODES
    else:
        if not options.clsmith:
            parser.error("--clsmith is missing")
        make, modes = clsmith.Generator(options.clsmith).generate, clsmith.MODES
    unknown = [mode for mode in options.mode if mode not in modes]
    if unknown:
        parser.error(f"no mode {', '.join(unknown)}; there are {', '.join(modes)}")
    reasons = collections.Counter()
    written = program.write(options.output, generate(make, options.mode or modes, options.seed, options.count, options.jobs, reasons))
    print(f"{written} programs")
    for (mode, reason), count in sorted(reasons.items()):
        print(f"  {mode}: {count} without: {reason}")


if __name__ == "__main__":
    sys.exit(main())
