# SPDX-License-Identifier: MIT
"""A count as a guest: graphs of others, signals, and classes that refuse; prints `ok` or what is wrong, line by line.

With a word it does one of: graphs signals interrupts refusals held fakes drawn room.
"""
import collections
import functools
import gc
import os
import random
import signal
import sys
import threading
import time
import types

import torch
from torch import nn

from model_cases import module, say
from sonde._torch import _gate, _model

torch.set_num_threads(1)


# ---- graphs that are not the model's


def teacher():
    return nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))


def is_untouched(other, ext):
    """No gradient came there, and the graph is still whole."""
    without = all(p.grad is None for p in other.parameters())
    ext.sum().backward()
    return without


def backward_ways(x):
    return (("counted", lambda m: _model.collect(m, (x,), backward=True)), ("really", lambda m: _model.collect(m, (x,), backward=True, real=True)),
            ("timed", lambda m: _model.measure(m, (x,), into=_model.collect(m, (x,)), backward=True, warmup=1, repeats=2)))


def graphs():
    x = torch.randn(4, 8)
    for name, way in backward_ways(x):
        other = teacher()
        ext = other(x)
        made = way(module(lambda self, x: (self.l(x) - ext).pow(2), l=nn.Linear(8, 8)))
        say("a teacher's output, " + name, is_untouched(other, ext), True)
        if name != "timed":
            say("its products are not counted, " + name, (made.totals()["macs"], made.totals()["backward_macs"]), (512, 256))
    student, held = module(lambda self, x: self.l(x) * self.cache + self.held[0], l=nn.Linear(8, 8)), teacher()
    student.cache, student.held = student.l.weight.exp().sum(), [held(x)]
    _model.collect(student, (x,), backward=True, real=True)
    say("what the model holds", (is_untouched(held, student.held[0]), student.cache.backward()), (True, None))
    leaf = torch.ones(8, requires_grad=True)
    for had in (None, torch.ones(8)):
        leaf.grad = had
        made = _model.collect(module(lambda self, x: self.l(x) * leaf, l=nn.Linear(8, 8)), (x,), backward=True, real=True)
        say("a tensor of nobody's", (leaf.grad is had, had is None or had.tolist() == [1.0] * 8, made.totals()["backward_macs"]), (True, True, 256))
    computed = nn.Linear(8, 8)(x)
    made = _model.collect(nn.Linear(8, 8), (computed,), backward=True, real=True)
    say("an input that was computed", made.totals()["backward_macs"], 512)
    graphs_of_threads(x)
    graphs_of_others(x)


class Product(torch.autograd.Function):
    """A node of Python's, which torch gives zeros where there is no gradient."""

    runs = 0

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, grad):
        Product.runs += 1
        a, b = ctx.saved_tensors
        return grad @ b.t(), a.t() @ grad


def marks_alive():
    gc.collect()
    return sum(type(o) is functools.partial and getattr(o.func, "__name__", "") == "mark" for o in gc.get_objects())


