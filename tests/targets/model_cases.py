# SPDX-License-Identifier: MIT
"""Small modules whose multiply-adds are known, counted in every way; prints `ok` or what is wrong, line by line.

With a word it does one of: cases networks backward residue borrowed shims weights shapes operators errors times memory counting.
"""
import contextlib
import copy
import gc
import sys
import time
import warnings
import weakref

import torch
from torch import nn
from torch.nn import functional as F

import torch_networks
from sonde import _sonde
from sonde._torch import _model, _model_kept, _model_modes

torch.set_num_threads(1)


def say(what, got, wanted):
    print("ok %s" % what if got == wanted else "WRONG %s: %r, not %r" % (what, got, wanted))


def macs(*args, **kwargs):
    return _model.collect(*args, **kwargs).totals()["macs"]


def module(function, **weights):
    """A module around a function of (self, *inputs)."""
    class Around(nn.Module):
        def __init__(self):
            super().__init__()
            for name, value in weights.items():
                setattr(self, name, nn.Parameter(value) if isinstance(value, torch.Tensor) else value)

        def forward(self, *inputs):
            return function(self, *inputs)

    return Around()


def attention(self, x):
    return self.mha(x, x, x)[0]


# name: (module, shapes of the inputs, MACs)
CASES = {
    "linear": (lambda: nn.Linear(512, 1000), [(1, 512)], 512000),
    "linear, 1 axis": (lambda: nn.Linear(8, 4), [(8,)], 32),
    "linear, 4 axes": (lambda: nn.Linear(8, 4), [(2, 3, 5, 8)], 960),
    "conv": (lambda: nn.Conv2d(3, 64, 7, 2, 3), [(1, 3, 224, 224)], 118013952),
    "depthwise conv": (lambda: nn.Conv2d(32, 32, 3, padding=1, groups=32), [(1, 32, 112, 112)], 3612672),
    "conv of a batch": (lambda: nn.Conv2d(8, 16, 3, padding=1), [(4, 8, 32, 32)], 4718592),
    "conv without a batch": (lambda: nn.Conv2d(8, 16, 3, padding=1), [(8, 32, 32)], 1179648),
    "transposed conv": (lambda: nn.ConvTranspose2d(16, 8, 4, 2, 1), [(1, 16, 32, 32)], 2097152),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3), [(2, 4, 10)], 1152),
    "conv3d": (lambda: nn.Conv3d(2, 4, 3, padding=1), [(1, 2, 4, 5, 6)], 25920),
    "lstm": (lambda: nn.LSTM(64, 128, 2, batch_first=True), [(4, 10, 64)], 9175040),
    "gru": (lambda: nn.GRU(64, 128, 2, batch_first=True), [(4, 10, 64)], 6881280),
    "rnn": (lambda: nn.RNN(64, 128, 2, batch_first=True), [(4, 10, 64)], 2293760),
    "attention": (lambda: module(attention, mha=nn.MultiheadAttention(64, 4, batch_first=True)), [(2, 10, 64)], 353280),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(64, 4, 256, batch_first=True), [(2, 10, 64)], 1008640),
    "matmul": (lambda: module(lambda self, x: x @ self.w, w=torch.ones(32, 64)), [(8, 32)], 16384),
    "functional linear": (lambda: module(lambda self, x: F.linear(x, self.w), w=torch.ones(64, 32)), [(8, 32)], 16384),
    "functional conv": (lambda: module(lambda self, x: F.conv2d(x, self.w, padding=1), w=torch.ones(16, 8, 3, 3)), [(1, 8, 16, 16)], 294912),
    "a constant that forward makes": (lambda: module(lambda self, x: x @ torch.ones(32, 64)), [(8, 32)], 16384),
    "scaled dot product attention": (lambda: module(lambda self, q, k, v: F.scaled_dot_product_attention(q, k, v)), [(1, 12, 64, 64)] * 3, 6291456),
    "einsum": (lambda: module(lambda self, a, b: torch.einsum("bij,bjk->bik", a, b)), [(3, 4, 5), (3, 5, 6)], 360),
    "bilinear": (lambda: nn.Bilinear(4, 5, 6), [(2, 4), (2, 5)], 240),
    "mv, dot": (lambda: module(lambda self, a, b: torch.dot(torch.mv(a, b), b)), [(7, 7), (7,)], 56),
    "baddbmm": (lambda: module(lambda self, a, b, c: torch.baddbmm(a, b, c)), [(2, 3, 5), (2, 3, 4), (2, 4, 5)], 120),
}


def twice():
    shared = nn.Linear(32, 32)
    return module(lambda self, x: self.l(self.l(x)), l=shared)


@contextlib.contextmanager
def surroundings(train, grad):
    with torch.enable_grad() if grad else torch.no_grad():
        yield train


def cases():
    for name, (factory, shapes, wanted) in CASES.items():
        answers = set()
        for device in ("cpu", "meta"):
            with torch.device(device):
                model = factory()
                inputs = [torch.zeros(shape) for shape in shapes]
            for train in (False, True):
                model.train(train)
                for grad in (False, True):
                    with surroundings(train, grad):
                        for real in (False, True) if device == "cpu" else (False,):
                            made = _model.collect(model, inputs, real=real)
                            ran_on = "real tensors" if real else "meta"
                            if made.facts["ran_on"] != ran_on or made.unsupported or made.coverage != 1:
                                answers.add((device, train, grad, real, made.facts.get("because"), str(made.unsupported)))
                            answers.add(made.totals()["macs"])
        say(name, sorted(answers, key=str), [wanted])
    with torch.device("meta"):
        made = _model.collect(twice(), [torch.zeros(4, 32)])
    say("a layer called twice", (made.totals()["macs"], made.totals()["params"], [r["n_calls"] for r in made.rows()]), (8192, 1056, [2]))


def networks():
    for name in torch_networks.MODELS:
        model, x, params, wanted = torch_networks.build(name)
        answers = set()
        for train in (False, True):
            model.train(train)
            for grad in (False, True):
                with surroundings(train, grad):
                    made = _model.collect(model, (x,))
                    answers.add((made.totals()["params"], made.totals()["macs"], made.coverage, made.facts["ran_on"], len(made.notes)))
        say(name, answers, {(params, wanted, 1.0, "meta", 0)})
    model, x, params, wanted = torch_networks.build("resnet18", "cpu")
    made = _model.collect(model, (torch.empty(x.shape, device="meta"),))
    say("rows of resnet18", len(made.rows()), 52)
    say("resnet18 on the processor", (made.totals()["macs"], made.facts["device"]), (wanted, "cpu"))
    say("resnet18 on real tensors", macs(model, (x,), real=True), wanted)
    names = [one["name"] for one in made.layers()]
    edges = {(names[a], names[b]) for a, b in made.edges()}
    say("who hands data to whom", {("conv1", "bn1"), ("bn1", "relu"), ("relu", "maxpool"), ("maxpool", "layer1.0.conv1"), ("maxpool", "layer1.0"),
                                   ("layer1.0.bn2", "layer1.0"), ("layer1.0", "layer1.0.relu"), ("layer2.0.downsample.1", "layer2.0")} - edges, set())
    say("and who does not", edges & {("conv1", "relu"), ("bn1", "bn1"), ("layer1.0.conv1", "layer1.0.conv2")}, set())
    say("buffers of resnet18", made.totals()["buffers"], 9620)


