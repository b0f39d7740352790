# SPDX-License-Identifier: MIT
"""Runs a model of torch for sonde.model: once to count what it does, or several times to time it.

What is counted, and how, is C's (_sonde.ModelRun and _sonde.Model); torch tells it through _model_modes, and _model_kept
puts back what a pass has moved.  torch is imported when the first model comes.
"""
import contextlib
import itertools
import operator
import os
import sys
import threading

from .. import _sonde
from . import _gate, _model_backward, _model_batch, _model_kept, _model_modes, _on_cpu
from ._model_words import ModelError, refused, warn, why_really, words


def _torch():
    try:
        import torch
    except ImportError as why:
        raise ModelError("a model of torch needs torch, which this Python cannot import ({0}): pip install torch, or give "
                         "`sonde model` a file (.onnx, .safetensors, .gguf)".format(why)) from why
    return torch


def _inner(torch, model):
    """The module that a wrapper runs: what torch.compile compiled, or what is spread over devices, by threads in which
    nothing would be counted.  None: it is no wrapper."""
    if isinstance(model, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
        return model.module
    inner = getattr(model, "_orig_mod", None)
    return inner if isinstance(inner, torch.nn.Module) else None


def module_of(model):
    """The module itself: of a compiled or parallel model the one inside."""
    torch = _torch()
    inner = _inner(torch, model)
    while inner is not None:
        model, inner = inner, _inner(torch, inner)
    if isinstance(model, torch.nn.Module):
        return model
    if isinstance(model, type) and issubclass(model, torch.nn.Module):
        raise ModelError("{0} is a class of models, not a model: call it first, {0}()".format(model.__name__))
    raise ModelError("expected a torch.nn.Module, not {0}; wrap a function in a module whose forward calls it".format(
        type(model).__name__))


# ---- inputs


def _held(module):
    """Its parameters and buffers, one after the other: torch looks for each when it is asked for, which takes as long as a count."""
    return itertools.chain(module.parameters(), module.buffers())


def _first_float(module):
    return next((tensor for tensor in _held(module) if tensor.is_floating_point()), None)


def _shapes(input_shape):
    """One shape, or several of them; () is one of a single number."""
    try:
        if isinstance(input_shape, (str, bytes, _torch().Tensor)):
            raise TypeError
        if all(hasattr(n, "__index__") for n in input_shape):
            several = [tuple(int(n) for n in input_shape)]
        else:
            several = [tuple(operator.index(n) for n in one) for one in input_shape]
    except (TypeError, ValueError):
        said = repr(input_shape) if type(input_shape) in (str, bytes, int, float, tuple, list) else type(input_shape).__name__
        raise ModelError("input_shape={0} is not a shape: give integers without the batch axis, such as (3, 224, 224), or a list of such "
                         "shapes".format(said)) from None
    if any(n < 0 for one in several for n in one):
        raise ModelError("input_shape has a negative number: {0!r}".format(input_shape))
    return several


def _made(shape, like, real):
    """Numbers of their own generator, so that no random state moves; or none at all."""
    torch = _torch()
    dtype = like.dtype if like is not None else torch.get_default_dtype()
    device = like.device if like is not None else torch.device("cpu")
    if not real or device.type == "meta":
        return torch.empty(1, *shape, dtype=dtype, device="meta")
    made = torch.randn(1, *shape, generator=torch.Generator("cpu").manual_seed(0), device="cpu")
    return made.to(device=device, dtype=dtype)


def inputs_of(model, input_shape=None, inputs=None, real=False):
    """(args, kwargs) of one forward: `inputs` as they are given, or made from `input_shape`, which has no batch axis."""
    torch = _torch()
    module = module_of(model)
    if inputs is not None:
        if input_shape is not None:
            raise ModelError("give either input_shape= or inputs=, not both")
        if isinstance(inputs, dict) or (hasattr(inputs, "keys") and not isinstance(inputs, torch.Tensor)):
            if not all(isinstance(name, str) for name in inputs):
                raise ModelError("the keys of inputs={{...}} must be names of arguments, and {0!r} is not a name; give positional arguments as a tuple".format(
                    next(name for name in inputs if not isinstance(name, str))))
            return (), dict(inputs)
        return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)), {}
    if input_shape is None:
        raise ModelError("the model needs an input: give input_shape=(3, 224, 224), without the batch axis, or inputs=: "
                         "a tensor, a tuple of them, or a dict of keyword arguments")
    like = _first_float(module)
    return tuple(_made(shape, like, real) for shape in _shapes(input_shape)), {}


