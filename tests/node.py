# SPDX-License-Identifier: MIT
"""Node and the packages of npm that some tests open our files with (tools/consumers puts them into build/npm).

Debian's Node is older than some packages allow, so build/npm brings one of its own; the machine's serves where that is
missing.  A package says itself which Node it needs, and a test that has none is skipped with both versions.
"""
import functools
import glob
import json
import os
import re
import shutil

import helpers

PACKAGES = os.path.join(os.environ.get("SONDE_BUILD") or os.path.dirname(helpers.SONDE), "npm", "node_modules")
HINT = "CI=true make test installs it"


@functools.lru_cache(None)
def found():
    """(the newest Node here, its version as a list), or (None, []) where there is none."""
    versions = []
    for program in glob.glob(os.path.join(PACKAGES, "node-linux-*", "bin", "node")) + [shutil.which("node")]:
        done = helpers.run([program, "--version"]) if program and os.access(program, os.X_OK) else None
        if done and done.status == 0:
            versions.append(([int(n) for n in re.findall(r"\d+", done.out)], program))
    version, program = max(versions, default=([], None))
    return program, version


def needed(package):
    """The least version that a package runs with, as it says itself: `>= 24`, `>=20.1.0`."""
    with open(os.path.join(PACKAGES, *package.split("/"), "package.json"), encoding="utf-8") as f:
        engine = json.load(f).get("engines", {}).get("node", "")
    return [int(n) for n in re.findall(r"\d+", engine.split("||")[0])]


def need(package=None, path=None):
    """The Node that can run a package of build/npm, or (without one) any; skips the test where there is none."""
    program, version = found()
    if package:
        helpers.need(os.path.isdir(os.path.join(PACKAGES, *package.split("/"))), "%s is not in build/npm; %s" % (package, HINT))
    if path:
        helpers.need(os.path.exists(path), "%s is not in build/npm; %s" % (os.path.basename(path), HINT))
    helpers.need(program, "no node; " + HINT)
    least = needed(package) if package else []
    helpers.need(version >= least, "%s needs Node %s, here is %s; %s" %
                 (package, ".".join(map(str, least)), ".".join(map(str, version)), HINT))
    return program
