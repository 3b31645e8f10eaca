"""Fits the polynomials of the vector math library and prints `coefficients.rs`.

    python3 fit.py > ../../compiler/codegen/src/cpu/math/coefficients.rs      (needs: mpmath)

Each polynomial minimises the largest weighted error |w(x) (p(x) - g(x))| over an interval by the
Remez exchange: solve for the coefficients and the levelled error on n + 1 points, move the points to
the extrema of the error, repeat. The exchange runs in 40 digits.

A polynomial evaluated in floats needs float coefficients. Rounding all of them at once loses
accuracy, so they are rounded one by one, lowest order (the most important) first, and after each the
remaining ones are fitted again with the rounded ones fixed. A leading coefficient that needs more
than one float is printed as a pair (high, low).

The functions g are those that remain when the exactly known head of the series is taken off; the
weight turns the error into one relative to the function's value.
"""
import struct
import sys
from mpmath import mp, mpf, log, exp, sin, tan, asin, atan, sinh, tanh, pi, sqrt, lu_solve, matrix

mp.dps = 40
GRID = 600


def f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def f64(x):
    return mpf(float(x))


def evaluate(coefficients, x):
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def remez(target, weight, low, high, powers, known=None):
    """Minimax coefficients of the given powers of x for `target`, weighted; and the largest error.

    Powers without the constant are no Haar system on an interval around zero, and the exchange may
    fail to converge: the best round wins, or `known` coefficients if they are better still."""
    n = len(powers)
    signed = weight
    weight = lambda x: abs(signed(x))
    centre, radius = (low + high) / 2, (high - low) / 2
    # Off centre by a little: the weight may vanish in the middle.
    xs = [centre - radius * mp.cos(pi * (mpf(2 * i + 1) / (2 * (n + 1)) + mpf("1e-3"))) for i in range(n + 1)]
    grid = [centre - radius * mp.cos(pi * mpf(i) / GRID) for i in range(GRID + 1)]
    values = [(x, target(x), weight(x)) for x in grid]
    best = None
    if known:
        best = known, max(w * abs(sum(c * x**p for c, p in zip(known, powers)) - v) for x, v, w in values)
    for _ in range(30):
        rows = matrix(n + 1, n + 1)
        right = matrix(n + 1, 1)
        for i, x in enumerate(xs):
            for j, power in enumerate(powers):
                rows[i, j] = weight(x) * x**power
            rows[i, n] = (-1) ** i
            right[i] = weight(x) * target(x)
        solution = lu_solve(rows, right)
        coefficients = [solution[j] for j in range(n)]

        def error(x, value, w):
            return w * (sum(c * x**p for c, p in zip(coefficients, powers)) - value)

        errors = [(x, error(x, value, w)) for x, value, w in values]
        extrema = []
        for i, (x, e) in enumerate(errors):
            before = errors[i - 1][1] if i else None
            after = errors[i + 1][1] if i < GRID else None
            peak = all(o is None or o * e < 0 or abs(o) <= abs(e) for o in (before, after))
            if not peak or e == 0:
                continue
            if extrema and (extrema[-1][1] > 0) == (e > 0):
                if abs(e) > abs(extrema[-1][1]):
                    extrema[-1] = (x, e)
            else:
                extrema.append((x, e))
        while len(extrema) > n + 1:
            extrema.pop(0 if abs(extrema[0][1]) < abs(extrema[-1][1]) else -1)
        worst = max(abs(e) for _, e in errors)
        if best is None or worst < best[1]:
            best = coefficients, worst
        if len(extrema) < n + 1:
            break
        xs = [x for x, _ in extrema]
        if worst < abs(solution[n]) * mpf("1.001"):
            break
    return best


def rounded_fit(target, weight, low, high, powers, head=(), formats=None):
    """Coefficients in `head` are given; the others are fitted, rounded one after another."""
    formats = formats or [f32] * len(powers)
    fixed = list(head)
    known = None
    for i in range(len(head), len(powers)):
        done = list(zip(fixed, powers))

        def rest(x):
            return target(x) - sum(c * x**p for c, p in done)

        coefficients, _ = remez(rest, weight, low, high, powers[i:], known)
        known = coefficients[1:]
        fixed.append(formats[i](coefficients[0]))
    worst = mpf(0)
    for i in range(2000):
        x = low + (high - low) * mpf(i) / 1999
        if x != 0:
            worst = max(worst, abs(weight(x) * (sum(c * x**p for c, p in zip(fixed, powers)) - target(x))))
    return fixed, worst


