# SPDX-License-Identifier: MIT
"""Models of many kinds, counted without any harm to them; prints `ok` or what is wrong, line by line.

With a word it does one of: hooks kinds inputs generators functions fit transformers imports disabled threads.  What must be the same afterwards is compared
exactly: flags, hooks, gradients, buffers, parameters, random states.
"""
import collections
import dataclasses
import importlib
import inspect
import random
import sys
import threading

import torch
from torch import nn

from model_cases import macs, module, say
from sonde._torch import _model
from sonde import model as sm


def state(model):
    """All of a model and of torch that counting must leave alone."""
    modules = [(name, id(m), m.training, sorted(vars(m)), {k: id(v) for k, v in vars(m).items()},
                {k: [(key, id(hook)) for key, hook in v.items()] for k, v in vars(m).items() if "hooks" in k and v}) for name, m in model.named_modules()]
    tensors = [(name, id(t), t.requires_grad, t._version, t.detach().clone(), None if t.grad is None else (id(t.grad), t.grad.clone()))
               for name, t in list(model.named_parameters()) + list(model.named_buffers())]
    return modules, tensors, torch.get_rng_state(), random.getstate()


def is_same(a, b):
    """Tensors by their bits, NaN among them."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and (a.is_meta or torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)))
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(is_same(x, y) for x, y in zip(a, b))
    return a == b


def changes(before, after):
    """Names of what is another one now."""
    found = [name for name, a, b in zip(("modules", "tensors", "torch's random state", "random's"), before, after) if not is_same(a, b) and name != "tensors"]
    for a, b in zip(before[1], after[1]):
        if not is_same(a, b):
            found.append(a[0])
    return found


def unharmed(what, model, *inputs, training=True, backward=True):
    """Counts and times it in every way; says what is not as it was."""
    model.train(training)
    for way in ("collect", "real", "measure"):
        before = state(model)
        if way == "measure":
            _model.measure(model, inputs, into=_model.collect(model, inputs), backward=backward, warmup=1, repeats=2)
        else:
            _model.collect(model, inputs, backward=backward, real=way == "real")
        say("%s, %s" % (what, way), changes(before, state(model)), [])


# ---- hooks of the user's


def hooks():
    ran = collections.Counter()

    def count(word):
        def hook(*told):
            ran[word] += 1

        return hook

    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.Linear(4, 2))
    model(torch.ones(3, 4) * torch.arange(3.0)[:, None]).sum().backward()
    model[0].register_forward_pre_hook(count("before"))
    model[0].register_forward_hook(count("behind"))
    model[3].register_forward_hook(lambda m, args, kwargs, out: out * 2, with_kwargs=True)
    model[3].register_full_backward_hook(count("backward"))
    model[0].weight.register_hook(count("gradient"))
    unharmed("hooks", model, torch.ones(3, 4))
    ran.clear()
    model(torch.ones(3, 4)).sum().backward()
    say("they run as before", dict(ran), {"before": 1, "behind": 1, "backward": 1, "gradient": 1})
    changes_result = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    changes_result[0].register_forward_hook(lambda m, args, out: out @ torch.ones(4, 4))
    say("what a hook computes counts", macs(changes_result, (torch.ones(3, 4),)), 3 * (16 + 16 + 8))
    refuses = nn.Sequential(nn.Linear(4, 4))
    refuses[0].register_forward_hook(lambda m, args, out: 1 / 0)
    before = state(refuses)
    try:
        _model.collect(refuses, (torch.ones(3, 4),))
        raised = None
    except _model.ModelError as why:
        raised = type(why.__cause__).__name__
    say("a hook that raises", (raised, changes(before, state(refuses))), ("ZeroDivisionError", []))
    everywhere = nn.modules.module.register_module_forward_hook(count("everywhere"))
    try:
        ran.clear()
        _model.collect(nn.Sequential(nn.Linear(4, 2)), (torch.ones(1, 4),))
        say("one for all modules", ran["everywhere"], 2)
    finally:
        everywhere.remove()
    say("and none of ours is left", [name for name in dir(nn.modules.module) if name.startswith("_global") and getattr(nn.modules.module, name)
                                     and isinstance(getattr(nn.modules.module, name), dict)], [])


# ---- models of many kinds


def normed():
    made = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)), nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)))
    made.append(nn.Dropout())
    return made


class Two(nn.Module):
    """One module under two names, and one weight in two modules."""

    def __init__(self):
        super().__init__()
        self.a = self.b = nn.Linear(4, 4)
        self.words, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x):
        return self.head(self.b(self.a(x + self.words.weight[0])))


def kinds():
    unharmed("batch norm", nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Dropout()), torch.rand(2, 3, 8, 8))
    unharmed("parametrized weights", normed(), torch.ones(2, 4))
    say("parametrized weights", macs(normed().eval(), (torch.ones(2, 4),)), 2 * 32 + 16 + 4)  # the norm is u·(W v)
    two = Two()
    unharmed("tied", two, torch.ones(2, 4))
    made = _model.collect(two, (torch.ones(2, 4),))
    say("tied", (made.totals()["params"], made.totals()["macs"]), (sum(p.numel() for p in two.parameters()), 2 * (16 + 16 + 28)))
    recurrent = module(lambda self, x: self.r(x)[0], r=nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True))
    unharmed("recurrent", recurrent, torch.ones(2, 5, 4))
    say("recurrent", macs(recurrent, (torch.ones(2, 5, 4),)), 2 * 5 * 2 * (4 * 3 * (4 + 3) + 4 * 3 * (6 + 3)))
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False)
    for training in (True, False):
        unharmed("encoder, training=%s" % training, encoder, torch.ones(2, 5, 8), training=training)
        say("encoder, training=%s" % training, macs(encoder, (torch.ones(2, 5, 8),)), 2 * 2 * (5 * (4 * 64 + 2 * 128) + 2 * 25 * 8))
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        small = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2)).to(dtype)
        unharmed(str(dtype), small, torch.ones(2, 4, dtype=dtype))
        say(str(dtype), (macs(small, (torch.ones(2, 4, dtype=dtype),)), _model.collect(small, (torch.ones(2, 4, dtype=dtype),)).totals()["param_bytes"]),
            (2 * 24, 38 * dtype.itemsize))
    frozen = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    frozen[0].requires_grad_(False)
    unharmed("frozen", frozen, torch.ones(2, 4))
    made = _model.collect(frozen, (torch.ones(2, 4),), backward=True)
    say("frozen", (made.totals()["trainable"], made.totals()["backward_macs"]), (10, 16))
    mixed = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        unharmed("mixed precision", mixed, torch.ones(2, 4))
        say("mixed precision", macs(mixed, (torch.ones(2, 4),)), 48)
    with torch.device("meta"):
        on_meta = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    before = state(on_meta)
    made = _model.collect(on_meta, (torch.empty(1, 3, 8, 8, device="meta"),), backward=True)
    say("on meta", (changes(before, state(on_meta)), made.totals()["macs"] - made.totals()["backward_macs"]), ([], 4 * 27 * 36))
    compiled()
    scripted()
    quantized()


def compiled():
    whole = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    whole.compile(backend="eager")
    say("compiled in place", macs(whole, (torch.ones(2, 4),)), 48)
    part = nn.Sequential(torch.compile(nn.Linear(4, 4), backend="eager"), nn.Linear(4, 2))
    made = _model.collect(part, (torch.ones(2, 4),))
    say("a compiled part", (made.totals()["macs"], made.totals()["params"], made.coverage), (48, 30, 1.0))
    outer = torch.compile(nn.DataParallel(nn.Linear(4, 2)), backend="eager")
    say("one wrapper in another", [r["type"] for r in _model.collect(outer, (torch.ones(2, 4),)).rows()], ["Linear"])


def scripted():
    plain = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    for word, made in (("scripted", torch.jit.script(plain)), ("traced", torch.jit.trace(plain, torch.ones(2, 4)))):
        before = [(name, p.clone()) for name, p in made.named_parameters()]
        found = _model.collect(made, (torch.ones(2, 4),))
        say(word, (found.totals()["macs"], found.totals()["params"]), (48, 30))
        say(word + ", unharmed", [n for (n, a), (m, b) in zip(before, made.named_parameters()) if n != m or not torch.equal(a, b)], [])
        say(word + ", it runs", tuple(made(torch.ones(2, 4)).shape), (2, 2))
    frozen = torch.jit.freeze(torch.jit.script(plain))
    say("frozen script", (macs(frozen, (torch.ones(2, 4),)), sm.profile_runtime(frozen, inputs=torch.ones(2, 4)) > 0), (48, True))


def quantized():
    made = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 4), nn.LSTM(4, 3)), {nn.Linear, nn.LSTM})
    first, x = made[0], torch.ones(2, 8)
    say("quantized, linear", macs(first, (x,)), 64)
    answer = first(x)
    _model.collect(first, (x,))
    say("quantized, as it was", torch.equal(first(x), answer), True)


# ---- inputs of many kinds


Pair = collections.namedtuple("Pair", "x y")


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    more: dict


@dataclasses.dataclass(frozen=True)
class Slim:
    __slots__ = ("x", "y")
    x: torch.Tensor
    y: torch.Tensor


@dataclasses.dataclass(frozen=True)
class Mixed(Slim):
    """Two in __slots__, one in __dict__."""
    z: torch.Tensor


def inputs():
    l = nn.Linear(4, 4)

    def is_untouched(what, model, args, tensors, wanted):
        numbers = [t.detach().clone() for t in tensors]
        for real in (False, True):
            found = macs(model, args, backward=True, real=real)
            say("%s, real=%s" % (what, real), (found, [t.grad for t in tensors], [torch.equal(t, n) for t, n in zip(tensors, numbers)]),
                (wanted, [None] * len(tensors), [True] * len(tensors)))

    def leaf():
        return torch.ones(2, 4, requires_grad=True)

    x, y = leaf(), leaf()
    both = 2 * 2 * 16 * 3  # forward, and gradients of weight and input
    is_untouched("a dict", module(lambda self, d: self.l(d["x"]) + self.l(d["y"]), l=l), ({"x": x, "y": y},), [x, y], both)
    is_untouched("an ordered one", module(lambda self, d: self.l(d["x"]) + self.l(d["y"]), l=l), (collections.OrderedDict(x=x, y=y),), [x, y], both)
    is_untouched("a named tuple", module(lambda self, p: self.l(p.x) + self.l(p.y), l=l), (Pair(x, y),), [x, y], both)
    is_untouched("a dataclass", module(lambda self, b: self.l(b.x) + self.l(b.more["y"]), l=l), (Batch(x, {"y": y}),), [x, y], both)
    is_untouched("one with __slots__", module(lambda self, b: self.l(b.x) + self.l(b.y), l=l), (Slim(x, y),), [x, y], both)
    is_untouched("one with some of them", module(lambda self, b: self.l(b.x) + self.l(b.z), l=l), (Mixed(x, x, y),), [x, y], both)
    is_untouched("lists in lists", module(lambda self, b: self.l(b[0][0]) + self.l(b[1]), l=l), ([[x], y],), [x, y], both)
    given = Batch(torch.ones(2, 4), {"y": torch.ones(2, 4)})
    writes = module(lambda self, b: self.l(b.x.mul_(2)) + b.more.pop("y"), l=l)
    _model.measure(writes, (given,), warmup=1, repeats=2)
    say("one that the forward writes to", (given.x.tolist(), list(given.more)), ([[1.0] * 4] * 2, ["y"]))
    say("by name", macs(module(lambda self, x: self.l(x), l=l), (torch.ones(2, 4),)), 32)
    named = nn.Bilinear(4, 4, 3)
    say("keyword arguments", sm.profile_macs(named, inputs={"input1": torch.ones(2, 4), "input2": torch.ones(2, 4)}), 2 * 48)
    gives = module(lambda self, x: Batch(self.l(x), {"y": self.l(x)}), l=l)
    made = _model.collect(gives, (torch.ones(2, 4),), backward=True)
    say("a dataclass comes out", (made.totals()["macs"], [s for s, _ in made.layers()[0]["outputs"]]), (64 + 64, [(2, 4), (2, 4)]))
    for real in (False, True):
        for what, of, n in (("one with __slots__", lambda y: Slim(y, y * 2), 2), ("one with some of them", lambda y: Mixed(y, y * 2, y + 1), 3)):
            made = _model.collect(module(lambda self, x: of(self.l(x)), l=l), (torch.ones(2, 4),), backward=True, real=real)
            say("%s comes out, real=%s" % (what, real), (made.totals()["macs"], [s for s, _ in made.layers()[0]["outputs"]]), (32 + 32, [(2, 4)] * n))


# ---- operators that take functions


def generators():
    """Random numbers of the model's own, and of a generator that it is given."""
    drawn = [torch.Generator().manual_seed(n) for n in range(3)]
    model = module(lambda self, x, given: self.l(x) + torch.rand(4, generator=self.own) * torch.randn(4, generator=self.held[0]) + torch.rand(4, generator=given),
                   l=nn.Linear(4, 4), own=drawn[0], held=[drawn[1]])
    states = [one.get_state() for one in drawn]
    unharmed("generators", model, torch.ones(2, 4), drawn[2])
    say("their states", is_same([one.get_state() for one in drawn], states), True)