def backward():
    mlp = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    for real in (False, True):
        made = _model.collect(mlp, (torch.zeros(32, 784),), backward=True, real=real)
        say("mlp, real=%s" % real, (made.totals()["macs"], made.totals()["backward_macs"]), (13090816, 6586368))
        say("whose they are", [(r["name"], r["backward_macs"]) for r in made.rows()], [("0", 6422528), ("1", 0), ("2", 163840)])
    for name, alone, with_input in [("resnet18", 5324206080, 5442220032), ("resnet50", 12149538816, 12267552768), ("mobilenet_v2", 891484800, 902322816)]:
        model, x, _, _ = torch_networks.build(name)
        say(name, macs(model, (x,), backward=True), alone)
        say(name + " with the input", macs(model, (x.requires_grad_(),), backward=True), with_input)
    with torch.no_grad():
        say("without gradients around", macs(mlp, (torch.zeros(32, 784),), backward=True), 13090816)
    say("no gradient is left", [p.grad for p in mlp.parameters()], [None] * 4)


class Caches(nn.Module):
    """Does what a careful model does not: caches, counts, draws, and fails when it is told to."""

    def __init__(self, fails=False, reads=False):
        super().__init__()
        self.l, self.bn, self.drop, self.fails, self.reads = nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(), fails, reads
        self.register_buffer("seen", torch.zeros(()))
        self.last, self.kept, self.by_name, self.plain = None, [], {}, torch.ones(8)

    def forward(self, x):
        self.plain.mul_(2)
        self.seen += 1
        y = self.drop(self.bn(self.l(x))) * self.plain
        self.last, self.new = y, y
        self.kept.append(y)
        self.by_name["y"] = y
        y = y * torch.rand(8)
        if self.reads and y.sum().item() > 1e9:
            return x
        if self.fails:
            raise KeyError("on purpose")
        return y


def picture(model):
    """All that must be the same afterwards."""
    from torch.nn.modules import module as modules

    hooks = [sorted(getattr(modules, name)) for name in dir(modules) if name.startswith("_global") and isinstance(getattr(modules, name), dict)]
    inside = [(name, sorted(vars(m)), {k: id(v) for k, v in vars(m).items()}, [id(t) for t in m._parameters.values()], [id(t) for t in m._buffers.values()],
               m.training, len(m._forward_hooks)) for name, m in model.named_modules()]
    numbers = [t.tolist() for t in list(model.parameters()) + list(model.buffers()) + [model.plain]]
    return (hooks, inside, numbers, torch.get_rng_state().tolist(), [(id(p.grad), p.grad.tolist()) for p in model.parameters()], list(model.kept), dict(model.by_name), model.last,
            torch._C._len_torch_dispatch_stack(), {k: id(v) for k, v in vars(torch).items()}, {k: id(v) for k, v in vars(F).items()},
            {k: id(v) for k, v in vars(nn.Module).items()}, torch.is_grad_enabled())


def residue():
    for fails in (False, True):
        for reads in (False, True):
            for way in ("collect", "backward", "real", "measure"):
                model = Caches(fails, reads).train()
                x = torch.ones(4, 8)
                model.bn(model.l(x + torch.arange(4.0)[:, None])).square().sum().backward()
                _model.collect(nn.Linear(2, 2), (torch.zeros(1, 2),), backward=True)  # torch loads parts of itself at first use
                before, raised = picture(model), None
                try:
                    if way == "measure":
                        _model.measure(model, (x,), backward=True, warmup=1, repeats=2)
                    else:
                        _model.collect(model, (x,), backward=way == "backward", real=way == "real")
                except _model.ModelError as why:
                    raised = type(why.__cause__).__name__
                    del why
                after = picture(model)
                say("%s, fails=%s, reads=%s: raised" % (way, fails, reads), raised, "KeyError" if fails else None)
                say("%s, fails=%s, reads=%s: untouched" % (way, fails, reads), [i for i, (a, b) in enumerate(zip(before, after)) if a != b], [])
                model.fails = False
                say("and it runs", tuple(model(x).shape), (4, 8))


class Meddles(nn.Module):
    """Reads its data, so that it runs on real tensors, and changes all that a forward can change about tensors."""

    def __init__(self, fails):
        super().__init__()
        self.l, self.own, self.bn, self.fails = nn.Linear(4, 4), [nn.Linear(4, 4)], nn.BatchNorm1d(4), fails
        self.plain, self.many, self.leaf = torch.zeros(4), [torch.zeros(2), {"a": torch.zeros(2)}], torch.ones(4, requires_grad=True)
        self.register_buffer("hidden", torch.zeros(3), persistent=False)
        self.l.weight.tag = "old"

    def forward(self, x):
        x.sum().item()
        for tensor in (self.plain, self.many[0], self.many[1]["a"], self.hidden):
            tensor.add_(1)
        self.l.bias.requires_grad_(False)
        self.l.weight.tag, self.l.bias.other = "new", 3
        self.l.weight.register_hook(lambda g: g * 2)
        self.own[0].bias.data = torch.ones(4)
        if self.fails:
            raise KeyError("x")
        return self.bn(self.own[0](self.l(x))) * self.leaf

    def tensors(self):
        return [self.l.weight, self.l.bias, self.own[0].weight, self.own[0].bias, self.plain, self.many[0], self.many[1]["a"], self.leaf, self.hidden,
                self.bn.running_mean, self.bn.num_batches_tracked]


def portrait(t):
    return (id(t), t.data_ptr(), t.tolist(), t.requires_grad, t._version, dict(vars(t)), len(t._backward_hooks or ()),
            None if t.grad is None else (id(t.grad), t.grad.tolist()))


def meddled():
    for fails in (False, True):
        for way, how in ((_model.collect, {}), (_model.measure, {"warmup": 1, "repeats": 2})):
            for backward in (False, True):
                model, x = Meddles(fails), torch.rand(3, 4)
                pending = (model.own[0](model.l(x)) * model.leaf).square().sum()
                pending.backward(retain_graph=True)
                model.l.weight.register_hook(lambda g: g)
                before = [portrait(t) for t in model.tensors()]
                try:
                    way(model, (x,), backward=backward, **how)
                except _model.ModelError as why:
                    say("why it failed", "KeyError" in str(why), fails)
                say("tensors, fails=%s, %s, backward=%s" % (fails, way.__name__, backward),
                    [i for i, (a, t) in enumerate(zip(before, model.tensors())) if a != portrait(t)], [])
                pending.backward()  # it still can


def trains():
    """A hook of a parameter that steps in the backward, and a forward that writes to one."""
    model = nn.Sequential(nn.Linear(4, 4), module(lambda self, x: x + self.w.data.add_(1), w=torch.ones(4)))
    steps = {p: torch.optim.SGD([p], lr=0.1, momentum=0.9) for p in model.parameters()}
    for p in steps:
        p.register_post_accumulate_grad_hook(lambda p: steps[p].step())
    before, x = [p.tolist() for p in model.parameters()], torch.ones(2, 4)
    made = _model.collect(model, (x,), real=True, backward=True)
    _model.measure(model, (x,), into=made, backward=True, warmup=1, repeats=2)
    say("a model that trains itself", ([p.tolist() for p in model.parameters()] == before, ["did not run" in note for note in made.notes]), (True, [True]))
    say("and what it learns with", [step.state_dict()["state"] for step in steps.values()], [{}] * len(steps))

    def writes(self, x):
        with torch.no_grad():
            self.l.weight.add_(1)
        return self.l(x)

    model = module(writes, l=nn.Linear(4, 4))
    most, _model_kept._MOST_BYTES = _model_kept._MOST_BYTES, 0
    try:
        made = _model.collect(model, (x,), real=True, backward=True)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            _model.measure(model, (x,), backward=True, warmup=1, repeats=2)
    finally:
        _model_kept._MOST_BYTES = most
    told = [n for n in made.notes + [str(w.message) for w in told] if "l.weight" in n and "cannot be undone" in n]
    say("one that is too large to be copied is told", len(told), 2)


