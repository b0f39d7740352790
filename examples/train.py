# SPDX-License-Identifier: MIT
"""Trains a small classifier, as a first project would: load, split, train, evaluate.

    sonde run examples/train.py [--epochs 3] [--rows 4000]

Uses numpy when it is there and plain Python when it is not.  The sections are what `sonde report`
shows by name; the rest of the program knows nothing of the profiler.
"""
import argparse
import csv
import math
import os
import random
import tempfile

from sonde import Profiler

try:
    import numpy as np
except ImportError:
    np = None

profiler = Profiler()


def write_data(path, rows, features=20, seed=7):
    """Two noisy classes, as a CSV file: the last column is the class."""
    draw = random.Random(seed)
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        for _ in range(rows):
            label = draw.random() < 0.5
            shift = 0.4 if label else -0.4
            out.writerow(["%.5f" % (draw.gauss(0, 1) + shift * (i % 3)) for i in range(features)] + [int(label)])


def load(path):
    with open(path, newline="") as f:
        rows = [[float(x) for x in row] for row in csv.reader(f)]
    return [row[:-1] for row in rows], [row[-1] for row in rows]


def split(xs, ys, part=0.8):
    cut = int(len(xs) * part)
    return xs[:cut], ys[:cut], xs[cut:], ys[cut:]


class PlainModel:
    """Logistic regression by stochastic gradient descent, in plain Python."""

    def __init__(self, features):
        self.w = [0.0] * features
        self.b = 0.0

    def predict(self, x):
        z = self.b + sum(w * v for w, v in zip(self.w, x))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))

    def step(self, xs, ys, rate):
        for x, y in zip(xs, ys):
            error = self.predict(x) - y
            self.w = [w - rate * error * v for w, v in zip(self.w, x)]
            self.b -= rate * error

    def accuracy(self, xs, ys):
        return sum((self.predict(x) > 0.5) == (y > 0.5) for x, y in zip(xs, ys)) / len(ys)


class NumpyModel:
    """One hidden layer, by hand, in numpy."""

    def __init__(self, features, hidden=256, seed=7):
        draw = np.random.RandomState(seed)
        self.w1 = draw.randn(features, hidden) * 0.1
        self.w2 = draw.randn(hidden) * 0.1

    def forward(self, x):
        self.h = np.maximum(x @ self.w1, 0)
        return 1 / (1 + np.exp(-(self.h @ self.w2)))

    def backward(self, x, error, rate):
        grad = np.outer(error, self.w2) * (self.h > 0)
        self.w2 -= rate * (self.h.T @ error) / len(x)
        self.w1 -= rate * (x.T @ grad) / len(x)

    def step(self, xs, ys, rate):
        xs, ys = np.asarray(xs), np.asarray(ys)
        self.backward(xs, self.forward(xs) - ys, rate)

    def accuracy(self, xs, ys):
        return float(((self.forward(np.asarray(xs)) > 0.5) == (np.asarray(ys) > 0.5)).mean())


def batches(xs, ys, size):
    for i in range(0, len(xs), size):
        yield xs[i:i + size], ys[i:i + size]


def main():
    parser = argparse.ArgumentParser(description="trains a small classifier on made-up data")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=4000)
    args = parser.parse_args()

    folder = tempfile.mkdtemp(prefix="train-")
    path = os.path.join(folder, "data.csv")
    try:
        with profiler("make-data"):
            write_data(path, args.rows)
        with profiler("load-data"):
            xs, ys = load(path)
            xs, ys, test_xs, test_ys = split(xs, ys)
    finally:
        if os.path.exists(path):
            os.remove(path)
        os.rmdir(folder)

    with profiler("scratch-copies"):
        copies = [list(map(list, xs)) for _ in range(10)]     # a temporary: seen only as the section's peak
        del copies

    model = NumpyModel(len(xs[0])) if np else PlainModel(len(xs[0]))
    for epoch in profiler.each(range(args.epochs), name="train", itr_name="epoch"):
        for x, y in batches(xs, ys, 64):
            with profiler("batch", time_kind="wall"):
                model.step(x, y, rate=0.05)
        with profiler("validate"):
            score = model.accuracy(test_xs, test_ys)
        print("epoch %d: %.1f %% right" % (epoch + 1, 100 * score))

    print("trained with %s" % ("numpy" if np else "plain Python"))


if __name__ == "__main__":
    main()
