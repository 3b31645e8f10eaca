"""`pytest --anymetal-check`: every kernel launch of the tests under the sanitizer.

A test during which the sanitizer found something fails with the report. `--anymetal-suppressions FILE` names a
file of what is known and allowed; ``@pytest.mark.anymetal_unchecked`` leaves a test out.
"""

from __future__ import annotations

from typing import Any
from collections.abc import Generator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("anymetal")
    group.addoption(
        "--anymetal-check", action="store_true", help="run Metal kernels under the sanitizer; findings fail the test"
    )
    group.addoption("--anymetal-suppressions", metavar="FILE", default=None, help="findings that are known and allowed")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "anymetal_unchecked: not run under anymetal's sanitizer")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    wanted = item.config.getoption("--anymetal-check") and not item.get_closest_marker("anymetal_unchecked")
    if not wanted:
        yield
        return
    from . import check

    with check(suppressions=item.config.getoption("--anymetal-suppressions")) as checked:
        outcome = yield
    if checked.report and outcome.excinfo is None:
        try:
            pytest.fail(f"anymetal's sanitizer:\n{checked.report.text}", pytrace=False)
        except pytest.fail.Exception as failed:
            outcome.force_exception(failed) if hasattr(outcome, "force_exception") else _force(outcome, failed)
    elif checked.report:
        item.add_report_section("call", "anymetal sanitizer", checked.report.text)


def _force(outcome: Any, failed: BaseException) -> None:
    """For versions of pluggy before 1.1."""
    outcome._result = None
    outcome._excinfo = (type(failed), failed, failed.__traceback__)