def unusual():
    """Tensors that can be put back in part alone, and what is said of them."""
    def follows(self, x):
        y = self.l(x)
        self.mean.mul_(0.9).add_(y.mean(0) * 0.1)
        return y * 1

    model = module(follows, l=nn.Linear(4, 4))
    model.register_buffer("mean", torch.zeros(4))
    for way in (lambda: _model.measure(model, (torch.ones(2, 4),), warmup=1, repeats=2), lambda: _model.collect(model, (torch.ones(2, 4),), real=True, backward=True)):
        way()
        say("a buffer that got a graph", (model.mean.grad_fn, model.mean.requires_grad, model.mean.tolist(), model.mean.is_leaf), (None, False, [0.0] * 4, True))
    empty = module(lambda self, x: self.l(x), l=nn.Linear(4, 4))
    empty.nothing = torch.empty(3, device="meta")
    say("one without data is not told to have changed", _model.collect(empty, (torch.ones(2, 4),), real=True).notes, [])
    changes = module(lambda self, x: (self.large.add_(1), self.small.add_(1), self.l(x))[2], l=nn.Linear(4, 4))
    changes.large, changes.small = torch.zeros(100000), torch.zeros(2)
    changes.register_buffer("table", torch.zeros(200000))
    most, _model_kept._MOST_BYTES = _model_kept._MOST_BYTES, 100000
    try:
        copies = [one.name for one in _model_kept._kept_tensors(torch, changes) if one.numbers is not None]
        made = _model.collect(changes, (torch.ones(2, 4),), real=True)
    finally:
        _model_kept._MOST_BYTES = most
    say("the smallest are copied", sorted(copies), ["l.bias", "l.weight", "small"])
    say("and put back, the others told", (changes.small.tolist(), [n for n in made.notes if "changed large in place" in n] == made.notes, len(made.notes)), ([0.0] * 2, True, 1))
    anew = module(lambda self, x: (setattr(self.l, "weight", nn.Parameter(torch.ones(4, 4))), self.l(x))[1], l=nn.Linear(4, 4))
    was = anew.l.weight
    for real in (False, True):
        made = _model.collect(anew, (torch.ones(2, 4),), real=real)
        say("a parameter in the place of another, real=%s" % real, ([n.split(";")[0] for n in made.notes], anew.l.weight is was, made.totals()["params"]),
            (["the forward itself made parameters: l.weight"], True, 20))
    one_graph()


def one_graph():
    """Passes that time layers hold one graph at a time."""
    alive, most = weakref.WeakSet(), []

    class Holds(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            alive.add(ctx)
            most.append(len(alive))
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    model = module(lambda self, x: Holds.apply(self.l(x)), l=nn.Linear(4, 4))
    made = _model.collect(model, (torch.ones(2, 4),))
    for backward in (False, True):
        most.clear()
        _model.measure(model, (torch.ones(2, 4),), into=made, backward=backward, warmup=1, repeats=3)
        say("graphs at a time, backward=%s" % backward, max(most), 1)


def really(model, *inputs):
    """Every way that runs a model on real tensors, one after the other; what was raised."""
    try:
        _model.collect(model, inputs, real=True, backward=True)
        _model.measure(model, inputs, into=_model.collect(model, inputs), backward=True, warmup=1, repeats=2)
    except _model.ModelError as why:
        return str(why)
    return None


def borrowed():
    """Gradients, buffers, inputs and graphs of the caller's are as they were."""
    meddled()
    trains()
    unusual()
    model = module(lambda self, x: self.l(torch.sparse.mm(self.adjacency, x)), l=nn.Linear(4, 4))
    model.register_buffer("adjacency", torch.eye(3).to_sparse())
    model.register_buffer("behind", torch.zeros(2))
    model.l(torch.ones(1, 4)).sum().backward()
    grads = [(p.grad, p.grad.tolist()) for p in model.parameters()]
    really(model, torch.ones(3, 4))
    say("gradients beside a sparse buffer", [p.grad is g and p.grad.tolist() == n for p, (g, n) in zip(model.parameters(), grads)], [True] * 2)
    say("the sparse buffer", model.adjacency.to_dense().tolist(), torch.eye(3).tolist())
    with torch.inference_mode():
        frozen = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    mean = frozen[1].running_mean.tolist()
    try:
        with torch.inference_mode():
            _model.measure(frozen, (torch.ones(3, 4),), warmup=1, repeats=2)
        raised = None
    except _model.ModelError as why:
        raised = str(why)
    say("a model made in inference mode", (raised, frozen[1].running_mean.tolist()), (None, mean))
    model, leaf = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.ones(3, 4, requires_grad=True)
    say("a leaf", (really(model, leaf), leaf.grad), (None, None))
    before = nn.Linear(4, 4)
    computed = before(torch.ones(3, 4))
    says = really(model, computed)
    say("a computed one", (says, before.weight.grad), (None, None))
    computed.sum().backward()
    say("the caller's graph still goes backward", before.weight.grad.tolist(), [[3.0] * 4] * 4)
    written, given = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4)), -torch.ones(3, 4)
    say("an input that the forward writes to", (really(written, given), given.tolist()), (None, [[-1.0] * 4] * 3))
    computed = before(given)
    kept = computed.tolist()
    say("a computed one that it writes to", (really(written, computed), computed.tolist()), (None, kept))


