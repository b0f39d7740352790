# SPDX-License-Identifier: MIT
"""The rows of the table: what is compared with what, and the goal."""

TACHYON = "tachyon"


class Row:
    """One line of the table.  `ours` and `peer` are names of measurements of `worker`; goals are checked on medians.

    unit: ns, % or /s.  most, least: what ours may be; at_most, at_least: what ours ÷ peer may be; more: most that ours may
    be beyond the peer.  Two percentages have no ratio unless asked for: both may be nothing.  control: the same measured of
    nothing; then what is found has its error beside it (half of an interval that holds 95 of 100 means of as many found
    drawn again), and a goal within it is undecided."""

    def __init__(self, name, worker, ours, peer=None, goal="-", unit="ns", most=None, least=None, at_most=None, at_least=None, more=None,
                 has_ratio=None, control=None):
        self.control = control
        self.name, self.worker, self.ours, self.peer, self.goal, self.unit = name, worker, ours, peer, goal, unit
        self.most, self.least, self.at_most, self.at_least, self.more = most, least, at_most, at_least, more
        self.has_ratio = unit != "%" if has_ratio is None else has_ratio


SECTIONS = [
    Row("section, time and memory", "sections", "time-memory", "amltk", "≤ 6 µs, ≥ 15× cheaper", most=6000, at_most=1 / 15),
    Row("section, everything", "sections", "all", "amltk", "≤ 15 µs", most=15000),
    Row("section, wall time only", "sections", "wall", "amltk", "≤ 0.4 µs", most=400),
    Row("recorded section, time and memory", "recorded", "time-memory", "amltk", "≤ 6 µs, ≥ 15× cheaper", most=6000, at_most=1 / 15),
    Row("recorded section, everything", "recorded", "all", "amltk", "≤ 15 µs", most=15000),
    Row("recorded section, wall time only", "recorded", "wall", "amltk", "≤ 0.4 µs", most=400),
    Row("section, disabled", "sections", "disabled", "empty", "≤ 1.2×", at_most=1.2),
    Row("RSS and VMS, in C", "rss_read", "rss-vms", None, "≤ 1.5 µs", most=1500),
    Row("a look at TCP connections, none there", "tcp_look", "look-without", None, "≤ 1 ms (2.5 looks a second)", most=1e6),
    Row("a look at TCP connections", "tcp_look", "look", None, "≤ 1 ms (2.5 looks a second)", most=1e6),
    Row("RSS from Python, psutil.Process kept", "memory", "usage", "psutil-kept"),
    Row("RSS from Python, psutil.Process new", "memory", "usage", "psutil-new"),
    Row("an event into a mapped log", "capture_cost", "mapped", "malloc", "≤ 2 ns more", more=2),
    Row("an event, sealed by another thread", "capture_cost", "sealed", "malloc"),
    Row("sonde run for itself, 1 process", "run_own", "all1", None, "≤ 2 % of a CPU", unit="%", most=2),
    Row("sonde run for itself, 8 processes", "run_own", "all8", None, "≤ 2 % of a CPU", unit="%", most=2),
    Row("readings of rss, 1 process", "run_own", "rss1", None, "≤ 0.7 % of a CPU, of 5 s", unit="%", most=0.7),
    Row("readings of rss, 8 processes", "run_own", "rss8", None, "≤ 0.7 % of a CPU, of 5 s", unit="%", most=0.7),
    Row("python -c pass, CPU", "startup", "sonde-cpu", "plain-cpu"),
    Row("python -c pass, wall", "startup", "sonde-wall", "plain-wall"),
]


def sampling(name, worker, what, goals, version=None, **how):
    """A row for each peer in goals: {peer: (the goal in words, its keywords)}.  version: of the targets, where they are not 3.11."""
    title, worker = ("sampling %s: " % version, "%s-%s" % (worker, version)) if version else ("sampling: ", worker)
    return [Row(title + name, "sampling_" + worker, "ours-" + what, "%s-%s" % (peer, what), words, **{**how, **limits})
            for peer, (words, limits) in goals.items()]


