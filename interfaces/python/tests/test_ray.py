"""Kernels in Ray's workers: the example's cluster in small, and what happens when a device fails."""

import os
import pickle
import runpy
import sys
import types
from pathlib import Path

import numpy
import pytest

ray = pytest.importorskip("ray")

import anymetal  # noqa: E402
import anymetal.ray  # noqa: E402
import ray.data  # noqa: E402

# Workers do not have this file on their path.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

SOURCE = """
kernel void scaled(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = SCALE * x[i]; }
"""


class Scaled:
    """A function of a batch that can be pickled."""

    def __init__(self, failures=None):
        self.failures = failures

    def __call__(self, library, batch):
        if self.failures is not None and not os.path.exists(self.failures):
            open(self.failures, "w").close()
            raise anymetal.DeviceError("the device was lost", "lost")
        x = batch["x"]
        y = numpy.empty_like(x)
        library.scaled(x, y)
        return {"x": x, "y": y, "worker": numpy.full(len(x), os.getpid())}


@pytest.fixture(scope="module")
def cluster():
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def dataset(count):
    return ray.data.from_numpy(numpy.arange(count, dtype="float32")).rename_columns({"data": "x"})


def test_a_source_is_compiled_once_in_a_process():
    first = anymetal.ray.compiled(SOURCE, defines={"SCALE": 2})
    assert anymetal.ray.compiled(SOURCE, defines={"SCALE": 2}) is first
    assert anymetal.ray.compiled(SOURCE, defines={"SCALE": 3}) is not first


def test_a_worker_is_pickled_with_its_source_and_options():
    worker = pickle.loads(pickle.dumps(anymetal.ray.KernelBatches(SOURCE, Scaled(), defines={"SCALE": 4})))
    batch = worker({"x": numpy.arange(8, dtype="float32")})
    numpy.testing.assert_array_equal(batch["y"], 4 * numpy.arange(8))


def test_a_lost_device_is_told_and_the_next_batch_compiles_again(tmp_path):
    worker = anymetal.ray.KernelBatches(SOURCE, Scaled(str(tmp_path / "failed")), defines={"SCALE": 5})
    before = anymetal.ray.compiled(SOURCE, defines={"SCALE": 5})
    with pytest.raises(anymetal.DeviceError):
        worker({"x": numpy.ones(4, "float32")})
    assert (worker({"x": numpy.ones(4, "float32")})["y"] == 5).all()
    assert anymetal.ray.compiled(SOURCE, defines={"SCALE": 5}) is not before


def test_batches_are_mapped_by_workers(cluster):
    done = dataset(64).map_batches(
        anymetal.ray.KernelBatches,
        fn_constructor_args=(SOURCE, Scaled()),
        fn_constructor_kwargs={"defines": {"SCALE": 3}},
        batch_size=16,
        concurrency=1,
    )
    rows = sorted((row["x"], row["y"], row["worker"]) for row in done.take_all())
    assert [row[:2] for row in rows] == [(x, 3 * x) for x in range(64)]
    assert os.getpid() not in {row[2] for row in rows}


def test_ray_tries_again_after_an_error_of_the_device(cluster, tmp_path):
    context = ray.data.DataContext.get_current()
    before = context.actor_task_retry_on_errors
    context.actor_task_retry_on_errors = [anymetal.DeviceError]
    try:
        done = dataset(32).map_batches(
            anymetal.ray.KernelBatches,
            fn_constructor_args=(SOURCE, Scaled(str(tmp_path / "failed"))),
            fn_constructor_kwargs={"defines": {"SCALE": 2}},
            batch_size=32,
            concurrency=1,
        )
        assert sorted(row["y"] for row in done.take_all()) == [2 * x for x in range(32)]
        assert (tmp_path / "failed").exists()
    finally:
        context.actor_task_retry_on_errors = before


def test_kernels_and_libraries_travel_to_tasks(cluster):
    @ray.remote
    def scaled(library, kernel, x):
        twice = numpy.empty_like(x)
        library.scaled(x, twice)
        kernel(twice, twice)
        return twice

    library = anymetal.compile_shader(SOURCE, defines={"SCALE": 6})
    x = numpy.arange(4, dtype="float32")
    numpy.testing.assert_array_equal(ray.get(scaled.remote(library, library.scaled, x)), 36 * x)


def test_the_example_of_pictures_loses_nothing():
    """Two nodes of which a worker is killed, as in the example, with fewer and smaller pictures."""
    ray.shutdown()
    example = runpy.run_path(str(Path(__file__).parents[1] / "examples/ray_images/ray_images.py"))
    asked = types.SimpleNamespace(pictures=64, size=48, rounds=1)
    outcome = example["process"](2, asked, True)
    assert outcome.mistakes(64, 48) == []
    assert outcome.killed is not None