def functions():
    l = nn.Linear(4, 4)
    ones = torch.ones(1, 4)
    branches = module(lambda self, x: torch.cond(x.sum() > 0, lambda v: self.l(v), lambda v: self.l(self.l(v)), (x,)), l=l)
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            say("torch.cond, grad=%s" % grad, [macs(branches, (x,)) for x in (ones, -ones)], [16, 32])
    made = _model.collect(branches, (ones,), backward=True)
    say("torch.cond, backward", (made.totals()["macs"], made.coverage), (32, 1.0))
    by_shape = module(lambda self, x: torch.cond(x.shape[0] > 1, lambda v: self.l(v), lambda v: self.l(self.l(v)), (x,)), l=l)
    say("torch.cond of a shape needs no data", _model.collect(by_shape, (ones,)).facts["ran_on"], "meta")
    loops()
    from torch.nn.attention.flex_attention import flex_attention

    q = torch.zeros(1, 2, 128, 16)
    attends = module(lambda self, q, k, v: flex_attention(q, k, v))
    with torch.no_grad():
        say("flex_attention", macs(attends, [q] * 3), 2 * 2 * 128 * 128 * 16)
    for reentrant in (False, True):
        checkpointed = module(lambda self, x: torch.utils.checkpoint.checkpoint(self.l, x, use_reentrant=reentrant), l=nn.Sequential(nn.Linear(8, 8), nn.Sigmoid()))
        unharmed("checkpoint, reentrant=%s" % reentrant, checkpointed, torch.zeros(2, 8, requires_grad=True))
        made = _model.collect(checkpointed, (torch.zeros(2, 8, requires_grad=True),), backward=True)
        say("checkpoint, reentrant=%s" % reentrant, (made.totals()["macs"], made.totals()["backward_macs"]), (128 * 4, 128 * 3))
    mapped = module(lambda self, x: torch.vmap(self.l)(x), l=l)
    say("vmap", macs(mapped, (torch.ones(3, 2, 4),)), 96)
    # The gradients of 8 outputs are one product with the weight each; of them only the weight has a gradient, which is as much.
    rows = module(lambda self, x: torch.func.jacrev(self.l)(x), l=l)
    made = _model.collect(rows, (torch.ones(2, 4),), backward=True)
    say("jacrev", (made.totals()["macs"], made.totals()["backward_macs"], ["torch.func" in n for n in made.notes]), (32 + 8 * 32 * 2, 8 * 32, [True]))
    along = _model.collect(module(lambda self, x: torch.func.jvp(self.l, (x,), (x,))[1], l=l), (torch.ones(2, 4),))
    say("jvp", (along.totals()["macs"], along.coverage), (96, 1.0))
    called = module(lambda self, x: torch.func.functional_call(self.l, {"weight": self.w}, (x,)), l=l, w=torch.ones(4, 4))
    unharmed("functional_call", called, torch.ones(2, 4))
    say("functional_call", macs(called, (torch.ones(2, 4),)), 32)