def fraction(n):
    return "≤ 1/%d" % n, {"at_most": 1 / n}


NONE = ("-", {})


RATES = ((1000, "1 kHz", 1.5), (200, "200 Hz", 0.4))
PEERS = ("austin3", "austin4", "pyspy")
OLDER_VERSION = "3.9"               # for 3.8 to 3.10
NEWER_PEERS = {"3.14": ("austin4", "pyspy", TACHYON), "3.15": ("austin4", "pyspy", TACHYON)}


def each(peers, goal=NONE, **others):
    """{peer: its goal}"""
    return {peer: others.get(peer, goal) for peer in peers}


def cost_rows(peers, version=None):
    """What a sample costs."""
    goals = {"austin3": fraction(5), "austin4": fraction(3), "pyspy": fraction(50), TACHYON: fraction(3)}
    deep = dict(goals, austin3=fraction(14), pyspy=fraction(130))
    return (sampling("CPU per sample, depth 10", "cost", "cpu10", each(peers, **goals), version)
            + sampling("CPU per sample, depth 50", "cost", "cpu50", each(peers, **deep), version, most=30e3 if version == OLDER_VERSION else None))


def rate_rows(peers, version=None):
    """How many samples it can take, and of how many threads."""
    return (sampling("most samples, depth 10", "cost", "rate10", each(peers, austin4=("≥ 150 k/s, ≥ 2.5×", {"least": 150e3, "at_least": 2.5})), version, unit="/s")
            + sampling("most samples, depth 50", "cost", "rate50", each(peers, austin4=("≥ 90 k/s, ≥ 2.5×", {"least": 90e3, "at_least": 2.5})), version, unit="/s")
            + sampling("33 threads, CPU per round", "cost", "cpu33", each(peers, pyspy=fraction(100)), version))


def truth_rows(peers, version=None):
    """What never was, and what is missing."""
    wrong, lost = ("≤ 0.01 %", {"most": 0.01}), ("≤ 0.5 %", {"most": 0.5})
    return (sampling("impossible stacks, 1 kHz", "truth", "wrong", each(peers + ("pyspynb",), wrong), version, unit="%")
            + sampling("lost or cut stacks, 1 kHz", "truth", "lost", each(peers, lost), version, unit="%"))


def slowdown_rows(peers, inside=(), version=None):
    """Ours beside each peer, at both rates, with the control; and what takes the place of wall time where the sampler is on
    the program's own CPU."""
    rows = []
    for how, what in (("CPU time", "slow"), ("wall time", "slowwall")):
        for rate, words, most in RATES:
            rows += sampling("slow-down of call-heavy code, %s, %s" % (words, how), "slowdown", "%s%d" % (what, rate),
                             each(peers + inside, ("≤ %g %%" % most, {"most": most})), version, unit="%", control="control-" + what)
    for rate, words, _ in RATES:
        rows += sampling("own share of a core beside call-heavy code, %s" % words, "slowdown", "slowshare%d" % rate,
                         each([peer for peer in peers if peer != "pyspy"]), version, unit="%", has_ratio=True)
    return rows


def own_rows(peers, version=None):
    """What a sampler takes for itself."""
    return (sampling("own share of a core, 100 Hz", "own", "own100", each(peers), version, unit="%", has_ratio=True)
            + sampling("own share of a core, 1 kHz", "own", "own1000", each(peers), version, unit="%", has_ratio=True)
            + sampling("own share of a core, 200 Hz, --native", "own", "native", each(("pyspy",)), version, unit="%", has_ratio=True)
            + sampling("dump, exec to end, wall", "own", "dump", each(peers, pyspy=("≤ 3 ms", {"most": 3e6})), version))


