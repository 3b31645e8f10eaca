"""Deadlines of launches, and Ctrl-C while Python waits."""

import math
import os
import signal
import threading
import time

import numpy
import pytest

import anymetal
from anymetal import ops

SOURCE = """
kernel void spin(device int* y, uint t [[thread_position_in_grid]]) { while (true) y[t]++; }
kernel void put(device int* y, uint t [[thread_position_in_grid]]) { y[t] = t; }
kernel void until_set(device const volatile int* flag, device int* y) { while (*flag == 0) y[0]++; }
"""

#: Much longer than an interruption takes, so that a wait that is not interrupted fails the test and ends.
DEADLINE = 8.0
SOON = 3.0


@pytest.fixture(scope="module")
def library():
    return anymetal.compile_shader(SOURCE)


def array():
    return numpy.zeros(64, "i4")


def interrupted(wait):
    """Calls `wait` and presses Ctrl-C half a second later; the seconds until it ended with KeyboardInterrupt."""
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.time()
    with pytest.raises(KeyboardInterrupt):
        wait()
    return time.time() - begin


def works_afterwards(library):
    y = array()
    library.put(y, threads=64, queue=anymetal.Device().queue())
    assert (y == numpy.arange(64)).all()


def wait_of_submission(library):
    submission = library.spin.launch(array(), threads=64, deadline=DEADLINE)
    return submission.wait


def wait_of_submission_with_timeout(library):
    submission = library.spin.launch(array(), threads=64, deadline=DEADLINE)
    return lambda: submission.wait(DEADLINE)


def synchronous_call(library):
    # A call has no deadline of its own; work before it in the queue does.
    queue = anymetal.Device().queue()
    library.spin.launch(array(), threads=64, deadline=DEADLINE, queue=queue)
    return lambda: library.put(array(), threads=64, queue=queue)


def operation(library):
    y = ops.zeros(64, dtype="int32")
    library.spin.launch(y, threads=64, deadline=DEADLINE)
    return (y + y).wait


def synchronize(library):
    queue = anymetal.Device().queue()
    library.spin.launch(array(), threads=64, deadline=DEADLINE, queue=queue)
    return queue.synchronize


def event(library):
    made = anymetal.Device().event()
    return lambda: made.wait(1)


def event_with_timeout(library):
    made = anymetal.Device().event()
    return lambda: made.wait(1, DEADLINE)


def profile(library):
    queue = anymetal.Device().queue()
    library.spin.launch(array(), threads=64, deadline=DEADLINE, queue=queue)
    return lambda: library.put.profile(array(), threads=64, queue=queue)


def read(library):
    y = ops.zeros(64, dtype="int32")
    library.spin.launch(y, threads=64, deadline=DEADLINE)
    return y.tolist


@pytest.mark.parametrize(
    "prepare",
    [
        wait_of_submission,
        wait_of_submission_with_timeout,
        synchronous_call,
        synchronize,
        event,
        event_with_timeout,
        profile,
        operation,
        read,
    ],
)
def test_ctrl_c_ends_a_wait_and_the_device_works_afterwards(library, prepare):
    assert interrupted(prepare(library)) < SOON
    works_afterwards(library)


def test_work_that_a_wait_was_interrupted_for_goes_on(library):
    submission = library.spin.launch(array(), threads=64, deadline=2)
    assert interrupted(submission.wait) < 1.8
    assert not submission.done()
    with pytest.raises(anymetal.DeviceError, match="deadline after 2 s"):
        submission.wait()


def test_a_handler_that_raises_nothing_ends_no_wait(library):
    arrived = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: arrived.append(number))
    try:
        submission = library.spin.launch(array(), threads=64, deadline=1.5)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(anymetal.DeviceError, match="deadline"):
            submission.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    assert arrived == [signal.SIGINT]


def test_zero_turns_the_deadline_off(library):
    flag, y = numpy.zeros(1, "i4"), array()
    submission = library.until_set.launch(flag, y, threads=1, deadline=0)
    with pytest.raises(TimeoutError):
        submission.wait(0.3)
    flag[0] = 1
    assert submission.wait(20) > 0.2


@pytest.mark.parametrize("deadline", [-1, -1e-9, math.nan, math.inf, -math.inf, 1e300])
def test_a_deadline_is_a_number_of_seconds(library, deadline):
    with pytest.raises(ValueError, match="deadline"):
        library.put.launch(array(), threads=64, deadline=deadline)


def test_none_is_the_default_and_a_long_deadline_is_accepted(library):
    for deadline in [None, 1e-3 + 30, 1e18]:
        assert library.put.launch(array(), threads=64, deadline=deadline).wait() >= 0