def split(value):
    """High and low float of a number."""
    high = f32(value)
    return high, f32(value - high)


def trimmed(value, bits):
    """The value cut to so many significant bits."""
    exponent = mp.floor(mp.log(abs(value), 2))
    unit = mpf(2) ** (exponent - bits + 1)
    return mp.nint(value / unit) * unit


def text(c):
    return repr(float(c)) if float(c) != int(float(c)) or abs(c) > 1e15 else f"{float(c):.1f}"


def shortest32(c):
    """Shortest decimal that reads back as the same float."""
    for digits in range(1, 18):
        s = f"{float(c):.{digits}e}"
        if f32(mpf(s)) == c:
            return s
    raise ValueError(c)


def show(name, doc, coefficients, kind="f32"):
    print(f"\n/// {doc}")
    items = ", ".join(shortest32(c) if kind == "f32" else repr(float(c)) for c in coefficients)
    print(f"pub(super) const {name}: [{kind}; {len(coefficients)}] = [{items}];")


def scalar(name, doc, value, kind="f32"):
    print(f"\n/// {doc}")
    print(f"pub(super) const {name}: {kind} = {shortest32(value) if kind == 'f32' else repr(float(value))};")


def bits(error):
    return f"2^{float(mp.log(error, 2)):.1f}" if error else "0"


def fit_exponentials():
    ln2 = log(2)
    scalar("LOG2_E", "1 / ln 2.", f32(1 / ln2))
    high = trimmed(ln2, 15)
    scalar("LN2_HIGH", "ln 2 cut to 15 bits: its product with an exponent is exact.", high)
    scalar("LN2_LOW", "ln 2 less `LN2_HIGH`.", f32(ln2 - high))
    scalar("LOG2_10", "log2 10.", f32(log(10, 2)))
    lg2 = log(2, 10)
    high = trimmed(lg2, 15)
    scalar("LOG10_2_HIGH", "log10 2 cut to 15 bits.", high)
    scalar("LOG10_2_LOW", "log10 2 less `LOG10_2_HIGH`.", f32(lg2 - high))
    edge = ln2 / 2 * mpf("1.0005")

    def expm1_over(x):  # (e^x - 1 - x) / x^2
        return (exp(x) - 1 - x) / x**2 if abs(x) > mpf("1e-12") else mpf(1) / 2 + x / 6

    for name, degree in (("EXP", 4), ("EXP_FAST", 3)):
        c, e = rounded_fit(expm1_over, lambda x: x**2 / exp(x), -edge, edge, list(range(degree + 1)))
        show(name, f"e^r = 1 + r + r² q(r) for |r| ≤ ln 2 / 2; relative error {bits(e)}.", c)
    for name, base, edge, degree in (
        ("EXP2", mpf(2), mpf("0.5005"), 5),
        ("EXP2_FAST", mpf(2), mpf("0.5005"), 4),
        ("EXP10", mpf(10), lg2 / 2 * mpf("1.0005"), 5),
        ("EXP10_FAST", mpf(10), lg2 / 2 * mpf("1.0005"), 4),
    ):
        def over(x, base=base):
            return (base**x - 1) / x if abs(x) > mpf("1e-12") else log(base)

        c, e = rounded_fit(over, lambda x, b=base: x / b**x, -edge, edge, list(range(degree + 1)))
        show(name, f"{int(base)}^r = 1 + r q(r); relative error {bits(e)}.", c)


