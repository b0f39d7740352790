# SPDX-License-Identifier: MIT
"""`python -m sonde ...` is `sonde ...`: it becomes the program that belongs to this package.

`sonde run x.py` then takes the Python that was named here, active environment or not.
"""
import os
import sys


def _is_program(path):
    """A compiled program, not a script that would only call us again."""
    try:
        with open(path, "rb") as f:
            return f.read(4) == b"\x7fELF" and os.access(path, os.X_OK)
    except OSError:
        return False


def _places():
    package = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(package, "bin", "sonde")  # a wheel
    yield os.path.join(package, "..", "..", "sonde")  # a build tree: build/python/sonde, build/sonde
    yield os.path.join(package, "..", "..", "bin", "sonde")  # prefix/lib/sonde
    yield os.path.join(sys.prefix, "bin", "sonde")
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        yield os.path.join(folder or os.curdir, "sonde")


def program():
    """The path of the program, or None."""
    return next((path for path in _places() if _is_program(path)), None)


def main():
    path = program()
    if path:
        os.execv(path, [path] + sys.argv[1:])
    sys.stderr.write("sonde: the program `sonde` is neither in this package nor on PATH; install sonde again, or run `make`\n")
    return 1


if __name__ == "__main__":
    if sys.executable:
        os.environ["SONDE_PYTHON"] = sys.executable
    sys.exit(main())
