# SPDX-License-Identifier: MIT
"""What it takes to record every allocation: `sonde alloc` beside memray, tracemalloc, scalene and heaptrack.

    allocations.py ROUNDS SONDE FOLDER

Every tool watches every program of allocation_programs.py in turn, each in a fresh process. A round gives for each tool

- TOOL: how much more CPU time the program's own process takes than when nobody watches, in percent: the geometric mean over the programs
- TOOL-PROGRAM: the same of one program
- TOOL-parent: CPU time of the process that records, in percent of the program's; the program that starts and ends is taken off
- TOOL-file: bytes of the file for each allocation with its free, and TOOL-memory: what the process holds more at its end
- TOOL-read: CPU nanoseconds for each allocation or free that it takes to read the file and know the peak
"""
import json
import math
import os
import resource
import shutil
import subprocess
import sys

from allocation_programs import PROGRAMS
from rounds import tell, version_of

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "allocation_programs.py")
TIMES = {"tree": 3, "deep": 6, "recursive": 6, "calls": 4, "methods": 4, "arrays": 10, "large_arrays": 6}     # long enough to be measured
OURS = {"full": [], "malloc": ["--alloc-layer", "malloc"], "aggregate": ["--alloc-mode", "aggregate"], "sample": ["--alloc-mode", "sample"], "native": ["--alloc-native"]}
MEMRAY = {"memray": "", "memraypython": "Python's allocators", "memraynative": "Python's allocators, native stacks", "memrayaggregate": "Python's allocators, aggregated"}
SLOW = ("tracemalloc25",)       # measured in the first round only
READ_PEAK = """
import memray, sys, time
reader = memray.FileReader(sys.argv[1])
begin = time.process_time()
n = sum(1 for _ in reader.get_high_watermark_allocation_records(merge_threads=True))
print((time.process_time() - begin) * 1e9, reader.metadata.total_allocations)
"""


def ended(command, **how):
    """(stdout, CPU seconds of it and its children)"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **how)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise OSError("%s: %s" % (command[:3], done.stderr.decode(errors="replace").strip().splitlines()[-1:]))
    return done.stdout.decode(), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Watched:
    """One program under one tool, once."""

    def __init__(self, tool, program, sonde, folder):
        self.path = os.path.join(folder, tool + ".file")
        command = [sys.executable, SCRIPT, program, str(TIMES.get(program, 3))]
        if tool in OURS:
            self.path += ".sonde"
            command = [sonde, "run", "--quiet", "--force", "--with", "alloc", *OURS[tool], "-o", self.path, "--python", *command]
        elif tool == "scalene":
            command = [sys.executable, "-m", "scalene", "run", "--outfile", self.path, *command[1:2], "---", *command[2:]]
        elif tool == "heaptrack":
            command = ["heaptrack", "-o", self.path, *command]
        elif tool:
            command += [tool, self.path]
        out, self.all = ended(command, cwd=folder)
        own = [json.loads(line) for line in out.splitlines() if line.startswith('{"cpu"')][-1]
        self.cpu, self.whole, self.rss = own["cpu"], own["whole"], own["rss"]


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def ours_read(sonde, path):
    """(CPU nanoseconds for each event, events)"""
    out, cpu = ended([sonde, "report", "--alloc", "--json", "-n", "1", path])
    facts = json.loads(out)["alloc"]
    return cpu * 1e9 / (facts["allocations"] + facts["frees"]), facts["allocations"]


def memray_read(path):
    cpu, n = ended([sys.executable, "-c", READ_PEAK, path])[0].split()
    return float(cpu) / max(1, int(n)), int(n)


def files(found, tool, seen, sonde):
    """What the files of a round cost: of programs that allocate much."""
    sizes, costs = [], []
    for program in ("objects", "documents", "methods", "text"):
        path, n_bytes = seen[program]
        cost, n = ours_read(sonde, path) if tool in OURS else memray_read(path)
        sizes.append(n_bytes / n)
        costs.append(cost)
    found.setdefault(tool + "-file", []).append(sum(sizes) / len(sizes))
    found.setdefault(tool + "-read", []).append(sum(costs) / len(costs))


def one_round(found, refused, tools, sonde, folder):
    plain = {}
    for tool in ["", *tools]:
        ratios, parents, seen, memory = [], [], {}, []
        for program in PROGRAMS:
            if "arrays" in program and not version_of("numpy"):
                continue
            try:
                watched = Watched(tool, program, sonde, folder)
            except (OSError, IndexError) as why:
                refused[tool] = str(why)[:120]
                break
            if not tool:
                plain[program] = watched
                continue
            ratios.append(watched.cpu / plain[program].cpu)
            found.setdefault("%s-%s" % (tool, program), []).append((ratios[-1] - 1) * 100)
            memory.append(watched.rss - plain[program].rss)
            if tool in OURS:
                parents.append((watched.all - watched.whole) / plain[program].cpu)
            if os.path.exists(watched.path) and tool in ("full", "memraypython"):
                kept = os.path.join(folder, "%s-%s" % (tool, program))
                os.replace(watched.path, kept)
                seen[program] = (kept, os.path.getsize(kept))
        else:
            if tool:
                found.setdefault(tool, []).append((mean(ratios) - 1) * 100)
                found.setdefault(tool + "-memory", []).append(sorted(memory)[len(memory) // 2])
            if parents:
                found.setdefault(tool + "-parent", []).append(sorted(parents)[len(parents) // 2] * 100)
            if seen:
                files(found, tool, seen, sonde)


def main():
    n_rounds, sonde, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    versions = {"memray": version_of("memray"), "scalene": version_of("scalene"), "tracemalloc1": "tracemalloc, 1 frame", "tracemalloc25": "tracemalloc, 25 frames"}
    tools = [*OURS, "tracemalloc1", "tracemalloc25"]
    tools += MEMRAY if versions["memray"] else ()
    tools += ["scalene"] if versions["scalene"] else []
    if shutil.which("heaptrack"):
        versions["heaptrack"] = subprocess.run(["heaptrack", "--version"], stdout=subprocess.PIPE).stdout.decode().strip()
        tools.append("heaptrack")
    versions.update({tool: "%s, %s" % (versions["memray"], how) for tool, how in MEMRAY.items() if how and versions["memray"]})
    found, refused = {}, {}
    for turn in range(n_rounds):
        one_round(found, refused, [tool for tool in tools if turn == 0 or tool not in SLOW], sonde, folder)
        tell(found, versions, refused)


main()
