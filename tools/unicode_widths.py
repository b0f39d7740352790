#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/base/widths.def: which characters take two columns of a terminal, and which none.

    python3 tools/unicode_widths.py > src/base/widths.def

Run again with a newer Python to follow a newer Unicode.
"""
import sys
import unicodedata


def width(code):
    char = chr(code)
    category = unicodedata.category(char)
    if category == "Cn":
        return None  # not assigned: joins whatever stands around it
    if 0x1160 <= code <= 0x11FF or 0xD7B0 <= code <= 0xD7FF:
        return 0  # vowels and finals of Hangul, drawn into the syllable before them
    if code == 0xAD or unicodedata.bidirectional(char) == "AN":
        return 1  # soft hyphen; Arabic signs before a number: format characters, but drawn
    if category in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def ranges(wanted):
    """Ranges of the wanted width.  A gap of unassigned characters does not end one."""
    first = last = None
    for code in range(0x80, 0x110000):
        w = width(code)
        if w == wanted:
            first = code if first is None else first
            last = code
        elif w is not None and first is not None:
            yield first, last
            first = None
    if first is not None:
        yield first, last


print("/* SPDX-License-Identifier: MIT */")
print("/* widths.def: columns of characters that take 2 or 0; made by tools/unicode_widths.py")
print(f" * from Unicode {unicodedata.unidata_version}.  Within a kind the ranges rise. */")
for macro, wanted in (("WIDE", 2), ("ZERO", 0)):
    print(f"#ifdef {macro}")
    for first, last in ranges(wanted):
        print(f"{macro}(0x{first:04X}, 0x{last:04X})")
    print("#endif")
sys.stdout.flush()
