# SPDX-License-Identifier: MIT
"""Models at the edges of what torch allows; prints `ok` or what is wrong, line by line.

With a word it does one of: slots classes nested beyond backwards deep resized numbers indices given.
"""
import os
import sys
import threading
import types
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from sonde._torch import _model
from model_cases import module, say

torch.set_num_threads(1)


def ways(model, x):
    """Every way to run a model, by name."""
    return [("a count", lambda: _model.collect(model, (x,))), ("one with backward", lambda: _model.collect(model, (x,), backward=True)),
            ("a real one", lambda: _model.collect(model, (x,), real=True)), ("with memory", lambda: _model.collect(model, (x,), memory=True)),
            ("times", lambda: _model.measure(model, (x,), warmup=1, repeats=2))]


# ---- attributes in __slots__


class Slotted(nn.Module):
    __slots__ = ("cache", "__hidden", "table", "held", "counts", "never")

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.table, self.counts = [torch.ones(4)], torch.zeros(4)
        object.__setattr__(self, "held", nn.Linear(4, 4))  # as Module.__setattr__ would register it

    def forward(self, x):
        if hasattr(self, "cache"):
            return self.cache + x
        self.cache = self.__hidden = self.l(x) * self.table[0] + self.held(x)
        self.table.append(x * 2)
        self.counts.add_(1)
        return self.cache * 1

    @property
    def trap(self):
        raise AssertionError("asked for a property")


class Slotted2(Slotted):
    """The same name again is another place; a property that hides a slot is not asked."""

    __slots__ = ("cache",)
    never = property(lambda self: 1 / 0, lambda self, value: 1 / 0)


def in_slots(model):
    found = []
    for kind in type(model).__mro__:
        for name, slot in vars(kind).items():
            if type(slot) is type(Slotted.cache):
                try:
                    found.append((kind.__name__, name, id(slot.__get__(model))))
                except AttributeError:
                    found.append((kind.__name__, name, None))
    return found, list(map(id, model.table)), model.counts.tolist(), model.held.weight.device.type


def slots():
    for kind in (Slotted, Slotted2):
        model, x = kind(), torch.ones(2, 4)
        for fails in (False, True):
            if fails:
                model.l.register_forward_hook(lambda *told: 1 / 0)
            for way, run in ways(model, x):
                before, raised = in_slots(model), False
                try:
                    run()
                except _model.ModelError:
                    raised = True
                say("%s of %s: it failed" % (way, kind.__name__), raised, fails)
                say("and slots hold what they held", in_slots(model), before)
    model = Slotted()
    say("their products count", _model.collect(model, (torch.ones(2, 4),)).totals()["macs"], 64)
    say("and it runs", tuple(model(torch.ones(2, 4)).shape), (2, 4))
    cache, shape = model.cache, tuple(_model.collect(model, (torch.ones(2, 4),)).layers()[0]["outputs"][0][0])
    say("one that is set is there, without data, and afterwards with", (shape, model.cache is cache), ((2, 4), True))
    outer = nn.Sequential(Slotted(), nn.Linear(4, 2))
    outer.others = [Slotted()]
    outer.append(module(lambda self, x: self.other[0](x.repeat(1, 2)), other=[outer.others[0]]))
    before = in_slots(outer[0]), in_slots(outer.others[0])
    for way, run in ways(outer, torch.ones(2, 4)):
        run()
        say("%s, deeper" % way, (in_slots(outer[0]), in_slots(outer.others[0])), before)


# ---- tensors of classes of their own


class Plain(torch.Tensor):
    pass


