# SPDX-License-Identifier: MIT
"""What the tests in a real browser share: Chromium and playwright-core, which are installed with CI=true only."""
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "formats"))
import helpers  # noqa: E402

PACKAGES = os.environ.get("NODE_PACKAGES") or os.path.join(
    os.environ.get("SONDE_BUILD") or os.path.dirname(helpers.SONDE), "npm", "node_modules")
# A name that ends the script and the picture where it is not escaped.
HOSTILE = "]]></script><script>document.title='run'</script>\x1b\u202e\udcff"


def need_browser():
    for program in ("chromium", "node"):
        helpers.need(shutil.which(program), "no %s; CI=true make test installs it" % program)
    helpers.need(os.path.exists(os.path.join(PACKAGES, "playwright-core")),
                 "playwright-core is not in build/npm; CI=true make test installs it")


def browse(script, *words):
    """What the script of this folder says it saw."""
    done = helpers.run(["node", os.path.join(HERE, script), PACKAGES] + list(words), limit=200)
    helpers.equal(done.status, 0, "status of node: %s" % done.err)
    return json.loads(done.out)
