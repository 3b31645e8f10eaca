"""What clang's tests expect: the annotations of a file, with the lines that they are about.

An annotation in a branch of `#if` that is not taken counts for nothing, as with clang, so that the conditions are
followed here as well: definitions, integers, `defined`, `__has_feature` and its kin. Annotations in a branch
whose condition is not understood are dropped.
"""

import bisect
import re
from dataclasses import dataclass

DIRECTIVE = re.compile(r"([A-Za-z][A-Za-z0-9-]*)-(error|warning|note|remark|no-diagnostics)(-re)?"
                       r"(@[^\s{]+)?[ \t]*(\d+(?:[+-]\d*)?|\+)?[ \t]*(?:\{(\{+))?")
MARKER = re.compile(r"(?://|/\*).*?#([A-Za-z][\w.-]*)")
# Comments, and the literals that may look as if they contained some.
COMMENT = re.compile(r"//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)|R\"([^(\s]*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\""
                     r"|(?<!\w)'(?:\\.|[^'\\\n])*'", re.S)
CONDITIONAL = re.compile(r"\s*(?:#|%:)\s*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif|define|undef)\b(.*)")


@dataclass
class Expected:
    severity: str
    line: int
    message: str


class Unknown(Exception):
    """A condition that needs more than this reader knows."""


class Conditions:
    """The state of `#if` while lines are read: `True`, `False`, or `None` where a condition is not understood."""

    def __init__(self, macros):
        self.macros = dict(macros)
        self.stack = []

    def active(self):
        states = [state for state, _ in self.stack]
        return False if False in states else None if None in states else True

    def read(self, line):
        match = CONDITIONAL.match(line)
        if not match:
            return
        word, rest = match[1], re.sub(r"//.*|/\*.*?(\*/|$)", " ", match[2]).strip()
        if word in ("if", "ifdef", "ifndef"):
            self.stack.append(self.branch(word, rest) if self.active() else (False, True))
        elif word == "endif":
            self.stack and self.stack.pop()
        elif word == "else" or word.startswith("elif"):
            self.next_branch(word, rest)
        elif self.active() and word == "define" and rest:
            name = re.match(r"\w*", rest)[0]
            self.macros[name] = rest[len(name):].strip() if not rest[len(name):].startswith("(") else None
        elif self.active() and word == "undef":
            self.macros.pop(rest, None)

    def branch(self, word, rest):
        """The state of a branch, and whether one of the construct's branches is taken."""
        try:
            if word.endswith("ndef"):
                value = rest.split()[0] not in self.macros if rest else False
            elif word.endswith("def"):
                value = rest.split()[0] in self.macros if rest else False
            else:
                value = bool(self.value(rest))
        except (Unknown, SyntaxError, TypeError, ValueError, ZeroDivisionError, IndexError):
            return None, None
        return value, value

    def next_branch(self, word, rest):
        if not self.stack:
            return
        _, taken = self.stack.pop()
        if taken:
            self.stack.append((False, True))
        elif taken is None:
            self.stack.append((None, None))
        elif word == "else":
            self.stack.append((True, True))
        else:
            self.stack.append(self.branch("ifndef" if word == "elifndef" else "ifdef" if word == "elifdef" else "if", rest)
                              if self.active() else (False, True))

    def value(self, text):
        text = re.sub(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))",
                      lambda match: str(int((match[1] or match[2]) in self.macros)), text)
        if re.search(r"\b__has_\w+|\b__is_\w+", text):
            raise Unknown(text)
        for _ in range(8):
            replaced = re.sub(r"\b[A-Za-z_]\w*\b", self.expansion, text)
            if replaced == text:
                break
            text = replaced
        text = re.sub(r"\b(\d+|0[xX][0-9a-fA-F]+)[uUlL]+\b", r"\1", text)
        text = text.replace("&&", " and ").replace("||", " or ")
        text = re.sub(r"!(?!=)", " not ", text)
        if not re.fullmatch(r"(?:[\d\s()<>=!+*/%&|^~-]|0[xX][0-9a-fA-F]+|and|or|not)+", text):
            raise Unknown(text)
        return eval(text, {"__builtins__": {}})

    def expansion(self, match):
        name = match[0]
        if name in ("and", "or", "not") or re.fullmatch(r"[uUlL]+", name):
            return name
        if name in self.macros:
            body = self.macros[name]
            if body is None:
                raise Unknown(name)
            return f"({body})" if body else ""
        return {"true": "1"}.get(name, "0")


def message_of(text, at, braces):
    """The text between the braces, which nest."""
    end = text.find("}" * braces, at)
    depth, scan = 1, at
    while depth and end >= 0:
        opening = text.find("{" * braces, scan)
        end = text.find("}" * braces, scan)
        if end < 0:
            break
        if 0 <= opening < end:
            depth, scan = depth + 1, opening + braces
        else:
            depth, scan = depth - 1, end + braces
    return text[at:end] if end >= 0 else text[at:at + 80]


def expectations(text, prefixes, macros):
    """The errors and warnings that are expected, whether the file says that there are none, and the lines that no
    condition removes."""
    conditions, lines = Conditions(macros), text.split("\n")
    active, markers, starts, offset = [], {}, [], 0
    continues = None
    for number, line in enumerate(lines, 1):
        state = conditions.active()
        joined = line if continues is None else continues + line
        continues = joined[:-1] if line.endswith("\\") else None
        if continues is None:
            conditions.read(joined)
        active.append(state)
        starts.append(offset)
        offset += len(line) + 1
        for marker in MARKER.finditer(line):
            markers.setdefault(marker[1], number)
    found, is_clean = [], False
    for comment in COMMENT.finditer(text):
        # As with clang, an annotation is about the line that its comment begins on.
        first = bisect.bisect_right(starts, comment.start())
        # Right after a line that is continued, it begins with the backslash before the end of that line.
        if first > 1 and comment.start() == starts[first - 1] and lines[first - 2].endswith("\\"):
            first -= 1
        if comment[0][0] != "/" or active[first - 1] is not True:
            continue
        for match in DIRECTIVE.finditer(text, comment.start(), comment.end()):
            if match[1] not in prefixes:
                continue
            if match[2] == "no-diagnostics":
                is_clean = True
                continue
            if not match[6]:
                continue
            about = place(match[4], first, markers)
            count = match[5] or "1"
            if about is None:
                continue
            if count.startswith("0"):
                found.append(Expected("optional", about, ""))
                continue
            message = message_of(text, match.end(), len(match[6]) + 1)
            found.append(Expected(match[2], about, message.replace("\n", " ")))
    return found, is_clean, {number for number, state in enumerate(active, 1) if state is True}


def place(written, line, markers):
    """The line of `@+1`, `@12`, `@#marker`; `None` for another file's or any."""
    if not written:
        return line
    spot = written[1:]
    if re.fullmatch(r"[+-]\d+", spot):
        return line + int(spot)
    if spot.isdigit():
        return int(spot)
    if spot.startswith("#"):
        return markers.get(spot[1:])
    return None
