# SPDX-License-Identifier: MIT
# The front door.  Every target first sets up the machine (tools/setup: a quick look
# when nothing is missing) and then calls one script of tools/ or tests/.
#
#   make           build everything, runnable in place: build/sonde, build/python
#   make demo      profile an example, print its summary, draw its picture
#   make test      every test                        make check   style, layers, warnings
#   make truth     numbers against known truth       make fuzz    every reader, FUZZ_SECONDS each
#   make bench     against other tools, side by side
#   make install   PREFIX=/usr/local, DESTDIR=
#
# BUILD=dir builds elsewhere; TINY=1 and SANITIZE=1 choose the build of that name.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
MESON_OPTIONS = $(if $(TINY),-Dtiny=true) $(if $(SANITIZE),-Dsanitize=true) $(if $(WERROR),-Dwerror=true)
export BUILD

all:
	@tools/setup build
	@tools/build $(BUILD) $(MESON_OPTIONS)

clean:
	rm -rf $(BUILD)

.PHONY: all clean
