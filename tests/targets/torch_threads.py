# SPDX-License-Identifier: MIT
"""A small model that is trained by torch with many native threads.

    torch_threads.py N COUNTER      says "ready", and counts its steps in COUNTER (tests/undisturbed.py)
"""
import mmap
import struct
import sys
import warnings

warnings.simplefilter("ignore")         # torch without numpy says so
import torch


def step(model, optimizer, inputs, wanted):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs), wanted)
    loss.backward()
    optimizer.step()


def prepare(n_threads):
    """What step() takes."""
    torch.set_num_threads(n_threads)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
    return model, torch.optim.SGD(model.parameters(), lr=0.01), torch.randn(512, 256), torch.randn(512, 64)


def main():
    work = prepare(int(sys.argv[1]))
    with open(sys.argv[2], "r+b") as f:
        counter = mmap.mmap(f.fileno(), 8)
    print("ready", flush=True)
    done = 0
    while True:
        step(*work)
        done += 1
        struct.pack_into("=Q", counter, 0, done)


if __name__ == "__main__":
    main()