def as_peers():
    """Module by module what fvcore 0.1.5, thop 0.1.1 and ptflops 0.7.5 themselves said, with torch 2.13."""
    x, line, cube = torch.zeros(1, 8, 16, 16), torch.zeros(1, 8, 16), torch.zeros(1, 8, 8, 8, 8)
    unet = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.Upsample(scale_factor=2))
    for what, made, given, wanted in (
            ("nearest", nn.Upsample(scale_factor=2), x, (8192, 8192, 16384)),
            ("nearest, in one dimension", nn.Upsample(scale_factor=2), line, (0, 256, 512)),
            ("nearest, in three", nn.Upsample(size=11), cube, (0, 10648, 21296)),
            ("nearest-exact", nn.Upsample(scale_factor=2, mode="nearest-exact"), x, (0, 0, 16384)),
            ("linear", nn.Upsample(scale_factor=2, mode="linear"), line, (0, 1280, 512)),
            ("bilinear", nn.Upsample(scale_factor=2, mode="bilinear"), x, (32768, 90112, 16384)),
            ("bicubic", nn.Upsample(scale_factor=2, mode="bicubic"), x, (0, 2121728, 16384)),
            ("trilinear", nn.Upsample(scale_factor=2, mode="trilinear"), cube, (0, 0, 65536)),
            ("area", nn.Upsample(size=4, mode="area"), x, (2048, 0, 2304)),
            ("UpsamplingNearest2d", nn.UpsamplingNearest2d(scale_factor=2), x, (8192, 8192, 8192)),
            ("UpsamplingBilinear2d", nn.UpsamplingBilinear2d(scale_factor=2), x, (32768, 90112, 8192)),
            ("behind a convolution", unet, x, (147456 + 8192, 147456 + 8192, 147456 + 2048 + 16384)),
            ("LeakyReLU", nn.LeakyReLU(), x, (0, 0, 2048)),
            ("SiLU", nn.SiLU(), x, (0, 0, 2048)),
            ("SiLU in place", nn.SiLU(inplace=True), x, (0, 0, 2048)),
            ("Softmax", nn.Softmax(1), x, (0, 256 * 23, 2048)),
            ("Softmin", nn.Softmin(1), x, (0, 0, 0)),
            ("PReLU", nn.PReLU(), x, (0, 2048, 4096)),
            ("ELU", nn.ELU(), x, (0, 0, 4096)),
            ("SELU", nn.SELU(), x, (0, 0, 0)),
            ("AdaptiveAvgPool2d", nn.AdaptiveAvgPool2d(3), x, (2048, 2120, 4096)),
            ("AdaptiveAvgPool3d", nn.AdaptiveAvgPool3d(1), cube, (0, 4104, 8192)),
            ("AdaptiveAvgPool3d, uneven", nn.AdaptiveAvgPool3d(3), cube, (0, 4312, 8192))):
        counted = _model.collect(nn.Sequential(made).eval(), (given,))
        say("as peers: " + what, tuple(counted.totals(way)["macs"] for way in ("fvcore", "thop", "ptflops-hooks")), wanted)
    for name, with_bias, without in (("RNN", (960, 3360, 120), (880, 3040, 110)), ("LSTM", (4080, 14400, 510), (3760, 13120, 470)), ("GRU", (3040, 10720, 380), (2800, 9760, 350))):
        for bias, wanted in ((True, with_bias), (False, without)):
            kinds = (getattr(nn, name)(16, 5, batch_first=True, bias=bias), getattr(nn, name)(16, 5, 2, batch_first=True, bidirectional=True, bias=bias),
                     getattr(nn, name + "Cell")(16, 5, bias=bias))
            got = [_model.collect(made, (given,)).totals("ptflops-hooks")["macs"] for made, given in zip(kinds, (line, line, line[0, :1]))]
            say("ptflops-hooks: %s, bias=%s" % (name, bias), tuple(got), wanted)
    q, k, first = torch.ones(3, 5, 16), torch.ones(3, 7, 16), {"batch_first": True}
    for what, made, given, words, wanted in (  # as ptflops 0.7.5 counts them, with gradients
            ("itself", nn.MultiheadAttention(16, 4, **first), (q[:1],) * 3, {}, 7320),
            ("lengths first", nn.MultiheadAttention(16, 4), (q,) * 3, {}, 19800),
            ("no bias", nn.MultiheadAttention(16, 4, bias=False, **first), (q,) * 3, {}, 21240),
            ("another", nn.MultiheadAttention(16, 4, **first), (q, k, k), {}, 27384),
            ("no weights", nn.MultiheadAttention(16, 4, **first), (q, k, k), {"need_weights": False}, 23604),
            ("widths", nn.MultiheadAttention(16, 4, kdim=8, vdim=12, **first), (q, k[..., :8], k[..., :12]), {}, 18840),
            ("uneven widths", nn.MultiheadAttention(16, 4, kdim=8, vdim=10, bias=False, **first), (q, k[..., :8], k[..., :10]), {}, 15894),
            ("bias of keys", nn.MultiheadAttention(16, 4, add_bias_kv=True, **first), (q, k, k), {}, 27924),
            ("a mask", nn.MultiheadAttention(16, 4, **first), (q, k, k), {"attn_mask": torch.zeros(5, 7)}, 27419),
            ("a mask, no weights", nn.MultiheadAttention(16, 4, **first), (q, k, k), {"attn_mask": torch.zeros(5, 7), "need_weights": False}, 23604),
            ("padding", nn.MultiheadAttention(16, 4, **first), (q, k, k), {"key_padding_mask": torch.zeros(3, 7)}, 27468),
            ("encoder", nn.TransformerEncoderLayer(16, 4, 64), (q[:1],), {}, 16500),
            ("encoder, batch first", nn.TransformerEncoderLayer(16, 4, 64, **first), (q[:1],), {}, 17220),
            ("encoder, gelu", nn.TransformerEncoderLayer(16, 4, 64, norm_first=True, activation="gelu", **first), (q,), {}, 51660),
            ("decoder", nn.TransformerDecoderLayer(16, 4, 64, **first), (q, k), {}, 75504),
            ("both", nn.Transformer(16, 4, 2, 2, 64, **first), (k, q), {}, 299256)):
        around = module(lambda self, *args: self.made(*args, **words), made=made).eval()
        say("ptflops-hooks, attention: " + what, _model.collect(around, given).totals("ptflops-hooks")["macs"], wanted)


def shims():
    """The names of other tools run a fresh model as the tools do: in evaluation, put back afterwards."""
    from sonde.compat.ptflops import get_model_complexity_info
    from sonde.compat.thop import profile
    from sonde.compat.torchinfo import summary

    def fresh():
        made = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.PReLU())
        made[0].bias.requires_grad_(False)
        return made

    as_peers()
    model, x = fresh(), torch.ones(1, 4)  # one value for each channel: in training a batch norm refuses it
    model[2].eval()
    say("thop", profile(model, (x,), verbose=False), profile(fresh().eval(), (x,), verbose=False))
    say("ptflops", get_model_complexity_info(model, (4,), as_strings=False, print_per_layer_stat=False)[1], 12 + 6 + 1)
    say("torchinfo", summary(model, input_data=x, verbose=0).total_params, 12 + 3 + 6 + 1)
    say("each is in its mode again", [m.training for m in model.modules()], [True, True, True, False])
    try:
        summary(model, input_data=x, verbose=0, mode="train")
        raised = None
    except _model.ModelError as why:
        raised = type(why.__cause__).__name__
    say("mode= is followed", raised, "ValueError")
    say("after an exception, too", [m.training for m in model.modules()], [True, True, True, False])
    two = module(lambda self, x: self.l(x) if self.d.training else self.l(self.l(x)), l=nn.Linear(4, 4), d=nn.Dropout())
    two.d.eval()
    say("mode='same' is that of each", [summary(two, input_data=x, verbose=0, mode=mode).total_mult_adds for mode in ("same", "train")], [40, 20])
    say("ptflops' words for few", get_model_complexity_info(nn.Linear(4, 4), (4,), print_per_layer_stat=False, backend="aten"), ("20 Mac", "20"))
    shims_by_name()


def shims_by_name():
    """What stands under which name."""
    from sonde.compat.flop_counter import FlopCounterMode
    from sonde.compat.fvcore.nn import FlopCountAnalysis

    class Linear(nn.Module):
        def __init__(self):
            super().__init__()
            self.base, self.b = nn.Linear(8, 8, bias=False), nn.Parameter(torch.ones(8, 8))

        def forward(self, x):
            return self.base(x) + x @ self.b

    found = FlopCountAnalysis(Linear(), torch.ones(2, 8))
    say("a class of that name around one", (found.total(), found.by_operator()), (256, {"linear": 128, "matmul": 128}))
    mean = FlopCountAnalysis(module(lambda self, x: self.l(x).mean(), l=nn.Linear(3, 3)), torch.ones(1, 3))
    say("a handle of a pooling", mean.set_op_handle("aten::adaptive_avg_pool2d", lambda inputs, outputs: 1000).total(), 9)
    norm = nn.Sequential(nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4, affine=True))
    say("an instance norm", FlopCountAnalysis(norm, torch.ones(1, 3, 8, 8)).by_operator(), {"conv": 3888, "instance_norm": 720})
    lists = module(lambda self, x: self.b[0](x), b=nn.ModuleList([nn.Linear(4, 4)]), u=nn.Linear(3, 3))
    say("modules that did not run", FlopCountAnalysis(lists, torch.ones(1, 4)).uncalled_modules(), {"u"})
    with FlopCounterMode(display=False) as mode:
        lists(torch.ones(1, 4))
    say("lists of modules are none", [name for name in mode.get_flop_counts() if name.endswith(".b")], [])