def graphs_of_others(x):
    """What is not the model's is neither run nor given anything."""
    for name, way in backward_ways(x):
        leaf = torch.ones(2, requires_grad=True)
        way(module(lambda self, x: {"y": self.l(x), "t": leaf}, l=nn.Linear(8, 8)))
        say("a leaf that the forward gives back, " + name, leaf.grad, None)
        a, b = torch.randn(4, 4, requires_grad=True), torch.randn(4, 8, requires_grad=True)
        ext = Product.apply(a, b)
        made = way(module(lambda self, x: self.l(x) + ext, l=nn.Linear(8, 8)))
        say("a function of Python's that ran before, " + name, (Product.runs, a.grad, b.grad), (0, None, None))
        if name != "timed":
            say("and what it costs, " + name, made.totals()["backward_macs"], 256)
        heard, leaf = [], torch.ones(8, requires_grad=True)
        leaf.register_post_accumulate_grad_hook(heard.append)
        way(module(lambda self, x: self.l(x) + leaf, l=nn.Linear(8, 8)))
        say("hooks of a leaf, " + name, (heard, leaf.grad, len(leaf._post_accumulate_grad_hooks)), ([], None, 1))
    ext, deep = nn.Linear(8, 8)(x), nn.Sequential(*[nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(10)])
    wide = torch.randn(512, 8)
    peaks = [int(_model.collect(module(call, m=deep), (wide,), backward=True).facts["peak_bytes"])
             for call in (lambda self, x: self.m(x), lambda self, x: self.m(x) + ext[0])]
    say("the peak with a few numbers more", peaks[1] - peaks[0] < 4096, True)
    way(module(lambda self, x: self.l(ext) + x, l=nn.Linear(8, 8)))
    say("nothing stays on a graph that was timed", marks_alive(), 0)
    stepped, own = [], nn.Linear(8, 8)
    own.weight.register_post_accumulate_grad_hook(stepped.append)
    made = _model.collect(own, (x,), backward=True, real=True)
    say("an optimizer behind a gradient", (stepped, [note for note in made.notes if "did not run" in note] != []), ([], True))
    own(x).sum().backward()
    say("runs afterwards", len(stepped), 1)
    say("a checkpoint of the older kind", [refusal(checkpointed(ext)), refusal(checkpointed(None))], ["use_reentrant=False", None])


def checkpointed(ext):
    from torch.utils.checkpoint import checkpoint

    first = torch.ones(1, requires_grad=True)  # its inputs are to require a gradient
    return module(lambda self, x: checkpoint(self.l, x * first, use_reentrant=True) + (0 if ext is None else ext), l=nn.Linear(8, 8))


def refusal(model):
    """The way out that is told; None: it is counted."""
    try:
        _model.collect(model, (torch.randn(4, 8),), backward=True)
    except _model.ModelError as why:
        return str(why).split("or set ")[-1].split(" ")[0]


def in_thread(call):
    """What it gives, computed in a thread of its own, whose nodes have numbers of their own."""
    given = []
    there = threading.Thread(target=lambda: given.append(call()))
    there.start()
    there.join()
    return given[0]


def much(other, x):
    """Behind so many nodes that its numbers are higher than any of the main thread."""
    with torch.enable_grad():
        one = torch.ones(1, requires_grad=True)
        for _ in range(torch.autograd._get_sequence_nr() + 100000):
            one + 1
        return other(x)


def graphs_of_threads(x):
    for name, compute in (("low", lambda other: other(x)), ("high", lambda other: much(other, x))):
        other = teacher()
        ext = in_thread(lambda: compute(other))
        made = _model.collect(module(lambda self, x: (self.l(x) - ext).pow(2), l=nn.Linear(8, 8)), (x,), backward=True, real=True)
        say("another thread's output, {0} numbers".format(name), (is_untouched(other, ext), made.totals()["backward_macs"]), (True, 256))
    made = _model.collect(module(lambda self, x: (lambda h: in_thread(lambda: self.b(h)))(self.a(x)), a=nn.Linear(8, 8), b=nn.Linear(8, 8)), (x,),
                          backward=True, real=True)
    say("what the forward computes in a thread is gone back through", made.totals()["backward_macs"], 768)


# ---- signals


def signals():
    """When a handler runs, and that it is the user's again."""
    heard = []

    def own(number, frame):
        heard.append(number)

    was = signal.signal(signal.SIGINT, own)
    try:
        with _gate.held():
            signal.raise_signal(signal.SIGINT)
            say("closed", heard, [])
            with _gate.opened():
                signal.raise_signal(signal.SIGINT)
                say("open", len(heard), 1)
                with _gate.held():
                    signal.raise_signal(signal.SIGINT)
                    say("a count within a count, closed", len(heard), 1)
                say("over", len(heard), 2)
            with _gate.held(), _gate.opened():
                signal.raise_signal(signal.SIGINT)
                say("open in both, behind the first", len(heard), 4)
        say("what had to wait has come", (len(heard), signal.getsignal(signal.SIGINT) is own), (4, True))

        def sets(self, x):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            return self.l(x)

        _model.collect(module(sets, l=nn.Linear(2, 2)), (torch.ones(1, 2),))
        say("a handler that the forward sets", signal.getsignal(signal.SIGINT), signal.SIG_IGN)
        signal.signal(signal.SIGINT, own)
        there = threading.Thread(target=lambda: _model.collect(nn.Linear(2, 2), (torch.ones(1, 2),)))
        there.start()
        there.join()
        say("in another thread", signal.getsignal(signal.SIGINT) is own, True)
    finally:
        signal.signal(signal.SIGINT, was)
    raising()
    twice()
    contexts()
    at_the_end()
    handlers()


