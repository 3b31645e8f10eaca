#!/usr/bin/env python3
"""Makes inputs for programs of Rodinia, whose data set comes apart from its sources: `inputs.py RODINIA/data`.

`inputs.py RODINIA/data --large` makes those that `speed.py` measures with. Formats are those that the programs read; contents are numbers of a generator with a fixed seed.
"""

import os
import random
import struct
import sys


def lines(path, rows):
    with open(path, "w") as file:
        file.writelines(f"{row}\n" for row in rows)


def graph(path, nodes, degree):
    """Breadth-first search: the edges of each node, the source, all edges with their costs."""
    targets = [[random.randrange(nodes) for _ in range(random.randint(1, 2 * degree))] for _ in range(nodes)]
    starts, total = [], 0
    for edges in targets:
        starts.append(f"{total} {len(edges)}")
        total += len(edges)
    costs = [f"{target} {random.randint(1, 10)}" for edges in targets for target in edges]
    lines(path, [nodes, *starts, "", 0, "", total, *costs])


def grid(path, count, low, high):
    lines(path, (f"{random.uniform(low, high):.6f}" for _ in range(count)))


def points(path, count, features):
    lines(path, (" ".join([str(i), *(f"{random.uniform(0, 100):.3f}" for _ in range(features))]) for i in range(count)))


def keys(folder, count, queries):
    lines(os.path.join(folder, "keys.txt"), [count, *random.sample(range(1, 4 * count), count)])
    lines(os.path.join(folder, "command.txt"), [f"j {queries * 3 // 5} 1000", "", f"k {queries}", ""])


def mesh(path, side):
    """Euler's equations: cells of a square with the areas, the neighbours (from 1; below 0 a wall) and normals."""
    rows = [side * side]
    for i in range(side * side):
        x, y = i % side, i // side
        cells = [(x - 1, y, -1, 0), (x + 1, y, 1, 0), (x, y - 1, 0, -1), (x, y + 1, 0, 1)]
        row = ["1.0"]
        for other_x, other_y, normal_x, normal_y in cells:
            inside = 0 <= other_x < side and 0 <= other_y < side
            row += [other_y * side + other_x + 1 if inside else -2 if other_x < 0 else -1, normal_x, normal_y, 0]
        rows.append(" ".join(map(str, row)))
    lines(path, rows)


def storms(folder, count):
    """Nearest neighbours: records of 49 characters with latitude and longitude from 28 on."""
    rows = []
    for i in range(count):
        place = f"{random.uniform(7, 63):5.1f}{random.uniform(0, 358):5.1f}"
        rows.append(f"{1950 + i % 60:4d} {i % 12 + 1:2d} {i % 28 + 1:2d} {i % 24:2d}  {i % 30:2d} NAME{i % 1000:04d}".ljust(28)[:28]
                    + place + f"   {i % 200:3d} {i % 100:4d}".ljust(10)[:10])
    lines(os.path.join(folder, "storms.db"), rows)
    lines(os.path.join(folder, "storms.txt"), ["storms.db"])
    lines(os.path.join(folder, "storms-here.txt"), [os.path.join(os.path.abspath(folder), "storms.db")])


def bitmap(path, width, height):
    row = 3 * width
    size = row * height
    with open(path, "wb") as file:
        file.write(struct.pack("<2sIHHI", b"BM", 54 + size, 0, 0, 54))
        file.write(struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, size, 2835, 2835, 0, 0))
        file.write(bytes((x * y // 7 + 3 * x + random.randint(0, 20)) % 256 for y in range(height) for x in range(row)))


def picture(path, width, height):
    rows = (" ".join(str(random.randint(1, 255)) for _ in range(width)) for _ in range(height))
    lines(path, ["P2", f"{width} {height}", 255, *rows])


def main():
    folder, is_large = sys.argv[1], "--large" in sys.argv[2:]
    small_or_large = lambda small, large: large if is_large else small
    os.makedirs(folder, exist_ok=True)
    random.seed(7)
    inside = lambda name: os.path.join(folder, name)
    side = small_or_large(64, 512)
    graph(inside("graph.txt"), small_or_large(4096, 65536), 3)
    grid(inside("temperature"), side * side, 320, 330)
    grid(inside("power"), side * side, 0, 0.01)
    side = small_or_large(64, 256)
    grid(inside("temperature3d"), side * side * 8, 320, 330)
    grid(inside("power3d"), side * side * 8, 0, 0.01)
    points(inside("points.txt"), small_or_large(1000, 20000), 8)
    keys(folder, small_or_large(10000, 100000), small_or_large(1000, 10000))
    mesh(inside("mesh"), small_or_large(32, 128))
    storms(folder, small_or_large(2000, 100000))
    os.makedirs(inside("dwt2d"), exist_ok=True)
    side = small_or_large(128, 512)
    bitmap(inside("dwt2d/picture.bmp"), side, side)
    os.makedirs(inside("srad"), exist_ok=True)
    side = small_or_large(64, 256)
    picture(inside("srad/image.pgm"), side, side)
    with open(inside("words.in"), "wb") as file:
        file.write(bytes(min(255, int(random.expovariate(0.02))) for _ in range(64 * 1024)))


if __name__ == "__main__":
    main()
