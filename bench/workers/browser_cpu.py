# SPDX-License-Identifier: MIT
"""CPU time of a page in Chromium: of all processes of the browser, at every step of workers/page.mjs.

The first picture is there when what the page is for stands in the document and two frames have been drawn since.  A step
begins when the browser has been at rest, and counts until it is at rest again, so that animations and what is drawn in
other processes belong to it; the first picture has a figure of its own, read when it is there.
"""
import glob
import json
import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REST_S, REST_NS, RESTS, RESTS_MAX = 0.25, 4e6, 2, 60     # at rest: at most 4 ms in a quarter of a second, twice


def node_and_packages(build):
    """The Node of build/npm, or the machine's, and its packages; None where Chromium cannot be driven."""
    packages = os.path.join(build, "npm", "node_modules")
    own = glob.glob(os.path.join(packages, "node-linux-*", "bin", "node"))
    return (own[0] if own else "node"), packages


def parents():
    """{process: its parent} of the whole machine."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as f:
                    found[int(name)] = int(f.read().rpartition(b")")[2].split()[1])
            except OSError:
                pass
    return found


class Tree:
    """The processes below one, without itself, and the CPU time of each; of those that ended, what was seen last."""

    def __init__(self, root):
        self.root, self.seen = root, {}

    def cpu_ns(self):
        parent_of = parents()
        for pid in parent_of:
            above = parent_of.get(pid)
            while above and above != self.root:
                above = parent_of.get(above)
            if above == self.root:
                try:
                    self.seen[pid] = time.clock_gettime_ns(~pid << 3 | 2)
                except OSError:
                    pass
        return sum(self.seen.values())

    def at_rest_ns(self):
        """Waits until nothing runs any more."""
        before, rests = self.cpu_ns(), 0
        for _ in range(RESTS_MAX):
            time.sleep(REST_S)
            now = self.cpu_ns()
            rests = rests + 1 if now - before <= REST_NS else 0
            if rests == RESTS:
                break
            before = now
        return self.cpu_ns()


class Visit:
    """What one page cost: `picture` to the first one, `uses` by name, what it `asked` for, and `why` it was not seen."""

    def __init__(self, build, kind, address, file=None):
        node, packages = node_and_packages(build)
        command = [node, os.path.join(HERE, "page.mjs"), packages, kind, address] + ([file] if file else [])
        self.picture, self.uses, self.asked, self.at = None, {}, {}, {}
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.tree = Tree(child.pid)
        for line in child.stdout:
            self.hear(json.loads(line))
            child.stdin.write(b"\n")
            child.stdin.flush()
        child.wait()
        errors = self.asked.get("failed", []) + self.asked.get("errors", [])
        self.why = None if self.picture is not None else errors[0] if errors else "it showed nothing"

    def hear(self, said):
        if "asked" in said:
            self.asked = said["asked"]
        elif "rest" in said:
            now = self.tree.at_rest_ns()
            self.end_of_step(now)
            self.at = {"name": said["rest"], "began": now}
        elif said["step"] == "open":
            self.picture = self.tree.cpu_ns() - self.at["began"]

    def end_of_step(self, now):
        name = self.at.get("name")
        if name and name != "open":
            self.uses[name] = now - self.at["began"]
