# SPDX-License-Identifier: MIT
"""What `sonde model pkg.mod:factory` runs in the program's own Python: makes the model, counts it, writes it down.

    python .../sonde/_torch/_model_main.py FD TARGET [--input WORDS]... [--backward] [--runtime] [--memory] [--train]

It is started by its path, because `python -m` looks into the current folder first, for what it needs itself too: a types.py of the program
would be found in the place of Python's own.  The folder comes first once all that is ours is there.

FD takes the counted model as bytes, or REFUSED where it was said why there is none.  What the program's own modules print goes to stderr: stdout is for tables.
"""
import sys

_HAS_FOLDERS = not getattr(sys.flags, "safe_path", sys.flags.isolated)  # else neither that of a script is there nor the current one
if __name__ == "__main__" and _HAS_FOLDERS:
    del sys.path[0]  # the package's own folder, whose modules have names that others have too

import signal  # noqa: E402

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # Ctrl-C ends us as any program, and without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)
if __name__ == "__main__":  # whoever started us has held it back until now
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])

import argparse  # noqa: E402
import atexit  # noqa: E402
import contextlib  # noqa: E402
import importlib  # noqa: E402
import importlib.util  # noqa: E402
import inspect  # noqa: E402
import mmap  # noqa: E402
import os  # noqa: E402

REFUSED = b"refused"
# In the place of _model_words.HOW_INPUTS_ARE_GIVEN.
_INPUTS_OF_THE_VERB = "--input has the batch axis first; repeat it for each input, in their order or as NAME=SHAPE"


class Refused(Exception):
    """What is said to the user, and the status that it ends with."""

    def __init__(self, sentence, status=1):
        super().__init__(sentence)
        self.status = status


def _text(thing):
    """What it says of itself; "" where that fails."""
    try:
        return str(thing)
    except BaseException:
        return ""


def _why(error):
    """The first line of what an exception says, with its type."""
    if isinstance(error, SystemExit):
        return "it ended the program (SystemExit: {0})".format(_text(error.code))
    words = _text(error).strip().splitlines()
    return "{0}: {1}".format(type(error).__name__, words[0]) if words else type(error).__name__


def _look_here():
    """The program's modules are found as by `python -m`: in the current folder before anywhere else."""
    if __name__ == "__main__" and _HAS_FOLDERS:
        with contextlib.suppress(OSError):  # it was removed
            sys.path.insert(0, os.getcwd())


def _name_of_file(path):
    """A module that is there already keeps its name: torch may ask for json, or types, later on."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return "_file_" + stem if stem in sys.modules else stem


def _as_package(path):
    """How a file that belongs to a package is named: by the folders with an __init__.py, or, as packages need none, as it was typed."""
    parts = os.path.splitext(os.path.abspath(path))[0].split(os.sep)
    typed = [] if os.path.isabs(path) else os.path.normpath(path).split(os.sep)
    n = 1
    while n < len(parts) - 1 and os.path.exists(os.path.join(os.sep.join(parts[:-n]), "__init__.py")):
        n += 1
    if n == 1:
        n = max(2, len(typed))
    return "; of a package it is named {0}:NAME, in the folder that holds {1}".format(".".join(parts[-n:]), parts[-n])


def _module(name):
    """The module of that name, or of that file."""
    try:
        if name.endswith(".py"):
            if not os.path.exists(name):
                raise Refused("there is no file {0}".format(name))
            sys.path.insert(0, os.path.dirname(os.path.abspath(name)))
            spec = importlib.util.spec_from_file_location(_name_of_file(name), name)
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
            return module
        return importlib.import_module(name)
    except Refused:
        raise
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise Refused("no module named {0} here; run it in the folder that holds it, or set PYTHONPATH".format(error.name)) from None
        raise Refused("cannot import {0}: {1}".format(name, _why(error))) from None
    except BaseException as error:  # one that ends the program, too
        is_of_package = isinstance(error, ImportError) and name.endswith(".py") and "relative import" in _text(error)
        raise Refused("cannot import {0}: {1}{2}".format(name, _why(error), _as_package(name) if is_of_package else "")) from None


def _parts(target):
    """Module and name: of "pkg.mod:Net", or of "a:b/net.py:Net", where a folder may have a colon."""
    at = target.rfind(".py:")
    name, _, attribute = target.partition(":") if at < 0 else (target[:at + 3], ":", target[at + 4:])
    if not all(part.isidentifier() for part in attribute.split(".")):
        raise Refused("{0} does not name anything in {1}; use {1}:NAME".format(attribute, name), 2)
    return name, attribute


def _named(name, attribute):
    """What the module calls so."""
    thing = _module(name)
    try:
        for part in attribute.split("."):
            thing = getattr(thing, part)
    except AttributeError:
        raise Refused("{0} has no {1}{2}".format(name, attribute, _other_file(name, attribute)), 2) from None
    except BaseException as error:  # of a property, or of the module's own __getattr__
        raise Refused("{0} of {1} failed: {2}".format(attribute, name, _why(error))) from None
    return thing


def _other_file(name, attribute):
    """A module of Python's may be meant to be the file of that name."""
    path = name.replace(".", os.sep) + ".py"
    is_other = not name.endswith(".py") and os.path.exists(path) and getattr(sys.modules.get(name), "__file__", None) != os.path.abspath(path)
    return "; {0} of this folder is another; use {0}:{1}".format(path, attribute) if is_other else ""


