# SPDX-License-Identifier: MIT
"""line_profiler.toml_config: defaults of kernprof, `python -m line_profiler`, `profile` and the printed tables, from a file.

It is the one that is named (--config, or LINE_PROFILER_RC in the environment), or line_profiler.toml or pyproject.toml in
the current folder or the nearest above it; its table [tool.line_profiler] has what differs from below.  Reading one takes
Python 3.11, or a package tomli that is there.
"""
import os
import pathlib
from copy import deepcopy

NAMES = ("line_profiler.toml", "pyproject.toml")
ENVIRONMENT = "LINE_PROFILER_RC"
DEFAULTS = {
    "kernprof": {
        "line-by-line": False, "builtin": False, "rich": False, "skip-zero": False, "summarize": False, "preimports": True,
        "prof-imports": False, "verbose": 0, "outfile": "", "setup": "", "unit": 1e-6, "output-interval": 0, "prof-mod": [],
    },
    "cli": {"unit": 1e-6, "rich": False, "skip-zero": False, "sort": False, "summarize": False},
    "setup": {"environ_flags": ["LINE_PROFILE"], "cli_flags": ["--line-profile", "--line_profile"]},
    "write": {"output_prefix": "profile_output", "lprof": True, "text": True, "timestamped_text": True, "stdout": True},
    "show": {
        "sort": True, "stripzeros": True, "rich": True, "details": False, "summarize": True,
        "column_widths": {"line": 6, "hits": 9, "time": 12, "perhit": 8, "percent": 8},
    },
}


def _parse(path):
    """What a file says; ValueError when that is no TOML."""
    try:
        import tomllib
    except ImportError:
        try:
            import tomli as tomllib
        except ImportError:
            raise ValueError("{0} cannot be read: that takes Python 3.11 or the package tomli".format(path)) from None
    with open(path, "rb") as f:
        return tomllib.load(f)


def _merged(defaults, given, name, path):
    """The defaults, with what is given of them; tables must be tables."""
    if not isinstance(given, dict):
        raise ValueError("config = {0!r}: expected a table with these keys {1!r}: {2!r}".format(str(path), sorted(defaults), name))
    return {key: _merged(value, given.get(key, {}), name + "." + key, path) if isinstance(value, dict) else deepcopy(given.get(key, value))
            for key, value in defaults.items()}


class ConfigSource:
    """What is configured (conf_dict), and where (path; this module, where nothing is)."""

    def __init__(self, conf_dict, path, subtable=("tool", "line_profiler")):
        self.conf_dict, self.path, self.subtable = conf_dict, pathlib.Path(path), list(subtable)

    def __eq__(self, other):
        return isinstance(other, ConfigSource) and vars(self) == vars(other)

    __hash__ = None

    def __repr__(self):
        return "ConfigSource({0!r}, {1!r}, {2!r})".format(self.conf_dict, self.path, self.subtable)

    def copy(self):
        return ConfigSource(deepcopy(self.conf_dict), self.path, self.subtable)

    def get_subconfig(self, *headers, allow_absence=False, copy=False):
        """Returns the table of these names inside this one."""
        found = self.conf_dict
        for name in headers:
            found = found.get(name, {}) if allow_absence else found[name]
        return ConfigSource(deepcopy(found) if copy else found, self.path, self.subtable + list(headers))

    @classmethod
    def from_default(cls, *, copy=True):
        return cls(deepcopy(DEFAULTS), os.path.abspath(__file__))

    @classmethod
    def from_config(cls, config=None, *, read_env=True):
        """Reads a configuration: None or True is the file that is found, False is none, or a path that must exist."""
        if isinstance(config, ConfigSource):
            return config
        if config is False:
            return cls.from_default()
        if config not in (None, True):
            return cls._of_file(os.path.abspath(config), _parse(config))
        named = os.environ.get(ENVIRONMENT) if read_env else None
        for path in [os.path.abspath(named)] if named else cls._places():
            try:
                whole = _parse(path)
            except (OSError, ValueError):
                continue
            return cls._of_file(path, whole)
        return cls.from_default()

    @staticmethod
    def _places():
        folder = pathlib.Path.cwd()
        return [str(place / name) for place in [folder] + list(folder.parents) for name in NAMES]

    @classmethod
    def _of_file(cls, path, whole):
        table, name = whole, ""
        for part in ("tool", "line_profiler"):
            table, name = table.get(part, {}), name + part
            if not isinstance(table, dict):
                raise ValueError("config = {0!r}: expected a table with keys: {1!r}".format(path, name))
            name += "."
        return cls(_merged(DEFAULTS, table, "tool.line_profiler", path), path)


def widths(config):
    """Returns the widths of a table's five columns, as _sonde.line_text takes them."""
    columns = ConfigSource.from_config(config).conf_dict["show"]["column_widths"]
    return tuple(columns[name] for name in ("line", "hits", "time", "perhit", "percent"))