def raising():
    """An exception of a handler comes out as it is, and soon: no second way is tried, and nobody takes it for the model's."""
    class Late(Exception):
        pass

    def own(number, frame):
        raise Late

    runs = []

    def forward(self, x):
        runs.append(x.device.type)
        signal.raise_signal(signal.SIGALRM)
        return self.l(x)

    was = signal.signal(signal.SIGALRM, own)
    try:
        for kind, wrap, wanted in (("as it is", lambda call: call(), "Late"), ("made another", remade, "Late"), ("caught", caught, "nothing")):
            model = module(lambda self, x: wrap(lambda: forward(self, x)), l=nn.Linear(2, 2))
            for name, way, where in (("counted", _model.collect, "meta"), ("timed", lambda *given: _model.measure(*given, warmup=0, repeats=1), "cpu")):
                came = "nothing"
                try:
                    way(model, (torch.ones(1, 2),))
                except Late:
                    came = "Late"
                say("raised in a forward, {0}, {1}".format(kind, name), (came, runs), (wanted, [where]))
                runs.clear()
    finally:
        signal.signal(signal.SIGALRM, was)


def remade(call):
    try:
        return call()
    except Exception as why:
        raise ValueError("of the model") from why


def caught(call):
    try:
        return call()
    except Exception:
        return torch.ones(1)


def twice():
    """A forward that catches what a handler raises hears the next one, too; what comes in a second pass is heard."""
    caught_by_forward = []

    def forward(self, x):
        for _ in range(2):
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                caught_by_forward.append(1)
        return self.l(x)

    _model.collect(module(forward, l=nn.Linear(2, 2)), (torch.ones(1, 2),))
    say("two that the forward catches", len(caught_by_forward), 2)

    class Late(Exception):
        pass

    def own(number, frame):
        raise Late

    def in_pass(which):
        passes = []

        def forward(self, x):
            passes.append(x)
            if len(passes) == which:
                signal.raise_signal(signal.SIGALRM)
            return self.l(x)

        return module(forward, l=nn.Linear(2, 2))

    was = signal.signal(signal.SIGALRM, own)
    try:
        for name, model in (("with twice the batch", in_pass(2)), ("on meta", in_pass(1).to("meta"))):
            came = "nothing"
            try:
                _model.collect(model, (torch.ones(1, 2, device=model.l.weight.device),), memory=True)
            except Late:
                came = "Late"
            say("raised " + name, came, "Late")
    finally:
        signal.signal(signal.SIGALRM, was)


IN_TORCH = """
class Context:
    def __init__(self, raises, heard):
        self.raises, self.heard, self.told = raises, heard, []
    def __enter__(self):
        self.raises()
        self.told.append(len(self.heard))
    def __exit__(self, *why):
        self.inner()
        self.told.append(len(self.heard))
    def inner(self):
        self.raises()
"""


def contexts():
    """A context of torch's is entered and left as a whole."""
    heard, space = [], {"__name__": "torch.made_up"}
    exec(IN_TORCH, space)
    context = space["Context"](functools.partial(signal.raise_signal, signal.SIGALRM), heard)
    was = signal.signal(signal.SIGALRM, lambda number, frame: heard.append(number))
    try:
        with _gate.held(), _gate.opened():
            with context:
                pass
        say("signals in contexts of torch's", (context.told, len(heard)), ([0, 0], 2))
    finally:
        signal.signal(signal.SIGALRM, was)