def free_slowdown(how, what):
    """The same of a program that goes to the CPU it likes; nobody else is measured."""
    return [Row("sampling: slow-down of call-heavy code on any CPU, %s, %s" % (words, how), "sampling_slowdown_free", "ours-%s%d" % (what, rate),
                None, "≤ %g %%" % most, unit="%", most=most, control="control-" + what) for rate, words, most in RATES]


def known_slowdown():
    """Whether the method finds what is there: a program that takes a known share of the CPU."""
    return [Row("sampling: a known slow-down, wall time", "sampling_slowdown", "known-slowwall", "known-slowshare", "0.7 to 1.4 of it", unit="%",
                at_least=0.7, at_most=1.4, has_ratio=True, control="control-slowwall")]


def torch_slowdown(how, what):
    """Of a program that is mostly native threads."""
    return sampling("slow-down of torch with 32 threads, 200 Hz, " + how, "slowdown_torch", what, each(PEERS, ("≤ 2 %", {"most": 2})), unit="%",
                    control="control-" + what)


def newer_rows():
    """All that is measured of 3.11, of the interpreters that came after it and of what reads them."""
    return [row for version, peers in NEWER_PEERS.items() for rows in (cost_rows, rate_rows, truth_rows, slowdown_rows, own_rows)
            for row in rows(peers, version=version)]


SAMPLING = (
    cost_rows(PEERS) + rate_rows(PEERS) + cost_rows(PEERS, OLDER_VERSION) + truth_rows(PEERS)
    + slowdown_rows(PEERS, ("pyinstrument", "scalene")) + known_slowdown()
    + free_slowdown("CPU time", "slow") + free_slowdown("wall time", "slowwall")
    + torch_slowdown("CPU time", "torch") + torch_slowdown("wall time", "torchwall")
    + own_rows(PEERS) + newer_rows()
)

CALLS_VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
# What is measured, ours, the peer, and the most that ours ÷ peer may be on 3.8 to 3.10, on 3.11, and from 3.12 on.
CALLS_GOALS = [
    ("Python functions", "ours", "cprofile", (0.17, 0.20, 0.36)),
    ("C functions too", "oursc", "cprofilec", (0.50, 0.70, 0.55)),
    ("Python functions", "ours", "yappi", (0.12, 0.16, 0.18)),
    ("CPU time too", "ourscpu", "yappicpu", (0.03, 0.03, 0.04)),
    ("timeline", "timeline", "viztracer", (0.15, 0.17, 0.35)),
    ("Python functions beyond the tree", "beyond", "ours", (1.5, 1.5, 1.5)),
    ("C functions too, beyond the tree", "beyondc", "oursc", (1.5, 1.5, 1.5)),
]


def calls_rows():
    rows = []
    for what, ours, peer, limits in CALLS_GOALS:
        for version in CALLS_VERSIONS:
            most = limits[0] if version in ("3.8", "3.9", "3.10") else limits[1] if version == "3.11" else limits[2]
            rows.append(Row("calls %s: %s, added to one" % (version, what), "calls-" + version, ours, peer, "≤ %.2f" % most, at_most=most))
    for version in CALLS_VERSIONS:
        rows.append(Row("calls %s: points that tiny calls are blamed too much" % version, "calls-" + version, "oursbias", "cprofilebias", "≤ 5", unit="%", most=5))
    return rows


SIGNATURES_VERSIONS = ("3.8", "3.11", "3.13", "3.14", "3.15")


def signatures_rows():
    rows = [Row("signatures 3.8: with arrays, added to one call", "signatures-3.8", "ours", "data_profiler", "≤ 0.01", at_most=0.01)]
    for version in SIGNATURES_VERSIONS:
        rows.append(Row("signatures %s: beside tracing without them" % version, "signatures-" + version, "ours", "without"))
        rows.append(Row("signatures %s: the same with lengths" % version, "signatures-" + version, "lengths", "without"))
    return rows


