"""Programs of CLsmith, in OpenCL C, with the results of another OpenCL implementation.

CLsmith is built outside of the repository; its folder has `CLSmith`, `cl_launcher` and its headers. What a program is launched
with stands in its first line, and `cl_launcher` shows what the buffers hold. The headers become part of the text.
"""

import math
import os
import re
import subprocess
import tempfile

from program import Program, Unusable

MODES = {
    "basic": [],
    "vectors": ["--vectors"],
    "barriers": ["--barriers", "--divergence", "--track_divergence"],
    "group-divergence": ["--group_divergence", "--fake_divergence"],
    "atomics": ["--atomics"],
    "reductions": ["--atomic_reductions"],
    "communication": ["--inter_thread_comm"],
    "messages": ["--message_passing"],
    "emi": ["--emi"],
    "vectors-communication": ["--vectors", "--inter_thread_comm"],
    "vectors-atomics-emi": ["--vectors", "--atomics", "--atomic_reductions", "--emi"],
    "everything": ["--vectors", "--fake_divergence", "--group_divergence", "--inter_thread_comm", "--atomics", "--atomic_reductions"],
}
INCLUDE = re.compile(r'^#include "([\w.]+)"\n', re.M)


# What every program begins with ends here.
HEADER = '#include "CLSmith.h"'

# Bytes of a program's own text; shorter ones only fill their global variables.
TRIVIAL = 3500


class Generator:
    """CLsmith in a folder. `OCL_ICD_VENDORS` chooses the implementation that its launcher uses."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)

    def generate(self, mode, seed):
        """A program with the results of the other implementation. Raises `Unusable` if it has none."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.cl")
            command = [os.path.join(self.folder, "CLSmith"), "--seed", str(seed), *size_of(mode), *MODES[mode], "-o", path]
            try:
                subprocess.run(command, capture_output=True, cwd=folder, timeout=20, check=True)
            except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
                raise Unusable("CLsmith ends without a program") from error
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if re.search(r"\bgoto\b", text):
                raise Unusable("has a goto, which Metal does not")
            if len(text) - text.index(HEADER) < TRIVIAL:
                raise Unusable("does next to nothing")
            text = self.with_headers(text, set())
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            expected = {tuple(self.launch(path, more)) for more in ([], ["---disable_opts"])}
        if len(expected) != 1:
            raise Unusable("depends on the optimisation of the other implementation")
        threads, group, arguments = launch_of(text)
        return Program(
            name=f"clsmith-{mode}-{seed}", mode=f"clsmith {mode}", text=text, suffix="cl", kernel="entry", threads=threads,
            group=group, arguments=arguments, expected=list(expected.pop()))

    def with_headers(self, text, seen):
        """The text with CLsmith's headers in place of their names."""
        def header(match):
            if match[1] in seen:
                return ""
            seen.add(match[1])
            for place in ("", "runtime"):
                path = os.path.join(self.folder, place, match[1])
                if os.path.exists(path):
                    with open(path, encoding="utf-8") as file:
                        return self.with_headers(file.read(), seen)
            raise FileNotFoundError(f"{match[1]} is not in {self.folder}")
        return INCLUDE.sub(header, text)

    def launch(self, path, more):
        """The results by `cl_launcher`."""
        command = [os.path.join(self.folder, "cl_launcher"), "-f", path, "-p", "0", "-d", "0", *more]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=30)
        except subprocess.TimeoutExpired as error:
            raise Unusable("does not end on the other implementation") from error
        if ran.returncode != 0:
            raise Unusable("fails on the other implementation")
        return [int(value, 16) for value in ran.stdout.strip().strip(",").split(",")]


def size_of(mode):
    """The option for small programs, which leaves out variables that atomic blocks use."""
    return [] if "--atomics" in MODES[mode] else ["--small"]


def launch_of(text):
    """Threads, threadgroup and arguments, as `cl_launcher` makes them out of the first line."""
    first = text.split("\n", 1)[0]
    threads, group = (list(map(int, re.search(rf"{option} ([\d,]+)", first)[1].split(","))) for option in ("-g", "-l"))
    groups = math.prod(threads) // math.prod(group)
    arguments = [f"zeros:u64:{math.prod(threads)}"]
    atomics = re.search(r"--atomics (\d+)", first)
    if atomics:
        arguments += [f"zeros:u32:{max(int(atomics[1]) * groups, 1)}"] * 2
    if "---atomic_reductions" in first:
        arguments.append(f"zeros:i32:{groups}")
    if "---emi" in first:
        arguments.append("i32:" + ",".join(str(1024 - i) for i in range(1024)))
    if "---fake_divergence" in first:
        arguments.append("i32:" + ",".join(str(10 + i) for i in range(max(threads))))
    if "---inter_thread_comm" in first:
        arguments.append("i64:" + ",".join(["1"] * math.prod(threads)))
    return threads, group, arguments
