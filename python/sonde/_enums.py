# SPDX-License-Identifier: MIT
"""The words of a section's figures as enums, after amltk: `str(kind) == "wall"`, `kind == "wall"`.

Imported when one of them is first shown; the extension itself knows them as numbers.
"""
from enum import Enum


def not_available():
    """What amltk has for an unknown word: pandas.NA; None where there is no pandas."""
    try:
        from pandas import NA
    except ImportError:
        return None
    return NA


class _Word(str, Enum):
    def __str__(self):
        return self.value

    __repr__ = __str__

    @classmethod
    def from_str(cls, key):
        """The member of this name, in any case; NA for anything else."""
        if isinstance(key, cls):
            return key
        member = cls.__members__.get(key.upper()) if isinstance(key, str) else None
        return not_available() if member is None else member


class Kind(_Word):
    """The clock of a section: `cpu` is that of the thread, `process` that of all threads."""

    WALL = "wall"
    CPU = "cpu"
    PROCESS = "process"


class TimeUnit(_Word):
    """The unit of a time; sections use seconds."""

    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"


class MemoryUnit(_Word):
    """The unit of memory; each is 1024 of the one before."""

    BYTES = "bytes"
    KILOBYTES = "kilobytes"
    MEGABYTES = "megabytes"
    GIGABYTES = "gigabytes"

    @classmethod
    def from_str(cls, key):
        """The member of this name or alias (B, KB, MB, GB), in any case; NA for anything else."""
        short = {"B": "BYTES", "KB": "KILOBYTES", "MB": "MEGABYTES", "GB": "GIGABYTES"}
        if isinstance(key, str) and not isinstance(key, cls):
            key = short.get(key.upper(), key)
        return super().from_str(key)


# In the order of src/ext/sections/words.def.
MEMBERS = tuple(MemoryUnit) + tuple(Kind) + (TimeUnit.SECONDS,)
