# SPDX-License-Identifier: MIT
"""What the program prints or draws of a counted model, which it gets as a file without a name."""
import subprocess
import tempfile


def draw(model, words):
    """What `sonde model` with these words puts on stdout, as bytes."""
    from ._plot import _program

    with tempfile.TemporaryFile(prefix="sonde-model-") as f:  # without a name, so a death leaves nothing
        f.write(model.bytes())
        f.flush()
        command = [_program(), "model", "/proc/self/fd/{0}".format(f.fileno())] + words
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[f.fileno()])
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace").strip() or "sonde ended with {0}".format(done.returncode))
    return done.stdout
