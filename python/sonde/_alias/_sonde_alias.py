# SPDX-License-Identifier: MIT
"""What the modules of this folder share: each is Sonde's module of the same name.

`sonde compat-path` prints this folder.  Every Python that inherits it in PYTHONPATH passes here
when it imports cProfile, pstats, profile, line_profiler or another of them, so these files must parse on Python
2.7 and on all later ones.  Where sonde has no extension for the interpreter, the folder takes
itself off the path, and the module that it hid is imported as if it had never been.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)

kept = []  # modules that were replaced: Python 2 empties one that nobody holds


def become(names, parts=()):
    """Called by a module of this folder with its globals(): it becomes Sonde's, or the one behind it.  A package names its parts."""
    name = os.path.splitext(os.path.basename(names["__file__"]))[0]
    if name == "__init__":
        name = os.path.basename(os.path.dirname(names["__file__"]))
    is_main = names["__name__"] == "__main__"
    module = ours(name)
    if module is None:
        step_aside(name, is_main)
    elif is_main:
        status = module.main()
        if isinstance(status, int):  # some end by themselves, and some return what is no status
            sys.exit(status)
    else:
        stand_for(sys.modules[names["__name__"]], module)
        for part in parts:
            sys.modules[name + "." + part] = ours(name + "." + part)


def become_from(version, names, parts):
    """Does the same for a package that CPython has from this version on, and registers its submodules under their names.

    Before that version the name belongs to another package, which is imported without our folder on the path."""
    name, path = names["__name__"], sys.path[:]
    if sys.version_info >= version:
        become(names)
        for part in parts if ours(name) else ():
            above, _, last = (name + "." + part).rpartition(".")
            sys.modules[name + "." + part] = sys.modules[above].__dict__[last] = named(name + "." + part)
        return
    try:
        step_aside(name, False)
    finally:
        for at, folder in enumerate(path):      # what else was done to the path meanwhile stays
            if is_here(folder) and folder not in sys.path:
                sys.path.insert(at, folder)


def ours(name):
    """sonde.compat.NAME, or None where it cannot be had."""
    if sys.version_info < (3, 8):
        return None
    from importlib import import_module

    try:
        if "sonde" not in sys.modules:
            load_package()
        return import_module("sonde.compat." + name)
    except ImportError:
        return None


def load_package():
    """Imports the sonde that this folder belongs to: the program's own path need not have one."""
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import spec_from_file_location

    spec = spec_from_file_location("sonde", os.path.join(PACKAGE, "__init__.py"), submodule_search_locations=[PACKAGE])
    sys.modules["sonde"] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["sonde"]
        raise


class Alias(type(sys)):
    """A module under its own name that has all that another one has, and passes on what is done to it.

    The names are copied, so that finding one calls nothing of ours: that call would be seen by the profiler
    that the program started.
    """

    def __getattr__(self, name):
        try:
            return getattr(self.__dict__["__wrapped__"], name)
        except AttributeError:
            pass
        raise AttributeError("module {0!r} has no attribute {1!r}".format(self.__name__, name))

    def __setattr__(self, name, value):
        super(Alias, self).__setattr__(name, value)
        if not name.startswith("__"):
            setattr(self.__dict__["__wrapped__"], name, value)

    def __delattr__(self, name):
        self.__dict__.pop(name, None)
        delattr(self.__dict__["__wrapped__"], name)

    def __dir__(self):
        return dir(self.__dict__["__wrapped__"])


def stand_for(module, behind):
    own = module.__dict__
    for name in [name for name in own if not name.startswith("__")]:
        del own[name]
    own.update((name, value) for name, value in behind.__dict__.items() if not name.startswith("__") or name == "__all__")
    own["__wrapped__"], own["__doc__"] = behind, behind.__doc__
    module.__class__ = Alias


def named(name):
    """A module of this name that stands for ours."""
    module, behind = type(sys)(name), ours(name)
    for word in ("__file__", "__path__", "__spec__", "__loader__"):
        if hasattr(behind, word):
            setattr(module, word, getattr(behind, word))
    stand_for(module, behind)
    return module


def is_here(folder):
    return os.path.abspath(folder or os.curdir) == HERE


def step_aside(name, is_main):
    sys.path[:] = [folder for folder in sys.path if not is_here(folder)]
    if is_main:
        import runpy

        runpy.run_module(name, None, "__main__", True)
    else:
        kept.append(sys.modules.pop(name))
        __import__(name)
