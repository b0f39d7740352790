# SPDX-License-Identifier: MIT
"""Anaconda Accelerate's profiler under its own name: from sonde.compat.accelerate import profiler.

`accelerate` is also a package of another kind, so it has no place in the folder of `sonde compat-path`.
"""