@contextlib.contextmanager
def trained(model, training):
    """The model in training or in evaluation; afterwards each module is in the one it was in."""
    module = module_of(model)
    before = [(one, one.training) for one in module.modules() if hasattr(one, "training")]
    with _gate.held():
        try:
            if before:  # else it is a frozen script, which has one mode
                module.train(training)
            yield
        finally:
            for one, was in before:
                one.training = was


# ---- counting


def _facts(made, torch, module, device, args, kwargs, twins):
    made.fact("source", "torch {0}".format(torch.__version__))
    made.fact("device", str(device))
    made.fact("mode", "train" if getattr(module, "training", False) else "eval")  # a frozen script has none
    made.fact("grad", "on" if torch.is_grad_enabled() else "off")
    made.fact("ran_on", "meta" if twins else "real tensors")
    for name, value in [("", a) for a in args] + [(k + "=", v) for k, v in kwargs.items()]:
        if isinstance(value, torch.Tensor) and not value.is_nested:
            made.fact("input", "{0}{1}:{2}".format(name, ",".join(str(n) for n in value.shape), str(value.dtype).replace("torch.", "")))


def _pass(torch, run, module, args, kwargs, backward, memory):
    """One forward under the mode, and a backward."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_model_modes.hooks(run))
        stack.enter_context(_model_modes.uncompiled(torch))
        stack.enter_context(_model_modes.without_compiler())
        if backward and torch.is_anomaly_enabled():  # it looks for numbers that are none, also where there are no numbers
            stack.enter_context(torch.autograd.set_detect_anomaly(False))
        if run.is_as_on_cpu:
            stack.enter_context(_on_cpu.as_on_cpu(torch, run))
        if memory:
            stack.enter_context(_model_modes.functions_mode()(run))
            stack.enter_context(torch.autograd.graph.saved_tensors_hooks(run.saved, run.restored))
        since = _model_backward.graph_now(torch, (args, kwargs))
        with run, _gate.opened():
            out = module(*args, **kwargs)
        run.forward_is_over()
        if backward:
            back = _model_backward.Backward(torch, module, (args, kwargs), out, since)
            run.set_backward(True)
            with run:
                try:
                    back.run()
                except Exception as why:
                    number = _model_backward.node_left(torch, why)
                    if number is not None:
                        run.failed_at(number)
                    raise


def _device_of(torch, module):
    first = _first_float(module)
    return first.device if first is not None else torch.device("cpu")


def _parameters(module):
    found = vars(module).get("_parameters")
    return found if isinstance(found, dict) else None


def _own_parameters(module):
    """{module's id: (module, {name: parameter})} of all modules; those of scripts, whose tensors are made when they are asked for, have none."""
    return {id(one): (one, dict(_parameters(one))) for one in module.modules() if _parameters(one) is not None}


def _tell_new(module, made, before):
    """Parameters that a forward made itself and that are not counted (`before`: those that there were): in a module of before they come too late."""
    known, new = {t["name"] for t in made.tensors()}, []
    for path, one in module.named_modules():
        had = before.get(id(one), (None, None))[1]
        for key, now in (_parameters(one) or {}).items():
            name = "{0}.{1}".format(path, key).lstrip(".")
            if now is not None and (name not in known if had is None else had.get(key) is not now):
                new.append(name)
    if new:
        made.note("the forward itself made parameters: {0}; they are not counted, and sonde removed them again".format(
            ", ".join(new[:3]) + (", ..." if len(new) > 3 else "")))


_HOOKS_DID_NOT_RUN = "hooks for the gradients of parameters did not run: what they compute is not counted"


def _once(torch, module, args, kwargs, twins, backward, memory, rules, numbers=True):
    """One pass; where torch.func takes gradients inside the forward, torch does not report what the backward keeps."""
    try:
        return _once_as_asked(torch, module, args, kwargs, twins, backward, memory, rules, numbers)
    except RuntimeError as why:
        if not memory or "saved tensor hooks" not in str(why):
            raise
    made = _once_as_asked(torch, module, args, kwargs, twins, backward, False, rules, numbers)
    made.note("what is kept for the backward is not known, because torch.func, which this model uses, does not report it")
    return made


def _once_as_asked(torch, module, args, kwargs, twins, backward, memory, rules, numbers):
    run, device = _model_modes.mode()(), _device_of(torch, module)
    run.is_as_on_cpu, run.follows_memory, run.has_data = twins and device.type in ("cpu", "meta"), memory, device.type != "meta"
    has_hooks = backward and twins and any(p._backward_hooks or _model_kept.hooks_of_sums(p) for p in module.parameters())
    try:
        run.begin(module, twins=twins, backward=backward, memory=memory, rules=rules,
                  device="cpu" if device.type == "meta" else device.type, blank=device.type == "meta", numbers=numbers)
        _facts(run.model, torch, module, device, args, kwargs, twins)
        before = _own_parameters(module)
        if twins:
            args, kwargs = run.twins(_model_kept.apart(torch, (args, kwargs)))
        run.given((args, kwargs))
        if memory:  # those of scripts are found by asking alone
            for tensor in _held(module):
                run.weight(tensor)
        _pass(torch, run, module, args, kwargs, backward, memory)
        if run.refused:
            _went_on(run, device)
        if memory:
            run.model.fact("peak_bytes", str(run.peak_bytes))
            _tell_unkept(torch, run.model, module)
        if has_hooks:
            run.model.note(_HOOKS_DID_NOT_RUN)
        _tell_new(module, run.model, before)
    except Exception as why:
        why._sonde_layer = run.failed_in
        raise
    finally:
        made = run.end()
    totals = made.totals()
    if not totals["n_ops"] and totals["params"]:
        made.note("no operator was seen: the model runs elsewhere, in threads or processes of its own, or does nothing with what it "
                  "was given; its MACs are not known")
    return made


def _tell_unkept(torch, made, module):
    """Adds a note when activation bytes could not be measured because nothing is kept for the backward pass."""
    if made.totals()["activation_bytes"] is not None:
        return
    why = "gradients are off" if not torch.is_grad_enabled() else "no parameter is trained" if not any(p.requires_grad for p in module.parameters()) else None
    if why:
        made.note("nothing is kept for a backward, because {0}: activation bytes are not measured".format(why))
    else:
        made.note("torch reported nothing that is kept for the backward: the model keeps it in a way of its own (saved_tensors_hooks), or computes "
                  "nothing that has a gradient")


_busy, _busy_lock = {}, threading.Lock()  # modules that are run now, by their ids: [thread, how often]


def _renew():
    """In a child that was forked nobody counts."""
    global _busy_lock
    _busy_lock = threading.Lock()
    _busy.clear()


os.register_at_fork(after_in_child=_renew)


@contextlib.contextmanager
def _alone(module):
    """No other thread runs this model: its parameters are others meanwhile."""
    me, all_of_it = threading.get_ident(), list(module.modules())  # held, so that their ids are theirs
    with _busy_lock:
        if any(_busy.get(id(one), (me,))[0] != me for one in all_of_it):
            raise ModelError("{0} is being counted in another thread: count it there, or a copy of it (copy.deepcopy) here".format(type(module).__name__))
        for one in all_of_it:
            _busy.setdefault(id(one), [me, 0])[1] += 1
    try:
        yield
    finally:
        with _busy_lock:
            for one in all_of_it:
                entry = _busy.get(id(one), [me, 1])  # a fork has forgotten it
                entry[1] -= 1
                if not entry[1]:
                    _busy.pop(id(one), None)


def _went_on(run, device):
    """The model has caught what an operator raised without data, and went another way than with it."""
    said = "{0} was refused without data, and the model went on".format(run.refused)
    if device.type != "meta":
        raise RuntimeError(said)
    run.model.note(said + ": with data it may take another way")


def _without_data(torch, module, args, kwargs, backward, memory, rules):
    """What a forward draws decides its way (layers that are left out): a second pass draws the same."""
    with _model_kept.same_randomness(torch), _model_kept.own_gradients(module):
        try:
            return _once(torch, module, args, kwargs, True, backward, memory, rules)
        except ModelError:
            raise
        except Exception as why:
            _gate.pass_on(why)
            if _device_of(torch, module).type != "meta":
                raise  # with data it may be another matter
            try:  # Perhaps it compares the devices of its tensors: those that have values are elsewhere.
                return _once(torch, module, args, kwargs, True, backward, memory, rules, numbers=False)
            except Exception as again:
                _gate.pass_on(again)
            raise


def _really(torch, module, args, kwargs, backward, memory, rules):
    device = _device_of(torch, module)
    args, kwargs = _model_kept.own(torch, (args, kwargs), device)
    has_hooks = backward and any(_model_kept.hooks_of_sums(p) for p in module.parameters())
    with _model_kept.same_randomness(torch), _model_kept.same_tensors(torch, module) as changed:
        made = _once(torch, module, args, kwargs, False, backward, memory, rules)
    if has_hooks:
        made.note(_HOOKS_DID_NOT_RUN)
    if changed:
        made.note(_model_kept.told(changed))
    return made


def parameters_of(model):
    """Returns a _sonde.Model with the tensors of a model, without running it."""
    module = module_of(model)
    if is_lazy(module):
        raise lazy(module)
    run = _model_modes.mode()()
    try:
        run.begin(module)
    finally:
        made = run.end()
    for note in made.notes:
        warn(note)
    return made


def lazy(module):
    return ModelError("{0} has lazy parameters, which have no shape before its first forward: call it once on a real input first".format(
        type(module).__name__))


def is_lazy(module):
    return _has_lazy(_held(module))


def _has_lazy(tensors):
    from torch.nn.parameter import is_lazy

    return any(is_lazy(t) for t in tensors)


def _has_blanks(args, kwargs):
    torch = _torch()
    return any(isinstance(o, torch.Tensor) and o.device.type == "meta" for o in list(args) + list(kwargs.values()))


def _has_fakes(tensors):
    fakes = sys.modules.get("torch._subclasses.fake_tensor")
    return fakes is not None and any(isinstance(t, fakes.FakeTensor) for t in tensors)


def collect(model, args=(), kwargs=None, *, backward=False, real=False, memory=False, rules=None):
    """Runs the model once and gives what ran as a _sonde.Model.

    On tensors without data, unless `real` is true or the model cannot do without (it reads values, or an operator knows
    only real tensors): then on its own, with buffers, gradients and random states put back afterwards.
    """
    torch = _torch()
    module = module_of(model)
    args, kwargs, because, held = tuple(args), dict(kwargs or {}), None, list(_held(module))
    if _has_lazy(held):
        raise lazy(module)
    if _has_fakes(held + _model_kept.tensors_in(torch, (args, kwargs))):
        raise ModelError("{0} or its input belongs to torch's FakeTensorMode, whose tensors answer for their operators themselves: make it with "
                         "torch.device('meta') instead, which is counted without data, too".format(type(module).__name__))
    on_meta = _device_of(torch, module).type == "meta"
    memory, is_growth_asked = memory or backward, memory
    with _gate.held(), _model_modes.same_modes(torch), _alone(module), _model_backward.gradients(torch, backward), _model_kept.same_randomness(torch):
        if not real or on_meta:
            try:
                made = _without_data(torch, module, args, kwargs, backward, memory, rules)
                if is_growth_asked:
                    _model_batch.tell_growth(torch, made, args, kwargs, lambda a, k: _without_data(torch, module, a, k, backward, True, rules))
                return made
            except ModelError:
                raise
            except Exception as why:
                _gate.pass_on(why)
                if on_meta:
                    raise refused(module, why, args, kwargs) from why
                because = words(why)
        try:
            made = _really(torch, module, args, kwargs, backward, memory, rules)
            if is_growth_asked and _model_batch.has_room(made):
                _model_batch.tell_growth(torch, made, args, kwargs, lambda a, k: _really(torch, module, a, k, backward, True, rules), most=1)
        except ModelError:
            raise
        except Exception as why:
            _gate.pass_on(why)
            raise refused(module, why, args, kwargs) from why
    if because:
        made.fact("because", because)
        made.note("the model ran on real tensors{0}, because {1}".format(
            ", with inputs that were made up" if _has_blanks(args, kwargs) else "", why_really(because)))
    return made


class Counting:
    """Counts what torch runs inside a `with` block, on the caller's own tensors.  Modules that are called become layers:
    those of `model` under their own names, others below the name of their type."""

    def __init__(self, model=None, rules=None):
        _torch()
        self._module = None if model is None else module_of(model)
        self._rules = rules
        self._run = self._stack = None
        self.model = None

    def __enter__(self):
        self._run = _model_modes.mode()()
        self._run.begin(self._module, rules=self._rules, backward=True, lent=True)
        self.model = self._run.model
        with contextlib.ExitStack() as stack:
            stack.enter_context(_model_modes.hooks(self._run))
            stack.enter_context(_model_modes.uncompiled(_torch()))
            stack.enter_context(_model_modes.functions_mode()(self._run))
            stack.enter_context(self._run)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *raised):
        try:
            return self._stack.__exit__(*raised)
        finally:
            self._run.end()


