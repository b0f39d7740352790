# SPDX-License-Identifier: MIT
"""The script that a command names, for kernprof and memory_profiler."""
import os


def find(name):
    """Its path, which may also be in a folder of PATH, or None."""
    for folder in [""] + [f for f in os.environ.get("PATH", os.defpath).split(os.pathsep) if f]:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    return None
