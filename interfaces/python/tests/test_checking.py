"""The sanitizer from Python: `check`, its findings, the plug-in of pytest."""

import importlib.metadata
import json
import os

import numpy
import pytest

import anymetal
from anymetal import compile_shader


@pytest.fixture(autouse=True)
def in_other_processes(monkeypatch):
    """Runs of pytest within these tests find the package where this process has it."""
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(anymetal.__file__)))
    if not any(one.value == "anymetal.pytest_plugin" for one in importlib.metadata.entry_points(group="pytest11")):
        monkeypatch.setenv("PYTEST_PLUGINS", "anymetal.pytest_plugin")


RACY = """
#include <metal_stdlib>
using namespace metal;
kernel void total(device const float* x, device float* out, uint i [[thread_position_in_threadgroup]]) {
    threadgroup float shared[64];
    shared[i] = x[i];
    out[i] = shared[63 - i];
}
"""


def test_findings_are_objects():
    kernel = compile_shader(RACY, file_name="racy.metal").total
    x, out = numpy.ones(64, "float32"), numpy.zeros(64, "float32")
    kernel(x, out, threads=64, group_size=64)
    with anymetal.check() as checked:
        kernel(x, out, threads=64, group_size=64)
    report = checked.report
    assert report.launches == 1 and report
    finding = next(one for one in report.findings if one.kind.startswith("race"))
    assert finding.kernel == "total" and finding.line in (6, 7) and len(finding.sides) == 2
    assert finding.sides[0].place.file == "racy.metal" and "barrier" in finding.remedy
    assert "racy.metal:" in report.text and json.loads(report.sarif)["version"] == "2.1.0"
    assert "<pre" in report._repr_html_()
    with pytest.raises(anymetal.SanitizerError, match="racy.metal"):
        report.raise_if_any()


def test_each_check_tells_what_occurred_within_it():
    kernel = compile_shader(RACY).total
    x, out = numpy.ones(64, "float32"), numpy.zeros(64, "float32")
    with anymetal.check() as first:
        kernel(x, out, threads=64, group_size=64)
    with anymetal.check() as nothing:
        pass
    with anymetal.check() as again:
        kernel(x, out, threads=64, group_size=64)
    assert first.findings and not nothing.findings and nothing.report.launches == 0
    assert {one.kind for one in again.findings} == {one.kind for one in first.findings}


def test_correct_kernels_have_no_findings(saxpy, xy):
    with anymetal.check(fail=True) as checked:
        saxpy(*xy, 1.0)
    assert checked.report.launches == 1 and not checked.report


def test_the_end_of_a_checked_statement_fails_with_the_report():
    kernel = compile_shader("kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i + 1] = 1; }").f
    with pytest.raises(anymetal.SanitizerError, match="out-of-bounds|outside"):
        with anymetal.check(fail=True):
            kernel(numpy.zeros(4, "float32"))


PROGRAM = """
    import anymetal, numpy, pytest

    racy = anymetal.compile_shader('''
        kernel void shift(device float* x, uint i [[thread_position_in_grid]]) { x[i] = x[i + 1]; }
    ''').shift

    def test_racy():
        racy(numpy.zeros(65, "float32"), threads=64)

    def test_fine():
        racy(numpy.zeros(2, "float32"), threads=1)

    @pytest.mark.anymetal_unchecked
    def test_left_out():
        racy(numpy.zeros(65, "float32"), threads=64)
"""


def test_the_plug_in_fails_tests_with_findings(pytester):
    pytester.makepyfile(PROGRAM)
    plain = pytester.runpytest_subprocess()
    plain.assert_outcomes(passed=3)
    checked = pytester.runpytest_subprocess("--anymetal-check")
    checked.assert_outcomes(passed=2, failed=1)
    checked.stdout.fnmatch_lines(["*anymetal's sanitizer*", "*race*"])


def test_the_plug_in_takes_suppressions(pytester):
    pytester.makepyfile(PROGRAM)
    file = pytester.makefile(".toml", allowed='[[suppress]]\nkind = "*"\nkernel = "shift"\nreason = "known"\n')
    checked = pytester.runpytest_subprocess("--anymetal-check", "--anymetal-suppressions", str(file))
    checked.assert_outcomes(passed=3)


def test_analyses_name_lines_and_patterns():
    analysis = anymetal.analyze(
        "kernel void f(device const float* x, device float* y, uint i [[thread_position_in_grid]]) "
        "{ y[i] = x[2 * i]; }",
        group_size=64,
    )[0]
    patterns = {one["variable"]: one["pattern"]["kind"] for one in analysis.accesses}
    assert patterns == {"x": "strided", "y": "contiguous"}
    assert analysis.kernel == "f" and "<table>" in analysis._repr_html_()
