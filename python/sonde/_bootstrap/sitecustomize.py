# SPDX-License-Identifier: MIT
"""What `sonde run` puts first on PYTHONPATH: every Python that inherits it passes through here at its start.

It loads Sonde's extension, which joins the capture named in the environment, and then leaves as
if it had never been: sys.path, sys.modules and the importer cache are what they would be without
it, and the sitecustomize that this one hid is found and run by the same rules.  Nothing is said
and nothing is raised: an interpreter for which there is no extension runs on unmeasured, and
`sonde` notices that nobody joined.

Children of any version load this file, so it must parse on Python 2.7 and on all later ones.

The program's own `import sonde` finds its own sonde, if there is one on its path; that file may be the
same or another than the one loaded here, and both write into the same capture.  If there is none,
SondeFinder, last in sys.meta_path, answers with the package this file belongs to.

One trace remains: when the other sitecustomize raises, a traceback that shows it also shows the one
line below that imports it.
"""
import sys


class SondeFinder(object):
    """Finds `sonde` in this package, for programs that import it and have not installed it."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name != "sonde" or path is not None:
            return None
        from _frozen_importlib_external import spec_from_file_location

        return spec_from_file_location(name, self.package + "/__init__.py", submodule_search_locations=[self.package])


def load(package):
    """Loads the extension made for this interpreter, if there is one; its loading joins the capture.

    Not by `import`, which would leave names in sys.modules.  The file may be loaded again by the
    program: the second instance of the module shares the process's one session with the first.
    """
    import _imp
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import ExtensionFileLoader, _path_isfile

    name = "sonde._sonde"
    for suffix in _imp.extension_suffixes():
        path = package + "/_sonde" + suffix
        if _path_isfile(path):
            module = _imp.create_dynamic(ModuleSpec(name, ExtensionFileLoader(name, path), origin=path))
            _imp.exec_dynamic(module)
            return True
    return False


def disappear(folder):
    """Takes out of the interpreter what finding this file has put there."""
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path_importer_cache.pop(folder, None)
    del sys.modules["sitecustomize"]


def offer(package):
    """Makes `import sonde` work where it would not.  Asking the importers would fill their cache."""
    from _frozen_importlib_external import _path_isfile

    for folder in sys.path:
        if _path_isfile(folder + "/sonde/__init__.py"):
            return
    sys.meta_path.append(SondeFinder(package))


def start():
    folder = __file__.rpartition("/")[0]
    package = folder.rpartition("/")[0]
    try:
        if load(package):
            offer(package)
    except Exception:
        pass
    disappear(folder)


ours = sys.modules["sitecustomize"]  # Python 2 empties a module that nobody holds
start()
import sitecustomize  # noqa: E402,F401  site sees what this raises as if it had come from its own import