class Functional(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


class Wrapping(torch.Tensor):
    """Holds another tensor and passes on to it all that is done with itself."""

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        from torch.utils._pytree import tree_map

        found = func(*tree_map(lambda o: o.inner if isinstance(o, cls) else o, args), **tree_map(lambda o: o.inner if isinstance(o, cls) else o, kwargs or {}))
        return tree_map(lambda o: cls(o) if isinstance(o, torch.Tensor) else o, found)


def classes():
    model, x = nn.Sequential(nn.Linear(4, 3), nn.GELU(), nn.Linear(3, 2)), torch.rand(2, 4)
    for how in ({}, {"memory": True}, {"backward": True}, {"real": True}, {"real": True, "backward": True}):
        wanted = _model.collect(model, (x,), **how).totals()
        for kind in (Plain, Functional, Wrapping):
            given = kind(x) if kind is Wrapping else x.as_subclass(kind)
            made = _model.collect(model, (given,), **how)
            same = ("macs", "backward_macs", "flops", "params") + (() if kind is Wrapping else ("n_ops", "activation_bytes"))
            say("an input of class %s, %s" % (kind.__name__, how), [made.totals()[key] for key in same] + made.notes, [wanted[key] for key in same])


# ---- nested tensors


def nested():
    rows, w = [torch.rand(2, 4), torch.rand(3, 4)], torch.rand(5, 4)  # 2·4·5 + 3·4·5 = 100

    def of(parts, layout=torch.strided):
        return torch.nested.nested_tensor(parts, layout=layout, requires_grad=True)

    squares = [torch.rand(4, 4), torch.rand(4, 4)]
    known = [
        ("linear", lambda self, x: F.linear(x, self.w), (of(rows),), 100, 300), ("jagged linear", lambda self, x: F.linear(x, self.w), (of(rows, torch.jagged),), 100, 300),
        ("linear of linear", lambda self, x: F.linear(F.gelu(F.linear(x, self.w)), self.w.t()), (of(rows),), 200, 600),
        ("bmm", lambda self, x, y: torch.bmm(x, y), (of(squares), of(squares)), 128, 384),
        ("matmul", lambda self, x, y: x @ y.transpose(1, 2), (of(rows), of(rows)), 2 * 4 * 2 + 3 * 4 * 3, 3 * 52),
        ("attention", lambda self, x: F.scaled_dot_product_attention(x, x, x), (of([r.expand(3, *r.shape) for r in rows]),), 312, 936),
        ("a transposed output", lambda self, x: F.linear(x, self.w).transpose(1, 2), (of(rows),), 100, 300),
        ("its parts", lambda self, x: [part @ self.w.t() for part in x.unbind()], (of(rows),), 100, 300),
    ]
    for name, function, inputs, forward, both in known:
        model = module(function, w=w)
        for real in (False, True):
            made = _model.collect(model, inputs, real=real)
            say("nested %s, real=%s" % (name, real), (made.totals()["macs"], made.coverage, made.facts["ran_on"]), (forward, 1.0, "real tensors"))
            made = _model.collect(model, inputs, real=real, backward=True)
            say("nested %s, real=%s, with backward" % (name, real), (made.totals()["macs"], made.coverage), (both, 1.0))
        say("nested %s is timed" % name, sorted(_model.measure(model, inputs, backward=True, warmup=0, repeats=1))[:2], ["backward_ns", "forward_ns"])
        say("nested %s, and the caller's is as it was" % name, [x.grad for x in inputs], [None] * len(inputs))
    fails = module(lambda self, x: x @ self.w, w=w)
    try:
        _model.collect(fails, (of(rows),))
    except _model.ModelError as why:
        say("one that torch refuses", "it was given a nested tensor;" in str(why), True)


# ---- sums of more than 64 bits


def warned(run):
    """(what it gave, how often it was warned of, and whether of a line of this file)"""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = run()
    told = [one for one in told if "more than 64 bits" in str(one.message)]
    return found, len(told), {one.filename for one in told} <= {__file__}


def beyond():
    from sonde import model as sm
    from sonde.compat.flop_counter import FlopCounterMode
    from sonde.compat.fvcore.nn import FlopCountAnalysis

    most, side = (1 << 63) - 1, 1 << 30
    model, x = nn.Linear(side, side, bias=False, device="meta"), torch.empty(8, side, device="meta")  # 2**63 MACs
    half = torch.empty(7, side, device="meta")
    say("just below", warned(lambda: sm.profile_macs(model, inputs=half)), (7 * side * side, 0, True))
    say("its FLOPs", warned(lambda: sm.profile_flops(model, inputs=half)), (most, 1, True))
    for name in ("macs", "flops", "madds"):
        profile = getattr(sm, "profile_" + name)
        say("profile_%s" % name, warned(lambda: profile(model, inputs=x)), (most, 1, True))
        say("profile_%s for people" % name, warned(lambda: profile(model, inputs=x, readable=True)), ("≥9.22E", 1, True))
    say("parameters are fewer", warned(lambda: sm.profile_params(model)), (side * side, 0, True))
    many = nn.Sequential(*[nn.Linear(side, side, bias=False, device="meta") for _ in range(9)])
    say("and more", warned(lambda: sm.profile_params(many)), (most, 1, True))
    say("elements", warned(lambda: sm.profile_memory(many, inputs=x)), ((most, 9 * 8 * side), 1, True))
    report, n, _ = warned(lambda: sm.profile_metrics(model, inputs=x))
    say("a report is none yet", n, 0)
    say("its sums", warned(lambda: report.totals["macs"]), (most, 1, True))
    say("its notes", [note for note in report.notes if "more than 64 bits" in note], ["some sums need more than 64 bits: 9,223,372,036,854,775,807 means that or more"])
    say("what it prints", ("at least 9,223,372,036,854,775,807 MACs" in str(report), "more than 64 bits" in str(report)), (True, True))
    say("its short form", repr(report), "<ProfilerReport of Linear: 1.15E parameters, ≥9.22E MACs, coverage 1>")
    say("what training takes", warned(lambda: report.fit("adam", 64)["total_bytes"]), (most, 1, True))
    small = sm.profile_metrics(nn.Linear(4, 4), (4,), runtime=False)
    say("others say nothing", (warned(lambda: small.totals["macs"]), small.notes, "beyond" in small.fit()), ((16, 0, True), [], False))

    def torchs():
        with FlopCounterMode(display=False) as mode:
            model(x)
        return mode.get_total_flops()

    say("torch's counter", warned(torchs), (most, 1, True))
    say("fvcore's", warned(lambda: FlopCountAnalysis(model, x).total()), (most, 1, True))


# ---- exceptions in the backward


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g @ g.new_ones(99, 99)


def backwards():
    def fails(self, x):
        return Fails.apply(x)

    def catches(self, x):
        try:
            self.l(x)
        except RuntimeError:
            pass
        return Fails.apply(x)

    def hooked(self, x):
        y = x * 2
        y.register_hook(lambda g: 1 / 0)
        return y

    def again(self, x):
        return checkpoint(lambda y: Fails.apply(self.l(y)), x, use_reentrant=False)

    own, x = nn.Linear(4, 4), torch.rand(2, 4)
    for name, inner, wanted in (("a function", module(fails), "in the backward of 1 (Around): "), ("behind what it caught", module(catches, l=nn.Linear(9, 4)), "in the backward of 1 (Around): "),
                                ("a hook of a tensor", module(hooked), "in the backward: "), ("what is run again", module(again, l=nn.Linear(4, 4)), "in the backward of 1 (Around): ")):
        model = nn.Sequential(own, inner, nn.Linear(4, 2))
        for real in (False, True):
            try:
                _model.collect(model, (x,), backward=True, real=real)
                said = "nothing"
            except _model.ModelError as why:
                said = str(why)
            say("%s, real=%s" % (name, real), wanted in said or said, True)
        try:
            _model.measure(model, (x,), backward=True, warmup=1, repeats=2)
        except _model.ModelError as why:
            said = str(why)
        say("%s, timed" % name, "Sequential could not be run, in the backward: " in said or said, True)


# ---- modules in modules


def nest(n):
    model = nn.Linear(4, 4)
    for _ in range(n):
        model = nn.Sequential(model)
    return model


def deepest(x):
    """How many nn.Sequential torch runs in each other, where it is called from a function as ours."""
    low, high = 1, 1000
    while low < high:
        n = (low + high + 1) // 2
        try:
            nest(n)(x)
            low = n
        except RecursionError:
            high = n - 1
    return low


def deep():
    x, limit = torch.rand(1, 4), sys.getrecursionlimit()
    n = deepest(x)
    model = nest(n)
    say("as deep as a default limit allows", n > 150, True)
    for way, run in ways(model, x) + [("times of layers", lambda: _model.measure(model, (x,), into=_model.collect(model, (x,)), warmup=1, repeats=2))]:
        made = run()
        totals = made.totals() if way not in ("times", "times of layers") else {"params": 20, "macs": 16}
        say("%s of %d nested modules" % (way, n), (totals["params"], totals["macs"] in (16, 32), getattr(made, "notes", [])), (20, True, []))
        say("and the limit is as it was", sys.getrecursionlimit(), limit)

    def endless(self, x):
        return self(x)

    try:
        _model.collect(module(endless), (x,))
    except _model.ModelError as why:
        say("one without an end", (type(why.__cause__).__name__, sys.getrecursionlimit()), ("RecursionError", limit))
    _model.collect(module(lambda self, x: (sys.setrecursionlimit(limit + 7), x * 2)[1]), (x,))
    say("a limit that the forward sets stays", sys.getrecursionlimit(), limit + 7)
    sys.setrecursionlimit(limit)


# ---- interpolation, by dtypes


def is_taken(run):
    try:
        run()
    except (RuntimeError, ValueError):  # of torch, and ModelError
        return False
    return True


def resized():
    kinds = (torch.uint8, torch.int32, torch.int64, torch.bool, torch.float16, torch.bfloat16, torch.float32, torch.complex64)
    ways = [("nearest", n, False) for n in (1, 2, 3)] + [("nearest-exact", n, False) for n in (1, 2, 3)] + [("area", n, False) for n in (1, 2, 3)]
    ways += [("linear", 1, False), ("trilinear", 3, False)] + [(mode, 2, smooth) for mode in ("bilinear", "bicubic") for smooth in (False, True)]
    for mode, n, smooth in ways:
        model = module(lambda self, x: F.interpolate(x, scale_factor=2, mode=mode, antialias=smooth))
        for without in (torch.enable_grad, torch.inference_mode):
            with without():
                inputs = [torch.zeros((1, 2) + (4,) * n, dtype=kind) for kind in kinds]
                say("%s of %d axes, antialias=%s, %s" % (mode, n, smooth, without.__name__), [is_taken(lambda: _model.collect(model, (x,))) for x in inputs],
                    [is_taken(lambda: model(x)) for x in inputs])
    floats = _model.collect(module(lambda self, x: F.interpolate(x, scale_factor=2)), (torch.zeros(1, 2, 4, 4),))
    say("and numbers of the usual kind need no data", floats.facts["ran_on"], "meta")


# ---- whole numbers that a model looks at


class Reads(nn.Module):
    """A decoder in small: counts positions where its tensors are, and takes the way that its mask says."""

    def __init__(self):
        super().__init__()
        self.table, self.short, self.long = nn.Embedding(50, 8), nn.Linear(8, 2), nn.Linear(8, 20)

    def forward(self, ids, mask=None):
        x = self.table(ids)
        positions = torch.arange(x.shape[1], device=x.device).to(torch.int32).to(x.device)
        if not bool((positions[1:] > positions[:-1]).all()) or (mask is not None and not mask.to(x.device).bool().all()):
            return self.short(x)
        return self.long(x)


class Compares(nn.Module):
    """Takes the devices of its tensors for the same."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x):
        places = torch.arange(4, device=x.device)
        assert places.device == x.device
        return self.l(x)[:, places]


class Fills(nn.Module):
    """Writes what has no data into what has: the values are then not known."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 2), nn.Linear(4, 3)

    def forward(self, x):
        seen = torch.zeros(2, 4, dtype=torch.long, device=x.device)
        view = seen[1]
        view[:] = (x[0] > 0).long()
        return self.b(x) if seen.sum() > 0 else self.a(x)


def numbers():
    ids, ones, some = torch.arange(6).reshape(1, 6), torch.ones(1, 6, dtype=torch.long), torch.tensor([[1, 1, 1, 1, 0, 0]])
    for mask, products in ((None, 20), (ones, 20), (some, 2), (some.bool(), 2)):
        for device in ("cpu", "meta"):
            made = _model.collect(Reads().to(device), (ids, mask), backward=True)
            say("mask %s on %s" % (mask, device), (made.totals()["macs"] - made.totals()["backward_macs"], made.facts["ran_on"]), (6 * 8 * products, "meta"))
    before = some.clone()
    writes = module(lambda self, ids: self.l(self.e(ids.add_(1))), e=nn.Embedding(50, 8), l=nn.Linear(8, 2))
    _model.collect(writes, (some,))
    say("the caller's numbers", torch.equal(before, some), True)
    try:
        _model.collect(Reads().to("meta"), (ids, ones.to("meta")))
    except _model.ModelError as why:
        say("a mask without values", "on the processor, where they have values" in str(why), True)
    say("devices that are compared", [_model.collect(Compares().to(device), (torch.ones(1, 4),)).totals()["macs"] for device in ("cpu", "meta")], [16, 16])
    lists = module(lambda self, x, n: (torch._foreach_add_([n], [(x[0] > 0).long()]), self.a(x) if int(n.sum()) else self.b(x))[1], a=nn.Linear(4, 2), b=nn.Linear(4, 3))
    say("lists that are written to", _model.collect(lists, (torch.ones(1, 4), torch.zeros(4, dtype=torch.long))).totals()["macs"], 8)
    made = _model.collect(Fills(), (torch.ones(1, 4),))
    say("written to without data", (made.totals()["macs"], made.facts["ran_on"]), (12, "real tensors"))
    large = module(lambda self, x: self.l(x) + self.mask(x.shape[0], x.device), l=nn.Linear(4, 1),
                   mask=lambda n, device: (torch.arange(n, device=device)[:, None] >= torch.arange(n, device=device)[None]).any(1, keepdim=True))
    made = _model.collect(large, (torch.empty(1 << 20, 4, device="meta"),))
    say("what is too much to compute", (made.totals()["macs"], made.facts["ran_on"]), (4 << 20, "meta"))


def indices():
    """Those that are out of range are refused, where torch is given them with data, too; others are taken without."""
    table = torch.randn(4, 8)
    ways = {"a word": (module(lambda self, i: self.e(i), e=nn.Embedding(8, 4)), (7, 0), (8, -1), 0),
            "a bag": (module(lambda self, i: self.e(i[None]), e=nn.EmbeddingBag(8, 4)), (7, 0), (8, -1), 0),
            "index": (module(lambda self, i: self.l(self.held[0][:, i]), l=nn.Linear(2, 2), held=[table]), (7, -8), (8, -9), 16),
            "index_select": (module(lambda self, i: self.l(torch.index_select(self.held[0], -1, i)), l=nn.Linear(2, 2), held=[table]), (7, 0), (8, -1), 16),
            "gather": (module(lambda self, i: self.l(torch.gather(self.held[0], 1, i.expand(4, 2))), l=nn.Linear(2, 2), held=[table]), (7, 0), (8, -1), 16)}
    for name, (model, inside, outside, macs) in ways.items():
        for at in inside:
            made = _model.collect(model, (torch.tensor([1, at]),))
            say("%s %d" % (name, at), (made.totals()["macs"], made.facts["ran_on"]), (macs, "meta"))
        for device in ("cpu", "meta"):
            say("%s out of range on %s" % (name, device), [is_refused(model.to(device), torch.tensor([1, at])) for at in outside], [True, True])


def is_refused(model, x):
    try:
        _model.collect(model, (x,))
        return False
    except _model.ModelError:
        return True


# ---- what is given, and by whom


class Cache:
    """Keys and values of a decoder, as an object."""

    __slots__ = ("layers", "__dict__")

    def __init__(self, *keys):
        self.layers, self.seen = [types.SimpleNamespace(keys=one) for one in keys], []


class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x, cache):
        for layer in cache.layers:
            layer.keys = torch.cat([layer.keys, self.l(x)])
            layer.keys.mul_(2)
        cache.seen.append(x)
        return self.l(layer.keys if cache.layers else x)