CALLS = calls_rows() + signatures_rows() + [
    Row("calls: report of a pstats file, 100,000 functions", "pstats_file", "sonde", "pstats", "≥ 10× cheaper", at_most=1 / 10),
    Row("calls: the same through compat.pstats", "pstats_file", "compat", "pstats"),
    Row("graph of a pstats file, thousands of functions", "graph_file", "sonde", "gprof2dot", "≥ 10× cheaper", at_most=1 / 10),
    Row("graph of the same, every function drawn", "graph_file", "all", None, "≤ 0.5 s", most=5e8),
]

PAGE_PEERS = ("speedscope", "snakeviz", "memray", "memraynoweb")


def page_rows():
    """The page of one program, as others show it, and that of a large capture."""
    rows = []
    for what, title, unit in (("bytes", "bytes", "B"), ("requests", "requests", ""), ("open", "first picture", "ns"), ("interaction", "an interaction", "ns")):
        for peer in PAGE_PEERS:
            rows.append(Row("page: " + title, "page", "ours-" + what, "%s-%s" % (peer, what), "none" if what == "requests" else "-", unit=unit,
                            most=0 if what == "requests" else None, has_ratio=what != "requests"))
    return rows + [
        Row("page: of an empty page the same", "page", "empty-open"),
        Row("page of 1e6 samples: made", "page_large", "ours-made", "json-made", "≤ 3", at_most=3),
        Row("page of 1e6 samples: bytes", "page_large", "ours-bytes", "speedscope-bytes", "≤ 10 MB", unit="B", most=10e6),
        Row("page of 1e6 samples: first picture", "page_large", "ours-open", "speedscope-open", "≤ 1/10", at_most=1 / 10),
        Row("page of 1e6 samples: an interaction", "page_large", "ours-interaction", "speedscope-interaction", "≤ 100 ms", most=100e6),
        Row("page of 1e6 samples: the slowest interaction", "page_large", "ours-slowest", "speedscope-slowest", "≤ 400 ms", most=400e6),
        Row("page of 1e6 samples: a whole drag", "page_large", "ours-gesture", "speedscope-gesture"),
        Row("page of 1e6 samples: a move of a drag", "page_large", "ours-move", "speedscope-move"),
        Row("page of 1e6 samples: a click on an empty page", "page_large", "empty-click"),
        Row("page of 1e6 samples: a whole drag on an empty page", "page_large", "empty-drag"),
    ]


def of_version(limits, version):
    """Of limits on 3.8 to 3.10, on 3.11, and from 3.12 on."""
    return limits[0] if version in ("3.8", "3.9", "3.10") else limits[1] if version == "3.11" else limits[2]


def lines_rows():
    rows = []
    for version in CALLS_VERSIONS:
        worker, most = "lines-" + version, of_version((0.35, 0.35, 0.11), version)
        rows.append(Row("lines %s: added to one line" % version, worker, "ours", "line_profiler", "≤ %.2f" % most, at_most=most))
        rows.append(Row("lines %s: a wrapped call" % version, worker, "ourscall", "line_profilercall"))
        most = of_version((5, 35, 2), version)
        rows.append(Row("lines %s: slow-down of code not chosen" % version, worker, "oursother", "line_profilerother", "≤ %d %%" % most, unit="%", most=most))
        for what, ours in (("memory", "oursmemory"), ("memory and its peak", "ourspeak")):
            rows.append(Row("lines %s: with %s, added to one line" % (version, what), worker, ours, "memory_profiler", "≤ 2 µs, ≥ 40× cheaper", most=2000, at_most=1 / 40))
    return rows


REQUESTS_VERSIONS = ("3.11", "3.13")


def requests_rows():
    """What a request pays that is not profiled."""
    return [Row("requests %s: not profiled, added, %s" % (version, words), "web_requests-" + version, name, None, "≤ 2 µs", most=2000)
            for version in REQUESTS_VERSIONS for name, words in (("asgi", "ASGI"), ("wsgi", "WSGI"), ("django", "Django"))]


