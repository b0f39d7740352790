# SPDX-License-Identifier: MIT
"""What the program prints or draws of a counted model, which it gets as a file without a name."""
import re
import subprocess
import tempfile

# What options of the command line are called in Python.
_NAMES = {"--runtime": "runtime=True", "--backward": "backward=True", "--memory": "memory=True", "--depth": "depth=", "--metric": "metric=", "--rows": "n=", "-n": "n=",
          "--type": "layer_type=", "--width": "figsize=", "--count": "count="}


def _in_python(said):
    """What the program refused, in one line and in the words of Python."""
    said = said.strip()
    said = said[len("sonde: "):] if said.startswith("sonde: ") else said
    return re.sub(r"(?<![\w-])--?[a-z]+", lambda found: _NAMES.get(found.group(), found.group()), said)


def draw(model, words):
    """What `sonde model` with these words puts on stdout, as bytes."""
    from ._plot import _program

    with tempfile.TemporaryFile(prefix="sonde-model-") as f:  # without a name, so a death leaves nothing
        f.write(model.bytes())
        f.flush()
        command = [_program(), "model", "/proc/self/fd/{0}".format(f.fileno())] + words
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[f.fileno()])
    if done.returncode:
        raise RuntimeError(_in_python(done.stderr.decode("utf-8", "replace")) or "sonde ended with {0}".format(done.returncode))
    return done.stdout
