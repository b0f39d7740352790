# SPDX-License-Identifier: MIT
"""How long it takes to count a model, what the sum is, and what is left behind: Sonde beside its peers.

    models.py ROUNDS [MODEL ...]

Every tool runs in a process of its own in every round, forked from one that has torch and the model, since some of them
leave torch changed.  It counts twice; the second time is timed (CPU time), the first sum is told.  Before that Python's
garbage is collected: a collection of everything that torch imports takes 60 ms, and whose turn it is is chance.  Peers get tensors of
the CPU, as their documents have it; torch's FlopCounterMode gets tensors without data, which it can do.  One thread.
"""
import importlib
import io
import contextlib
import gc
import json
import os
import sys
import time
import warnings
from importlib import metadata

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "targets"))
import torch  # noqa: E402

import torch_networks  # noqa: E402
from rounds import tell  # noqa: E402


def sonde(model, x):
    from sonde.model import profile_macs

    return lambda: profile_macs(model, inputs=x)


def fvcore(model, x):
    from fvcore.nn import FlopCountAnalysis

    return lambda: FlopCountAnalysis(model, x).unsupported_ops_warnings(False).uncalled_modules_warnings(False).total()


def thop(model, x):
    from thop import profile

    return lambda: int(profile(model, inputs=(x,), verbose=False)[0])


def ptflops(model, x):
    from ptflops import get_model_complexity_info

    return lambda: get_model_complexity_info(model, tuple(x.shape[1:]), as_strings=False, print_per_layer_stat=False)[0]


def torchinfo(model, x):
    from torchinfo import summary

    return lambda: summary(model, input_data=x, verbose=0).total_mult_adds


def calflops(model, x):
    from calflops import calculate_flops

    return lambda: calculate_flops(model, input_shape=tuple(x.shape), output_as_string=False, print_results=False, print_detailed=False)[1]


def flopcounter(model, x):
    from torch.utils.flop_counter import FlopCounterMode

    model, x = model.to("meta"), x.to("meta")

    def count():
        with FlopCounterMode(display=False) as counter:
            model(x)
        return counter.get_total_flops() // 2

    return count


TOOLS = {"sonde": sonde, "fvcore": fvcore, "thop": thop, "ptflops": ptflops, "torchinfo": torchinfo, "calflops": calflops, "flopcounter": flopcounter}


def state(model):
    """All that a tool might change."""
    hooks = "_forward_hooks _forward_pre_hooks _backward_hooks _backward_pre_hooks".split()
    return {
        "attributes": [sorted(vars(m)) for m in model.modules()], "hooks": [[len(getattr(m, h)) for h in hooks] for m in model.modules()],
        "training flag": [m.training for m in model.modules()], "buffers": [b.clone() for b in model.buffers()], "state_dict keys": list(model.state_dict()),
        "random state": torch.get_rng_state(), "torch's functions": {(m.__name__, k): id(v) for m in (torch, torch.nn.functional, torch.Tensor) for k, v in vars(m).items() if callable(v)},
    }


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.shape == b.shape and (a.is_meta or b.is_meta or torch.equal(a, b))
    if isinstance(a, dict):
        return all(b.get(k) == v for k, v in a.items())  # what an import adds replaces nothing
    return len(a) == len(b) and all(map(same, a, b)) if isinstance(a, list) and isinstance(b, list) else a == b


def work(tool, model, x):
    """What the child tells: seconds, sum, what is left."""
    count = TOOLS[tool](model, x)
    before = state(model)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        total = count()
        after = state(model)
        gc.collect()
        start = time.process_time_ns()
        count()
        took = time.process_time_ns() - start
    return {"ns": took, "total": total, "left": [k for k in before if not same(before[k], after[k])]}


def in_child(tool, model, x):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = work(tool, model, x)
        except BaseException as why:  # a peer that cannot: it is told
            said = {"why": "%s: %s" % (type(why).__name__, str(why).splitlines()[0][:80] if str(why) else "")}
        os.write(write, json.dumps(said).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        said = json.loads(f.read() or b'{"why": "it died"}')
    os.waitpid(pid, 0)
    return said


def version_of(tool):
    if tool == "flopcounter":
        return "torch %s" % torch.__version__
    try:
        return "%s %s" % (tool, metadata.version(tool))
    except metadata.PackageNotFoundError:
        return tool


def main():
    n_rounds, names = int(sys.argv[1]), sys.argv[2:] or ["vit_b_16", "resnet50"]
    torch.set_num_threads(1)
    tools = [t for t in TOOLS if t in ("sonde", "flopcounter") or importlib.util.find_spec(t)]
    found, versions = {}, {}
    for name in names:
        # In training mode, as models are made: what a tool moves there is seen.
        factory, shape, _, truth = torch_networks.MODELS[name]
        model, x = factory(), torch.randn(shape)
        for i in range(n_rounds):
            for tool in tools[i % len(tools):] + tools[:i % len(tools)]:
                said = in_child(tool, model, x)
                if "why" in said:
                    versions["%s-%s" % (tool, name)] = "%s fails: %s" % (version_of(tool), said["why"])
                    continue
                found.setdefault("%s-%s" % (tool, name), []).append(said["ns"])
                versions["%s-%s" % (tool, name)] = "%s: %d MACs (%+d), leaves %s" % (version_of(tool), said["total"], said["total"] - truth,
                                                                                  ", ".join(said["left"]) or "nothing")
        tell(found, versions)


main()
