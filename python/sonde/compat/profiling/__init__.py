# SPDX-License-Identifier: MIT
"""The profilers of CPython 3.15's package `profiling`, measured by Sonde: tracing counts every call, sampling looks from outside."""
__all__ = ("tracing", "sampling")