def _needs_arguments(thing):
    try:
        inspect.signature(thing).bind()
    except TypeError:
        return True
    except ValueError:  # it does not tell
        pass
    return False


def _made_by(thing, attribute):
    """The model that a class or a function gives."""
    import torch

    torch.manual_seed(0)  # the same weights in each run: a model that looks at its data goes the same way
    try:
        return thing()
    except BaseException as error:
        way_out = "; name a function that takes none and gives the model" if isinstance(error, TypeError) and _needs_arguments(thing) else ""
        raise Refused("{0}() failed: {1}{2}".format(attribute, _why(error), way_out)) from None


def _found(target):
    """(model, inputs or None) of "pkg.mod:factory"."""
    name, attribute = _parts(target)
    thing = _named(name, attribute)
    import torch

    if isinstance(thing, type) or not isinstance(thing, torch.nn.Module) and callable(thing):
        thing = _made_by(thing, attribute)
    if inspect.iscoroutine(thing):
        thing.close()  # else Python complains that nobody awaited it
    if isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[0], torch.nn.Module):
        return thing
    if not isinstance(thing, torch.nn.Module):
        kind = type(thing).__name__
        article = "an" if kind[:1].lower() in "aeiou" else "a"
        raise Refused("{0} is not a model but {1} {2}; name a torch.nn.Module, its class, or a function that returns one".format(target, article, kind))
    return thing, None


def _input(words, model):
    """(name or None, tensor) of "[NAME=]1,3,224,224[:DTYPE]"."""
    import torch

    name, _, rest = words.rpartition("=")
    dims, _, kind = rest.partition(":")
    first = next((p for p in model.parameters() if p.is_floating_point()), None)
    dtype = getattr(torch, kind, None) if kind else first.dtype if first is not None else torch.float32
    if not isinstance(dtype, torch.dtype):
        raise Refused("{0} is not a dtype of torch; use float32, int64, bool, ...".format(kind), 2)
    try:
        shape = [int(d) for d in dims.split(",")] if dims else []
    except ValueError:
        shape = [-1]
    if any(d < 0 for d in shape):
        raise Refused("--input {0}: a shape must be numbers separated by commas, such as 1,3,224,224".format(words), 2)
    # Without data: whoever needs numbers makes them, and most need none, however large it is.
    return name or None, _made(torch, shape, dtype, "meta", 2)


def _made(torch, shape, dtype, device, status):
    try:
        return torch.empty(shape, dtype=dtype, device=device)
    except (RuntimeError, MemoryError, OverflowError, TypeError) as error:
        raise Refused("an input of {0} is too large to be made: {1}".format(",".join(map(str, shape)), _why(error)), status) from None


