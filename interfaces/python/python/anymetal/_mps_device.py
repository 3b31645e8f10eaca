"""The device `mps` of PyTorch where there is none: tensors in the host's memory that say that they are on it.

`Pretence` is active from `start` to `stop`. A factory or a move with ``device="mps"`` gives a `HostTensor`, whose
`device` is ``mps:0``; a move between it and the CPU is a copy, as between a GPU and the CPU. Operations on such
tensors are PyTorch's own for the CPU, and give such tensors.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ._kernel_errors import raise_pending

__all__ = ["HostTensor", "Pretence"]

_MPS = torch.device("mps", 0)
_CPU = torch.device("cpu")


class HostTensor(torch.Tensor):
    """A tensor of the CPU that passes for one of the device `mps`."""

    @property
    def device(self) -> torch.device:
        return _MPS

    @property
    def is_mps(self) -> bool:
        return True

    @property
    def is_cpu(self) -> bool:
        return False

    @property
    def grad(self) -> Any:
        found = super().grad
        return found if found is None else found.as_subclass(HostTensor)

    @grad.setter
    def grad(self, value: Any) -> None:
        torch.Tensor.grad.__set__(self, value)

    @grad.deleter
    def grad(self) -> None:
        torch.Tensor.grad.__delete__(self)

    def type(self, dtype: Any = None, non_blocking: bool = False, **keywords: Any) -> Any:
        if dtype is not None:
            return super().type(dtype, non_blocking, **keywords)
        return super().type().replace("torch.", "torch.mps.")


class _Mode(TorchFunctionMode):
    """Looks at every call of PyTorch for a device."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function in _GETTERS:
            return _answer(function, args[0])
        if function is torch.device or function is torch._C._nn._parse_to:
            return function(*args, **kwargs)
        wanted = _device_of(kwargs.get("device"))
        if wanted is None:
            wanted = next(filter(None, map(_device_of, args)), None)
        if function is torch.Tensor.cpu:
            wanted = "cpu"
        if wanted == "cpu" or function is torch.Tensor.item or function is torch.Tensor.tolist:
            raise_pending()  # What waits for the device tells what kernels reported.
        if wanted is None and function is torch.Tensor.to and isinstance(_second(args, kwargs), torch.Tensor):
            wanted = "mps" if isinstance(_second(args, kwargs), HostTensor) else "cpu"
        if wanted is None:
            return function(*args, **kwargs)
        given = args[0] if args and isinstance(args[0], torch.Tensor) else None
        result = function(*map(_on_cpu, args), **{name: _on_cpu(value) for name, value in kwargs.items()})
        return _placed(result, wanted, given)


#: What a plain tensor tells of its device.
_GETTERS = {
    torch.Tensor.device.__get__: _MPS,
    torch.Tensor.is_mps.__get__: True,
    torch.Tensor.is_cpu.__get__: False,
}


class _Backward(threading.local):
    """Whether a backward pass from tensors on `mps` runs: the gradients that PyTorch makes in it are plain tensors."""

    on_mps = False


_backward = _Backward()


def _answer(getter: Any, tensor: torch.Tensor) -> Any:
    return _GETTERS[getter] if _backward.on_mps else getter(tensor)


def _second(args: Any, kwargs: Any) -> Any:
    return args[1] if len(args) > 1 else kwargs.get("other")


def _device_of(value: Any) -> str | None:
    """The kind of device that an argument names, if it names `mps` or the CPU."""
    if isinstance(value, torch.device):
        return value.type if value.type in ("mps", "cpu") else None
    if isinstance(value, str) and value in ("mps", "mps:0", "cpu"):
        return value.partition(":")[0]
    return None


def _on_cpu(value: Any) -> Any:
    return _CPU if _device_of(value) == "mps" else value


