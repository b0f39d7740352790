# SPDX-License-Identifier: MIT
"""A capture without a name: made in a folder of its own, and kept in memory, or on the disk without its folder where it is large."""
import os
import shutil
import tempfile

IN_MEMORY = 1 << 20  # bytes; a larger one stays on the disk


class Scratch:
    def __init__(self, name):
        self.folder = tempfile.mkdtemp(prefix="sonde-{0}-".format(name))
        self.path = os.path.join(self.folder, name + ".sonde")

    def keep(self):
        """What was recorded there, as bytes or as an open file; the folder goes."""
        try:
            with open(self.path, "rb") as f:
                return f.read() if os.fstat(f.fileno()).st_size <= IN_MEMORY else os.fdopen(os.dup(f.fileno()), "rb")
        finally:
            self.drop()

    def drop(self):
        shutil.rmtree(self.folder, ignore_errors=True)