def at_the_end():
    """One that comes, and raises, as soon as its handler is back."""
    def own(number, frame):
        raise ValueError

    was, real = signal.signal(signal.SIGALRM, own), signal.signal

    def late(number, handler):
        before = real(number, handler)
        if handler is own:
            signal.raise_signal(signal.SIGALRM)
        return before

    before = signal.getsignal(signal.SIGINT)
    try:
        with _gate.held():
            signal.signal = late
    except ValueError:
        pass
    finally:
        signal.signal = real
    say("handlers of all signals are back", (signal.getsignal(signal.SIGINT) is before, signal.getsignal(signal.SIGALRM) is own), (True, True))
    signal.signal(signal.SIGALRM, was)


def handlers():
    """Each handler that had to wait runs, whatever another raises; what somebody keeps of ours is his own handler."""
    heard = []

    def raises(number, frame):
        heard.append(number)
        raise ValueError(number)

    was = [(number, signal.signal(number, raises)) for number in (signal.SIGINT, signal.SIGALRM)]
    try:
        with _gate.held():
            signal.raise_signal(signal.SIGALRM)
            signal.raise_signal(signal.SIGINT)
    except ValueError:
        say("two had to wait", heard, [signal.SIGALRM, signal.SIGINT])
    finally:
        for number, own in was:
            signal.signal(number, own)
    was = signal.signal(signal.SIGALRM, lambda number, frame: heard.append("own"))
    try:
        with _gate.held():
            kept = signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, kept)
        signal.raise_signal(signal.SIGALRM)
        say("put back behind the end", heard[-1], "own")
        signal.signal(signal.SIGALRM, lambda number, frame: None)
        say("in a child of another thread", forked(), "own")
    finally:
        signal.signal(signal.SIGALRM, was)


def forked():
    """What the handler of a child says that another thread makes while a model is counted."""
    reads, writes = os.pipe()

    def fork():
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, tells(signal.getsignal(signal.SIGALRM), writes))
            signal.raise_signal(signal.SIGALRM)
            os._exit(0)
        os.waitpid(child, 0)

    def tells(own, to):
        return lambda number, frame: os.write(to, b"ours" if getattr(own, "__self__", None) is not None else b"own")

    with _gate.held():
        in_thread(fork)
    os.close(writes)
    with os.fdopen(reads) as told:
        return told.read()


class Interrupted(nn.Module):
    def __init__(self, reads):
        super().__init__()
        self.m = nn.Sequential(*[nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout()) for _ in range(12)])
        self.reads, self.n = reads, 0

    def forward(self, x):
        self.n += 1
        y = self.m(x)
        return y if not self.reads or y.sum().item() > -1e9 else -y


def left_behind(model, before):
    """What an interrupted count has left of itself."""
    found = [torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack(), sys.getrecursionlimit() - before["limit"], model.n]
    if any(found) or not torch.is_grad_enabled() or {id(p) for p in model.parameters()} != before["ids"]:
        return "modes, limit, or what the model holds: %s" % found
    if any(not torch.equal(value, before["state"][name]) for name, value in model.state_dict().items()):
        return "numbers of the model"
    return "" if torch.equal(torch.get_rng_state(), before["drawn"]) else "random state"


def least_time(call):
    """Of five, after a first: what others took of the CPU in one of them says nothing of the next."""
    times = []
    for _ in range(6):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times[1:])


