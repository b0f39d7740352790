#!/bin/sh
# SPDX-License-Identifier: MIT
# patient
# `make install` into a folder: the program runs from there, its manual is there, and a C
# program finds libsonde through pkg-config.
# shellcheck disable=SC2317  # functions are called through check
set -u
status=0
root=$TMPDIR/root
prefix=$(sed -n 's/^options .*-Dprefix=\([^ ]*\).*/\1/p' "$SONDE_BUILD/inputs")
installed=$root${prefix:-/usr/local}
lib=$installed/lib

check() { # check NAME COMMAND...
    name=$1
    shift
    if "$@" >check.log 2>&1; then
        echo "ok $name"
    else
        status=1
        echo "FAIL $name: $* failed"
        tail -n 15 check.log | sed 's/^/    /'
    fi
}

# The build under test, as it is: `all` counts as done.
install_it() { make -C "$SONDE_SRC" -o all BUILD="$SONDE_BUILD" DESTDIR="$root" install; }
# Another prefix: configured only, because nothing that is compiled depends on it.
prefix_is_kept() {
    meson setup -Dprefix=/opt/sonde "-Dpythons=$PYTHON" other "$SONDE_SRC" && meson introspect --installed other >planned &&
        "$PYTHON" -c 'import json, sys
planned = [path for path in json.load(open("planned")).values()]
print(planned)
sys.exit(not planned or not all(path.startswith("/opt/sonde/") for path in planned))' && grep -q '^prefix=/opt/sonde$' other/meson-private/sonde.pc
}
program_runs() { "$installed/bin/sonde" --version | grep -q '^sonde '; }
package_is_found() {
    echo 'from sonde import Profiler' >x.py
    echo 'with Profiler()("work"): pass' >>x.py
    "$installed/bin/sonde" run -o x.sonde x.py && "$installed/bin/sonde" report x.sonde | grep work
}
compat_path_is_found() {
    echo 'import cProfile; print(cProfile.Profile.__module__)' >whose.py
    PYTHONPATH=$("$installed/bin/sonde" compat-path) "$PYTHON" -m cProfile whose.py | grep -x sonde.compat.cProfile
}
a_program_of_another_tool_is_found() {
    printf '@profile\ndef f():\n    return 1\nf()\n' >lines.py
    PATH=$("$installed/bin/sonde" compat-path --programs):$PATH kernprof -l -v lines.py | grep 'return 1'
}
manual_is_there() { [ -s "$installed/share/man/man1/sonde.1" ] && [ -s "$installed/share/man/man1/sonde-run.1" ]; }
completions_are_there() { bash -n "$installed/share/bash-completion/completions/sonde"; }

cat >use.c <<'C'
#include <sonde.h>
#include <stdio.h>
int main(void)
{
    sonde_section *s;

    if (sonde_start("c.sonde") < 0) {
        fprintf(stderr, "%s\n", sonde_error());
        return 1;
    }
    s = sonde_section_begin("from-c", SONDE_TIME);
    sonde_section_end(s);
    return sonde_stop() < 0;
}
C
flags() { PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root pkg-config "$@" sonde; }
# shellcheck disable=SC2046  # flags are words
links_shared() {
    cc -Wall -Werror use.c $(flags --cflags --libs) -o use-shared && rm -f c.sonde && LD_LIBRARY_PATH=$lib ./use-shared &&
        "$SONDE" report c.sonde | grep from-c
}
# shellcheck disable=SC2046
links_static() {
    cc -Wall -Werror use.c $(flags --cflags) "$lib/libsonde.a" $(flags --libs-only-l --static | sed 's/-lsonde//') -o use-static &&
        rm -f c.sonde && ./use-static && "$SONDE" report c.sonde | grep from-c
}
exports_only_its_own() { ! nm -D --defined-only "$lib/libsonde.so" | grep -v ' sonde_'; }
# The loader is part of libc; it is named when there are variables per thread.
needs_libc_alone() { ! readelf -d "$lib/libsonde.so" | grep NEEDED | grep -vE '\[(libc\.so\.6|ld-linux-x86-64\.so\.2)\]'; }
is_hardened() { # position-independent, symbols bound at start and read-only after it
    readelf -hW "$1" | grep -q 'Type: *DYN' && readelf -dW "$1" | grep -q 'NOW' && readelf -lW "$1" | grep -q GNU_RELRO &&
        readelf -lW "$1" | grep GNU_STACK | grep -qv E
}

check make_install_succeeds install_it
check installed_program_runs program_runs
check installed_program_finds_its_package package_is_found
check installed_compat_path_works compat_path_is_found
check installed_kernprof_works a_program_of_another_tool_is_found
check manual_is_installed manual_is_there
check completions_are_installed completions_are_there
check libsonde_links_through_pkg_config links_shared
check libsonde_links_statically links_static
check libsonde_exports_sonde_names_alone exports_only_its_own
check libsonde_needs_libc_alone needs_libc_alone
check another_prefix_is_kept prefix_is_kept
check program_is_hardened is_hardened "$installed/bin/sonde"
check libsonde_is_hardened is_hardened "$lib/libsonde.so"
exit $status
