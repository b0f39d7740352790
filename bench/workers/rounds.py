# SPDX-License-Identifier: MIT
"""Rounds: ours and its peers, one after the other, in one process, again and again.

A machine that is busy, or hot, or moves us to another core, does it to both sides of a round
alike, so their ratio stands where the times themselves do not.  CPU time, not wall time: other
programs are not charged to us.
"""
import gc
import importlib
import json
import time


def per_turn_ns(body, n):
    """CPU nanoseconds of one turn of `body(range)`, the loop's own cost included."""
    turns = range(n)
    start = time.process_time_ns()
    body(turns)
    return (time.process_time_ns() - start) / n


def measure(subjects, n_rounds, empty=None):
    """subjects: {name: (make, n)}; make() gives the body, fresh for every round.  {name: [ns per turn of each round]}."""
    found = {name: [] for name in subjects}
    order = list(subjects)
    for name in order:                                  # warm-up: imports, caches, specialised code
        make, n = subjects[name]
        make()(range(max(1, n // 10)))
    for turn in range(n_rounds):
        order.append(order.pop(0))                      # nobody is always first
        for name in order:
            make, n = subjects[name]
            body = make()
            gc.collect()
            loop = per_turn_ns(empty, n) if empty else 0.0
            found[name].append(per_turn_ns(body, n) - loop)
            del body
    return found


def version_of(module):
    """"psutil 7.2.2", or None when it is not there."""
    try:
        importlib.import_module(module)
        from importlib import metadata
        return "%s %s" % (module, metadata.version(module))
    except Exception:                   # not there, or broken: either way it cannot be measured
        return None


def tell(rows, versions, refused=None):
    """The last line counts: who takes long may tell after each round what it has.  refused: {peer: why, in its own words}"""
    print(json.dumps({"rows": rows, "versions": versions, "refused": refused or {}}), flush=True)
