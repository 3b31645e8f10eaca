"""What notebooks show: HTML without scripts."""

from __future__ import annotations

from html import escape
from typing import Any


def preformatted(title: str, text: str) -> str:
    """A title over text in a fixed-width font."""
    return (
        f'<div><b>{escape(title)}</b><pre style="border-left:3px solid #c33;padding-left:8px">'
        f"{escape(text)}</pre></div>"
    )


def seconds(value: float) -> str:
    """A time with a unit that fits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def profile(measured: Any) -> str:
    """A profile as a table and a picture of its samples, the fastest first."""
    samples = measured.samples
    width, height = 320, 60
    longest = max(samples, default=0.0) or 1.0
    step = width / max(len(samples), 1)
    bars = "".join(
        f'<rect x="{at * step:.1f}" y="{height - height * one / longest:.1f}" width="{max(step - 1, 0.5):.1f}" '
        f'height="{height * one / longest:.1f}" fill="#468"><title>{seconds(one)}</title></rect>'
        for at, one in enumerate(samples)
    )
    rows = "".join(
        f"<tr><td>{name}</td><td>{seconds(value)}</td></tr>"
        for name, value in (
            ("median", measured.median),
            ("least", measured.least),
            ("90 %", measured.percentile(90)),
            ("mean", measured.mean),
            ("deviation", measured.deviation),
        )
    )
    return (
        f"<div><b>{escape(measured.kernel)}</b>, {len(samples)} runs"
        f'<table>{rows}</table><svg width="{width}" height="{height}">{bars}</svg></div>'
    )


def table(title: str, rows: list[tuple[str, Any]]) -> str:
    """Names and values."""
    body = "".join(f"<tr><td>{escape(name)}</td><td>{escape(str(value))}</td></tr>" for name, value in rows)
    return f"<div><b>{escape(title)}</b><table>{body}</table></div>"
