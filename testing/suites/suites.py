#!/usr/bin/env python3
"""Runs programs of public suites on anymetal, unmodified, and counts kernels by what became of them.

    suites.py get GIT_DIRECTORY FOLDER [PATH...]     takes files out of a clone or mirror
    suites.py setup HOME --build TARGET --cuda INCLUDE --opencl INCLUDE
    suites.py run SUITE FOLDER -o RESULTS.jsonl [--only REGEX] [--lines N] [--most N] [--reference FOLDER]
    suites.py table RESULTS.jsonl...

`suites.toml` lists the suites, with their repositories and commits. README.md beside this file has the whole order of
commands. Nothing of a suite is kept here.
"""

import argparse
import collections
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib

import compare

HERE = os.path.dirname(os.path.abspath(__file__))

# Headers and linker options of libraries that the stand-ins do not replace.
LIBRARY = re.compile(
    r'#\s*include\s*[<"](thrust/|cub/|cublas|cusparse|curand|cufft|cusolver|cudnn|nccl|mpi|nvrtc|nvml|npp|cutensor|cutlass|boost|gsl'
    r'|opencv|nvjpeg|cuda/std|mma\.h)|-l(cublas|cusparse|curand|cufft|cusolver|mpi|nccl)')
# Files that `make run` names.
DATA = re.compile(r"\.\./|\.(txt|bmp|ppm|dat|csv|bin|mtx|egr|hdr|tsp|in)\b")


def get(git, folder, paths):
    """Takes files out of a git directory, without those that a partial clone lacks."""
    listing = subprocess.run(["git", "--git-dir", git, "ls-tree", "-r", "-z", "HEAD", "--", *paths],
                             capture_output=True, check=True).stdout
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    batch = subprocess.Popen(["git", "--git-dir", git, "cat-file", "--batch"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, env=environment)
    written = missing = 0
    for entry in filter(None, listing.split(b"\0")):
        about, path = entry.split(b"\t", 1)
        mode, kind, name = about.split()
        if kind != b"blob" or mode == b"120000":
            continue
        batch.stdin.write(name + b"\n")
        batch.stdin.flush()
        header = batch.stdout.readline().split()
        if header[1] != b"blob":
            missing += 1
            continue
        content = batch.stdout.read(int(header[2]))
        batch.stdout.read(1)
        file = os.path.join(folder, path.decode())
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "wb") as out:
            out.write(content)
        written += 1
    print(f"{written} files, {missing} are not in the clone")


def setup(home, build, cuda, opencl):
    """Builds the stand-ins and puts what they need into one folder."""
    os.makedirs(home, exist_ok=True)
    for name in ("anymetal", "libanymetal_c.so"):
        shutil.copy(os.path.join(build, name), home)
    header = ["-I" + os.path.join(HERE, "../../interfaces/c-api/include")]
    link = ["-L" + home, "-lanymetal_c", "-Wl,-rpath," + os.path.abspath(home)]
    compiler = ["c++", "-std=c++17", "-O1", "-Wall", "-Wno-parentheses", "-Wno-unused-parameter"]
    shared = compiler + ["-fPIC", "-shared"]
    if cuda:
        make_toolkit(os.path.join(home, "cuda"), cuda)
        header_cuda = header + ["-I" + os.path.join(home, "cuda/include")]
        subprocess.run([*shared, *header_cuda, f"{HERE}/cuda.cpp", "-o", f"{home}/libsuites_cuda.so", *link], check=True)
    if opencl:
        link_to(opencl, os.path.join(home, "opencl"))
        subprocess.run([*shared, *header, "-I" + opencl, f"{HERE}/opencl.cpp", "-o", f"{home}/libOpenCL.so", *link],
                       check=True)
        subprocess.run([*shared, "-I" + opencl, f"{HERE}/timing.cpp", "-o", f"{home}/libtiming.so", "-ldl"], check=True)
    subprocess.run([*shared, f"{HERE}/preload.cpp", "-o", f"{home}/libpreload.so"], check=True)
    subprocess.run([*compiler, *header, f"{HERE}/compile.cpp", "-o", f"{home}/compile", *link], check=True)


def link_to(target, link):
    if not os.path.lexists(link):
        os.symlink(os.path.abspath(target), link)