def _placed(result: Any, wanted: str, given: torch.Tensor | None) -> Any:
    """The result as a tensor of the device that was named: a copy if it is still the memory of the other one."""
    if not isinstance(result, torch.Tensor):
        return result
    is_there = isinstance(result, HostTensor)
    if is_there == (wanted == "mps"):
        return result
    if given is not None and isinstance(given, HostTensor) != (wanted == "mps"):
        if result.untyped_storage().data_ptr() == given.untyped_storage().data_ptr():
            result = result.clone()
    if wanted == "mps":
        if given is None and result.is_leaf:  # Made here: it has to stay a leaf of the graph.
            return torch.Tensor._make_subclass(HostTensor, result.detach(), result.requires_grad)
        return result.as_subclass(HostTensor)
    return result.as_subclass(torch.Tensor)


def _uncompiled(model: Any = None, **options: Any) -> Any:
    """`torch.compile` without its tracer, which knows of no tensors that say they are elsewhere."""
    return _uncompiled if model is None else model


def _with_gradients(run: Any) -> Any:
    """PyTorch's engine of backward passes, noting where the tensors are that it starts from."""

    @functools.wraps(run)
    def with_gradients(outputs: Any, *args: Any, **keywords: Any) -> Any:
        before = _backward.on_mps
        _backward.on_mps = any(isinstance(output, HostTensor) for output in outputs)
        try:
            return run(outputs, *args, **keywords)
        finally:
            _backward.on_mps = before

    return with_gradients


class Pretence:
    """What `start` changes in PyTorch, for `stop` to undo."""

    def __init__(self) -> None:
        self._mode: _Mode | None = None
        self._before: list[tuple[Any, str, Any]] = []

    def start(self) -> None:
        if self._mode is not None:
            return
        self._mode = _Mode()
        self._mode.__enter__()
        # Cached, as PyTorch's own are: its test classes look behind the cache.
        yes = functools.lru_cache(lambda *_: True)
        self._set(torch.backends.mps, "is_available", yes)
        self._set(torch.backends.mps, "is_built", yes)
        self._set(torch.backends.mps, "get_name", lambda: "anymetal")
        self._set(torch.mps, "is_available", yes)
        self._set(torch.mps, "device_count", lambda: 1)
        self._set(torch.mps, "empty_cache", lambda: None)
        for name in ("current_allocated_memory", "driver_allocated_memory"):
            self._set(torch.mps, name, lambda: 0)
        if hasattr(torch.autograd, "_engine_run_backward"):
            # Backward passes of `torch.autograd.Function` name devices, too.
            run = self._within(torch.autograd._engine_run_backward)
            self._set(torch.autograd, "_engine_run_backward", _with_gradients(run))
        self._set(torch, "compile", _uncompiled)
        self._set(torch.library.Library, "impl", self._registered_for_both(torch.library.Library.impl))
        # Parameters become new ones when a module moves: only so can their class change.
        before = torch.__future__.get_overwrite_module_params_on_conversion()
        self._before.append((torch.__future__, "", before))
        torch.__future__.set_overwrite_module_params_on_conversion(True)

    def stop(self) -> None:
        if self._mode is None:
            return
        self._mode.__exit__(None, None, None)
        self._mode = None
        for owner, name, value in reversed(self._before):
            if owner is torch.__future__:
                torch.__future__.set_overwrite_module_params_on_conversion(value)
            elif value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._before.clear()

    def _within(self, function: Any) -> Any:
        """The function with the mode active, which PyTorch takes away around its own calls of Python code."""

        @functools.wraps(function)
        def within(*args: Any, **keywords: Any) -> Any:
            if self._mode is None:
                return function(*args, **keywords)
            with self._mode:
                return function(*args, **keywords)

        return within

    def _registered_for_both(self, register: Any) -> Any:
        """`Library.impl`, for which a kernel of `MPS` is one of the CPU, too: that is where the tensors are."""

        @functools.wraps(register)
        def impl(library: Any, name: Any, function: Any, dispatch_key: str = "", **keywords: Any) -> Any:
            if dispatch_key == "MPS":
                register(library, name, self._within(function), "CPU", **keywords)
            return register(library, name, function, dispatch_key, **keywords)

        return impl

    def _set(self, owner: Any, name: str, value: Any) -> None:
        self._before.append((owner, name, getattr(owner, name, _ABSENT)))
        setattr(owner, name, value)


_ABSENT = object()
