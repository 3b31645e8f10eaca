"""A bug of the compiler is an exception with a report, and the interpreter goes on."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

PROGRAM = """
import numpy
import anymetal

try:
    library = anymetal.compile_shader("kernel void f(device int* y, uint i [[thread_position_in_grid]]) { y[i] = 1; }")
    library.f(numpy.zeros(4, "i4"), threads=4)
    print("no bug")
except (anymetal.CompileError, anymetal.DeviceError) as error:
    print(type(error).__name__, getattr(error, "kind", ""), str(error))
"""


@pytest.mark.parametrize(
    "stage, exception, llvm",
    [
        ("front end", "CompileError compiler-bug", None),
        ("middle end", "CompileError compiler-bug", None),
        ("code generator", "CompileError compiler-bug", None),
        ("interpreted run", "DeviceError", "none"),
    ],
)
def test_a_compiler_bug_is_an_exception_with_a_reproducer(tmp_path, stage, exception, llvm):
    variables = {"ANYMETAL_CACHE": str(tmp_path / "cache"), "ANYMETAL_TEST_COMPILER_BUG": stage}
    if llvm:
        variables["ANYMETAL_LLVM"] = llvm
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    if ran.stdout == "no bug\n":
        pytest.skip("a release build has no bugs on request")
    assert ran.stdout.startswith(exception), ran.stdout
    assert f"compiler bug in stage `{stage}`" in ran.stdout
    assert "panicked" not in ran.stderr
    reproducer = re.search(r"the reproducer (\S+)", ran.stdout).group(1)
    assert "kernel void f" in pathlib.Path(reproducer).read_text()