# ---- timing


def _median(numbers):
    ordered = sorted(numbers)
    return ordered[(len(ordered) - 1) // 2]


def _timed_pass(torch, module, args, kwargs, device, backward):
    """(forward, backward) of one pass without hooks, in nanoseconds."""
    import time

    args, kwargs = _model_kept.own(torch, (args, kwargs), device)
    since = _model_backward.graph_now(torch, (args, kwargs))
    _model_modes.settle(torch, device)
    with _gate.opened():
        begin = time.perf_counter_ns()
        out = module(*args, **kwargs)
        _model_modes.settle(torch, device)
        middle = time.perf_counter_ns()
    if not backward:
        return middle - begin, None
    back = _model_backward.Backward(torch, module, (args, kwargs), out, since)
    started = time.perf_counter_ns()
    back.run()
    _model_modes.settle(torch, device)
    return middle - begin, time.perf_counter_ns() - started


def _layered_pass(torch, run, module, args, kwargs, device, backward):
    """One pass whose layers `run` times; its graph is gone when the next one begins."""
    args, kwargs = _model_kept.own(torch, (args, kwargs), device)
    since = _model_backward.graph_now(torch, (args, kwargs))
    _model_modes.settle(torch, device)
    with _gate.opened():
        run.pass_begins()
        out = module(*args, **kwargs)
        run.pass_ends(False)
    if backward:
        back = _model_backward.Backward(torch, module, (args, kwargs), out, since)
        run.pass_begins()
        back.run()
        run.pass_ends(True)


def _time_layers(torch, module, args, kwargs, device, into, backward, repeats):
    """The same with hooks: each layer's own time."""
    is_stamped = device.type == "cuda"
    run = _model_modes.stamped_mode()() if is_stamped else _model_modes.mode()()
    run.device = device
    try:
        run.begin(module, backward=backward, timing=repeats, into=into, stamped=is_stamped)
        with _model_modes.hooks(run):
            for _ in range(repeats):
                _layered_pass(torch, run, module, args, kwargs, device, backward)
        run.put_times(False)
        if backward:
            run.put_times(True)
    finally:
        run.end()


def measure(model, args=(), kwargs=None, into=None, *, warmup, repeats, backward=False):
    """Runs the model on real tensors and times it: medians of `repeats` passes, after `warmup` ones that do not count.

    Gradients are on where they are for the caller, and for a backward.  Gives {"forward_ns", "backward_ns", "repeats",
    "timed_grad"}: whole passes without any hook.  With `into`, a Model of the same model,
    the layers are timed in passes of their own, and their times put there.
    """
    torch = _torch()
    module = module_of(model)
    if is_lazy(module):
        raise lazy(module)
    device = _device_of(torch, module)
    if device.type == "meta":
        raise ModelError("{0} is on meta and has no numbers to run with: move it to a real device (model.to_empty(device='cpu')) "
                         "to time it".format(type(module).__name__))
    if repeats < 1 or warmup < 0:
        raise ModelError("timing a model takes at least one pass: repeats={0}, warmup={1}".format(repeats, warmup))
    args, kwargs = tuple(args), dict(kwargs or {})
    with _gate.held():
        try:
            with _model_modes.same_modes(torch), _alone(module), _model_modes.room_below(), _model_backward.gradients(torch, backward), \
                    _model_kept.same_randomness(torch), _model_kept.same_modules(module), _model_kept.same_tensors(torch, module) as changed:
                grad = torch.is_grad_enabled()
                for _ in range(warmup):
                    _timed_pass(torch, module, args, kwargs, device, backward)
                passes = [_timed_pass(torch, module, args, kwargs, device, backward) for _ in range(repeats)]
                if into is not None:
                    _time_layers(torch, module, args, kwargs, device, into, backward, repeats)
        except ModelError:
            raise
        except Exception as why:
            _gate.pass_on(why)
            raise refused(module, why, args, kwargs) from why
    if into is not None and backward and _HOOKS_DID_NOT_RUN not in into.notes and any(_model_kept.hooks_of_sums(p) for p in module.parameters()):
        into.note(_HOOKS_DID_NOT_RUN)
    took = {"forward_ns": _median([f for f, _ in passes]), "backward_ns": _median([b for _, b in passes]) if backward else None, "repeats": repeats,
            "timed_grad": "on" if grad else "off"}
    if into is not None:
        for key, value in list(took.items()) + [("cpu", _sonde.processor())]:
            if value is not None:
                into.fact(key, str(value))
        if changed:
            into.note(_model_kept.told(changed))
    elif changed:
        warn(_model_kept.told(changed))
    return took
