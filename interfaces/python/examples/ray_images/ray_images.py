"""Pictures processed on a Ray cluster of two nodes, one of whose workers is killed: nothing is lost.

    pip install 'ray[data]' numpy anymetal
    python ray_images.py [--pictures 384] [--size 256]

The nodes run on this machine, with one worker each that is bound to one core. Three runs: one node, two nodes, two
nodes with a worker that is killed by SIGKILL in the middle of a batch. Each result is compared with NumPy's, and
each picture must come back exactly once; the program ends with status 1 otherwise.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass

import numpy
import ray
import ray.data
from ray.cluster_utils import Cluster

import anymetal
import anymetal.ray

#: Pictures of a batch.
BATCH = 16
#: The threadgroup's size.
GROUP = (32, 8, 1)

# A 5 x 5 binomial blur, then the length of the gradient: integers, so that NumPy has the same bits.
SOURCE = """
#include <metal_stdlib>
using namespace metal;

constant int WEIGHTS[5] = {1, 4, 6, 4, 1};

static int blurred(device const uchar* picture, int x, int y, int size) {
    int sum = 0;
    for (int dy = -2; dy <= 2; dy++) {
        for (int dx = -2; dx <= 2; dx++) {
            int at = clamp(y + dy, 0, size - 1) * size + clamp(x + dx, 0, size - 1);
            sum += WEIGHTS[dy + 2] * WEIGHTS[dx + 2] * int(picture[at]);
        }
    }
    return sum >> 8;
}