def interrupts():
    """Ctrl-C at any moment: a KeyboardInterrupt, or none where it came too late, and nothing else."""
    x = torch.randn(4, 8)
    for name, reads, way in (("counted", False, lambda m: _model.collect(m, (x,))), ("with memory", False, lambda m: _model.collect(m, (x,), memory=True)),
                             ("really", True, lambda m: _model.collect(m, (x,), backward=True)),
                             ("timed", False, lambda m: _model.measure(m, (x,), into=_model.collect(m, (x,)), backward=True, warmup=1, repeats=2))):
        model = Interrupted(reads)
        took, told = least_time(lambda: way(model)), collections.Counter()
        before = {"limit": sys.getrecursionlimit(), "ids": {id(p) for p in model.parameters()}, "drawn": torch.get_rng_state(),
                  "state": {key: value.clone() for key, value in model.state_dict().items()}}
        was = signal.signal(signal.SIGALRM, signal.default_int_handler)
        for _ in range(100):
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, random.random() * took + 1e-6)
                    way(model)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                told["interrupted"] += 1
            except Exception as why:
                told[repr(why)] += 1
            told[left_behind(model, before)] += 1
        signal.signal(signal.SIGALRM, was)
        say("interrupted, " + name, sorted(set(told) - {"", "interrupted"}), [])
        say("some were, " + name, told["interrupted"] > 10, True)


# ---- what refuses


class Frozen(dict):
    """It was filled by its class, and takes nothing more."""

    def __setitem__(self, key, value):
        raise TypeError("frozen")


class Told(dict):
    """It tells of other things than it has."""

    def __iter__(self):
        return iter(())

    def keys(self):
        raise TypeError("no keys")

    items = values = __len__ = keys


def refusals():
    told = Told(a=torch.ones(4))
    model = module(lambda self, x: self.l(x) * dict.__getitem__(self.told, "a"), l=nn.Linear(4, 4), told=told)
    for real in (False, True):
        _model.collect(model, (torch.ones(1, 4),), real=real)
        say("a dict that tells of nothing", (dict.__len__(told), dict.__getitem__(told, "a").device.type), (1, "cpu"))
    table = Frozen(a=torch.ones(4), b=torch.zeros(4))
    model = module(lambda self, x: self.l(x) * self.table["a"], l=nn.Linear(4, 4), table=table)
    _model.collect(model, (torch.ones(1, 4),))
    say("a dict that refuses", (table["a"].device.type, list(table)), ("cpu", ["a", "b"]))
    ordered = collections.OrderedDict([("a", torch.ones(4)), ("b", torch.zeros(4)), ("c", torch.ones(4))])
    ordered.move_to_end("a")

    def moves(self, x):
        self.table.move_to_end("b")
        self.table.pop("c")
        self._modules["l"] = self._modules.pop("l")
        return self.l(x) * self.table["a"]

    model = module(moves, l=nn.Linear(4, 4), other=nn.Linear(4, 2), table=ordered)
    for real in (False, True):
        _model.collect(model, (torch.ones(1, 4),), real=real)
        say("the order of what it holds", (list(ordered), [name for name, _ in model.named_children()], {t.device.type for t in ordered.values()}),
            (["b", "c", "a"], ["l", "other"], {"cpu"}))
    lstm = module(lambda self, x: tried(lambda: self.lstm(x)[0], lambda: self.l(x)), lstm=nn.LSTM(8, 8), l=nn.Linear(8, 8))
    x = torch.randn(4, 2, 8)
    say("a forward that catches what we refuse", [_model.collect(lstm, (x,), memory=memory).totals()["macs"] for memory in (False, True)], [4096, 4096])

    def casts(self, x):
        with torch.autocast("cpu"):
            return self.l(x)

    cast = module(lambda self, x: tried(lambda: casts(self, x), lambda: x), l=nn.Linear(8, 8))
    say("and under autocast", [_model.collect(cast, (x,), memory=memory).totals()["macs"] for memory in (False, True)], [512, 512])


# ---- what a module holds


class Listed(list):
    """A list of a class of its own, which tells nothing of itself."""

    def __len__(self):
        raise TypeError("no length")


class Plain:
    pass


class Slotted:
    __slots__ = ("v",)


class Unnamed:
    def __repr__(self):
        raise TypeError("no name")


