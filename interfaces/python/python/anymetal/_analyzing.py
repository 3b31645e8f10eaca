"""`analyze`: what kernels do, found without running them."""

from __future__ import annotations

import json
from typing import Any
from collections.abc import Sequence

from . import _native

__all__ = ["Analysis", "analyze"]


class Analysis:
    """What one kernel does for each thread: operations, bytes, access patterns, registers, occupancy.

    The parts are those of ``anymetal analyze --json``; see ``docs/analyze.md``.
    """

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.raw["kernel"]

    @property
    def accesses(self) -> list[dict[str, Any]]:
        """The accesses of memory, with pattern and cost."""
        return self.raw["accesses"]

    @property
    def advice(self) -> list[Any]:
        """What could be better."""
        return self.raw["advice"]

    def __getitem__(self, name: str) -> Any:
        return self.raw[name]

    def __repr__(self) -> str:
        return f"<anymetal.Analysis of {self.kernel}: {len(self.accesses)} accesses, {len(self.advice)} advice>"

    def _repr_html_(self) -> str:
        from . import _html

        rows = [("registers", self.raw.get("registers")), ("threadgroup memory", self.raw.get("threadgroup_memory"))]
        rows += [
            (
                f"{one['line']}:{one['column']} {one['operation']} of {one.get('variable') or 'memory'}",
                one["pattern"]["kind"],
            )
            for one in self.accesses
        ]
        rows += [("advice", one) for one in self.advice]
        return _html.table(self.kernel, rows)


def analyze(
    source: Any,
    kernel: str | None = None,
    *,
    group_size: int | Sequence[int] | None = None,
    threadgroup_memory: int = 0,
) -> list[Analysis]:
    """The analyses of a source's kernels, or of one of them. `source` is text or a `ShaderLibrary`."""
    text = source if isinstance(source, str) else source.source
    size: list[int] | None = None
    if group_size is not None:
        given = [group_size] if isinstance(group_size, int) else list(group_size)
        size = [*given, 1, 1][:3]
    return [Analysis(raw) for raw in json.loads(_native.analyze(text, kernel, size, threadgroup_memory))]
