# SPDX-License-Identifier: MIT
"""line_profiler.scoping_policy: what add_class() and add_module() take."""
from ..._line_profiler import DEFAULT_SCOPING_POLICIES, ScopingPolicy

__all__ = ["DEFAULT_SCOPING_POLICIES", "ScopingPolicy"]