def _check_room(model, args, kwargs):
    """Are there numbers for what was given as shapes alone?"""
    import torch

    first = next(model.parameters(), None)
    for one in list(args) + list(kwargs.values()):
        _made(torch, one.shape, one.dtype, first.device if first is not None else "cpu", 1)


def _inputs(words, model, given):
    """(args, kwargs)"""
    if not words and given is None:
        raise Refused("name the inputs of the model, as --input 1,3,224,224, or let the function return (model, inputs)", 2)
    if not words:
        if isinstance(given, dict):
            return (), given
        return tuple(given) if isinstance(given, (tuple, list)) else (given,), {}
    both = [_input(w, model) for w in words]
    return tuple(t for name, t in both if name is None), {name: t for name, t in both if name is not None}


def _counted(options):
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise Refused("{0} has no torch ({1}); choose an interpreter that has it with --python".format(sys.executable, error)) from None
    from sonde._torch import _model, _model_words
    from sonde.model import REPEATS, WARM_UP, _check_made, _has_data

    _look_here()
    model, given = _found(options.target)
    try:
        _check_made(model)
        args, kwargs = _inputs(options.input, model, given)
        if hasattr(model, "training"):  # a frozen script has one mode
            model.train(options.train)
        counted = _model.collect(model, args, kwargs, backward=options.backward, memory=options.memory)
        if options.runtime and _has_data(model, given if not options.input else None):
            if options.input:
                _check_room(model, args, kwargs)
            _model.measure(model, args, kwargs, counted, backward=options.backward, warmup=WARM_UP, repeats=REPEATS)
    except Refused:
        raise
    except _model.ModelError as error:
        raise Refused(_text(error).replace(_model_words.HOW_INPUTS_ARE_GIVEN, _INPUTS_OF_THE_VERB)) from None
    except BaseException as error:
        raise Refused("{0} could not be counted: {1}".format(options.target, _why(error))) from None
    return counted


def _options():
    parser = argparse.ArgumentParser()
    parser.add_argument("fd", type=int)
    parser.add_argument("target")
    parser.add_argument("--input", action="append", default=[])
    for flag in ("--backward", "--runtime", "--memory", "--train"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


class Answer:
    """The file that takes the model.

    A program may close descriptors that it did not open, and open files of its own under their numbers.  So that there is no model is
    written into memory that is mapped, and the model only where the descriptor still is that file.
    """

    def __init__(self, fd):
        self.fd, self.file, self.word = fd, None, None
        with contextlib.suppress(OSError):  # there is none where a test calls us
            self.file = self._found()
            os.ftruncate(fd, len(REFUSED))
            self.word = mmap.mmap(fd, len(REFUSED))

    def _found(self):
        about = os.fstat(self.fd)
        return about.st_dev, about.st_ino

    def take(self, data):
        try:
            is_there = self._found() == self.file
            if is_there:
                with open(self.fd, "wb") as f:
                    f.write(data)
        except OSError:
            is_there = False
        if not is_there:
            raise Refused("the program closed the file that the counted model goes into (descriptor {0}): let it close what it opened alone".format(self.fd))

    def refuse(self):
        if self.word:
            self.word[:] = REFUSED


def main():
    options = _options()
    answer = Answer(options.fd)
    try:
        answer.take(_counted(options).bytes())
    except Refused as error:
        with contextlib.suppress(Exception):  # a program that closed stderr: whoever started us says that we ended
            sys.stderr.write("sonde: {0}\n".format(error))
            sys.stderr.flush()
            answer.refuse()
        return error.status
    return 0


def _flush_c():
    """What C code of the program printed: its buffer is not Python's."""
    ctypes = sys.modules["ctypes"]  # torch has it; to import it now would be to look into the program's folder
    library = ctypes.CDLL(None)
    library.fflush(ctypes.c_void_p.in_dll(library, "stdout"))


def _leave(status):
    """Ends as every Python does, but waits for no thread of the program: the count is there, and whoever asked for it waits."""
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    for flush in (lambda: sys.stdout.flush(), lambda: sys.stderr.flush(), _flush_c):
        with contextlib.suppress(Exception):  # the program may have closed it
            flush()
    os._exit(status)


if __name__ == "__main__":
    _leave(main())
