"""Programs of csmith as kernels in Metal Shading Language.

csmith writes programs in C++ whose only output is a checksum of their global variables. Here the globals become members of a
structure, with their initial values, and the functions its methods, so that each thread has its own. The same text is a
kernel and, with `thread` defined as nothing, a program for the host, whose compiler computes the expected checksums.

The wrappers of arithmetic and the checksum are our own; nothing of csmith's run-time headers is used.
"""

import os
import re
import subprocess
import tempfile

from program import Program, Unusable

# Options of every mode: what Metal has not (goto, `argc`), and the dialect.
COMMON = ["--lang-cpp", "--cpp11", "--no-argc", "--no-jumps"]
SMALL = ["--max-funcs", "4", "--max-block-size", "3", "--max-block-depth", "3", "--max-expr-complexity", "6"]
NO_RECORDS = ["--no-structs", "--no-unions", "--no-bitfields"]

# The threads of a program with `lanes` start with different values of their globals.
MODES = {
    "scalars": {"options": [*SMALL, *NO_RECORDS, "--no-volatiles", "--no-pointers"]},
    "pointers": {"options": [*SMALL, *NO_RECORDS, "--no-volatiles"]},
    "records": {"options": [*SMALL, "--no-volatiles", "--no-packed-struct", "--max-struct-fields", "5"]},
    "packed": {"options": [*SMALL, "--no-volatiles", "--max-struct-fields", "5"]},
    "volatiles": {"options": [*SMALL, *NO_RECORDS]},
    "narrow": {"options": [*SMALL, "--no-volatiles", "--no-longlong", "--no-math64"]},
    "inline": {"options": [*SMALL, "--no-volatiles", "--inline-function", "--max-funcs", "8"]},
    "builtins": {"options": [*SMALL, "--no-volatiles", "--builtins", "--enable-builtin-kinds", "generic"]},
    "floats": {"options": [*SMALL, "--no-volatiles", "--float", "--strict-float"]},
    "statements": {"options": [*SMALL, "--no-volatiles"], "wrappers": "statement expressions"},
    "lanes": {"options": [*SMALL, *NO_RECORDS, "--no-volatiles"], "lanes": True},
    "lane-records": {"options": [*SMALL, "--no-volatiles", "--max-struct-fields", "5"], "lanes": True},
    "large": {"options": ["--no-volatiles"]},
}

# One full SIMD-group and one cut off at the edge.
LANES = 40

# Bytes of functions; every third program is shorter and only returns.
TRIVIAL = 2000

SECTION = re.compile(r"/\* --- ([A-Za-z/ ]+) --- \*/\n")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
LONG_LONG = re.compile(r"\b(0x[0-9A-F]+|\d+)(U?)LL\b")
HEX_FLOAT = re.compile(r"\b0x[0-9A-F]*\.[0-9A-F]*p[-+]\d+")
POINTER = re.compile(r"\b((?:u?int(?:8|16|32|64)_t|float|void|(?:struct|union) [SU]\d+)\b)((?:\s*(?:\*|const\b|volatile\b))+)")
INTEGER = re.compile(r"^(?:volatile )?u?int\d+_t (g_\d+) = ", re.M)
WRAPPER = re.compile(r"\bsafe_([a-z_]+)_func_(u?int(?:8|16|32|64)_t|float)_(?:([suf])_)?([suf])\b")
BUILTIN = re.compile(r"\b__builtin_(clz|ctz|popcount|parity|ffs|bswap)(32|64|ll|l)?\b")

HEADER = """\
#ifdef __METAL_VERSION__
#include <metal_stdlib>
using namespace metal;
#else
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define thread
typedef unsigned int uint;
typedef uint64_t ulong;
#endif
"""

FOOTER = """\
#ifdef __METAL_VERSION__
kernel void run(device ulong* out [[buffer(0)]], uint index [[thread_position_in_grid]]) {
    program state;
    out[index] = state.main_with(index);
}
#else
int main() {
    for (uint index = 0; index < LANES; ++index) {
        program state;
        printf("%lu\\n", state.main_with(index));
    }
}
#endif
"""

CHECKSUM = """\
    ulong checksum = 0;
    void add(ulong value) {
        checksum = (checksum ^ value) * 0x9E3779B97F4A7C15UL;
        checksum ^= checksum >> 29;
    }
    // All NaNs count as one.
    void add_float(float value) {
        uint bits;
#ifdef __METAL_VERSION__
        bits = as_type<uint>(value);
#else
        memcpy(&bits, &value, 4);
#endif
        add(value == value ? bits : 0x7FC00000u);
    }
"""

