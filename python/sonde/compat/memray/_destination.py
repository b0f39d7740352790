# SPDX-License-Identifier: MIT
"""Where a Tracker records to."""
from dataclasses import dataclass
from os import PathLike
from typing import Union


@dataclass(frozen=True)
class Destination:
    pass


@dataclass(frozen=True)
class FileDestination(Destination):
    """A file, which is a capture of Sonde's whatever its name ends with.

    One that is there already is replaced with overwrite=True alone.  `compress_on_exit` and `buffered` change nothing: captures
    are always compressed, and what was recorded survives the death of the program either way.
    """

    path: Union[str, PathLike]
    overwrite: bool = False
    compress_on_exit: bool = True
    buffered: bool = False


@dataclass(frozen=True)
class SocketDestination(Destination):
    """A port, which a Tracker of Sonde's does not serve."""

    server_port: int
    address: str = "127.0.0.1"
