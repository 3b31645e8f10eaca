"""Kernels over many machines: callables for `ray.data.Dataset.map_batches`.

::

    import anymetal.ray, numpy, ray

    def blur(library, batch):
        out = numpy.empty_like(batch["image"])
        library.blur(batch["image"], out, threads=out.size)
        return {"image": out}

    blurred = dataset.map_batches(
        anymetal.ray.KernelBatches, fn_constructor_args=(SOURCE, blur), batch_size=64, concurrency=4
    )

Source and options travel, not machine code: each worker compiles for its own device, through its machine's cache
on disk. Placement, scheduling and retries are Ray's.
"""

from __future__ import annotations

import pickle
import threading
from typing import Any
from collections.abc import Callable

from . import _native
from ._shader import ShaderLibrary, compile_shader
from .errors import DeviceError

__all__ = ["KernelBatches", "compiled"]

#: What this process has compiled, by source, options and device.
_libraries: dict[bytes, ShaderLibrary] = {}
_lock = threading.Lock()


def compiled(source: str, *, device: str | None = None, **options: Any) -> ShaderLibrary:
    """The library of this process for the source, compiled by the first call.

    A Ray task that calls this compiles once for each worker process, not once for each task. `device` is the name
    of a device of the worker, or None for its default one, which is a GPU that Ray assigned to the worker where
    it did. The options are those of `anymetal.compile_shader`.
    """
    target = _native.Device(device)
    key = pickle.dumps((source, target.name, sorted(options.items())))
    with _lock:
        library = _libraries.get(key)
    if library is None:
        # Compiled without the lock: other sources need not wait. The first of two that race is kept.
        made = compile_shader(source, device=target, **options)
        with _lock:
            library = _libraries.setdefault(key, made)
    return library


def _forget() -> None:
    """Has the next call compile anew, after the device was lost."""
    with _lock:
        _libraries.clear()


class KernelBatches:
    """A worker of `map_batches`: compiled kernels, and the function that calls them over a batch.

    ``function(library, batch)`` gets the compiled `anymetal.ShaderLibrary` and the batch, and returns a batch. The
    arrays of a batch may be read-only, since they lie in Ray's object store: kernels read them in place
    (``device const`` or ``constant`` parameters) and write new arrays.

    An `anymetal.DeviceError` is raised as it is. If its ``error_class`` is ``"lost"``, the worker compiles again for
    the next batch. Ray tries a batch again after such an error if told so::

        ray.data.DataContext.get_current().actor_task_retry_on_errors = [anymetal.DeviceError]

    and after the death of a worker or a machine in any case.
    """

    def __init__(
        self,
        source: str,
        function: Callable[[ShaderLibrary, Any], Any],
        *,
        device: str | None = None,
        **options: Any,
    ) -> None:
        self._source = source
        self._function = function
        self._device = device
        self._options = options
        compiled(source, device=device, **options)

    def __call__(self, batch: Any) -> Any:
        library = compiled(self._source, device=self._device, **self._options)
        try:
            return self._function(library, batch)
        except DeviceError as error:
            if error.error_class == "lost":
                _forget()
            raise