# The result where the operation has none is the first operand, as csmith's generator expects.
SIGNED = {
    "unary_minus": "a == MIN ? a : -a",
    "add": "(b > 0 && a > MAX - b) || (b < 0 && a < MIN - b) ? a : a + b",
    "sub": "(b < 0 && a > MAX + b) || (b > 0 && a < MIN + b) ? a : a - b",
    "mul": "(a > 0 && b > 0 && a > MAX / b) || (a > 0 && b <= 0 && b < MIN / a) || (a <= 0 && b > 0 && a < MIN / b)"
           " || (a < 0 && b <= 0 && b < MAX / a) ? a : a * b",
    "div": "b == 0 || (a == MIN && b == -1) ? a : a / b",
    "mod": "b == 0 || (a == MIN && b == -1) ? a : a % b",
    "lshift": "a < 0 || BAD_SHIFT || a > (MAX >> b) ? a : a << b",
    "rshift": "a < 0 || BAD_SHIFT ? a : a >> b",
}
UNSIGNED = {
    "unary_minus": "-a", "add": "a + b", "sub": "a - b", "mul": "a * 1u * b", "div": "b == 0 ? a : a / b",
    "mod": "b == 0 ? a : a % b", "lshift": "BAD_SHIFT || a > (MAX >> b) ? a : a << b", "rshift": "BAD_SHIFT ? a : a >> b",
}
FLOAT = {"add": "a + b", "sub": "a - b", "mul": "a * b", "div": "b == 0.0f ? a : a / b"}


def limits(type):
    """The least and the greatest value as expressions of the type."""
    bits = int(re.search(r"\d+", type)[0])
    if type.startswith("u"):
        return "0", f"({type})0x{2 ** bits - 1:X}UL"
    greatest = f"0x{2 ** (bits - 1) - 1:X}L"
    return f"({type})(-{greatest} - 1)", f"({type}){greatest}"


def wrapper(match, as_statements):
    """The definition of one of csmith's wrappers: a function, or a macro with a statement expression."""
    name = match[0]
    if name == "safe_convert_func_float_to_int32_t":
        return None
    operation, type, right = match[1], match[2], match[4]
    table = FLOAT if type == "float" else UNSIGNED if type.startswith("u") else SIGNED
    shifts = operation in ("lshift", "rshift")
    second = ("int32_t" if right == "s" else "uint32_t") if shifts else type
    text = table[operation]
    if type != "float":
        least, greatest = limits(type)
        bad_shift = "b < 0 || b >= 32" if second == "int32_t" else "b >= 32"
        text = text.replace("BAD_SHIFT", bad_shift).replace("MIN", least).replace("MAX", greatest)
    unary = operation == "unary_minus"
    if as_statements:
        parameters = "a_" if unary else "a_, b_"
        operands = f"{type} a = (a_);" + ("" if unary else f" {second} b = (b_);")
        return f"#define {name}({parameters}) ({{ {operands} ({type})({text}); }})"
    parameters = f"{type} a" if unary else f"{type} a, {second} b"
    return f"inline {type} {name}({parameters}) {{ return {text}; }}"


def builtin(match):
    """The definition of one of GCC's built-in functions, with a result for 0, by Metal's or by GCC's own."""
    operation, suffix = match[1], match[2] or ""
    bits = 64 if suffix in ("l", "ll", "64") else 32
    type = f"uint{bits}_t"
    long = "l" if bits == 64 else ""
    metal, host = {
        "clz": ("clz(a)", f"a == 0 ? {bits} : __builtin_clz{long}(a)"),
        "ctz": ("ctz(a)", f"a == 0 ? {bits} : __builtin_ctz{long}(a)"),
        "popcount": ("popcount(a)", f"__builtin_popcount{long}(a)"),
        "parity": ("popcount(a) & 1", f"__builtin_parity{long}(a)"),
        "ffs": ("a == 0 ? 0 : ctz(a) + 1", f"__builtin_ffs{long}(a)"),
        "bswap": (f"reverse_bytes{bits}(a)", f"__builtin_bswap{bits}(a)"),
    }[operation]
    result = type if operation == "bswap" else "int32_t"
    name = f"builtin_{operation}{suffix}"
    return (f"#ifdef __METAL_VERSION__\ninline {result} {name}({type} a) {{ return {metal}; }}\n"
            f"#else\ninline {result} {name}({type} a) {{ return {host}; }}\n#endif")


REVERSE_BYTES = """\
#ifdef __METAL_VERSION__
inline uint32_t reverse_bytes32(uint32_t a) { return as_type<uint32_t>(as_type<uchar4>(a).wzyx); }
inline uint64_t reverse_bytes64(uint64_t a) {
    return (uint64_t)reverse_bytes32((uint32_t)a) << 32 | reverse_bytes32((uint32_t)(a >> 32));
}
#endif
"""


