# SPDX-License-Identifier: MIT
"""line_profiler.autoprofile.autoprofile: modules, classes and functions that are profiled whole."""
import types


def add_imported_function_or_module(self, item, *, scoping_policy=None, wrap=False):
    """Adds a module, a class or a function to the profiler, and enables it if there was something to add."""
    if isinstance(item, types.ModuleType):
        added = self.add_module(item, scoping_policy=scoping_policy, wrap=wrap)
    elif isinstance(item, type):
        added = self.add_class(item, scoping_policy=scoping_policy, wrap=wrap)
    else:
        try:
            added = self.add_callable(item)
        except TypeError:
            return 0
    if added:
        self.enable_by_count()
    return 1 if added else 0


def _extend_line_profiler_for_profiling_imports(prof):
    prof.add_imported_function_or_module = types.MethodType(add_imported_function_or_module, prof)
