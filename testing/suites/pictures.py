#!/usr/bin/env python3
"""Runs filters of pictures over textures beside OpenCV, on photographs, in one run: results and speed.

    pip install opencv-python-headless scikit-image pillow
    pictures.py ANYMETAL [--rounds N] [--threads N] [--group X,Y] [--keep FOLDER] [FILTER...]

The photographs are those that scikit-image comes with. In each round both sides run each filter, one after the other; the
figure is the peer's least time over ours, so that above 1 ours is faster. OpenCV has as many threads as are asked for
(two), and has no 3-D look-up tables: the peer of `lookup` is Pillow, which has one thread. Exits with 1 if a result
differs by more than is said in the table. --keep keeps all pictures.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import cv2
import numpy
from PIL import Image, ImageFilter
import skimage

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = os.path.join(HERE, "pictures.metal")
PHOTOGRAPHS = os.path.join(os.path.dirname(skimage.__file__), "data")
#: Of a cube of colours.
EDGE = 64
#: Bilateral filter: radius, sigma of colour (of 255) and of space.
RADIUS, COLOUR, SPACE = 4, 40.0, 3.0
#: Newton's steps of the flow.
STEPS = 3


def graded(red, green, blue):
    """A look of warm lights and teal shadows, channels from 0 to 1."""
    light = 0.3 * red + 0.6 * green + 0.1 * blue
    return (red ** 0.9 * 0.85 + 0.15 * light, green * 0.95 + 0.05 * light, blue * 0.7 + 0.3 * (1 - light) * blue + 0.05)


class Pictures:
    """The photographs and what is made of them, as arrays and as files."""

    def __init__(self, folder):
        self.folder = folder
        retina = numpy.asarray(Image.open(os.path.join(PHOTOGRAPHS, "retina.jpg")).convert("RGB"))
        hubble = numpy.asarray(Image.open(os.path.join(PHOTOGRAPHS, "hubble_deep_field.jpg")).convert("RGB"))
        astronaut = numpy.asarray(Image.open(os.path.join(PHOTOGRAPHS, "astronaut.png")).convert("RGB"))
        self.colour = {"retina": retina, "hubble": hubble, "astronaut": astronaut}
        self.rgba = {name: numpy.dstack([p, numpy.full(p.shape[:2], 255, "uint8")]) for name, p in self.colour.items()}
        self.grey = {name: cv2.cvtColor(p, cv2.COLOR_RGB2GRAY) for name, p in self.colour.items()}
        for name in self.colour:
            self.write(f"{name}.png", self.rgba[name])
            self.write(f"{name}-grey.png", self.grey[name])
        height, width = self.grey["astronaut"].shape
        # 0.4 degrees about the middle, and a shift of 0.7 and -0.4 pixels.
        turn = cv2.getRotationMatrix2D((width / 2, height / 2), 0.4, 1.0) + numpy.array([[0, 0, 0.7], [0, 0, -0.4]])
        self.turn = turn
        self.after = cv2.warpAffine(self.grey["astronaut"], turn, (width, height), borderMode=cv2.BORDER_REPLICATE)
        self.write("after.png", self.after)
        self.write("table.png", self.table())

    def table(self):
        at = numpy.arange(EDGE) / (EDGE - 1)
        blue, green, red = numpy.meshgrid(at, at, at, indexing="ij")
        cube = numpy.clip(numpy.stack(graded(red, green, blue), -1), 0, 1)
        self.cube = numpy.round(cube * 255).astype("uint8")
        tiles = self.cube.reshape(8, 8, EDGE, EDGE, 3).transpose(0, 2, 1, 3, 4).reshape(8 * EDGE, 8 * EDGE, 3)
        return numpy.dstack([tiles, numpy.full(tiles.shape[:2], 255, "uint8")])

    def write(self, name, picture):
        Image.fromarray(picture).save(self.path(name))

    def path(self, name):
        return os.path.join(self.folder, name)


class Filter:
    """One filter of one photograph: our command, the peer's call, and how far results may be apart."""

    def __init__(self, pictures, name, photograph, size, arguments, peer, tolerance, result=None, peer_name="OpenCV"):
        self.pictures, self.name, self.photograph, self.size = pictures, name, photograph, size
        self.arguments, self.peer, self.tolerance = arguments, peer, tolerance
        self.result = result or (lambda picture: picture)
        self.peer_name = peer_name

    def ours(self, anymetal, group, repeat):
        """The least time in milliseconds, and the result."""
        width, height = self.size
        saved = self.pictures.path(f"ours-{self.name}-{self.photograph}.png")
        command = [anymetal, "run", KERNELS, "-k", self.name, "--threads", f"{width},{height}", "--group", group,
                   "--device", "cpu", "--json", "--repeat", str(repeat), "--save", f"out={saved}"]
        for name, value in self.arguments.items():
            command += ["--arg", f"{name}={value}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{self.name}: {done.stderr.strip()}")
        return json.loads(done.stdout[done.stdout.index("{"):])["time_ns"]["min"] / 1e6, saved

    def theirs(self, repeat):
        least, result = math.inf, None
        for _ in range(repeat):
            start = time.perf_counter()
            result = self.peer()
            least = min(least, time.perf_counter() - start)
        return least * 1e3, result

    def difference(self, saved, theirs):
        """The mean of the absolute differences, and the largest, in units of the format (pixels of flow)."""
        ours = self.result(numpy.asarray(Image.open(saved)))
        theirs = self.result(theirs) if theirs.dtype == numpy.uint8 else theirs
        apart = numpy.abs(ours.astype("float64") - theirs.astype("float64"))
        return apart.mean(), apart.max()


