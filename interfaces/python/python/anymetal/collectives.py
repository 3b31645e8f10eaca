"""Operations of several NVIDIA GPUs together, over NCCL.

Each process has one GPU, its *rank*. The processes may be of one machine or of many, started by Ray,
``torchrun`` or anything else; one makes the group and gives its bytes to the others::

    group = anymetal.collectives.new_group()  # in one process, then sent to all
    ranks = anymetal.collectives.Collectives(anymetal.Device("nvidia:0"), group, rank, size)
    total = ranks.all_reduce(gradients)

All ranks call the same operations in the same order, with arrays of one shape and type; a rank that is
missing is waited for. Arrays are `anymetal.Array` of the rank's device, and results are new ones.
"""

from ._native import Collectives, new_group

__all__ = ["Collectives", "new_group"]
