# SPDX-License-Identifier: MIT
"""The command line of CPython 3.15's profiling.sampling, with Sonde's sampler: `python -m sonde.compat.profiling.sampling run x.py`.

The classes of the original are the parts of its sampler, which is not used, and are not there.
"""
__all__ = ()


def main():
    from .cli import main as run

    return run()