def fit_logarithms():
    low, high = mpf(2) / 3 - 1, mpf(4) / 3 - 1
    low, high = low * mpf("1.0001"), high * mpf("1.0001")

    def over(scale):
        def q(f):
            if abs(f) < mpf("1e-10"):
                return scale * (-mpf(1) / 2 + f / 3)
            return (scale * mp.log1p(f) - f * scale) / f**2
        return q

    for name, degree in (("LOG", 8), ("LOG_FAST", 7)):
        weight = lambda f: f**2 / mp.log1p(f) if f != 0 else mpf(0)
        c, e = rounded_fit(over(mpf(1)), weight, low, high, list(range(degree + 1)))
        show(name, f"ln(1 + f) = f + f² q(f) for f from -1/3 to 1/3; relative error {bits(e)}.", c)
    for name, scale in (("LOG2", 1 / log(2)), ("LOG10", 1 / log(10))):
        leading = split(scale)
        for suffix, degree in (("", 8), ("_FAST", 7)):
            weight = lambda f, s=scale: f**2 / (s * mp.log1p(f)) if f != 0 else mpf(0)
            c, e = rounded_fit(over(scale), weight, low, high, list(range(degree + 1)))
            show(name + suffix, f"As `LOG`, times `{name}_LEADING`; relative error {bits(e)}.", c)
        show(name + "_LEADING", "Factor of the logarithm: high and low part.", leading)
    # The logarithm of pow: log2(1 + f) / f, first terms in double, the rest in float.
    doubles = 7

    def log2_over(f):
        return mp.log1p(f) / (f * log(2)) if abs(f) > mpf("1e-10") else (1 - f / 2) / log(2)

    formats = [f64] * doubles + [f32] * 8
    weight = lambda f: f * log(2) / mp.log1p(f) if f != 0 else mpf(1)
    c, e = rounded_fit(log2_over, weight, low, high, list(range(15)), formats=formats)
    show("POW_LOG2_DOUBLE", f"log2(1 + f) / f, orders 0 to {doubles - 1}; relative error {bits(e)}.", c[:doubles], "f64")
    show("POW_LOG2_SINGLE", f"The same, orders {doubles} on.", c[doubles:])
    # Natural logarithm in doubles through s = f / (2 + f): ln(1 + f) = 2 s + s³ p(s²).
    edge = (sqrt(2) - 1) / (sqrt(2) + 1)
    edge = (edge * mpf("1.001")) ** 2

    def atanh_rest(z):
        s = sqrt(z)
        return (2 * mp.atanh(s) - 2 * s) / s**3 if z > mpf("1e-12") else mpf(2) / 3 + z * 2 / 5

    weight = lambda z: z / 2
    c, e = rounded_fit(atanh_rest, weight, mpf(0), edge, list(range(4)), formats=[f64] * 4)
    show("LOG_DOUBLE", f"ln(1 + f) = 2 s + s³ p(s²), s = f / (2 + f); relative error {bits(e)}.", c, "f64")


def odd_rest(function, slope):
    """(function(x) / x - slope) / z as a function of z = x²."""
    def g(z):
        x = sqrt(z)
        if z < mpf("1e-14"):
            x = mpf("1e-7")
            z = x * x
        return (function(x) - slope * x) / (x * z)
    return g


def fit_odd(name, doc, function, edge, degree, slope=mpf(1)):
    top = (mpf(edge) * mpf("1.0005")) ** 2
    def weight(z):
        x = sqrt(z)
        return x * z / function(x) if z > 0 else mpf(0)
    c, e = rounded_fit(odd_rest(function, slope), weight, mpf(0), top, list(range(degree + 1)))
    show(name, f"{doc}; relative error {bits(e)}.", c)