def textures(pictures, source, format, size, written=None):
    width, height = size
    return {"in": f"{pictures.path(source)}:{format}", "out": f"texture:{written or format}:{width}x{height}"}


def filters(pictures):
    found = []
    for name in pictures.colour:
        rgba, grey = pictures.rgba[name], pictures.grey[name]
        height, width = grey.shape
        size = (width, height)
        found.append(Filter(pictures, "blur", name, size, textures(pictures, f"{name}.png", "rgba8unorm", size),
                            lambda rgba=rgba: cv2.GaussianBlur(rgba, (5, 5), 0, borderType=cv2.BORDER_REPLICATE), 1))
        falloff = (-0.5 / SPACE ** 2, -0.5 / (COLOUR / 255) ** 2)
        colour = pictures.colour[name]
        found.append(Filter(
            pictures, "bilateral", name, size,
            {**textures(pictures, f"{name}.png", "rgba8unorm", size), "radius": f"i32:{RADIUS}",
             "falloff": f"f32:{falloff[0]},{falloff[1]}"},
            lambda colour=colour: cv2.bilateralFilter(colour, 2 * RADIUS + 1, COLOUR, SPACE, borderType=cv2.BORDER_REPLICATE),
            1, lambda picture: picture[..., :3]))
        found.append(Filter(pictures, "sobel", name, size, textures(pictures, f"{name}-grey.png", "r8unorm", size),
                            lambda grey=grey: sobel(grey), 1))
        larger = (width * 3 // 2, height * 3 // 2)
        found.append(Filter(pictures, "resize", name, larger,
                            {**textures(pictures, f"{name}.png", "rgba8unorm", larger)},
                            lambda rgba=rgba, larger=larger: cv2.resize(rgba, larger, interpolation=cv2.INTER_LINEAR), 1))
        image = Image.fromarray(colour)
        cube = ImageFilter.Color3DLUT(EDGE, (pictures.cube.reshape(-1, 3) / 255.0).astype("float32"))
        found.append(Filter(
            pictures, "lookup", name, size,
            {**textures(pictures, f"{name}.png", "rgba8unorm", size), "table": f"{pictures.path('table.png')}:rgba8unorm"},
            lambda image=image, cube=cube: numpy.asarray(image.filter(cube)), 2, lambda picture: picture[..., :3], "Pillow"))
    found.append(flow(pictures))
    return found


def sobel(grey):
    """As OpenCV's tutorial does it."""
    across = cv2.convertScaleAbs(cv2.Sobel(grey, cv2.CV_16S, 1, 0, borderType=cv2.BORDER_REPLICATE))
    down = cv2.convertScaleAbs(cv2.Sobel(grey, cv2.CV_16S, 0, 1, borderType=cv2.BORDER_REPLICATE))
    return cv2.addWeighted(across, 0.5, down, 0.5, 0)


class Flow(Filter):
    """Results are compared where the picture has structure: the smaller eigenvalue decides."""

    def difference(self, saved, theirs):
        ours = (cv2.cvtColor(cv2.imread(saved, cv2.IMREAD_UNCHANGED), cv2.COLOR_BGRA2RGBA) / 65535.0)[..., :2] * 16 - 8
        height, width = ours.shape[:2]
        y, x = numpy.mgrid[0:height, 0:width].astype("float64")
        turn = self.pictures.turn
        true = numpy.stack([turn[0, 0] * x + turn[0, 1] * y + turn[0, 2] - x, turn[1, 0] * x + turn[1, 1] * y + turn[1, 2] - y], -1)
        clear = cv2.cornerMinEigenVal(self.pictures.grey["astronaut"], 9)
        clear = clear > numpy.percentile(clear, 70)
        clear[:16], clear[-16:], clear[:, :16], clear[:, -16:] = False, False, False, False
        error = {who: numpy.hypot(*numpy.moveaxis(flow - true, -1, 0))[clear] for who, flow in (("ours", ours), ("theirs", theirs))}
        self.note = ", ".join(f"{who} {numpy.median(e):.3f} px from the truth" for who, e in error.items())
        apart = numpy.hypot(*numpy.moveaxis(ours - theirs, -1, 0))[clear]
        return numpy.median(apart), numpy.median(apart)


def flow(pictures):
    grey, after = pictures.grey["astronaut"], pictures.after
    height, width = grey.shape
    points = numpy.dstack(numpy.meshgrid(numpy.arange(width), numpy.arange(height))).astype("float32").reshape(-1, 1, 2)
    criteria = (cv2.TERM_CRITERIA_COUNT, STEPS, 0)

    def peer():
        moved, _, _ = cv2.calcOpticalFlowPyrLK(grey, after, points, None, winSize=(9, 9), maxLevel=0, criteria=criteria)
        return (moved - points).reshape(height, width, 2)

    arguments = {"before": f"{pictures.path('astronaut-grey.png')}:r8unorm", "after": f"{pictures.path('after.png')}:r8unorm",
                 "out": f"texture:rgba16unorm:{width}x{height}", "steps": f"i32:{STEPS}"}
    return Flow(pictures, "flow", "astronaut", (width, height), arguments, peer, 0.1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("anymetal")
    parser.add_argument("filters", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--group", default="16,16")
    parser.add_argument("--keep")
    given = parser.parse_args()
    cv2.setNumThreads(given.threads)
    folder = given.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    pictures = Pictures(folder)
    print(f"OpenCV {cv2.__version__}, {cv2.getNumThreads()} threads; threadgroups of {given.group}; load {os.getloadavg()[0]:.1f}")
    print("| filter | photograph | peer ms | ours ms | ratio | mean, largest difference |\n|---|---|---:|---:|---:|---|")
    ratios, wrong = [], False
    for each in filters(pictures):
        if given.filters and each.name not in given.filters:
            continue
        peers, ours = math.inf, math.inf
        for _ in range(given.rounds):
            took, result = each.theirs(given.repeat)
            peers = min(peers, took)
            took, saved = each.ours(given.anymetal, given.group, given.repeat)
            ours = min(ours, took)
        mean, largest = each.difference(saved, result)
        wrong |= bool(largest > each.tolerance)
        ratios.append(peers / ours)
        note = "" if largest <= each.tolerance else f" **more than {each.tolerance}**"
        note += f" ({each.note})" if hasattr(each, "note") else ""
        peer = "" if each.peer_name == "OpenCV" else f" ({each.peer_name})"
        print(f"| {each.name} | {each.photograph} {each.size[0]}×{each.size[1]} | {peers:.2f}{peer} | {ours:.2f} | "
              f"{peers / ours:.2f} | {mean:.3f}, {largest:.3g}{note} |", flush=True)
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