def to_kernel(text, lanes=False, wrappers="functions"):
    """The text of csmith as a kernel `run` that writes a checksum for each thread."""
    pieces = SECTION.split(text)
    sections = dict(zip(pieces[1::2], pieces[2::2]))
    records = sections.get("Struct/Union Declarations", "")
    variables = members(sections["GLOBAL VARIABLES"])
    functions, body = re.split(r"^int main \(void\)\n", sections["FUNCTIONS"], flags=re.M)
    body = body[:body.index("\n}\n")]
    if len(functions) < TRIVIAL:
        raise Unusable("does next to nothing")
    definitions = []
    for match in {match[0]: match for match in WRAPPER.finditer(functions)}.values():
        definitions.append(wrapper(match, wrappers != "functions"))
    builtins = {match[0]: match for match in BUILTIN.finditer(functions)}.values()
    definitions += [REVERSE_BYTES] * any(match[1] == "bswap" for match in builtins)
    definitions += [builtin(match) for match in builtins]
    functions = BUILTIN.sub(r"builtin_\1\2", functions)
    perturbed = "".join(f"        {name} ^= index;\n" for name in INTEGER.findall(variables)) if lanes else ""
    parts = [
        HEADER, f"#define LANES {LANES if lanes else 1}\n", "\n".join(definitions), "\n",
        spelled(records), "struct program {\n", CHECKSUM, spelled(variables), members(spelled(functions)),
        "    ulong main_with(uint index) {\n", perturbed, main_of(body), "        return checksum;\n    }\n};\n", FOOTER,
    ]
    return re.sub(r"\n\s*\n+", "\n", COMMENT.sub("", "".join(parts)))


def members(text):
    """Declarations of a program as members of a structure."""
    return re.sub(r"^(?:inline )?static (?!long __undefined)", "", text, flags=re.M)


def spelled(text):
    """Pointers to thread memory, and constants as Metal has them."""
    text = LONG_LONG.sub(r"\1\2L", COMMENT.sub("", text))
    text = HEX_FLOAT.sub(r"\g<0>f", text)
    return POINTER.sub(lambda match: match[1] + match[2].replace("*", " thread*"), text)


def main_of(text):
    """What `main` does, with our checksum."""
    text = text.lstrip("{ \n")
    lines = []
    for line in text.splitlines():
        if re.match(r"\s*(int print_hash_value|platform_main|crc32_gentab|if \(print_hash_value|return)", line):
            continue
        line = re.sub(r"transparent_crc\((.*), \"[^\"]*\", print_hash_value\);", r"add(\1);", line)
        line = re.sub(r"transparent_crc_bytes ?\(&(.*), sizeof\(.*\), \"[^\"]*\", print_hash_value\);", r"add_float(\1);", line)
        lines.append("    " + line + "\n")
    return "".join(lines)


def generate(mode, seed):
    """A program with what the host's compiler says of it. Raises `Unusable` if that is nothing."""
    about = MODES[mode]
    command = ["csmith", "--seed", str(seed), *COMMON, *about["options"]]
    try:
        made = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        raise Unusable("csmith ends without a program") from error
    lanes = about.get("lanes", False)
    text = to_kernel(made.stdout, lanes, about.get("wrappers", "functions"))
    return Program(
        name=f"csmith-{mode}-{seed}", mode=f"csmith {mode}", text=text, suffix="metal", kernel="run",
        threads=[LANES if lanes else 1, 1, 1], group=None, arguments=[f"zeros:u64:{LANES if lanes else 1}"],
        expected=on_host(text))


# Two compilers, because one may be wrong: clang drops the effects of `(effect(), nullptr) == nullptr`.
HOST_COMPILERS = [
    ["clang++", "-O0", "-Wno-c++11-narrowing", "-fbracket-depth=4096"],
    ["clang++", "-O2", "-Wno-c++11-narrowing", "-fbracket-depth=4096"],
    ["g++", "-O1", "-fpermissive"],
]


def on_host(text):
    """The checksums by clang, without optimisation and with, and by GCC; all have to agree."""
    results = set()
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "program.cpp"), os.path.join(folder, "program")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        for compiler in HOST_COMPILERS:
            command = [*compiler, "-std=c++14", "-w", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", source,
                       "-o", program]
            built = subprocess.run(command, capture_output=True, text=True)
            if built.returncode != 0:
                raise Unusable("is not C++: " + next((line for line in built.stderr.splitlines() if "error:" in line), "?"))
            try:
                ran = subprocess.run([program], capture_output=True, text=True, timeout=3)
            except subprocess.TimeoutExpired as error:
                raise Unusable("does not end on the host") from error
            if ran.returncode != 0:
                raise Unusable("fails on the host")
            results.add(ran.stdout)
    if len(results) != 1:
        raise Unusable("depends on the host's compiler or its optimisation")
    return [int(line) for line in results.pop().split()]