def operators():
    library = torch.library.Library("sonde_tests", "DEF")
    library.define("odd(Tensor x, Tensor y) -> Tensor")
    library.impl("odd", lambda x, y: x @ y, "CompositeExplicitAutograd")
    library.define("shy(Tensor x) -> Tensor")
    library.impl("shy", lambda x: x.cpu().clone(), "CPU")
    odd = module(lambda self, x: torch.ops.sonde_tests.odd(torch.relu(x), self.w) + 1, w=torch.ones(32, 64))
    made = _model.collect(odd, (torch.zeros(8, 32),))
    say("it is named", (made.unsupported, round(made.coverage, 3)), ({"sonde_tests::odd": 1}, 0.667))
    made = _model.collect(odd, (torch.zeros(8, 32),), rules={"sonde_tests::odd": lambda inputs, outputs: inputs[0][0] * inputs[0][1] * outputs[0][1]})
    say("a rule mends it", (made.unsupported, made.coverage, made.totals()["macs"]), ({}, 1.0, 16384))
    from torch.utils.flop_counter import register_flop_formula

    @register_flop_formula(torch.ops.sonde_tests.odd)
    def flops(x, y, *args, out_shape=None, **kwargs):
        return 2 * x[0] * x[1] * y[1]

    made = _model.collect(odd, (torch.zeros(8, 32),))
    say("torch's own rule is asked", (made.unsupported, made.totals()["macs"]), ({}, 16384))
    shy = module(lambda self, x: torch.ops.sonde_tests.shy(x) @ self.w, w=torch.ones(32, 64))
    made = _model.collect(shy, (torch.zeros(8, 32),))
    say("one that needs data", (made.facts["ran_on"], made.unsupported, made.totals()["macs"], len(made.notes)), ("real tensors", {"sonde_tests::shy": 1}, 16384, 1))
    script = torch.jit.script(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)))
    say("TorchScript", macs(script, (torch.zeros(2, 8),)), 2 * (8 * 16 + 16 * 4))
    with torch.inference_mode():
        say("inference mode", macs(nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 4)), (torch.zeros(2, 8),)), 2 * (8 * 16 + 16 * 4))
    say("half precision", macs(nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16)).bfloat16(), (torch.zeros(2, 8, dtype=torch.bfloat16),)), 256)
    checkpointed = module(lambda self, x: torch.utils.checkpoint.checkpoint(self.l, x, use_reentrant=False), l=nn.Sequential(nn.Linear(8, 8), nn.Sigmoid()))
    say("checkpoint, done over again in the backward", macs(checkpointed, (torch.zeros(2, 8),), backward=True), 128 * 3)
    compiled = torch.compile(nn.Linear(8, 4))
    made = _model.collect(compiled, (torch.zeros(2, 8),))
    say("a compiled model is the one behind", (made.totals()["macs"], [r["type"] for r in made.rows()]), (64, ["Linear"]))
    made = _model.collect(nn.DataParallel(nn.Linear(8, 4)), (torch.zeros(2, 8),))
    say("a parallel model, too", (made.totals()["macs"], [r["type"] for r in made.rows()]), (64, ["Linear"]))
    sparse_products()
    quantized = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 4)), {nn.Linear}) if hasattr(torch, "ao") else None
    if quantized is not None:
        say("a quantized model", macs(quantized, (torch.zeros(2, 8),)), 64)


def sparse_products():
    """How many elements a sparse matrix has its shape does not say: a product with it is not counted by that."""
    for layout in (torch.sparse_coo, torch.sparse_csr):
        graph = module(lambda self, x: self.l(self.adjacency @ x), l=nn.Linear(4, 4))
        graph.register_buffer("adjacency", torch.eye(30).to_sparse(layout=layout))
        made = _model.collect(graph, (torch.ones(30, 4),))
        names = sorted(made.unsupported)
        say("%s: what is dense" % layout, (made.totals()["macs"], made.facts["ran_on"], bool(names), made.coverage < 1), (480, "real tensors", True, True))
        made = _model.collect(graph, (torch.ones(30, 4),), rules={name: lambda inputs, outputs: 30 * outputs[0][1] for name in names})
        say("%s: with a rule" % layout, (made.unsupported, made.totals()["macs"]), ({}, 600))
        for how in (torch.matmul, torch.sparse.mm, lambda a, x: torch.sparse.addmm(torch.ones(30, 4), a, x), lambda a, x: torch.sparse.mm(a, a) @ x):
            graph = module(lambda self, x: how(self.adjacency, x))
            graph.register_buffer("adjacency", torch.eye(30).to_sparse(layout=layout))
            rules = {"sparse::mm": lambda inputs, outputs: 30 * outputs[0][1]}
            made = _model.collect(graph, (torch.ones(30, 4),), rules=rules)
            say("%s: one name for every way" % layout, (made.unsupported, made.totals()["macs"] % 900), ({}, 120))


class Unregistered(nn.Module):
    """Holds a module where torch does not see it, which caches what it made."""

    def __init__(self):
        super().__init__()
        self.inner = [Remembers()]

    def forward(self, x):
        return self.inner[0](x)


class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.l, self.last = nn.Linear(4, 4), None

    def forward(self, x):
        if self.last is None:
            self.last = torch.ones_like(x)
        return self.l(x + self.last)


class Makes(nn.Module):
    """Makes its layers when it first runs: in itself, in a list, out of a lazy class, and one that it does not keep."""

    def __init__(self):
        super().__init__()
        self.first, self.blocks, self.own = nn.Linear(4, 4), nn.ModuleList(), [nn.Linear(4, 4, bias=False)]

    def forward(self, x):
        if not hasattr(self, "head"):
            self.head, self.lazy = nn.Linear(4, 8), nn.LazyLinear(3)
            self.blocks.append(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
        x = nn.Tanh()(self.blocks[0](self.own[0](self.first(x))))
        return self.lazy(nn.Linear(8, 8, bias=False)(self.head(x)))


def made_in_forward():
    rows = [("first", 20), ("blocks.0.0", 20), ("blocks.0.1", 0), ("head", 40), ("lazy", 27)]
    for real in (False, True):
        for backward in (False, True):
            model = Makes()
            before, state = sorted(vars(model)), torch.get_rng_state()
            made = _model.collect(model, (torch.ones(2, 4),), real=real, backward=backward)
            forward = made.totals()["macs"] - made.totals()["backward_macs"]
            what = "layers that a forward makes, real=%s, backward=%s: " % (real, backward)
            say(what + "counted", (forward, [(r["name"], r["params"]) for r in made.rows() if r["name"]]), (2 * (16 + 16 + 16 + 32 + 64 + 24), rows))
            say(what + "where", made.facts["ran_on"], "real tensors" if real else "meta")
            say(what + "told", [("blocks.0, head, lazy" in n, "does not hold: Linear" in n) for n in made.notes], [(True, False), (False, True)])
            say(what + "gone", (sorted(vars(model)), list(model._modules), len(model.blocks), torch.equal(state, torch.get_rng_state())),
                (before, ["first", "blocks"], 0, True))
            _model.measure(model, (torch.ones(2, 4),), into=made, backward=backward, warmup=1, repeats=2)
            say(what + "timed", (all(one["within"]["time_ns"] > 0 for one in made.layers() if one["called"]), len(model.blocks)), (True, 0))
            say(what + "it runs", model(torch.ones(2, 4)).device.type, "cpu")
    replaced()
    lazy_inside()
    looked_for_once()
    late = module(lambda self, x: setattr(self, "w", nn.Parameter(torch.ones(4))) or x * self.w)
    made = _model.collect(late, (torch.ones(2, 4),))
    say("a parameter that comes too late", ([n.split(";")[0] for n in made.notes], list(late._parameters)), (["the forward itself made parameters: w"], []))


def replaced():
    """A layer in the place of another is that layer, and its parameters are counted once."""
    def same(self, x):
        self.head = nn.Linear(4, 2)
        return self.head(x)

    def several(self, x):
        self.head = nn.Sequential(nn.Linear(4, 2), nn.ReLU())
        return self.head(x)

    def again(self, x):
        for _ in range(3):
            self.more = nn.Linear(4, 4)
            x = self.more(x)
        return self.head(x)

    for forward, rows in ((same, [("head", 10, 16)]), (several, [("head", 10, 0), ("head.0", 0, 16), ("head.1", 0, 0)]), (again, [("more", 20, 96), ("head", 10, 16)])):
        for real in (False, True):
            model = module(forward, head=nn.Linear(4, 2))
            was = model.head
            made = _model.collect(model, (torch.ones(2, 4),), real=real)
            say("a layer in the place of another, %s, real=%s" % (forward.__name__, real), [(r["name"], r["params"], r["macs"]) for r in made.rows()], rows)
            say("it is told, and put back", (any("replaced layers" in n for n in made.notes), model.head is was, list(model._modules)), (True, True, ["head"]))


def lazy_inside():
    """Lazy layers in a block that a forward makes, and one whose input comes by name."""
    def block(self, x):
        self.block = nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.Sequential(nn.LazyLinear(2)))
        return self.block(x)

    def by_name(self, x):
        self.lazy = nn.LazyLinear(3)
        return self.lazy(input=x)

    for forward, rows in ((block, [("block.0", 15, 24), ("block.1", 0, 0), ("block.2.0", 8, 12)]), (by_name, [("lazy", 15, 24)])):
        for real in (False, True):
            model = module(forward)
            made = _model.collect(model, (torch.ones(2, 4),), real=real, backward=True)
            say("lazy ones, %s, real=%s" % (forward.__name__, real), [(r["name"], r["params"], r["macs"] - r["backward_macs"]) for r in made.rows()], rows)
            say("where they ran, and gone", (made.facts["ran_on"], list(model._modules)), ("real tensors" if real else "meta", []))
    long = "Schicht" + 40 * "\u00e4"
    made = _model.collect(module(lambda self, x: (self.add_module(long, nn.Linear(4, 4)), getattr(self, long)(x))[1]), (torch.ones(2, 4),))
    say("a long name ends in a whole letter", made.notes, ["the forward itself made layers: Schicht%s; they are counted, and sonde removed them again" % (28 * "\u00e4")])
    try:
        _model.measure(nn.LazyLinear(4), (torch.ones(2, 4),), warmup=1, repeats=2)
    except _model.ModelError as why:
        say("a lazy model is not timed", "call it once" in str(why), True)