kernel void edges(device const uchar* pictures, device uchar* out, constant int& size,
                  uint3 p [[thread_position_in_grid]]) {
    device const uchar* picture = pictures + p.z * size * size;
    int right = min(int(p.x) + 1, size - 1);
    int below = min(int(p.y) + 1, size - 1);
    int here = blurred(picture, p.x, p.y, size);
    int across = abs(blurred(picture, right, p.y, size) - here);
    int down = abs(blurred(picture, p.x, below, size) - here);
    out[p.z * size * size + p.y * size + p.x] = uchar(min(255, 4 * (across + down)));
}
"""


def picture(number: int, size: int) -> numpy.ndarray:
    """A picture of rings and noise, the same for the same number."""
    y, x = numpy.mgrid[0:size, 0:size]
    centre = numpy.random.default_rng(number).integers(0, size, 2)
    rings = numpy.sin(numpy.hypot(x - centre[0], y - centre[1]) / (3 + number % 7))
    noise = numpy.random.default_rng(number + 1_000_000).integers(0, 32, (size, size))
    return (112 + 96 * rings + noise).astype("uint8")


def generated(batch: dict, size: int) -> dict:
    """Numbers and their pictures."""
    numbers = batch["id"]
    return {"number": numbers, "picture": numpy.stack([picture(int(number), size) for number in numbers])}


def expected(given: numpy.ndarray) -> numpy.ndarray:
    """What the kernel must give, by NumPy."""
    size = given.shape[-1]
    padded = numpy.pad(given.astype("int32"), 2, mode="edge")
    weights = [1, 4, 6, 4, 1]
    rows = sum(weight * padded[i : i + size, :] for i, weight in enumerate(weights))
    blurred = sum(weight * rows[:, i : i + size] for i, weight in enumerate(weights)) >> 8
    across = numpy.abs(numpy.diff(blurred, axis=1, append=blurred[:, -1:]))
    down = numpy.abs(numpy.diff(blurred, axis=0, append=blurred[-1:, :]))
    return numpy.minimum(255, 4 * (across + down)).astype("uint8")


class Edges:
    """What a worker does with a batch. The first worker to meet the picture `victim` is killed, once."""

    def __init__(self, rounds: int, victim: int | None, marker: str) -> None:
        self.rounds, self.victim, self.marker = rounds, victim, marker

    def __call__(self, library: anymetal.ShaderLibrary, batch: dict) -> dict:
        began = time.time()
        pictures = batch["picture"]
        count, size, _ = pictures.shape
        out = numpy.empty_like(pictures)
        for _ in range(self.rounds):
            library.edges(pictures, out, size, threads=(size, size, count), group_size=GROUP)
        if self.victim in batch["number"].tolist() and not os.path.exists(self.marker):
            with open(self.marker, "w") as file:
                file.write(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return {
            "number": batch["number"],
            "edges": out,
            "worker": numpy.full(count, os.getpid()),
            "began": numpy.full(count, began),
            "ended": numpy.full(count, time.time()),
        }


class OneCore(anymetal.ray.KernelBatches):
    """A worker on the one core of its node, since the nodes of this cluster share a machine."""

    def __init__(self, *args: object, **keywords: object) -> None:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(os.environ["NODE_NUMBER"]) % len(cores)]})
        super().__init__(*args, **keywords)
        anymetal.ray.compiled(SOURCE).edges.warm_up(GROUP)


@dataclass
class Outcome:
    """What a run gave."""

    rows: list[dict]
    #: The process that was killed.
    killed: int | None

    @property
    def workers(self) -> set[int]:
        return {int(row["worker"]) for row in self.rows}

    @property
    def rate(self) -> float:
        """Pictures per second, from the first batch's begin to the last one's end."""
        seconds = max(row["ended"] for row in self.rows) - min(row["began"] for row in self.rows)
        return len(self.rows) / seconds

    def mistakes(self, pictures: int, size: int) -> list[str]:
        """What is wrong with the results."""
        numbers = sorted(int(row["number"]) for row in self.rows)
        wrong = [] if numbers == list(range(pictures)) else [f"{len(numbers)} pictures came back of {pictures}"]
        for row in self.rows:
            if not numpy.array_equal(row["edges"], expected(picture(int(row["number"]), size))):
                wrong.append(f"picture {row['number']} differs from NumPy's")
        return wrong


def process(nodes: int, asked: argparse.Namespace, kill: bool) -> Outcome:
    """Processes all pictures on a new cluster."""
    cluster = Cluster()
    for number in range(nodes):
        cluster.add_node(num_cpus=1, object_store_memory=256 << 20, env_vars={"NODE_NUMBER": str(number)})
    ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        cluster.wait_for_nodes()
        with tempfile.TemporaryDirectory() as folder:
            marker = os.path.join(folder, "killed")
            victim = asked.pictures // 2 if kill else None
            made = ray.data.range(asked.pictures, override_num_blocks=4 * nodes).map_batches(
                generated, batch_size=BATCH, fn_kwargs={"size": asked.size}
            )
            done = made.materialize().map_batches(
                OneCore,
                fn_constructor_args=(SOURCE, Edges(asked.rounds, victim, marker)),
                batch_size=BATCH,
                concurrency=nodes,
            )
            rows = done.take_all()
            killed = int(open(marker).read()) if kill else None
        return Outcome(rows, killed)
    finally:
        ray.shutdown()
        cluster.shutdown()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pictures", type=int, default=384)
    parser.add_argument("--size", type=int, default=256, help="width and height")
    parser.add_argument("--rounds", type=int, default=20, help="how often the kernel runs over each batch")
    asked = parser.parse_args()
    wrong = []
    rates = []
    for nodes, kill in ((1, False), (2, False), (2, True)):
        outcome = process(nodes, asked, kill)
        wrong += outcome.mistakes(asked.pictures, asked.size)
        victim = next(row for row in outcome.rows if row["number"] == asked.pictures // 2)
        if kill and int(victim["worker"]) == outcome.killed:
            wrong.append("no worker was killed in the middle of its batch")
        rates.append(outcome.rate)
        words = f", worker {outcome.killed} killed" if kill else ""
        print(f"{nodes} node(s), {len(outcome.workers)} worker(s){words}: {len(outcome.rows)} pictures, "
              f"{outcome.rate:.0f} pictures/s", flush=True)
    print(f"two nodes: {rates[1] / rates[0]:.2f} times the pictures per second of one")
    for one in wrong:
        print(f"wrong: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
