# SPDX-License-Identifier: MIT
"""line_profiler, as sonde.compat.line_profiler."""
import _sonde_alias

_sonde_alias.become(globals(), ("line_profiler", "_line_profiler", "explicit_profiler", "profiler_mixin", "scoping_policy", "cli_utils", "toml_config", "autoprofile", "autoprofile.autoprofile"))
