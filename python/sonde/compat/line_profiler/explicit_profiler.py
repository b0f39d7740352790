# SPDX-License-Identifier: MIT
"""line_profiler.explicit_profiler: a `profile` that can stay in a program.

It does nothing unless LINE_PROFILE is set in the environment, --line-profile is on the command line, or profile.enable() was called;
then it shows and writes what was measured when the program ends.
"""
import atexit
import os
import sys

from ... import _sonde
from ..._line_profiler import LineProfiler, enables, is_worker
from .cli_utils import command_of

FALSE = ("", "0", "off", "false", "no")


class GlobalProfiler:
    """A decorator that is switched from outside."""

    def __init__(self, config=None):
        self._config = config
        self._configured = None
        self._profile = None
        self._owner_pid = None
        self.enabled = None

    def _of_config(name):
        """A table of the configuration, which is looked for when it is first asked: importing this must not read files."""

        def get(self):
            if self._configured is None:
                self._configured = self._read_config()
            return self._configured[name]

        def put(self, value):
            get(self)
            self._configured[name] = value

        return property(get, put)

    setup_config, write_config, show_config = _of_config("setup"), _of_config("write"), _of_config("show")
    output_prefix = _of_config("output_prefix")
    del _of_config

    def _read_config(self):
        from .toml_config import ConfigSource

        found = ConfigSource.from_config(self._config).copy().conf_dict
        del found["show"]["column_widths"]
        found["output_prefix"] = found["write"].pop("output_prefix")
        return found

    def _kernprof_overwrite(self, profile):
        """kernprof gives its own profiler, and takes it back with None."""
        self._profile = profile
        self.enabled = None if profile is None else True

    def _implicit_setup(self):
        is_wanted = any(os.environ.get(flag, "").lower() not in FALSE for flag in self.setup_config["environ_flags"])
        if is_wanted or any(flag in sys.argv for flag in self.setup_config["cli_flags"]):
            self.enable()
            self._try()
        else:
            self.disable()

    def _try(self):
        """Where lines cannot be counted, what was switched on from outside goes on without, and it is said once."""
        if enables(self._profile, 4):
            self._profile.disable()
        else:
            atexit.unregister(self.show)
            self._profile = None
            self.disable()

    def enable(self, output_prefix=None):
        """Profiles what is decorated from now on, and shows it when the program ends."""
        self._owner_pid = os.getpid()
        if self._profile is None:
            atexit.register(self.show)
            self._profile = LineProfiler()
        self.enabled = True
        if output_prefix is not None:
            self.output_prefix = output_prefix

    def disable(self):
        """Leaves what is decorated from now on as it is."""
        self.enabled = False

    def __call__(self, func):
        if self.enabled is None and _sonde.lines_capture() is not None:
            return _sonde.profile(func)  # under `sonde lines`, which shows it as kernprof would
        if self.enabled is None:
            self._implicit_setup()
        return self._profile(func) if self.enabled else func

    def show(self):
        """Prints and writes what write_config and show_config say."""
        if self._owner_pid is not None and os.getpid() != self._owner_pid or is_worker():
            return  # a child has no results of its own to tell
        if self.write_config["stdout"]:
            self._profile.print_stats(config=self._config, **self.show_config)
        if self.write_config["text"]:
            self._write_text(self.output_prefix + ".txt")
        if self.write_config["timestamped_text"]:
            from datetime import datetime

            self._write_text("{0}_{1}.txt".format(self.output_prefix, datetime.now().strftime("%Y-%m-%dT%H%M%S")))
        if self.write_config["lprof"]:
            path = self.output_prefix + ".lprof"
            self._profile.dump_stats(path)
            print("Wrote profile results to {0}".format(path))
            print("To view details run:")
            print(command_of("-rtmz", path))

    def _write_text(self, path):
        with open(path, "w", encoding="utf-8") as f:
            self._profile.print_stats(stream=f, config=self._config, **dict(self.show_config, rich=False, details=True))
        print("Wrote profile results to {0}".format(path))


profile = GlobalProfiler()
