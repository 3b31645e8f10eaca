"""What ends at an awkward moment: tasks, event loops, threads, the interpreter. No process dies of it."""

import asyncio
import subprocess
import sys
import threading

import numpy
import pytest

import anymetal
from anymetal import compile_shader

#: Before each script: work that takes some time, and work that never ends by itself.
SCRIPT = """
import asyncio, atexit, sys, threading, time
import anymetal, numpy
library = anymetal.compile_shader('''
    kernel void spin(device float* x, constant uint& n, uint i [[thread_position_in_grid]]) {
        float y = x[i]; for (uint k = 0; k < n; k++) y = y * 1.0001f + 0.5f; x[i] = y; }
    kernel void endless(device volatile uint* x) { while (x[0] == 0) { x[1] += 1; } }
    kernel void one(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }''')
x, n = numpy.zeros(1024, "float32"), 2_000_000
library.one(x)
"""

SCRIPTS = {
    "work that runs": "submission = library.spin.launch(x, n)",
    "work without an end": """
        endless = library.endless.launch(numpy.zeros(2, "uint32"), threads=1, deadline=20.0)""",
    "work that waits": """
        queue = anymetal.Device().queue(); queue.pause()
        submissions = [library.one.launch(x, queue=queue) for _ in range(10)]""",
    "work that nobody holds": "library.spin.launch(x, n); del x",
    "a callback": """
        library.spin.launch(x, n)._on_done(lambda: print("late"))""",
    "a thread that calls": """
        def call():
            while True: library.one(x)
        threading.Thread(target=call, daemon=True).start(); time.sleep(0.2)""",
    "a thread that waits": """
        def wait(): library.spin.launch(x, 50 * n).wait()
        threading.Thread(target=wait, daemon=True).start(); time.sleep(0.2)""",
    "a call of atexit": "atexit.register(lambda: library.one(x))",
    "an object's finaliser": """
        class Last:
            def __del__(self, one=library.one, x=x): one(x)
        last = Last(); last.itself = last""",
    "a loop that is closed": """
        async def late(): asyncio.ensure_future(wait()); await asyncio.sleep(0)
        async def wait(): await library.spin.launch(x, n)
        asyncio.run(late())""",
    "an exception": "submission = library.spin.launch(x, n); sys.exit(0)",
}


@pytest.mark.parametrize("what", SCRIPTS)
def test_the_interpreter_ends_whatever_is_in_progress(what, tmp_path):
    script = tmp_path / "ends.py"
    lines = SCRIPTS[what].splitlines()
    script.write_text(SCRIPT + "\n".join(line.removeprefix("        ") for line in lines) + "\nprint('end')\n")
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr and "panic" not in ended.stderr, ended.stderr


def test_a_task_that_is_cancelled_leaves_its_work_alone():
    library = compile_shader("""
        kernel void spin(device float* x, constant uint& n, uint i [[thread_position_in_grid]]) {
            float y = x[i]; for (uint k = 0; k < n; k++) y = y * 1.0001f + 0.5f; x[i] = y; }""")
    x = numpy.zeros(64, "float32")
    started = []

    async def waits():
        started.append(library.spin.launch(x, 3_000_000))
        await started[0]

    async def cancels():
        task = asyncio.ensure_future(waits())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancels())
    started[0].wait()
    assert (x > 0).all()


def test_an_exception_of_the_work_is_raised_where_it_is_awaited(saxpy):
    x, y = numpy.ones(8, "float32"), numpy.zeros(8, "float32")

    async def awaits():
        good, bad = saxpy.launch(x, y, 1.0), saxpy.launch(x, y, 1.0, threads=100)
        told = await asyncio.gather(good, bad, return_exceptions=True)
        with pytest.raises(anymetal.OutOfBoundsError):
            await bad  # Once more: an end is told as often as one asks.
        return told

    good, bad = asyncio.run(awaits())
    assert good >= 0 and isinstance(bad, anymetal.OutOfBoundsError)
    saxpy(x, y, 1.0)


def test_threads_share_kernels_queues_and_arrays():
    library = compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void add(device atomic_uint* sum, device uint* own, uint i [[thread_position_in_grid]]) {
            atomic_fetch_add_explicit(sum, 1u, memory_order_relaxed); own[i] += 1; }
        kernel void wrong(device uint* own, uint i [[thread_position_in_grid]]) { own[i + 1000] = 1; }""")
    total, mistakes = numpy.zeros(1, "uint32"), []
    each, rounds, threads = 16, 400, 6

    def work(number):
        own = numpy.zeros(each, "uint32")
        for turn in range(rounds):
            library.add(total, own, threads=each)
            if turn % 50 == number:
                try:
                    library.wrong(own)
                except anymetal.OutOfBoundsError as error:
                    mistakes.append(error)
        assert (own == rounds).all()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert total[0] == each * rounds * threads
    assert len(mistakes) == threads * rounds // 50


def test_no_threads_and_no_elements_run_nothing(saxpy):
    x, y = numpy.ones(8, "float32"), numpy.zeros(8, "float32")
    for threads in (0, (0, 1), (4, 0, 2)):
        group_size = 1 if isinstance(threads, int) else (1,) * len(threads)
        saxpy(x, y, 1.0, threads=threads, group_size=group_size)
    saxpy(x[:0], y[:0], 1.0)
    assert (y == 0).all()


def test_mistakes_of_a_kernel_that_is_quick_by_now_are_as_before(saxpy):
    x, y = numpy.ones(8, "float32"), numpy.zeros(8, "float32")
    for _ in range(100):
        saxpy(x, y, 1.0)
    for call, kind in (
        (lambda: saxpy(x, y, 1.0, threads=100), anymetal.OutOfBoundsError),
        (lambda: saxpy(x, y), TypeError),
        (lambda: saxpy(x, y, 1.0, group_size=0), ValueError),
        (lambda: saxpy(x, y, 1.0, threads=8, group_size=4096), ValueError),
        (lambda: saxpy(x.astype("float64"), y, 1.0), TypeError),
        (lambda: saxpy(x, None, 1.0), anymetal.OutOfBoundsError),
    ):
        for _ in range(3):
            with pytest.raises(kind):
                call()
    queue = anymetal.Device().queue()
    for _ in range(20):
        saxpy(x, y, 1.0, queue=queue)
    assert (y == 123).all(), "the 120, and what is within the arrays of three launches that were too large"
