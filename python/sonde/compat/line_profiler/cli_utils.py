# SPDX-License-Identifier: MIT
"""line_profiler.cli_utils: switches that also take a word, as --rich=no, and have an opposite, as --no-rich."""
import argparse

WORDS = {"": False, "0": False, "off": False, "false": False, "no": False, "n": False, "f": False,
         "1": True, "on": True, "true": True, "yes": True, "y": True, "t": True}


def command_of(options, path):
    """What shows a file of line_profiler, to be typed: by its own program where that is, else by Sonde's."""
    import shlex
    import shutil
    import sys
    from importlib.util import find_spec

    found = [word for word in ("python", "python3") if shutil.which(word) == sys.executable]
    module = "line_profiler" if find_spec("line_profiler") else "sonde.compat.line_profiler"
    return "{0} -m {1} {2} {3}".format(shlex.quote((found or [sys.executable])[0]), module, options, shlex.quote(str(path)))


def boolean(value, *, fallback=None, invert=False):
    """Returns True or False for a word; where it is neither, the fallback, or ValueError."""
    found = WORDS.get(value.strip().lower(), fallback)
    if found is None:
        raise ValueError("value = {0!r}: cannot be parsed into a boolean".format(value))
    return found != invert


def _with_short_forms(text, names):
    if not names:
        return text
    said = "hort form{0}: {1}".format("s" if len(names) > 1 else "", ", ".join(names))
    if not text:
        return "(S" + said + ")"
    return text[:-1] + "; s" + said + ")" if text.endswith(")") else text + " (S" + said + ")"


def add_argument(parser_like, arg, /, *args, hide_complementary_options=True, **kwargs):
    """As parser.add_argument(); switches become what the module says, with None where they were not given."""
    names = (arg,) + args
    action = kwargs.get("action")
    long_names = [name for name in names if name.startswith("--")]
    short_names = [name for name in names if not name.startswith("--")]
    if action not in ("store_true", "store_false") or not names[0].startswith("-"):
        return parser_like.add_argument(*names, **kwargs)
    kwargs.pop("action")
    text, is_true = kwargs.pop("help", None), action == "store_true"
    kwargs.setdefault("default", None)
    if not long_names:
        return parser_like.add_argument(*short_names, action="store_const", const=is_true, help=text, **kwargs)
    if "dest" not in kwargs:
        kwargs["dest"] = long_names[0][2:].replace("-", "_")

    def word(value, invert=False):
        try:
            return boolean(value, invert=invert)
        except ValueError as why:
            raise argparse.ArgumentTypeError(str(why)) from None

    added = parser_like.add_argument(*long_names, nargs="?", const=is_true, type=lambda value: word(value, not is_true), metavar="Y|N",
                                     help=_with_short_forms(text, short_names), **kwargs)
    hidden = argparse.SUPPRESS if hide_complementary_options else text
    if short_names:
        parser_like.add_argument(*short_names, action="store_const", const=is_true, help=hidden, **kwargs)
    if is_true:
        parser_like.add_argument(*["--no-" + name[2:] for name in long_names], nargs="?", const=False, metavar="Y|N",
                                 type=lambda value: word(value, True), help=hidden, **kwargs)
    return added


def positive_float(value):
    """Returns the number that a word says, which must be above 0."""
    number = float(value)
    if number <= 0:
        raise argparse.ArgumentTypeError("must be above 0")
    return number