class Packs(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.l = kind(8, 16, batch_first=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(self.l(packed)[0], batch_first=True)[0]


def given():
    for how in ({}, {"real": True}, {"backward": True}):
        cache, empty = Cache(torch.ones(2, 4), torch.ones(3, 4)), Cache()
        made = _model.collect(Remembers(), (torch.ones(1, 4), cache), **how)
        _model.collect(Remembers(), (torch.ones(1, 4), empty), **how)
        say("a cache that is given %s" % how, ([one.keys.tolist() for one in cache.layers], cache.seen, empty.seen, made.totals()["macs"] - made.totals()["backward_macs"]),
            ([[[1.0] * 4] * 2, [[1.0] * 4] * 3], [], [], 2 * 16 + 4 * 16))
    cache = Cache(torch.ones(2, 4))
    _model.measure(Remembers(), (torch.ones(1, 4), cache), warmup=1, repeats=3)
    say("and timed", (cache.layers[0].keys.shape[0], cache.seen), (2, []))
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        x, lengths = torch.ones(3, 5, 8), torch.tensor([5, 4, 2])
        real = _model.collect(Packs(kind), (x, lengths), backward=True, real=True).totals()["macs"]
        for device in ("cpu", "meta"):
            made = _model.collect(Packs(kind).to(device), (x, lengths), backward=True)
            say("packed %s on %s" % (kind.__name__, device), (made.totals()["macs"], made.facts["ran_on"]), (real, "meta"))
    say("an LSTM on meta says what it lacks", [n for n in _model.collect(nn.LSTM(8, 16).to("meta"), (torch.ones(5, 3, 8),), memory=True).notes if "LSTM" in n] != [], True)
    others()
    odd_inputs()
    kept()


def others():
    """Other threads."""
    limit, said, found = sys.getrecursionlimit(), [], []

    def count(model):
        for _ in range(5):
            found.append(_model.collect(model, (torch.ones(1, 4),)).totals()["macs"])

    threads = [threading.Thread(target=count, args=(nn.Sequential(nn.Linear(4, 4), nn.ReLU()),)) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    say("the limit of recursion", (sys.getrecursionlimit(), found), (limit, [16] * 20))

    class Elsewhere(nn.Linear):
        def forward(self, x):
            def count():
                try:
                    _model.collect(self, (torch.ones(1, 4),))
                except _model.ModelError as why:
                    said.append(str(why))

            thread = threading.Thread(target=count)
            thread.start()
            thread.join()
            return super().forward(x)

    model = Elsewhere(4, 4)
    _model.collect(model, (torch.ones(1, 4),))
    say("the same model in two threads", ["in another thread" in one for one in said], [True])
    say("and its weights", model.weight.device.type, "cpu")
    pid = os.fork()
    if not pid:
        os._exit(_model.collect(model, (torch.ones(1, 4),)).totals()["macs"])
    say("in a child", os.waitpid(pid, 0)[1] >> 8, 16)


class Closes:
    """Has a thing that its end closes."""

    closed = []

    def __init__(self):
        self.names = ["a"]

    def __del__(self):
        self.closed.append(1)


class Odd(list):
    def __init__(self, one, two):
        super().__init__([one, two])
        self.size = 2


def odd_inputs():
    seen, marker, closes, many = [], types.SimpleNamespace(name="none"), Closes(), list(range(5000))
    itself = [torch.ones(1, 4)]
    itself.append(itself)

    def forward(self, x, objects):
        seen.append((objects["marker"] is marker, objects["odd"].size, len(objects["many"])))
        objects["many"].append(1)
        objects["odd"].append(2)
        objects["itself"].append(3)
        return self.l(x)

    model = module(forward, l=nn.Linear(4, 4))
    given = {"many": many, "odd": Odd(1, 2), "marker": marker, "closes": closes, "itself": itself}
    for how in ({}, {"real": True}):
        _model.collect(model, (torch.ones(1, 4), given), **how)
    _model.measure(model, (torch.ones(1, 4), given), into=_model.collect(model, (torch.ones(1, 4), given)), backward=True, warmup=1, repeats=2)
    say("odd inputs", (set(seen), len(many), list(given["odd"]), len(itself), closes.closed), ({(True, 2, 5000)}, 5000, [1, 2], 2, []))


def kept():
    x = torch.randn(1, 100, requires_grad=True)
    say("a script's weights", _model.collect(torch.jit.script(nn.Linear(100, 100)), (x,), memory=True).totals()["activation_bytes"], 400)
    writes = module(lambda self, x: self.l(x).sigmoid().add_(1), l=nn.Linear(4, 4))
    try:
        _model.collect(writes, (torch.ones(2, 4),), backward=True)
        say("what the backward needs is written to", "taken", "refused")
    except _model.ModelError as why:
        say("what the backward needs is written to", "modified by an inplace operation" in str(why), True)
    model = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid(), nn.Linear(4, 4), nn.ReLU(inplace=True))
    counts = [_model.collect(model, (torch.ones(2, 4),), **how).totals()["n_ops"] for how in ({}, {"memory": True}, {"real": True}, {"real": True, "memory": True})]
    say("operators, however they are looked at", counts, counts[:1] * 4)
    say("an empty batch", _model.collect(model, (torch.ones(0, 4),), memory=True).totals()["activation_bytes"], 0)
    elsewhere = module(lambda self, x: self.keep(x), keep=lambda x: None)
    elsewhere.l = nn.Linear(4, 4)

    def keep(x):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return elsewhere.l(x)

    elsewhere.keep = keep
    say("kept by the model's own hooks", [n for n in _model.collect(elsewhere, (torch.ones(2, 4),), memory=True).notes if "saved_tensors_hooks" in n] != [], True)
    hooked = nn.Linear(4, 4)
    hooked.weight.register_hook(lambda g: g @ g)
    say("hooks for gradients", [n for n in _model.collect(hooked, (torch.ones(2, 4),), backward=True).notes if "hooks for the gradients" in n] != [], True)


if __name__ == "__main__":
    for word in sys.argv[1:] or ["slots", "classes", "nested", "beyond", "backwards", "deep", "resized", "numbers", "indices", "given"]:
        globals()[word]()
