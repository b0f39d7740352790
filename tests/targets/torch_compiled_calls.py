# SPDX-License-Identifier: MIT
"""Calls before, within and after functions that torch compiles; prints how often `leaf` was counted.

TorchDynamo puts a hook of its own into the interpreter while a compiled function runs, above ours, and
takes it away afterwards.
"""
import sys

import torch
from sonde import _sonde

p = _sonde.Profile(builtins=False)


def leaf():
    pass


def many(n):
    for _ in range(n):
        leaf()


def counted():
    return sum(e.callcount for e in p.getstats() if e.code is leaf.__code__)


def inner(x):
    return x + 1


@torch.compiler.disable
def again():
    """Within a compiled function: below the other hook."""
    p.disable()
    many(100)
    p.enable()
    many(2)


@torch.compile(backend="eager")
def plain(x):
    return inner(x) * 2


@torch.compile(backend="eager")
def toggling(x):
    y = inner(x)
    again()
    return y * 2


def main():
    x = torch.ones(3)
    p.enable()
    many(5)
    plain(x)
    many(7)
    plain(x)
    many(9)
    first = counted()
    for _ in range(3):
        toggling(x)
    many(4)
    p.disable()
    print(first, counted())


if __name__ == "__main__":
    sys.exit(main())