def looked_for_once():
    """The model is not searched anew for each call of a module that it does not hold."""
    asked = []

    class Tells(nn.Identity):
        def __getattribute__(self, name):
            if name == "_modules":
                asked.append(name)
            return super().__getattribute__(name)

    for own in (nn.ReLU(), nn.Linear(4, 4)):
        found = []
        for times in (1, 20):
            def forward(self, x):
                for _ in range(times):
                    x = self.own[0](x)
                return x

            model = module(forward, tells=Tells())
            model.own = [own]
            asked.clear()
            _model.collect(model, (torch.ones(2, 4),))
            found.append(len(asked))
        say("%s, looked for once" % type(own).__name__, found[0], found[1])


def weights():
    made_in_forward()
    """Parameters are counted once, and what is not registered is put back, too."""
    from sonde import model as sm

    def params(model, *inputs):
        return sm.profile_params(model), _model.collect(model, inputs).totals()["params"]

    whole = torch.ones(8, 4)
    views = module(lambda self, x: x @ self.whole.T, part=whole[:4], whole=whole)
    say("a view of another", params(views, torch.ones(1, 4)), (48, 48))
    tied = module(lambda self, x: x @ self.a.T @ self.b, a=whole, b=whole)
    say("the same data under two names", params(tied, torch.ones(1, 4)), (32, 32))
    hidden = Unregistered()
    say("a module in a list", macs(hidden, (torch.ones(2, 4),)), 32)
    say("is as it was", (hidden.inner[0].last, hidden.inner[0].l.weight.is_meta, tuple(hidden(torch.ones(2, 4)).shape)), (None, False, (2, 4)))
    tiny = module(lambda self, x: x + 1, small=1)
    for name in ("float8_e8m0fnu", "float4_e2m1fn_x2", "float8_e4m3fn"):
        if hasattr(torch, name):
            tiny.register_buffer(name, torch.zeros(16, dtype=torch.uint8).view(getattr(torch, name)))
    say("bytes of small floats", {t["bytes"] for t in _model.collect(tiny, (torch.ones(2),)).tensors()}, {16})
    say("no rows at all", len(sm.ProfilerReport(sm.Profiler(module(lambda self, x: x + 1, unused=nn.Identity()), (3,)).profile()).rows()), 0)
    copied = copy.copy(sm.Profiler(nn.Linear(2, 2), (2,), runtime=False).profile()[0])
    say("a copy of a node", copied.params, 6)
    say("a single number", macs(module(lambda self, x: x * 2), *_model.inputs_of(nn.Linear(1, 1), input_shape=())), 0)


def shapes():
    """What layers were called with, also by keyword; tensors that the run makes."""
    keyword = module(lambda self, x: self.l(input=x), l=nn.Linear(8, 4))
    made = _model.collect(nn.Sequential(keyword), (torch.ones(2, 8),))
    layers = {one["name"]: one for one in made.layers()}
    say("by keyword", [shape for shape, _ in layers["0.l"]["inputs"]], [(2, 8)])
    made = _model.collect(nn.Linear(8, 4), (), {"input": torch.ones(2, 8)})
    say("the model itself", [shape for shape, _ in made.layers()[0]["inputs"]], [(2, 8)])
    seen = []

    def large(self, x):
        seen.extend(t.device.type for t in (torch.arange(1 << 21), torch.eye(2000), torch.linspace(0, 1, 1 << 21), torch.arange(4), torch.eye(3)))
        return x

    _model.collect(module(large), (torch.ones(1),))
    say("large ones have no data", seen, ["meta", "meta", "meta", "cpu", "cpu"])

    def reshaped(self, x):
        own = torch.arange(4.0)
        first = x + own
        own.unsqueeze_(1)
        return first + (x + own)

    made = _model.collect(module(reshaped), (torch.ones(4),))
    say("one that gets another shape", [shape for shape, _ in made.layers()[0]["outputs"]], [(4, 4)])


