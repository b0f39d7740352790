# SPDX-License-Identifier: MIT
"""The statistics browser: `python -m sonde.compat.pstats [FILE...]`, with the commands and the words of pstats' own."""
import cmd
import sys

from . import pstats

NOT_LOADED = "No statistics object is loaded."

HELP = {
    "add": "Add profile info from given file to current statistics object.",
    "callees": "Print callees statistics from the current stat object.",
    "callers": "Print callers statistics from the current stat object.",
    "EOF": "Leave the profile browser.",
    "help": "Show help for a given command.",
    "quit": "Leave the profile browser.",
    "read": "Read in profile data from a specified file.\nWithout argument, reload the current file.",
    "reverse": "Reverse the sort order of the profiling report.",
    "sort": "Sort profile data according to specified keys.\n(Typing `sort' without arguments lists valid keys.)",
    "stats": "Print statistics from the current stat object.",
    "strip": "Strip leading path information from filenames in the report.",
}
RESTRICTIONS = """\
Arguments may be:
* An integer maximum number of entries to print.
* A decimal fractional number between 0 and 1, controlling
  what fraction of selected entries to print.
* A regular expression; only entries with function names
  that match it are printed."""


class ProfileBrowser(cmd.Cmd):
    """Reads commands from stdin until `quit` or its end."""

    def __init__(self, profile=None):
        cmd.Cmd.__init__(self)
        self.prompt = "% "
        self.stats = None
        self.stream = sys.stdout
        if profile is not None:
            self.do_read(profile)

    def say(self, text):
        print(text, file=self.stream)

    def restriction(self, word):
        """A number, a fraction or an expression; None, and a word about it, for a fraction out of bounds."""
        try:
            return int(word)
        except ValueError:
            pass
        try:
            fraction = float(word)
        except ValueError:
            return word
        if 0 <= fraction <= 1:
            return fraction
        self.say("Fraction argument must be in [0, 1]")
        return None

    def generic(self, fn, line):
        chosen = [r for r in map(self.restriction, line.split()) if r is not None]
        if self.stats:
            getattr(self.stats, fn)(*chosen)
        else:
            self.say(NOT_LOADED)
        return 0

    def generic_help(self):
        self.say(RESTRICTIONS)

    def do_add(self, line):
        if not self.stats:
            self.say(NOT_LOADED)
            return 0
        try:
            self.stats.add(line)
        except OSError as why:
            self.say("Failed to load statistics for %s: %s" % (line, why))
        return 0

    def do_callees(self, line):
        return self.generic("print_callees", line)

    def do_callers(self, line):
        return self.generic("print_callers", line)

    def do_EOF(self, line):
        self.say("")
        return 1

    def do_quit(self, line):
        return 1

    def do_read(self, line):
        line = line or self.prompt[:-2]
        if not line:
            self.say("No statistics object is current -- cannot reload.")
            return 0
        try:
            self.stats = pstats.Stats(line)
            if isinstance(self.stats, pstats.SampledStats):
                self.stats.sort_arg_dict = self.stats._sampled_keys()
        except OSError as why:
            self.say(why.args[1])
            return None
        except Exception as why:
            self.say("%s: %s" % (type(why).__name__, why))
            return None
        self.prompt = line + "% "
        return 0

    def do_reverse(self, line):
        if self.stats:
            self.stats.reverse_order()
        else:
            self.say(NOT_LOADED)
        return 0

    def do_sort(self, line):
        if not self.stats:
            self.say(NOT_LOADED)
            return None
        known = self.stats.get_sort_arg_defs()
        if line and all(word in known for word in line.split()):
            self.stats.sort_stats(*line.split())
            return 0
        self.say("Valid sort keys (unique prefixes are accepted):")
        for key, value in pstats.Stats.sort_arg_dict_default.items():
            self.say("%s -- %s" % (key, value[1]))
        return 0

    def complete_sort(self, text, *unused):
        return [key for key in pstats.Stats.sort_arg_dict_default if key.startswith(text)]

    def do_stats(self, line):
        return self.generic("print_stats", line)

    def do_strip(self, line):
        if self.stats:
            self.stats.strip_dirs()
        else:
            self.say(NOT_LOADED)

    def postcmd(self, stop, line):
        return stop or None


def _helper(name):
    def say_help(self):
        self.say(HELP[name])
        if name in ("callees", "callers", "stats"):
            self.generic_help()

    return say_help


for _name in HELP:
    setattr(ProfileBrowser, "help_" + _name, _helper(_name))


def main():
    try:
        import readline  # noqa: F401  lines are edited, and kept, where it is there
    except ImportError:
        pass
    words = sys.argv[1:]
    try:
        browser = ProfileBrowser(words[0] if words else None)
        for path in words[1:]:
            browser.do_add(path)
        browser.say("Welcome to the profile statistics browser.")
        browser.cmdloop()
        browser.say("Goodbye.")
    except KeyboardInterrupt:
        pass
