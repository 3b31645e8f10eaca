"""Compares what a program wrote with what it wrote on another implementation: number by number.

Lines about times, places and devices say nothing about results and are left out. Numbers agree within a part in a
thousand of the larger one, since `double` is `float` here; small ones within that part of the largest of their text;
and all within a unit of the last digit that was printed.
"""

import re

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])|\bnan\b|\binf\b", re.I)
NOT_RESULTS = re.compile(r"time|second|\bsecs?\b|\bms\b|\bus\b|flops|bandwidth|/s\b|platform|device|kernel|work.?group|\.cl\b|"
                         r"opencl|anymetal|block|driver|number of|closest|gridSize|pyramidHeight|border:|\bMB\b|[HD]to[HD]|num_dev|devices|\[.*MB\]|matrix size|suites:|^init|^copy|^total|^close|malloc|memcpy|exec:|free:", re.I)
TOLERANCE = 1e-3
MAX_WRONG_PART = 1e-4


class Number(float):
    """A number and the value of its last printed digit: 0 where it was printed with more than a `float` has."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        mantissa, _, exponent = text.lower().partition("e")
        digits = re.sub(r"[^0-9]", "", mantissa).lstrip("0")
        is_short = "." in mantissa and len(digits) < 7
        number.unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])) if is_short else 0.0
        return number


def results(text):
    """The numbers of the lines that may be results."""
    lines = [line for line in text.splitlines() if not NOT_RESULTS.search(line)]
    return [Number(number) for line in lines for number in NUMBER.findall(line)]


def agree(ours, theirs, is_rounded=False, tolerance=TOLERANCE):
    """"right" or "wrong" with the reason; `None` if there is nothing to compare. Numbers that the program rounded to
    integers may differ by one."""
    if not theirs or not ours:
        return None, "nothing to compare"
    if len(ours) != len(theirs):
        return "wrong", f"{len(ours)} numbers, the other has {len(theirs)}"
    largest = max((abs(number) for number in theirs if number == number and abs(number) != float("inf")), default=0)
    wrong = [(a, b) for a, b in zip(ours, theirs) if not (is_near(a, b, largest, tolerance) or is_rounded and abs(a - b) <= 1)]
    if len(wrong) > MAX_WRONG_PART * len(theirs):
        return "wrong", f"{len(wrong)} of {len(theirs)} numbers differ, {wrong[0][0]} and {wrong[0][1]} first"
    return "right", f"{len(theirs)} numbers"


def is_near(a, b, largest, tolerance):
    if a == b or (a != a and b != b):
        return True
    return abs(a - b) <= max(tolerance * max(abs(a), abs(b), 0.01 * largest), 1.01 * b.unit)
