"""What the tests share."""

import importlib.util
import signal

import numpy
import pytest

import anymetal

pytest_plugins = ["pytester"]

# Shells start background jobs with SIGINT ignored, and Python then installs no handler for it.
signal.signal(signal.SIGINT, signal.default_int_handler)

SAXPY = """
kernel void saxpy(device const float* x, device float* y, constant float& a,
                  uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }
"""


@pytest.fixture(scope="session")
def saxpy():
    return anymetal.compile_shader(SAXPY).saxpy


@pytest.fixture
def xy():
    return numpy.arange(64, dtype="float32"), numpy.ones(64, dtype="float32")


#: Tests over other libraries are collected where the library is.
MISSING = [name for name in ("torch", "mlx", "ray") if importlib.util.find_spec(name) is None]
collect_ignore = [f"test_{name}.py" for name in MISSING]


def pytest_report_header():
    device = anymetal.Device()
    missing = f"; not installed, so not tested: {', '.join(MISSING)}" if MISSING else ""
    return f"anymetal {anymetal.__version__} on {device.name} ({device.executor}){missing}"