MODEL_PEERS = {"fvcore": 8, "thop": 8, "ptflops": 8, "torchinfo": 8, "calflops": None, "flopcounter": 3}


def model_rows():
    """What it takes to count a model; the sums and what each tool leaves behind stand among the versions."""
    rows = []
    for name, words, most in (("vit_b_16", "ViT-B/16", 60e6), ("resnet50", "ResNet-50", None)):
        for peer, times in MODEL_PEERS.items():
            goals = (["≤ 0.06 s"] if most else []) + (["≥ %d× cheaper" % times] if times and most else [])
            rows.append(Row("models: %s counted" % words, "models", "sonde-" + name, "%s-%s" % (peer, name), ", ".join(goals) or "-", most=most,
                            at_most=1 / times if times and most else None))
    return rows


ALLOCATIONS_VERSIONS = ("3.11", "3.13")


def allocations_rows():
    """What is added to the CPU time of programs that allocate, in percent, and what the file takes."""
    rows = []
    for version in ALLOCATIONS_VERSIONS:
        worker, start = "allocations-" + version, "allocations %s: " % version

        def row(name, *args, worker=worker, start=start, **how):
            rows.append(Row(start + name, worker, *args, **how))
        row("every one, with stacks", "full", "memraypython", "≤ 80 %, ≤ 0.25", unit="%", most=80, at_most=0.25, has_ratio=True)
        row("every one, at depth 100", "full-deep", "memraypython-deep", "≤ 400 %", unit="%", most=400, has_ratio=True)
        row("every one, with native stacks", "native", "memraynative", unit="%", has_ratio=True)
        for peer in ("tracemalloc1", "tracemalloc25", "heaptrack", "scalene"):
            row("every one, with stacks", "full", peer, unit="%", has_ratio=True)
        row("malloc and its family alone", "malloc", "memray", "≤ 5 %, ≤ 0.15", unit="%", most=5, at_most=0.15, has_ratio=True)
        row("sums alone", "aggregate", "memrayaggregate", "≤ 100 %", unit="%", most=100, has_ratio=True)
        row("a sample, 512 KiB", "sample", None, "≤ 10 %", unit="%", most=10)
        row("CPU of the process that records", "full-parent", unit="%")
        row("bytes of the file for an allocation with its free", "full-file", "memraypython-file", "≤ 4 B", unit="B", most=4)
        row("memory added to the program", "full-memory", "memraypython-memory", unit="B")
        row("the file read, its peak found, for each event", "full-read", "memraypython-read", "≤ 25 ns, ≤ 0.35", most=25, at_most=0.35)
    return rows


TIMED_VERSIONS = ("3.11", "3.13")


def timed_rows():
    """How far six runs of a timer are apart while two busy processes run beside, and how soon it answers."""
    rows = []
    for version in TIMED_VERSIONS:
        worker, start = "timed-" + version, "time %s: " % version
        for peer in ("timeit", "ipython", "pyperf"):
            rows.append(Row(start + "spread of six runs, the middle of four statements", worker, "ours-middle", peer + "-middle", "≤ 2 %", unit="%", most=2))
            rows.append(Row(start + "spread of six runs, the worst of four statements", worker, "ours-worst", peer + "-worst", "≤ 4 % or 1 ns", unit="%", most=4))
        rows.append(Row(start + "until it answers", worker, "ours-answer", "pyperfdefault-answer", "≤ 1/5", at_most=1 / 5))
        rows.append(Row(start + "until it answers", worker, "ours-answer", "pyperf-answer"))
    return rows


ROWS = timed_rows() + SECTIONS + CALLS + page_rows() + lines_rows() + allocations_rows() + requests_rows() + SAMPLING + model_rows()
