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
import node  # noqa: E402

# A name that ends the script and the picture where it is not escaped.
HOSTILE = "]]></script><script>document.title='run'</script>\x1b\u202e\udcff"


def need_browser():
    helpers.need(shutil.which("chromium"), "no chromium; " + node.HINT)
    return node.need("playwright-core")


def browse(script, *words):
    """What the script of this folder says it saw."""
    done = helpers.run([need_browser(), os.path.join(HERE, script), node.PACKAGES] + list(words), limit=200)
    helpers.equal(done.status, 0, "status of node: %s" % done.err)
    return json.loads(done.out)
