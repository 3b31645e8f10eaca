"""`await submission`: the bridge from the device's threads to an event loop."""

from __future__ import annotations

import asyncio
from typing import Any
from collections.abc import Generator


def wait_for(submission: Any) -> Generator[Any, None, float]:
    """What `__await__` gives: ready when the work has ended, with the seconds that the device was at it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def finish() -> None:
        if not future.done():
            future.set_result(None)

    def on_done() -> None:
        try:
            loop.call_soon_threadsafe(finish)
        except RuntimeError:
            pass  # The loop was closed; nobody waits any more.

    submission._on_done(on_done)
    yield from future.__await__()
    return submission._result()
