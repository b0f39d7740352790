# SPDX-License-Identifier: MIT
"""The page of one program beside the pages of other profilers: bytes, requests, CPU time to the first picture and of an
interaction (workers/browser_cpu.py says what counts).  All pages are opened in turns, each in a fresh Chromium.

An interaction is what a person takes for one: a click, a key, a typed search, or a whole drag from the press to the release.
What one move of a drag costs has a figure of its own, and so have a click and a drag on an empty page, which are Chromium's.

    page.py ROUNDS SONDE FOLDER BUILD [PROGRAM]

Ours and speedscope's page show the same samples, snakeviz a pstats file and memray the memory of the same program.  With
PROGRAM, which is large_capture, it is a capture of 1e6 samples of 20,000 stacks instead, ours beside speedscope alone,
and how the page is made beside `report --json`.
"""
import glob
import os
import re
import resource
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse
from importlib import metadata

from browser_cpu import Visit, node_and_packages
from rounds import tell

PROGRAM = """
import argparse, asyncio, concurrent.futures, csv, ctypes, decimal, difflib, doctest, email.mime.text, http.client, json, logging.config
import multiprocessing.pool, sqlite3, ssl, statistics, tarfile, unittest.mock, urllib.request, xml.dom.minidom, zipfile

def words(n): return [{"word %d" % i: [i, str(i), {"half": i / 2}]} for i in range(n)]
def encoded(n): return json.dumps(words(n), indent=1)
def decoded(text): return json.loads(text)
def compared(n): return list(difflib.unified_diff(encoded(n).splitlines(), encoded(n + 1).splitlines()))
def mean(n): return statistics.fmean(decimal.Decimal(i) for i in range(n))
def picture(n): return xml.dom.minidom.parseString("<a>" + "<b c='d'>e</b>" * n + "</a>").toprettyxml()

for n in range(3):
    decoded(encoded(20000)); compared(2000); mean(20000); picture(2000)
"""
N_SAMPLES, N_STACKS = 1000000, 20000
MOVES = 4           # of a drag in page.mjs; press and release are counted with them


def run(command, **how):
    """CPU nanoseconds of a command, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **how)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9


class Server:
    """snakeviz, which shows a file only while its server runs."""

    def __init__(self, path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.child = subprocess.Popen([sys.executable, "-m", "snakeviz", "-s", "-p", str(port), path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.address = "http://127.0.0.1:%d/snakeviz/%s" % (port, urllib.parse.quote(path, safe=""))
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.1)

    def stop(self):
        self.child.terminate()
        self.child.wait()


class Pages:
    """Whose pages there are: {name: (kind, address, file)}, and the bytes that one hands over to show each."""

    def __init__(self, folder, build):
        self.folder, self.build = folder, build
        self.all, self.versions, self.refused, self.server = {}, {}, {}, None

    def add(self, name, version, kind, address, *files):
        self.all[name] = (kind, address, files)
        self.versions[name] = version

    def add_file(self, name, version, kind, path):
        self.add(name, version, kind, "file://" + path)

    def add_speedscope(self, path):
        page = os.path.join(node_and_packages(self.build)[1], "speedscope", "dist", "release")
        if os.path.exists(page):
            with open(os.path.join(page, "release.txt"), encoding="utf-8") as f:
                version = re.search(r"speedscope@(\S+)|", f.read()).group(1) or ""
            self.add("speedscope", ("speedscope " + version).strip(), "speedscope", "file://" + os.path.join(page, "index.html"), path)


def path_in(pages, name):
    return os.path.join(pages.folder, name)


def add_ours(pages, sonde, capture):
    path = path_in(pages, "ours.html")
    run([sonde, "report", capture, "--force", "-o", path])
    pages.add_file("ours", "", "sonde", path)
    samples = path_in(pages, "samples.speedscope.json")
    run([sonde, "convert", capture, "--force", samples])
    pages.add_speedscope(samples)


def add_snakeviz(pages, script):
    try:
        version = metadata.version("snakeviz")
    except metadata.PackageNotFoundError:
        return
    path = path_in(pages, "program.pstats")
    run([sys.executable, "-m", "cProfile", "-o", path, script])
    pages.server = Server(path)
    pages.add("snakeviz", "snakeviz %s, needs its server" % version, "snakeviz", pages.server.address)


def add_memray(pages, script):
    try:
        version = metadata.version("memray")
    except metadata.PackageNotFoundError:
        return
    log = path_in(pages, "program.memray")
    run([sys.executable, "-m", "memray", "run", "-q", "-f", "-o", log, script])
    for name, words in (("memray", []), ("memraynoweb", ["--no-web"])):
        path = path_in(pages, name + ".html")
        run([sys.executable, "-m", "memray", "flamegraph", "-f", "-o", path, log] + words)
        pages.add_file(name, " ".join(["memray", version] + words), "memray", path)


def program_pages(pages, sonde):
    script, capture = path_in(pages, "program.py"), path_in(pages, "program.sonde")
    with open(script, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    run([sonde, "run", "--quiet", "--force", "-o", capture, "--", sys.executable, script])
    add_ours(pages, sonde, capture)
    add_snakeviz(pages, script)
    add_memray(pages, script)


def visit(pages, name, found):
    """One page in a fresh browser."""
    kind, address, files = pages.all[name]
    seen = Visit(pages.build, kind, address, *files)
    keep = lambda what, value: found.setdefault("%s-%s" % (name, what), []).append(value)
    if seen.asked.get("requests"):
        keep("requests", seen.asked["requests"] - 1)                # the page itself is none
        keep("bytes", seen.asked["bytes"] + sum(os.path.getsize(f) for f in files))
    if seen.why:
        pages.refused[name] = seen.why
        return
    keep("open", seen.picture)
    for use, ns in seen.uses.items():
        keep(use.replace(" ", "_"), ns)
    if seen.uses:
        keep("interaction", statistics.median(seen.uses.values()))
        keep("slowest", max(seen.uses.values()))
    drags = [ns for use, ns in seen.uses.items() if use.startswith("drag")]
    if drags:
        keep("gesture", statistics.median(drags))
        keep("move", statistics.median(drags) / MOVES)
    if seen.asked["errors"]:
        print("page: %s: %s" % (name, seen.asked["errors"][0]), file=sys.stderr)


def add_making(sonde, capture, page, found):
    found.setdefault("json-made", []).append(run([sonde, "report", capture, "--json"]))
    found.setdefault("ours-made", []).append(run([sonde, "report", capture, "--force", "-o", page]))


def main():
    n_rounds, sonde, folder, build = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    pages, found, capture = Pages(folder, build), {}, os.path.join(folder, "large.sonde")
    if len(sys.argv) > 5:
        for old in glob.glob(capture + "*"):
            os.remove(old)
        run([sys.argv[5], capture, "10", str(N_STACKS), str(N_SAMPLES)])
        add_ours(pages, sonde, capture)
        pages.versions["json"] = "report --json"
    else:
        program_pages(pages, sonde)
    empty = path_in(pages, "empty.html")
    with open(empty, "w", encoding="utf-8") as f:
        f.write("<!doctype html><title>empty</title><p>empty")
    pages.add_file("empty", "a page with one word", "empty", empty)
    order = list(pages.all)
    try:
        for _ in range(n_rounds):
            if len(sys.argv) > 5:
                add_making(sonde, capture, path_in(pages, "ours.html"), found)
            order.append(order.pop(0))
            for name in order:
                visit(pages, name, found)
            tell(found, pages.versions, pages.refused)
    finally:
        if pages.server:
            pages.server.stop()


main()
