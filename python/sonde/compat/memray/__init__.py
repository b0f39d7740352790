# SPDX-License-Identifier: MIT
"""memray's names, with Sonde's recorder and captures underneath.

    from sonde.compat.memray import FileReader, Tracker

    with Tracker("load.bin"):
        ...
    for record in FileReader("load.bin").get_high_watermark_allocation_records():
        ...

Files are captures, whatever their suffix: `sonde report load.bin --alloc` reads them, too, and FileReader reads what `sonde alloc`
has recorded.
"""
from ._memray import (AllocationRecord, AllocatorType, Destination, FileDestination, FileFormat, FileReader, MemorySnapshot, Metadata,
                      SocketDestination, SocketReader, Tracker, __version__, dump_all_records, set_log_level, start_thread_trace)

__all__ = ["AllocationRecord", "AllocatorType", "FileFormat", "MemorySnapshot", "dump_all_records", "start_thread_trace", "Tracker", "FileReader",
           "SocketReader", "Destination", "FileDestination", "SocketDestination", "Metadata", "__version__", "set_log_level"]