def loops():
    from torch._higher_order_ops import scan, while_loop

    l = nn.Linear(4, 4)
    with torch.no_grad():
        say("while_loop", macs(module(lambda self, x: while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, self.l(v)), (torch.tensor(0), x))[1], l=l),
                               (torch.ones(1, 4),)), 48)
        rolled = module(lambda self, x: scan(lambda carry, row: (self.l(carry + row), row.clone()), torch.zeros(1, 4), x)[0], l=l)
        say("scan", macs(rolled, (torch.ones(5, 1, 4),)), 80)


# ---- the compiler of torch is not loaded for a count


def imports():
    """In a process of its own: what is loaded once stays."""
    convolves = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
    narrow = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU()).to(torch.bfloat16)
    recurrent = module(lambda self, x: self.r(x)[0], r=nn.LSTM(4, 3))
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1, enable_nested_tensor=False)
    odd = module(lambda self, x: torch.erfinv(self.n(self.c(x))), c=nn.Conv1d(4, 4, 3), n=nn.InstanceNorm1d(4))
    for what, model, x in (("convolutions", convolves, torch.rand(2, 3, 8, 8)), ("bfloat16", narrow, torch.ones(2, 4, dtype=torch.bfloat16)),
                           ("recurrent", recurrent, torch.ones(5, 2, 4)), ("encoder", encoder, torch.ones(2, 5, 8)), ("others", odd, torch.rand(2, 4, 9))):
        for backward in (False, True):
            sm.profile_metrics(model, inputs=x, backward=backward)
            _model.collect(model, (x,), backward=backward, real=True)
            say("%s, backward=%s" % (what, backward), [m for m in sys.modules if m.startswith("torch._dynamo")][:1], [])
        if what == "bfloat16":  # nor, as long as our own rules answer, torch's library of symbols
            say("symbols", "sympy" in sys.modules, False)
    with _model.Counting(convolves):
        convolves(torch.rand(2, 3, 8, 8)).sum().backward()
    say("a block", "torch._dynamo" in sys.modules, False)
    left = [name for name, f in vars(torch._refs).items() if callable(f) and hasattr(getattr(f, "__wrapped__", f), "__dynamo_disable")]
    say("nothing is left in torch", left, [])
    looks = module(lambda self, x: (self.l(x), inspect.stack(), hasattr(sys.modules["torch._dynamo"], "__file__"))[0], l=nn.Linear(4, 4))
    say("who looks at all modules does not load it", (macs(looks, (torch.ones(2, 4),)), "torch._dynamo" in sys.modules), (32, False))
    asks = module(lambda self, x: (self.l(x), importlib.import_module("torch._dynamo.utils"), torch._dynamo.config.verbose)[0], l=nn.Linear(4, 4))
    say("a model that loads it", macs(asks, (torch.ones(2, 4),)), 32)
    say("has it", (type(sys.modules["torch._dynamo"]), sys.modules["torch._dynamo"] is torch._dynamo), (type(sys), True))
    say("and it works", tuple(torch.compile(narrow, backend="eager")(torch.ones(2, 4, dtype=torch.bfloat16)).shape), (2, 4))