def refusals(refused):
    """What torch refuses with data it may take without: then it is not counted either."""
    def of(function):
        return lambda: module(lambda self, *x: function(*x))

    long, half, double, truth, complex64 = torch.int64, torch.float16, torch.float64, torch.bool, torch.complex64
    x, plane, batch = torch.ones(2, 3), torch.ones(2, 4, 8, 8), torch.ones(5, 2, 8)
    bad = [("Linear of %s" % d, lambda: nn.Linear(3, 2), x.to(d)) for d in (long, half, double, truth, complex64)]
    bad += [("LSTM of float64", lambda: nn.LSTM(8, 3), batch.double()), ("attention of int64", lambda: nn.TransformerEncoderLayer(8, 2, 16), batch.to(long)),
            ("Linear, wrong features", lambda: nn.Linear(4, 2), x), ("Embedding of floats", lambda: nn.Embedding(5, 4), x),
            ("transposed, wrong channels", lambda: nn.ConvTranspose2d(3, 4, 3), plane), ("transposed of int64", lambda: nn.ConvTranspose2d(4, 4, 3), plane.to(long)),
            ("conv, wrong channels", lambda: nn.Conv2d(3, 4, 3), plane), ("conv of float64", lambda: nn.Conv2d(4, 4, 3), plane.double()),
            ("conv, too small", lambda: nn.Conv2d(4, 4, 9), plane), ("conv of one axis less", lambda: nn.Conv3d(4, 4, 3), torch.ones(4, 8, 8)),
            ("a bias too long", of(lambda x, w, b: nn.functional.conv2d(x, w, b)), plane, torch.ones(6, 4, 3, 3), torch.ones(1)),
            ("a bias of Linear too long", of(nn.functional.linear), x, torch.ones(1, 3), torch.ones(3)),
            ("one value per channel in training", lambda: nn.BatchNorm2d(4), torch.ones(1, 4, 1, 1))]
    bad += [("%s of %s" % (type(norm()).__name__, d), norm, plane.to(d)) for d in (double, complex64)
            for norm in (lambda: nn.LayerNorm(8), lambda: nn.BatchNorm2d(4), lambda: nn.GroupNorm(2, 4), lambda: nn.InstanceNorm2d(4, affine=True))]
    bad += [("statistics too short", of(lambda x, m, v: nn.functional.batch_norm(x, m, v)), plane, torch.ones(3), torch.ones(3)),
            ("a bias of a norm too short", of(lambda x, w, b: nn.functional.layer_norm(x, (8,), w, b)), plane, torch.ones(8), torch.ones(4)),
            ("a reshape that does not fit", of(lambda x: x.reshape(4, -1)), x), ("a sum that does not fit", of(lambda x, y: x + y), x, torch.ones(2, 4)),
            ("cat that does not fit", of(lambda x, y: torch.cat([x, y], 0)), x, torch.ones(2, 4)), ("no such axis", of(lambda x: x.softmax(5)), x),
            ("no such axis to roll", of(lambda x: x.roll(1, 5)), x), ("a vector has no triangle", of(torch.tril), torch.ones(3)),
            ("choice by floats", of(torch.where), x, x, x), ("products of two dtypes", of(torch.matmul), x, torch.ones(3, dtype=double)),
            ("in place, another kind", of(lambda x, y: x.mul_(y)), x.to(long), x), ("quotient into whole numbers", of(lambda x: x.div_(2)), x.to(long)),
            ("difference of truths", of(torch.sub), x, x > 0), ("bits of floats", of(torch.bitwise_and), x, x), ("order of complex", of(torch.lt), x.to(complex64), x),
            ("a whole number of times a half", of(lambda x: torch.add(x, x, alpha=0.5)), x.to(long)), ("gelu of whole numbers", of(nn.functional.gelu), x.to(long)),
            ("an index that is no vector", of(lambda x, i: x.index_select(0, i)), x, torch.ones(2, 2, dtype=long)),
            ("bicubic of whole numbers", of(lambda x: nn.functional.interpolate(x, scale_factor=2, mode="bicubic")), plane.to(long)), ("one less a truth", of(lambda x: 1 - x), x > 0),
            ("a truth less", of(lambda x: x - True), x), ("truths less, in place", of(lambda x: x.sub_(x)), x > 0),
            ("a number half as often", of(lambda x: torch.add(x, 1, alpha=1.5)), x.to(long)), ("a truth as factor", of(lambda x: torch.add(x, 1, alpha=True)), x),
            ("order of complex ones", of(lambda x: x.sort(1)[0]), x.to(complex64)), ("a loss of whole numbers", of(nn.functional.binary_cross_entropy), x.to(long), x.to(long)),
            ("means of small numbers", of(lambda x: nn.functional.avg_pool2d(x, 2)), plane.to(torch.int32)),
            ("windows that skip nothing", of(lambda x: nn.functional.max_pool2d(x, 2, dilation=0)), plane)]
    for what, make, *inputs in bad:
        answers = []
        for device in ("cpu", "meta"):
            with torch.device(device):
                model = make().train()
            text = refused(model, [t.to(device) for t in inputs])
            answers.append("could not be run" in text or text)
        say(what, answers, [True, True])
    taken(of, x, plane)


def taken(of, x, plane):
    """What torch takes with data is counted without."""
    convolves, functional = of(lambda x, w: nn.functional.conv2d(x, w)), nn.functional
    good = [("conv of %s" % d, convolves, 5 * 4 * 9 * 36, plane.to(d), torch.ones(5, 4, 3, 3).to(d)) for d in (torch.uint8, torch.int8, torch.int64)]
    good += [("silu of complex", of(functional.silu), 0, x.to(torch.complex64)), ("means in planes of int64", of(lambda x: functional.avg_pool2d(x, 2)), 0, plane.to(torch.int64)),
             ("means of int64", of(lambda x: functional.avg_pool3d(x, 2)), 0, plane.to(torch.int64)), ("a truth more", of(lambda x: x + True), 0, x),
             ("twice as often", of(lambda x: torch.add(x, 1, alpha=2)), 0, x.to(torch.int64)), ("nearest of bytes", of(lambda x: functional.interpolate(x, scale_factor=2)), 0, plane.to(torch.uint8))]
    for what, make, wanted, *inputs in good:
        make()(*[t.clone() for t in inputs])
        answers = [_model.collect(make(), [t.to(device) for t in inputs]) for device in ("cpu", "meta")]
        batch = inputs[0].shape[0] if wanted else 1
        say(what, [(m.totals()["macs"], m.facts["ran_on"]) for m in answers], [(wanted * batch, "meta")] * 2)
    doubted = module(lambda self, x: self.l(x) if x.dtype.is_floating_point else self.l(x.float()), l=nn.Linear(3, 2))
    say("nothing is doubted without need", _model.collect(doubted, (x.to(torch.int64),)).notes, [])


def errors():
    def refused(*args, **kwargs):
        try:
            _model.collect(*args, **kwargs)
        except _model.ModelError as why:
            text = str(why)
            return text if "\n" not in text else "more than one line"
        return "nothing was raised"

    def holds(what, text, *words):
        say(what, [w for w in words if w not in text] or text.count("\n"), 0)

    holds("not a model", refused(3), "torch.nn.Module", "int")
    holds("a class", refused(nn.Linear), "Linear()")
    holds("wrong shape", refused(nn.Sequential(nn.Conv2d(3, 8, 3)), (torch.zeros(1, 5, 9, 9),)), "in 0 (Conv2d)", "input_shape=", "(1, 5, 9, 9)")
    holds("two inputs", refused(nn.Bilinear(2, 2, 2), (torch.zeros(1, 2),)), "input2", "inputs=")
    holds("lazy", refused(nn.LazyLinear(4), (torch.zeros(1, 2),)), "call it once")
    holds("nothing to go backward from", refused(module(lambda self, x: x + 1), (torch.zeros(2),), backward=True), "backward")
    refusals(refused)
    model = module(lambda self, x: self.l(x) if x.sum() > 0 else self.l(self.l(x)), l=nn.Linear(4, 4))
    made = _model.collect(model, (torch.ones(1, 4),))
    say("data decides", (made.totals()["macs"], made.facts["ran_on"]), (16, "real tensors"))
    args, kwargs = _model.inputs_of(nn.Conv2d(3, 8, 3).half(), input_shape=(3, 9, 9))
    say("dtype of the input", (args[0].dtype, tuple(args[0].shape), kwargs), (torch.float16, (1, 3, 9, 9), {}))
    args, kwargs = _model.inputs_of(nn.Bilinear(2, 3, 2), input_shape=[(2,), (3,)])
    say("two shapes", [tuple(a.shape) for a in args], [(1, 2), (1, 3)])
    args, kwargs = _model.inputs_of(nn.Linear(2, 2), inputs={"input": torch.zeros(1, 2)})
    say("by name", macs(nn.Linear(2, 2), args, kwargs), 4)


def times_of_encoders():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2).eval()
    with torch.no_grad():
        made = _model.collect(encoder, (torch.zeros(2, 4, 16),))
        _model.measure(encoder, (torch.zeros(2, 4, 16),), into=made, warmup=1, repeats=3)
    rows = {one["name"]: one["time_ns"] for one in made.rows()}
    say("layers that torch runs as one", (rows["layers.0"] > 0, rows["layers.1"] > 0, rows["layers.0.linear1"], [n for n in made.notes if "by themselves" in n] != []), (True, True, None, True))
    say("and their sum is the whole", sum(t or 0 for t in rows.values()) <= made.layers()[0]["within"]["time_ns"] > 0, True)