def fit_trigonometry():
    half_pi = pi / 2
    scalar("ONE_OVER_PI", "1 / π.", f32(1 / pi))
    scalar("TWO_OVER_PI", "2 / π.", f32(2 / pi))
    one = f32(half_pi)
    two = f32(half_pi - one)
    three = f32(half_pi - one - two)
    show("HALF_PI", "π / 2 as the sum of three floats.", [one, two, three])
    fit_odd("SIN", "sin x = x + x³ p(x²) for |x| ≤ π/2", sin, half_pi, 3)
    fit_odd("TAN", "tan x = x + x³ p(x²) for |x| ≤ π/4", tan, pi / 4, 5)
    show("PI", "π: high and low part.", split(pi))
    fit_odd("SIN_PI", "sin πx = π x + x³ p(x²) for |x| ≤ 1/2", lambda x: sin(pi * x), mpf("0.5"), 3, pi)
    fit_odd("TAN_PI", "tan πx = π x + x³ p(x²) for |x| ≤ 1/4", lambda x: tan(pi * x), mpf("0.25"), 5, pi)
    fit_odd("ASIN", "asin x = x + x³ p(x²) for |x| ≤ 1/2", asin, mpf("0.5"), 4)
    fit_odd("ASIN_FAST", "asin x = x + x³ p(x²) for |x| ≤ 1/2", asin, mpf("0.5"), 3)
    fit_odd("ATAN", "atan x = x + x³ p(x²) for |x| ≤ 1", atan, mpf(1), 8)
    fit_odd("ATAN_FAST", "atan x = x + x³ p(x²) for |x| ≤ 1", atan, mpf(1), 6)


def fit_hyperbolic():
    fit_odd("SINH", "sinh x = x + x³ p(x²) for |x| ≤ 1", sinh, mpf(1), 3)
    fit_odd("TANH", "tanh x = x + x³ p(x²) for |x| ≤ 5/8", tanh, mpf("0.625"), 4)


def fit_tanh_ratio():
    """tanh x = x P(z) / Q(z), z = x², |x| ≤ 9.02: linearised minimax. The weight of a round contains
    the denominator of the round before, so the fixed point is the minimax ratio. Both parts are
    scaled so that Q(0) = 1."""
    edge = mpf("9.02")
    for name, p_degree, q_degree in (("TANH_FAST", 5, 3),):
        n = p_degree + 1 + q_degree
        xs = [edge * (1 - mp.cos(pi * mpf(2 * i + 1) / (2 * 400))) / 2 for i in range(400)]
        weights = [mpf(1)] * len(xs)
        q = [mpf(1)] + [mpf(0)] * q_degree
        lawson = [mpf(1)] * len(xs)
        mp.dps = 40
        best = None
        for round_ in range(60):
            # Normal equations of sum lawson (P x - tanh Q)^2 / (Q_old tanh)^2.
            rows = matrix(n, n)
            right = matrix(n, 1)
            for x, lw in zip(xs, lawson):
                z, t = x * x, tanh(x)
                w = lw / (evaluate(q, z) * t) ** 2
                basis = [x * z**i for i in range(p_degree + 1)] + [-t * z**i for i in range(1, q_degree + 1)]
                for i in range(n):
                    wb = w * basis[i]
                    for j in range(i, n):
                        rows[i, j] += wb * basis[j]
                    right[i] += wb * t
            for i in range(n):
                for j in range(i):
                    rows[i, j] = rows[j, i]
            solution = lu_solve(rows, right)
            p = [solution[i] for i in range(p_degree + 1)]
            q = [mpf(1)] + [solution[p_degree + 1 + i] for i in range(q_degree)]
            errors = [abs(x * evaluate(p, x * x) / evaluate(q, x * x) / tanh(x) - 1) for x in xs]
            worst = max(errors)
            if best is None or worst < best[0]:
                best = (worst, p, q)
            lawson = [lw * (e + worst / 50) for lw, e in zip(lawson, errors)]
            top = max(lawson)
            lawson = [lw / top for lw in lawson]
        worst, p, q = best
        show(name + "_NUMERATOR", f"tanh x = x P(x²) / Q(x²) for |x| ≤ 9.02; relative error {bits(worst)}.", [f32(c) for c in p])
        show(name + "_DENOMINATOR", "The same, Q.", [f32(c) for c in q])


print("//! Coefficients of the library's polynomials, lowest order first, and split constants.")
print("//!")
print("//! Generated by `testing/math-ulp/fit.py`, which explains how; do not edit.")
print("#![allow(clippy::excessive_precision, clippy::approx_constant, clippy::unreadable_literal, reason = \"generated\")]")
sections = {"exp": fit_exponentials, "log": fit_logarithms, "trig": fit_trigonometry, "hyp": fit_hyperbolic, "ratio": fit_tanh_ratio}
for name, section in sections.items():
    if len(sys.argv) < 2 or name in sys.argv[1:]:
        section()