def disabled():
    """In a process of its own, too: a model that tells the compiler what to leave alone gets what the compiler itself gives."""
    kept = []
    tells = module(lambda self, x: (kept.append(torch.compiler.disable(torch.relu)), kept[0](self.l(x)))[1], l=nn.Linear(4, 4))
    say("a function of C's that is to be left alone", macs(tells, (torch.ones(2, 4),)), 32)
    say("is the compiler's own", kept[0].__module__ != "sonde._torch._model_modes" and not kept[0].__code__.co_filename.endswith("_model_modes.py"), True)


# ---- other models that run meanwhile


def threads():
    """Torch tells of the modules of all threads: one that is another model's goes on with its own tensors, and nothing is said of it."""
    other, x, is_over, wrong, ran, made = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)), torch.ones(2, 8), threading.Event(), [], [0], []

    def serve():
        while not is_over.is_set():
            try:
                with torch.no_grad():
                    if other(x).is_meta:
                        wrong.append("on meta")
            except Exception as why:
                wrong.append(type(why).__name__)
            ran[0] += 1

    def waits(self, x):
        """The other one runs while we are in a forward."""
        before = ran[0]
        while ran[0] < before + 3:
            is_over.wait(0.001)
        return self.l(x)

    model = module(waits, l=nn.Linear(8, 8))
    before = state(other)
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        for real in (False, True):
            made.append(_model.collect(model, (torch.ones(2, 8),), real=real))
    finally:
        is_over.set()
        thread.join()
    say("it runs on", (wrong[:3], changes(before, state(other))), ([], []))
    say("and is not counted", [(m.totals()["macs"], m.totals()["params"], m.notes) for m in made], [(128, 72, [])] * 2)

    def apart(self, x):
        found = []
        thread = threading.Thread(target=lambda: found.append(self.b(x)))
        thread.start()
        thread.join()
        return self.a(x) + found[0]

    made = _model.collect(module(apart, a=nn.Linear(8, 8), b=nn.Linear(8, 8)), (torch.ones(2, 8),))
    say("a thread of the forward", (made.totals()["macs"], ["threads that the forward started: b;" in n for n in made.notes]), (128, [True]))

    def catches(self, x):
        try:
            x.sum().item()
        except RuntimeError:
            return x
        return self.l(x)

    made = _model.collect(module(catches, l=nn.Linear(8, 8)), (torch.ones(2, 8),))
    say("what is caught", (made.totals()["macs"], ["refused without data" in n for n in made.notes]), (128, [True]))


