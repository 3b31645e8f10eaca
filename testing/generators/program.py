"""A generated program with its expected results, and files of them: a line of JSON for each, compressed."""

import dataclasses
import json
import lzma


class Unusable(Exception):
    """What the generator wrote has no expected results; the message says why."""


@dataclasses.dataclass
class Program:
    """A kernel, how it is launched, and what its first buffer holds afterwards."""

    name: str
    # Generator and mode, a row of the table.
    mode: str
    text: str
    # "metal" or "cl".
    suffix: str
    kernel: str
    # Three dimensions each; `group` is left to the device where it is None.
    threads: list[int]
    group: list[int] | None
    # For each buffer, in order, as `--arg` takes them.
    arguments: list[str]
    expected: list[int]


def write(path, programs):
    """Writes programs as they come; returns their number."""
    count = 0
    with lzma.open(path, "wt", encoding="utf-8") as file:
        for program in programs:
            file.write(json.dumps(dataclasses.asdict(program)) + "\n")
            count += 1
    return count


def read(path):
    """The programs of a file."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [Program(**json.loads(line)) for line in file]
