# SPDX-License-Identifier: MIT
"""line_profiler.profiler_mixin: what makes a profiler a decorator."""
from ..._line_profiler import C_CALLABLES as C_LEVEL_CALLABLE_TYPES
from ..._line_profiler import Decorating as ByCountProfilerMixin
from ..._line_profiler import is_c_level_callable

__all__ = ["ByCountProfilerMixin", "C_LEVEL_CALLABLE_TYPES", "is_c_level_callable"]
