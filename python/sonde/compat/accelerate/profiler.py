# SPDX-License-Identifier: MIT
"""accelerate.profiler: cProfile that tells a function's calls apart by the types of their arguments.

Which is what sonde.Profile does by itself; `Profile(signatures=False)` does not.
"""
__all__ = ["Profile", "plot", "run", "runctx"]


def __getattr__(name):
    """What is asked for is imported then: a Profile needs no pictures."""
    if name not in __all__:
        raise AttributeError("module {0!r} has no attribute {1!r}".format(__name__, name))
    import sonde

    return getattr(sonde, name)


def __dir__():
    return sorted(set(globals()) | set(__all__))
