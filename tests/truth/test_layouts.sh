#!/bin/sh
# SPDX-License-Identifier: MIT
# interpreters: all
# The committed layout of this version of CPython is what its headers say today.
set -eu
include=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("include"))')
if [ ! -e "$include/internal/pycore_pystate.h" ]; then
    echo "skip layout_is_what_the_headers_say: $PYTHON has no internal headers"
elif said=$("$SONDE_SRC/tools/gen-layouts" -n "$PYTHON" 2>&1); then
    echo "ok layout_is_what_the_headers_say"
else
    echo "FAIL layout_is_what_the_headers_say: the table differs"
    echo "$said" | sed 's/^/    /'
    exit 1
fi
