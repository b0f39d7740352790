# SPDX-License-Identifier: MIT
"""profiling.tracing, measured by Sonde: what cProfile was called before CPython 3.15, and is still called besides."""
from ..._script import label
from ...cProfile import Profile, main, run, runctx

__all__ = ("run", "runctx", "Profile")