# ---- does training fit


def fit():
    mlp = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    params, one = 4 * sum(p.numel() for p in mlp.parameters()), 4 * (784 + 256)
    profiled = sm.ProfilerReport(sm.Profiler(mlp, inputs=torch.zeros(32, 784), runtime=False, memory=True).profile())

    def found(**asked):
        f = profiled.fit(**asked)
        return f["parameter_bytes"], f["gradient_bytes"], f["optimizer_bytes"], f["activation_bytes"], f["total_bytes"]

    say("the batch that was profiled", found(), (params, params, 2 * params, 32 * one, 4 * params + 32 * one))
    say("another one", found(batch=64), (params, params, 2 * params, 64 * one, 4 * params + 64 * one))
    say("another optimizer", found(optimizer="sgd", batch=1), (params, params, 0, one, 2 * params + one))
    say("the largest", profiled.fit(batch=1, available=4 * params + 100 * one + one // 2)["largest_batch"], 100)
    say("not even one", profiled.fit(available=4 * params)["largest_batch"], 0)
    by_name = sm.ProfilerReport(sm.Profiler(nn.Linear(8, 4), inputs={"input": torch.zeros(16, 8)}, runtime=False, memory=True).profile())
    say("called by keyword", by_name.fit(batch=32)["activation_bytes"], 2 * by_name.fit(batch=16)["activation_bytes"])
    mlp[0].requires_grad_(False)
    frozen = sm.ProfilerReport(sm.Profiler(mlp, inputs=torch.zeros(32, 784), runtime=False, memory=True).profile())
    say("frozen ones have no gradients", frozen.fit()["gradient_bytes"], 4 * 2570)
    for asked in ({"batch": -1}, {"available": -1}, {"optimizer": "best"}):
        try:
            profiled.fit(**asked)
            raised = None
        except ValueError as why:
            raised = str(why).count("\n")
        say("refused: %r" % asked, raised, 0)


# ---- models of transformers, where that is installed


def transformers():
    import transformers as t
    from torch.utils.flop_counter import FlopCounterMode

    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100}
    configs = {
        "bert": (t.BertModel, t.BertConfig(**small)),
        "gpt2": (t.GPT2LMHeadModel, t.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=64)),
        "llama": (t.LlamaForCausalLM, t.LlamaConfig(num_key_value_heads=2, **small)),
        "t5": (t.T5EncoderModel, t.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=100)),
        "mixtral": (t.MixtralForCausalLM, t.MixtralConfig(num_key_value_heads=2, num_local_experts=4, **small)),
    }
    ids = torch.arange(2 * 16).reshape(2, 16)
    for name, (kind, config) in configs.items():
        config._attn_implementation = "eager"  # of the fast path torch's counter knows nothing on the processor
        model = kind(config).eval()
        with torch.no_grad(), FlopCounterMode(display=False) as torchs:
            model(input_ids=ids)
        with torch.no_grad():
            made = _model.collect(model, (), {"input_ids": ids})
        # Of products of groups torch's counter knows nothing: each of 32 tokens goes to two experts of three matrices, in two layers.
        missed = 2 * 2 * 32 * 2 * 3 * 32 * 64 if name == "mixtral" else 0
        say(name, (made.totals()["params"], made.totals()["flops"], made.coverage),
            (sum(p.numel() for p in model.parameters()), torchs.get_total_flops() + missed, 1.0))
        before = state(model)
        _model.collect(model, (), {"input_ids": ids}, backward=True)
        say(name + ", unharmed", changes(before, state(model)), [])
    as_tokenizers_give_it(t, small, ids)


def as_tokenizers_give_it(t, small, ids):
    """With a mask, which decoders look at, and attention as torch has it: without data as with it, and of a model that has none."""
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    configs = {"bert": (t.BertModel, t.BertConfig(**small)), "llama": (t.LlamaForCausalLM, t.LlamaConfig(num_key_value_heads=2, **small)),
               "gpt2": (t.GPT2LMHeadModel, t.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=64))}
    for name, (kind, config) in configs.items():
        model, told = kind(config).eval(), []
        for device, real in (("cpu", True), ("cpu", False), ("meta", False)):
            made = _model.collect(model.to(device), (), given, backward=True, real=real)
            totals = made.totals()
            told.append((totals["macs"], totals["backward_macs"], totals["activation_bytes"], made.coverage, made.facts["ran_on"]))
        say(name + " with a mask", told[1:], [told[0][:-1] + ("meta",)] * 2)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for word in sys.argv[1:]:
        globals()[word]()