def make_toolkit(folder, include):
    """A folder that clang takes for CUDA's toolkit; its libraries are not needed."""
    for name in ("bin", "lib", "lib64", "nvvm/libdevice"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    link_to(include, os.path.join(folder, "include"))
    with open(os.path.join(folder, "version.txt"), "w") as file:
        file.write("CUDA Version 11.5.0\n")
    with open(os.path.join(folder, "version.json"), "w") as file:
        json.dump({"cuda": {"name": "CUDA SDK", "version": "11.5.0"}}, file)
    open(os.path.join(folder, "nvvm/libdevice/libdevice.10.bc"), "w").close()
    # For Makefiles that name the toolkit's compiler and libraries by path.
    link_to(os.path.join(HERE, "nvcc"), os.path.join(folder, "bin/nvcc"))
    library = os.path.abspath(os.path.join(folder, "../libsuites_cuda.so"))
    for name in ("libcudart.so", "libcuda.so"):
        # A script of the linker's, since objects of C++ may be linked by a compiler of C.
        with open(os.path.join(folder, "lib64", name), "w") as file:
            file.write(f"INPUT({library} -lstdc++ -lm)\n")


class Program:
    """A program of a suite: a folder with a Makefile."""

    def __init__(self, suite, folder, name, home, reference=None):
        self.suite, self.name, self.home, self.reference = suite, name, home, reference
        # How it is built and run, where its Makefile does not say so.
        self.own = suite.get("runs", {}).get(name, {})
        self.base = os.path.abspath(folder)
        self.folder = os.path.abspath(os.path.join(folder, name))
        self.log = os.path.join(self.folder, "suites.log.jsonl")
        self.record = os.path.join(self.folder, "suites.record.jsonl")
        # More variables for its runs.
        self.extra = {}

    def environment(self):
        return {**os.environ, "SUITES_HOME": self.home, "SUITES_ROOT": self.base,
                "SUITES_LOG": self.log, "SUITES_RECORD": self.record,
                "NVCC_APPEND_FLAGS": self.suite.get("flags", ""), "CPATH": os.path.join(self.home, "opencl"),
                "LIBRARY_PATH": f"{self.home}:{self.home}/cuda/lib64", "PATH": HERE + ":" + os.environ["PATH"]}

    def build(self):
        """By its Makefile, or of all sources of the folder where there is none."""
        if "build" in self.own:
            return self.call(["sh", "-c", self.filled(self.own["build"])], 600)
        if "compile" not in self.suite:
            self.make("clean")
            return self.make()
        sources = [name for name in sorted(os.listdir(self.folder)) if name.endswith((".cu", ".cpp", ".c"))]
        common = os.path.join(self.base, self.suite["compile"])
        return self.call([f"{HERE}/nvcc", "-I", common, *sources, "-o", "main"], 600)

    def make(self, *words):
        variables = [*self.suite.get("make", []), *self.own.get("make", [])]
        return self.call(["make", "-k", *words, *map(self.filled, variables)], 600)

    def filled(self, text):
        return text.replace("@nvcc", f"{HERE}/nvcc").replace("@home", self.home)

    def call(self, command, limit, library=None, preloaded=("libpreload.so",)):
        environment = {**self.environment(), **self.extra}
        if library:
            environment["LD_LIBRARY_PATH"] = library + ":" + os.environ.get("LD_LIBRARY_PATH", "")
            # Two runs have the same seeds, and zeros where nothing was written.
            environment["LD_PRELOAD"] = ":".join(os.path.join(self.home, name) for name in preloaded)
        # CPU time, so that outcomes do not depend on what else the machine does.
        def bound():
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        try:
            ended = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True,
                                   errors="replace", timeout=60 * limit, stdin=subprocess.DEVNULL, preexec_fn=bound)
        except subprocess.TimeoutExpired as late:
            out = late.stdout or b""
            return subprocess.CompletedProcess(command, 124, out.decode(errors="replace"), "")
        if ended.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            ended.returncode = 124
        return ended

    def sources(self):
        for path in sorted(os.listdir(self.folder)):
            if re.search(r"\.(cu|cuh|cpp|cc|c|h|hpp)$", path):
                with open(os.path.join(self.folder, path), errors="replace") as file:
                    yield file.read()

    def stands_alone(self, lines):
        """Whether its sources have at most `lines` lines, and it needs no library and no data file."""
        with open(os.path.join(self.folder, "Makefile"), errors="replace") as file:
            makefile = file.read()
        text = "\n".join(self.sources())
        command = "".join(re.findall(r"^run:.*\n(?:\t.*\n?)+", makefile, re.M))
        return text.count("\n") <= lines and not LIBRARY.search(text + makefile) and not DATA.search(command)

    def checks_itself(self):
        """Whether the program compares its results with those of the host."""
        wanted = re.compile(self.suite["right"])
        return any(wanted.search(text) for source in self.sources() for text in re.findall(r'"[^"\n]*"', source))

    def command(self):
        """What `make run` runs, with a small number of repetitions where the usage names one."""
        if "run" in self.own:
            return shlex.split(self.own["run"])
        if "compile" in self.suite:
            return ["./main"]
        lines = [line.strip() for line in self.make("-n", "run").stdout.splitlines()]
        lines = [line for line in lines if line.startswith("./")]
        if not lines:
            with open(os.path.join(self.folder, "Makefile"), errors="replace") as file:
                made = re.findall(r"^EXECUTABLE\s*:?=\s*(\S+)", file.read(), re.M)
            return ["./" + made[0]] if made else None
        words = shlex.split(lines[-1].split("|")[0].split(">")[0])
        if self.name in self.suite.get("arguments", {}):
            return [words[0], *shlex.split(self.suite["arguments"][self.name])]
        usage = [found for source in self.sources() for found in re.findall(r"[Uu]sage:?\s*%s([^\"\n]*)", source)]
        names = re.findall(r"<([^>]*)>|\[([^\]]*)\]|(\S+)", usage[0].replace("\\n", "")) if usage else []
        names = ["".join(parts) for parts in names]
        for i, name in enumerate(names):
            if re.search(r"repeat|repetition|iteration|iter|times|steps", name) and i + 1 < len(words):
                if words[i + 1].isdigit() and int(words[i + 1]) > 3:
                    words[i + 1] = "3"
        return words

    def run(self):
        for path in (self.log, self.record):
            if os.path.exists(path):
                os.remove(path)
        begin = time.time()
        built = self.build()
        result = {"suite": self.suite["name"], "program": self.name, "units": lines_of(self.log)}
        command = self.command()
        kernels = [one for unit in result["units"] for one in unit["kernels"]]
        launchable = [one for one in kernels if not one["error"] and not one["doubles"]]
        is_made = command and os.path.exists(os.path.join(self.folder, command[0]))
        if not is_made if "run" in self.own else built.returncode != 0 or command is None:
            result["outcome"] = "not built"
            result["why"] = first_error(built.stderr)
        elif kernels and not launchable:
            result["outcome"] = "not run"
        elif "run" in self.own:
            ended, ours = self.results(command, self.home)
            result.update(command=command, code=ended.returncode, output=(ended.stdout + ended.stderr)[-1500:])
            result["outcome"] = self.verdict(ended)
            if result["outcome"] == "no verdict":
                record = lines_of(self.record)
                result["outcome"], result["why"] = self.compared(command, ours)
                self.keep(record)
        else:
            is_given = self.name in self.suite.get("arguments", {})
            smaller = command if is_given else [shrunk(word) for word in command]
            # The last number is that of repetitions, as a rule.
            if not is_given and len(smaller) > 2 and smaller[-1].isdigit() and int(smaller[-1]) > 5:
                smaller[-1] = "3"
            ended = self.call(smaller, self.suite.get("limit", 60))
            if smaller != command and self.verdict(ended) not in ("right", "too slow here"):
                # A program may count on its sizes.
                ended = self.call(command, self.suite.get("limit", 60))
            else:
                command = smaller
            result.update(command=command, code=ended.returncode, output=(ended.stdout + ended.stderr)[-1500:])
            result["outcome"] = self.verdict(ended)
        result["record"] = lines_of(self.record)
        result["seconds"] = round(time.time() - begin, 1)
        return result

    def results(self, command, library, preloaded=("libpreload.so",)):
        """How it ended, and the text of its results: of a file that it writes, or what it prints."""
        path = os.path.join(self.folder, self.own.get("output", "-"))
        if os.path.exists(path):
            os.remove(path)
        ended = self.call(command, self.suite.get("limit", 60), library, preloaded)
        if "output" not in self.own:
            # What it prints, from those words on.
            begin = ended.stdout.find(self.own.get("from", ""))
            return ended, ended.stdout[begin:] if begin >= 0 else ""
        if not os.path.exists(path):
            return ended, ""
        with open(path, errors="replace") as file:
            return ended, file.read()

    def results_of_host(self, other):
        """Those of the same program in C, which a suite may have for comparison."""
        folder = os.path.join(self.base, other["folder"])
        subprocess.run(["sh", "-c", other["run"]], cwd=folder, capture_output=True, timeout=600)
        with open(os.path.join(folder, other["output"]), errors="replace") as file:
            return file.read()

    def compared(self, command, ours):
        """Beside other results: of a program for the host, of `like`'s program, or of its own with another library."""
        if "host" in self.own:
            return self.agreement(ours, self.results_of_host(self.own["host"]))
        kept = os.path.join(self.base, self.own.get("like", self.name), "suites.reference")
        if "like" not in self.own and self.reference:
            ended, theirs = self.results(command, self.reference)
            if ended.returncode != 0:
                return "no verdict", f"the reference ended with {ended.returncode}"
            with open(kept, "w") as file:
                file.write(theirs)
        if not os.path.exists(kept):
            return "no verdict", "no reference"
        with open(kept) as file:
            return self.agreement(ours, file.read())

    def agreement(self, ours, theirs):
        is_rounded = self.own.get("rounded", False)
        tolerance = self.own.get("tolerance", compare.TOLERANCE)
        outcome, why = compare.agree(compare.results(ours), compare.results(theirs), is_rounded, tolerance)
        return outcome or "no verdict", why

    def keep(self, record):
        """Puts back the record of launches, which a run with another library may have added to."""
        with open(self.record, "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in record)

    def verdict(self, ended):
        text = ended.stdout + ended.stderr
        if ended.returncode == 124:
            return "too slow here"
        if re.search(r"[Ff]ailed to open|[Cc]an.?not open|[Nn]o such file|exists\(path\)|[Uu]nable to open|Failed to load|cannot be opened|does not exist|not opened for reading", text):
            return "no data"
        if re.search(r"^suites: ", text, re.M):
            return "refused"
        if re.search(self.suite["wrong"], text):
            return "wrong"
        if ended.returncode < 0 or ended.returncode > 128:
            return "crashed"
        if "right" in self.suite and re.search(self.suite["right"], text):
            return "right"
        return "no verdict"


def shrunk(word):
    """Sizes are those of large GPUs: numbers from 1024 on are divided by 16, to no less than 256."""
    return str(max(int(word) // 16, 256)) if word.isdigit() and int(word) >= 1024 else word


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file]


def first_error(text):
    found = [line for line in text.splitlines() if re.search(r"error|undefined", line)]
    return (found or text.splitlines()[-1:] or ["?"])[0][:300]


def suite_named(name):
    with open(os.path.join(HERE, "suites.toml"), "rb") as file:
        for suite in tomllib.load(file)["suite"]:
            if suite["name"] == name:
                return suite
    sys.exit(f"no suite {name}")


def programs(suite, folder, home, reference=None):
    """Folders with a Makefile, in alphabetical order; those of `runs` where a suite has that."""
    base = os.path.join(folder, suite["folder"])
    if "runs" in suite:
        for name in sorted(suite["runs"]):
            yield Program(suite, folder, name, home, reference)
        return
    for path, folders, files in sorted(os.walk(base)):
        is_program = any(name.endswith(".cu") for name in files) if "compile" in suite else "Makefile" in files
        if is_program and re.search(suite.get("programs", ""), os.path.relpath(path, base)):
            yield Program(suite, folder, os.path.relpath(path, folder), home)


def run(options):
    suite = suite_named(options.suite)
    done = {line["program"] for line in lines_of(options.output)}
    count = len(done)
    reference = options.reference and os.path.abspath(options.reference)
    for program in programs(suite, options.folder, os.path.abspath(options.home), reference):
        if options.only and not re.search(options.only, program.name) or program.name in done:
            continue
        if suite.get("self_checking") and not program.checks_itself():
            continue
        if options.lines and not program.stands_alone(options.lines):
            continue
        if options.most and count >= options.most:
            break
        count += 1
        result = program.run()
        with open(options.output, "a") as file:
            file.write(json.dumps(result) + "\n")
        print(f"{result['program']}: {result['outcome']}, {result['seconds']} s", flush=True)


def statuses(result):
    """Each kernel of a program with what became of it."""
    record = {one["kernel"]: one for one in result["record"]}
    outcome = result["outcome"]
    for unit in result["units"]:
        for kernel in unit["kernels"]:
            name = kernel["kernel"]
            if name.startswith(("cub::", "thrust::")):
                # Of a library that the host calls, not of the program.
                continue
            if unit["errors"]:
                yield "not translated", reason(unit["errors"][0])
            elif kernel["error"]:
                yield "not compiled", reason(kernel["error"])
            elif kernel["doubles"]:
                yield "double in memory", None
            elif name in record:
                yield launched(record[name], outcome), record[name]["error"] or None
            else:
                yield "not launched" if outcome == "right" else outcome, None
    if not result["units"]:
        for one in record.values():
            yield launched(one, outcome), one["error"] or None


def launched(record, outcome):
    if record["error"]:
        return "failed" if record["launches"] or record["failures"] else "not compiled"
    return ("no verdict" if outcome == "refused" else outcome) if record["launches"] else "not launched"


def reason(text):
    """An error without names: the message of a diagnostic, or its first line."""
    try:
        text = json.loads(text)["message"]
    except ValueError:
        pass
    return text if text.startswith("Metal has no") else re.sub(r"`[^`]*`", "`...`", text)


def table(paths):
    """Counts of kernels by suite, and the reasons why some did not come as far."""
    results = [line for path in paths for line in lines_of(path)]
    counts, reasons, outcomes = collections.defaultdict(collections.Counter), collections.Counter(), collections.Counter()
    for result in results:
        outcomes[result["suite"], result["outcome"]] += 1
        for status, why in statuses(result):
            counts[result["suite"]][status] += 1
            if why:
                reasons[result["suite"], why[:110]] += 1
    columns = ["right", "wrong", "failed", "no verdict", "no data", "too slow here", "not launched", "refused",
               "double in memory", "not compiled", "not translated"]
    print("| suite | programs | of these right | kernels | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 4) + "|")
    for suite, all_of in counts.items():
        programs = sum(count for (name, _), count in outcomes.items() if name == suite)
        cells = [programs, outcomes[suite, "right"], sum(all_of.values()), *(all_of[column] for column in columns)]
        print(f"| {suite} | " + " | ".join(map(str, cells)) + " |")
    print("\nprograms:", ", ".join(f"{suite} {outcome}: {count}" for (suite, outcome), count in sorted(outcomes.items())))
    for (suite, why), count in reasons.most_common(60):
        print(f"{count:4} {suite}: {why}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("get")
    one.add_argument("git"), one.add_argument("folder"), one.add_argument("paths", nargs="*")
    one = commands.add_parser("setup")
    one.add_argument("home"), one.add_argument("--build", required=True)
    one.add_argument("--cuda"), one.add_argument("--opencl")
    one = commands.add_parser("run")
    one.add_argument("suite"), one.add_argument("folder"), one.add_argument("-o", "--output", required=True)
    one.add_argument("--home", required=True), one.add_argument("--only"), one.add_argument("--most", type=int)
    one.add_argument("--lines", type=int, help="only programs without libraries and data, of at most N lines")
    one.add_argument("--reference", help="folder of another libOpenCL.so, to compare with")
    one = commands.add_parser("table")
    one.add_argument("results", nargs="+")
    options = parser.parse_args()
    if options.command == "get":
        get(options.git, options.folder, options.paths)
    elif options.command == "setup":
        setup(options.home, options.build, options.cuda, options.opencl)
    elif options.command == "run":
        run(options)
    else:
        table(options.results)


if __name__ == "__main__":
    main()
