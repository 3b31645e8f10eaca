"""Compares the operations of anymetal-tensor-ops with PyTorch on the CPU, forward and backward.

    cargo run -p anymetal-ops-torch > cases.jsonl
    python check.py cases.jsonl

Each line is a case: inputs, the expression that PyTorch computes in double precision, and what anymetal gave: the
expression's values, or with a "gradient" the gradients of the inputs in "wrt". The tolerance is that of the result's
type, relative to the greatest expected value. Needs `torch` from PyPI. Exits with 1 if a case differs.
"""

import collections
import json
import sys

import torch
import torch.nn.functional as F

TOLERANCE = {"f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}


def tensor(of):
    dtype = {"bool": torch.bool}.get(of["dtype"])
    if dtype is None:
        dtype = torch.float64 if of["dtype"] in TOLERANCE else torch.int64
    data = [float(x) if isinstance(x, str) else x for x in of["data"]]
    return torch.tensor(data, dtype=dtype).reshape(of["shape"])


def rope(x, first, base, halves):
    """The usual definition, by complex rotation of pairs."""
    rows, width = x.shape[-2:]
    frequency = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = torch.outer(torch.arange(first, first + rows, dtype=torch.float64), frequency)
    c, s = angle.cos(), angle.sin()
    if halves:
        a, b = x[..., : width // 2], x[..., width // 2 :]
        return torch.cat([a * c - b * s, a * s + b * c], -1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)


def expected(case, inputs):
    names = {f"x{i}": x for i, x in enumerate(inputs)} | {"torch": torch, "F": F, "rope": rope}
    wrt = [inputs[i] for i in case.get("wrt", [])]
    for x in wrt:
        x.requires_grad_()
    result = eval(case["expr"], names)
    if "gradient" in case:
        return torch.autograd.grad(result, wrt, tensor(case["gradient"]))
    return result if isinstance(result, (tuple, list)) else (result,)


def difference(got, want, dtype):
    if list(got.shape) != list(want.shape):
        return f"shape {list(got.shape)} instead of {list(want.shape)}"
    got, want = got.to(torch.float64), want.detach().to(torch.float64)
    same = (got == want) | (got.isnan() & want.isnan())
    error = torch.where(same, torch.zeros_like(got), (got - want).abs())
    scale = want[want.isfinite()].abs().max().clamp(min=1.0) if want.isfinite().any() else 1.0
    worst = float((error / scale).nan_to_num(float("inf")).max()) if error.numel() else 0.0
    limit = TOLERANCE.get(dtype, 0.0)
    return f"error {worst:.3g} is more than {limit:.3g}" if worst > limit else None


def main():
    passed, failed = collections.Counter(), []
    for line in open(sys.argv[1]):
        case = json.loads(line)
        inputs = [tensor(x) for x in case["inputs"]]
        try:
            wanted = expected(case, inputs)
        except Exception as error:  # The case's expression is wrong.
            failed.append(f"{case['name']}: {case['expr']}: {error}")
            continue
        problems = [difference(tensor(got), want, got["dtype"]) for got, want in zip(case["outputs"], wanted, strict=True)]
        problem = next((problem for problem in problems if problem), None)
        if problem:
            failed.append(f"{case['name']}: {case['expr']}: {problem}")
        else:
            passed[case["name"]] += 1
    for message in failed:
        print(message)
    print(f"{sum(passed.values())} cases of {len(passed)} operations agree, {len(failed)} do not")
    sys.exit(1 if failed else 0)


main()