def objects():
    """{name: (what a module holds, how its forward puts a tensor into it, what is there)}"""
    plain, around, slotted = Plain(), Plain(), Slotted()
    plain.table, around.inner, slotted.v = {}, plain, None
    return {"a list in a tuple": (([],), lambda o, t: o[0].append(t), lambda o: o[0]),
            "a dict in a tuple": ({"a": ({},)}, lambda o, t: o["a"][0].update(k=t), lambda o: list(o["a"][0])),
            "a class of lists": (Listed(), lambda o, t: o.append(t), lambda o: list.__len__(o) * [0]),
            "lists in lists": ([[[[[[]]]]]], lambda o, t: o[0][0][0][0][0].append(t), lambda o: o[0][0][0][0][0]),
            "a deque": (collections.deque(maxlen=2), lambda o, t: o.append(t), list),
            "a namespace": (types.SimpleNamespace(), lambda o, t: vars(o).update(k=t), lambda o: list(vars(o))),
            "an object": (Plain(), lambda o, t: vars(o).update(k=(t, [t])), lambda o: list(vars(o))),
            "a deque in an object": (types.SimpleNamespace(q=collections.deque()), lambda o, t: o.q.append(t), lambda o: list(o.q)),
            "an object in one": (around, lambda o, t: o.inner.table.update(k=t), lambda o: list(o.inner.table)),
            "slots of an object": (slotted, lambda o, t: setattr(o, "v", t), lambda o: [] if o.v is None else [o.v])}


class Steps(nn.Module):
    """Reaches its parameters past itself."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.optimizer = torch.optim.SGD(self.a.parameters(), 0.1)

    def forward(self, x):
        self.optimizer.zero_grad()
        return self.a(x)


def filled():
    """A cache in an object is as it was after real passes, too, with all that it counts."""
    def forward(self, x):
        x.sum().item()
        y = self.l(x)
        self.cache.inner.all.append(y.detach())
        self.cache.n += 1
        return y + sum(self.cache.inner.all)

    model = module(forward, l=nn.Linear(4, 4), cache=Plain())
    model.cache.inner, model.cache.n, model.cache.inner.all = Plain(), 0, []
    x = torch.ones(3, 4)
    model(x)
    for name, way in (("counted", lambda: _model.collect(model, (x,), memory=True)), ("timed", lambda: _model.measure(model, (x,), warmup=1, repeats=2))):
        way()
        say("a cache in an object, " + name, (model.cache.n, [tuple(t.shape) for t in model.cache.inner.all]), (1, [(3, 4)]))
    model = module(lambda self, x: self.step(self.l(x)), l=nn.Linear(4, 4), step=Keeps().step)
    _model.collect(model, (x,))
    say("the object of a method", vars(model.step.__self__), {})
    model = Steps()
    model.a(x).sum().backward()
    before = [p.grad for p in model.parameters()]
    _model.collect(model, (x,))
    say("gradients that an optimizer takes away", [p.grad is grad for p, grad in zip(model.parameters(), before)], [True, True])


class Keeps:
    def step(self, y):
        self.kept = y.detach()
        return y


def held():
    """A forward that keeps what it computed leaves nothing of it where it had no data."""
    x = torch.ones(1, 4)
    for name, (thing, put, found) in objects().items():
        model = module(lambda self, x: (lambda y: (put(self.thing, y), y)[1])(self.l(x)), l=nn.Linear(4, 4), thing=thing)
        _model.collect(model, (x,))
        say(name, found(thing), [])
    filled()
    counter = Plain()
    counter.n = 0
    _model.collect(module(lambda self, x: (setattr(self.counter, "n", self.counter.n + 1), self.l(x))[1], l=nn.Linear(4, 4), counter=counter), (x,))
    say("what an object counts is its own", counter.n, 1)

    def replaces(self, x):
        self.__dict__ = dict(self.__dict__)
        return self.l(x) * self.t

    model = module(replaces, l=nn.Linear(4, 4))
    model.t, fields = torch.ones(4), model.__dict__
    _model.collect(model, (x,))
    say("attributes that were exchanged", (model.t.device.type, model.__dict__ is fields), ("cpu", True))
    model = module(lambda self, x: self.l(x), l=nn.Linear(4, 4), table={Unnamed(): torch.ones(1)}, listed=Listed())
    say("what refuses to be told", [_model.collect(model, (x,), real=real).totals()["macs"] for real in (False, True)], [16, 16])
    odd = nn.Sequential(nn.Linear(4, 4))
    odd._modules["\udcff"] = nn.Linear(4, 4)
    made = _model.collect(odd, (x,))
    say("a name that is no text", (made.totals()["macs"], "not text" in made.notes[0], any("made" in note for note in made.notes)), (32, True, False))
    waits = module(lambda self, x: time.sleep(0.02) or x)
    threads = module(lambda self, x: in_thread(lambda: self.a(x)) + self.l(x), l=nn.Linear(4, 4), a=waits)
    made = _model.collect(threads, (x,))
    _model.measure(threads, (x,), into=made, warmup=0, repeats=1)
    times = {row["name"]: row["own"]["time_ns"] for row in made.layers()}
    say("a layer that is timed in a thread", (times["a"], times[""] > 15e6, made.notes[-1].startswith("layers ran in threads")), (0, True, True))
    zeros = module(lambda self, x: sum([torch.zeros(1000, 1000).sum() for _ in range(20)]) + self.l(x), l=nn.Linear(4, 4))
    say("what a forward makes and drops", int(_model.collect(zeros, (x,), memory=True).facts["peak_bytes"]) < 4100000, True)


def fakes():
    """torch's own tensors without data are refused in a sentence."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        model, x = nn.Linear(8, 8), torch.ones(1, 8)
    for given in ((model, x), (nn.Linear(8, 8), x)):
        try:
            _model.collect(given[0], given[1:])
            say("of FakeTensorMode", "counted", "refused")
        except _model.ModelError as why:
            say("of FakeTensorMode", "torch.device('meta')" in str(why), True)


