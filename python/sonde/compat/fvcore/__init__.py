# SPDX-License-Identifier: MIT
"""fvcore's counters with Sonde underneath: from sonde.compat.fvcore.nn import FlopCountAnalysis."""
from . import nn

__all__ = ["nn"]