def times():
    times_of_encoders()
    model = nn.Sequential(nn.Linear(64, 64), nn.Sequential(nn.Linear(64, 64), nn.ReLU(inplace=True)), nn.Linear(64, 64))
    model[1][0] = nn.Sequential(*[nn.Linear(64, 1024), nn.Linear(1024, 1024), nn.Linear(1024, 64)])
    x = torch.zeros(64, 64)
    made = _model.collect(model, (x,))
    took = _model.measure(model, (x,), into=made, backward=True, warmup=2, repeats=5)
    layers = {one["name"]: one for one in made.layers()}
    within = {name: (one["within"]["time_ns"], one["within"]["backward_ns"]) for name, one in layers.items()}
    say("all is timed", all(t > 0 and b > 0 for name, (t, b) in within.items() if layers[name]["called"]), True)
    say("most of it is in the large layer", within["1"][0] > within["0"][0] and within["1"][1] > within["0"][1], True)
    own = sum(one["own"]["time_ns"] for one in layers.values())
    say("own times add up to the whole", own, layers[""]["within"]["time_ns"])
    say("the whole, with hooks and without", 0.1 < took["forward_ns"] / within[""][0] < 10, True)
    say("facts", (made.facts["forward_ns"], made.facts["repeats"], bool(made.facts.get("cpu"))), (str(took["forward_ns"]), "5", True))
    say("no gradient is left", {p.grad for p in model.parameters()}, {None})
    told = []
    asks = module(lambda self, x: (told.append(torch.is_grad_enabled()), self.l(x))[1], l=nn.Linear(64, 64))
    for around, backward, wanted in ((torch.enable_grad, False, True), (torch.no_grad, False, False), (torch.no_grad, True, True),
                                     (torch.inference_mode, False, False), (torch.inference_mode, True, True)):
        told.clear()
        with around():
            counted = _model.collect(asks, (x,), backward=backward)
            took = _model.measure(asks, (x,), into=counted, backward=backward, warmup=1, repeats=2)
        say("gradients in %s, backward=%s" % (around.__name__, backward), (set(told), counted.facts["grad"], counted.facts["timed_grad"], took["timed_grad"]),
            ({wanted},) + ("on" if wanted else "off",) * 3)
    say("where it was timed", made.facts.get("cpu"), _sonde.processor())
    stamped(made, model, x)
    try:
        _model.measure(nn.Linear(2, 2, device="meta"), (torch.zeros(1, 2),), warmup=1, repeats=2)
    except _model.ModelError as why:
        say("no numbers to run with", "meta" in str(why), True)


class Ticks:
    """An event of a device whose clock goes on by a millisecond at each."""

    n = 0

    def __init__(self, torch, device):
        Ticks.n += 1
        self.at = Ticks.n

    def elapsed_time(self, other):
        return float(other.at - self.at)


def stamped(made, model, x):
    before, waits = (_model_modes.settle, _model_modes.event_on), []
    _model_modes.settle, _model_modes.event_on = lambda torch, device: waits.append(device.type), Ticks
    try:
        _model._time_layers(torch, model, (x,), {}, torch.device("cuda"), made, True, 3)
    finally:
        _model_modes.settle, _model_modes.event_on = before
    leaves = [r for r in made.layers() if r["called"] and r["name"] and not any(o["name"].startswith(r["name"] + ".") for o in made.layers())]
    say("a device's own clock at each border", {r["own"]["time_ns"] for r in leaves}, {1000000})
    say("waited for before a pass and behind each half", len(waits), 3 * 3)


def memory():
    mlp = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    for real in (False, True):
        made = _model.collect(mlp, (torch.zeros(32, 784),), memory=True, real=real)
        kept = {one["name"]: one["own"]["activation_bytes"] for one in made.layers()}
        # Linear keeps its input, ReLU its result, which is the input of the next.
        say("what the backward needs, real=%s" % real, [kept["0"] or 0, kept["1"] or 0, kept["2"] or 0], [32 * 784 * 4, 32 * 256 * 4, 0])
    for dtype in (torch.bfloat16, torch.float32):
        norm, kept = nn.Sequential(nn.LayerNorm(64)).to(dtype), []
        for real in (False, True):
            kept.append(_model.collect(norm, (torch.zeros(32, 64, dtype=dtype),), memory=True, real=real).totals()["activation_bytes"])
        say("what a layer norm of %s keeps, without data and with" % dtype, kept[:1], kept[1:])
    with torch.no_grad():
        made = _model.collect(mlp, (torch.zeros(32, 784),), memory=True)
    say("the peak of a forward: two neighbours at once", int(made.facts["peak_bytes"]), 2 * 32 * 256 * 4)
    alive = []
    for _ in range(3):
        _model.collect(mlp, (torch.zeros(32, 784),), memory=True)
        gc.collect()
        alive.append(sum(isinstance(o, (torch.Tensor, _model_modes.mode())) for o in gc.get_objects()))
    say("nothing stays alive", alive[1:], alive[:1] * 2)
    again = type(made).read(made.bytes())
    say("bytes and back", (again.totals(), again.rows(), again.facts), (made.totals(), made.rows(), made.facts))


def counting():
    model, x = nn.Sequential(nn.Linear(8, 4)), torch.zeros(2, 8)
    with _model.Counting() as c:
        (model(x) @ torch.ones(4, 3)).sum().backward()
    say("all that runs is counted", c.model.totals()["macs"], 64 + 24 + 24 + 64)
    say("layers have the names of their types", sorted(r["name"] for r in c.model.rows()), ["", "Sequential.0"])
    say("the gradient is the caller's", model[0].weight.grad is not None, True)
    with _model.Counting(model) as c:
        model(x)
    say("or their own", [r["name"] for r in c.model.rows()], ["0"])
    counted = Caches()
    with _model.Counting(counted) as c:
        counted(torch.ones(4, 8)).sum().backward()
        counted.eval()
    say("what the block did stays", (counted.training, len(counted.kept), float(counted.seen)), (False, 1, 1.0))
    say("whose the backward is", {r["name"]: r["backward_macs"] for r in c.model.rows() if r["backward_macs"]}, {"l": 256})
    from sonde.compat.flop_counter import FlopCounterMode
    from torch.utils.flop_counter import FlopCounterMode as Torchs

    net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.Flatten(), nn.Linear(8 * 7 * 7, 5))
    answers = []
    for mode in (FlopCounterMode, Torchs):
        with mode(display=False) as c:
            net(torch.ones(1, 3, 15, 15)).sum().backward()
        answers.append((c.get_total_flops(), {name: dict(ops) for name, ops in c.get_flop_counts().items() if ops}))
    say("FlopCounterMode", answers[0], answers[1])

    def formula(x, w, bias, stride, padding, dilation, transposed, *args, out_shape=None, **kwargs):
        return 1000 * stride[0] + out_shape[1]

    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.convolution: formula}) as c:
        net[0](torch.ones(1, 3, 15, 15))
    say("a formula of torch's kind", c.get_total_flops(), 2008)
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.convolution: lambda *args, **kwargs: 5}) as c:
        for _ in range(3):
            net[0](torch.ones(1, 3, 15, 15))
    try:
        with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.convolution: lambda *args, **kwargs: 2 ** 80}):
            net[0](torch.ones(1, 3, 15, 15))
        said = "nothing"
    except Exception as error:
        said = str(error)
    say("FLOPs of it that are too many", "the rule for aten::convolution gave a number that does not fit into 64 bits" in said, True)
    say("FLOPs of it that are odd", (c.get_total_flops(), c.get_flop_counts()["Global"]), (15, {torch.ops.aten.convolution: 15}))


def speed():
    """ViT-B/16 beside torch's own counter, in CPU time; the best of some."""
    from torch.utils.flop_counter import FlopCounterMode

    model, x, _, _ = torch_networks.build("vit_b_16")

    def torchs():
        with FlopCounterMode(display=False):
            model(x)

    def best(f):
        took = []
        for _ in range(4):
            begin = time.process_time()
            f()
            took.append(time.process_time() - begin)
        return min(took)

    ours, theirs = best(lambda: _model.collect(model, (x,))), best(torchs)
    print("ours %.4f s, torch's %.4f s" % (ours, theirs), file=sys.stderr)
    say("at least as fast", ours < theirs, True)


if __name__ == "__main__":
    gc.collect()
    for word in sys.argv[1:]:
        globals()[word]()
