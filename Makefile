# SPDX-License-Identifier: MIT
# The front door.  Every target first sets up the machine (tools/setup: a quick look
# when nothing is missing), builds, and then calls one script.
#
#   make           build everything, runnable in place: build/sonde, build/python
#   make demo      profile an example, print its summary, write its page
#   make test      every test; TESTS="truth faults" only those
#   make check     layers, layout, warnings of two compilers
#   make truth     numbers against known truth
#   make fuzz      every reader, FUZZ_SECONDS=60 each
#   make bench     against other tools, side by side
#   make web       the page (web/): types, tests, web/dist/page.html; needs npm
#   make pythons   CPython 3.14 and 3.15 to test with, where the machine lacks them
#   make install   PREFIX=/usr/local, DESTDIR=
#
# BUILD=dir builds elsewhere; TINY=1, SANITIZE=1, WERROR=1 and CC=clang change how.
# PYTHONS=/path/a,/path/b builds the extension for those interpreters alone.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
TESTS ?=
PYTHONS ?=
# CI lets no warning through, so that its build need not be made a second time to see them.
WERROR ?= $(if $(filter true,$(CI)),1)
export BUILD ROOMS
# `cc` is make's own idea of a compiler; only one that was asked for is passed on.
ifneq ($(origin CC),default)
export CC
endif

# CI installs all that any test can use, so that nothing is skipped for its lack.
TEST_SETUP = $(if $(filter true,$(CI)),check,test)

yes_no = $(if $($(1)),true,false)
OPTIONS = -Dprefix=$(PREFIX) -Dpythons=$(PYTHONS) -Dtiny=$(call yes_no,TINY) -Dsanitize=$(call yes_no,SANITIZE) -Dwerror=$(call yes_no,WERROR)

all:
	@tools/setup build
	@tools/build $(BUILD) $(OPTIONS)

demo: all
	@tools/demo

test:
	@tools/setup $(TEST_SETUP)
	@OPTIONS="$(OPTIONS)" tools/test $(TESTS)

truth:
	@$(MAKE) --no-print-directory test TESTS=truth

check:
	@tools/setup check
	@tools/check $(BUILD)/check

fuzz:
	@tools/setup check
	@tools/fuzz $(BUILD)/fuzz

bench: all
	@tools/bench $(BENCH)

web:
	@tools/web $(BUILD)

pythons:
	@tools/setup build
	@tools/pythons

install: all
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild --quiet

clean:
	rm -rf $(BUILD)

.PHONY: all demo test truth check fuzz bench web pythons install clean