def tried(one, other):
    try:
        return one()
    except RuntimeError:
        return other()


class Drawn(nn.Module):
    """Leaves out layers at random, and looks at what it computes."""

    def __init__(self):
        super().__init__()
        self.all = nn.ModuleList([nn.Linear(8, 8) for _ in range(16)])

    def forward(self, x):
        for one in self.all:
            if torch.rand(1) < 0.5:
                x = one(x).sigmoid()
        return x if x.sum().item() else -x


def drawn():
    """A second count draws what the first one drew."""
    for seed in range(4):
        torch.manual_seed(seed)
        made = _model.collect(Drawn(), (torch.randn(8, 8),), memory=True)
        say("twice the batch", int(made.facts["activation_bytes_at_2"]), 2 * made.totals()["activation_bytes"])


# ---- how much room a count takes


def room():
    """What is computed of whole numbers is real as long as it is little."""
    where = []

    def noted(tensor):
        where.append(tensor.device.type)
        return tensor

    ids = torch.arange(1024).view(1, -1)
    for name, grows in (("new_ones", lambda ids: ids.new_ones((1 << 14, 1 << 13))), ("repeat", lambda ids: ids.repeat(1 << 13, 1 << 4)),
                        ("repeat_interleave", lambda ids: ids.repeat_interleave(1 << 17))):
        model = module(lambda self, ids: self.l(noted(grows(ids)).view(-1)[:8].float()), l=nn.Linear(8, 8))
        say(name, (_model.collect(model, (ids,)).totals()["macs"], where[-1]), (64, "meta"))

    def masked(self, x):
        i = torch.arange(x.shape[1], device=x.device)
        return self.l(x) + noted(torch.where(i[:, None] >= i[None], 0.0, float("-inf")))[:8, :8].sum()

    where.clear()
    model = nn.Sequential(*[module(masked, l=nn.Linear(8, 8)) for _ in range(24)])
    _model.collect(model, (torch.randn(1, 2048, 8),))
    say("a mask anew in each layer", (where[0], where[-1], len(where)), ("cpu", "meta", 24))


if __name__ == "__main__":
    for word in sys.argv[1:] or ["graphs", "signals", "interrupts", "refusals", "held", "fakes", "drawn", "room"]:
        globals()[word]()
