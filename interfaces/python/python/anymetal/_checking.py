"""`check`: kernels under the sanitizer, and its findings as objects."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

from . import _native

__all__ = ["Finding", "Report", "SanitizerError", "check"]


class SanitizerError(AssertionError):
    """The sanitizer found something. ``report`` has the findings."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.text)
        self.report = report


@dataclass(frozen=True)
class Place:
    """A place in the source."""

    file: str
    line: int
    column: int
    function: str


@dataclass(frozen=True)
class Side:
    """What one thread did: one for most findings, two for races."""

    action: str
    thread: dict[str, Any]
    place: Place


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, with how often it occurred."""

    kind: str
    kernel: str
    message: str
    severity: str
    title: str
    count: int
    remedy: str | None
    sides: list[Side]
    #: Everything, as in the JSON report.
    raw: dict[str, Any] = field(repr=False)

    @classmethod
    def _of(cls, raw: dict[str, Any]) -> Finding:
        def side(one: dict[str, Any]) -> Side:
            place = one["place"]
            where = Place(place["file"], place["line"], place["column"], place["function"])
            return Side(one["action"], one["thread"], where)

        return cls(
            kind=raw["kind"],
            kernel=raw["kernel"],
            message=raw["message"],
            severity=raw["severity"],
            title=raw["title"],
            count=raw["count"],
            remedy=raw.get("remedy"),
            sides=[side(one) for one in raw["sides"]],
            raw=raw,
        )

    @property
    def line(self) -> int:
        """The source line of the first thread; 0 if it is unknown."""
        return self.sides[0].place.line if self.sides else 0


class Report:
    """What the sanitizer found during a `check`."""

    def __init__(self, parts: tuple[str, str, str, str]) -> None:
        #: For people, with source lines.
        self.text = parts[0]
        #: The JSON document; its schema is in ``docs/sanitizer.md``.
        self.json = parts[1]
        #: SARIF 2.1.0.
        self.sarif = parts[2]
        #: Annotations of GitHub Actions.
        self.github = parts[3]
        document = json.loads(self.json)
        self.findings = [Finding._of(raw) for raw in document["findings"]]
        #: Launches that ran under the sanitizer.
        self.launches: int = document["summary"]["launches"]

    def __bool__(self) -> bool:
        """Whether anything was found."""
        return bool(self.findings)

    def __repr__(self) -> str:
        return f"<anymetal.Report: {len(self.findings)} findings in {self.launches} launches>"

    def __str__(self) -> str:
        return self.text

    def raise_if_any(self) -> None:
        """Raises `SanitizerError` if anything was found."""
        if self.findings:
            raise SanitizerError(self)

    def _repr_html_(self) -> str:
        from . import _html

        return _html.preformatted(repr(self), self.text)


class check:
    """Has kernels run under the sanitizer within a ``with`` statement.

    ::

        with anymetal.check() as checked:
            library.reduce(x, out, threads=1024)
        for finding in checked.report.findings:
            print(finding.kind, finding.line, finding.message)

    With ``fail=True`` the end of the statement raises `SanitizerError` if anything was found. Kernels of all
    threads of the process are checked meanwhile, also those that were compiled before.
    """

    def __init__(self, *, fail: bool = False, suppressions: str | os.PathLike[str] | None = None) -> None:
        self._fail = fail
        self._name = "" if suppressions is None else os.fspath(suppressions)
        self._text: str | None = None
        if suppressions is not None:
            with open(suppressions, encoding="utf-8") as file:
                self._text = file.read()
        self._checkpoint: _native.Checkpoint | None = None
        self._report: Report | None = None

    def __enter__(self) -> check:
        self._report = None
        self._checkpoint = _native.Checkpoint()
        _native.set_checking(True)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _native.set_checking(False)
        self._report = self._now()
        if self._fail and kind is None:
            self._report.raise_if_any()

    def _now(self) -> Report:
        if self._checkpoint is None:
            raise RuntimeError("the report is of a `with` statement: `with anymetal.check() as checked:`")
        return Report(self._checkpoint.report(self._text, self._name))

    @property
    def report(self) -> Report:
        """What was found: so far within the statement, in all of it after."""
        return self._now() if self._report is None else self._report

    @property
    def findings(self) -> list[Finding]:
        """The findings of the report."""
        return self.report.findings
