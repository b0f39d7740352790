# SPDX-License-Identifier: MIT
"""Runs a model of torch for sonde.model: once to count what it does, or several times to time it.

What is counted, and how, is C's (_sonde.ModelRun and _sonde.Model); here torch's modes, hooks and
states are entered and left.  torch is imported when the first model comes.
"""
import contextlib
import copy
import functools
import importlib
import operator
import sys
import types
import warnings

from . import _sonde


class ModelError(RuntimeError):
    """A model that cannot be run as it was asked: one sentence, with the way out; __cause__ is the model's own exception."""


def _torch():
    try:
        import torch
    except ImportError as why:
        raise ModelError("a model of torch needs torch, which this Python cannot import ({0}): pip install torch, or give "
                         "`sonde model` a file (.onnx, .safetensors, .gguf)".format(why)) from why
    return torch


@functools.lru_cache(maxsize=None)
def _mode():
    """The class that is both torch's mode and our body of it."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class SondeMode(_sonde.ModelRun, TorchDispatchMode):
        supports_higher_order_operators = True

        def decompose(self, func, args, kwargs):
            with self:
                return func.decompose(*args, **kwargs)

        def settle_shapes(self, module, args):
            from torch.utils._python_dispatch import _disable_current_modes

            def settle(*given, **named):
                with _disable_current_modes():
                    module.initialize_parameters(*given, **named)

            def settle_and_enter(*given, **named):
                del module.initialize_parameters
                settle(*given, **named)
                self.enter(module, given)

            if args:
                settle(*args)
            else:  # they come by name: its own hook, which runs next, is told them
                module.initialize_parameters = settle_and_enter

        run_functions = torch._disable_dynamo(_run_functions)  # torch calls it from what it means to compile

    return SondeMode


def _functions_mode():
    return _functions_mode_of(_has_compiler())


@functools.lru_cache(maxsize=None)
def _functions_mode_of(has_compiler):
    """Above autograd: what such an operator runs is then a part of the graph, as if it were called there, with the weights that
    its functions close over."""
    import torch
    from torch._ops import HigherOrderOperator
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import _pop_mode_temporarily

    class FunctionsMode(TorchFunctionMode):
        def __init__(self, mode):
            super().__init__()
            self._mode = mode

        def __torch_function__(self, func, types, args=(), kwargs=None):
            found = NotImplemented
            if isinstance(func, HigherOrderOperator):
                with _pop_mode_temporarily():
                    found = self._mode.run_functions(func, args, kwargs or {})
            return func(*args, **kwargs or {}) if found is NotImplemented else found

    if has_compiler:  # its name alone would load one
        FunctionsMode.__torch_function__ = torch._disable_dynamo(FunctionsMode.__torch_function__)
    return FunctionsMode


# ---- the compiler, which takes seconds to load

_COMPILER = "torch._dynamo"


class _NoCompiler(types.ModuleType):
    """Stands for torch's compiler where it is not loaded.

    Functions of torch that it is to leave alone (a checkpoint, most of its own for tensors without data) load it in their first
    call, only to tell it so.  Here they are told that they are left alone, as long as there is none.  Whoever asks for anything
    else gets the compiler itself.
    """

    def __init__(self):
        super().__init__(_COMPILER)
        self._left_alone, self._is_over = [], False

    def _loaded(self):
        if sys.modules.get(_COMPILER) is self:
            del sys.modules[_COMPILER]
        return importlib.import_module(_COMPILER)

    def __getattr__(self, name):
        # What asks every module for its file or its tests (inspect, doctest) asks for no compiler.
        if name.startswith("__") and name.endswith("__") and name != "__path__":
            raise AttributeError("module {0!r} has no attribute {1!r}".format(_COMPILER, name))
        return getattr(self._loaded(), name)

    def disable(self, fn=None, *args, **kwargs):
        if self._is_over or kwargs.get("wrapping") is not False or not isinstance(fn, types.FunctionType):
            return self._loaded().disable(fn, *args, **kwargs)
        self._left_alone.append(fn)

        @functools.wraps(fn)
        def run(*given, **named):
            if sys.modules.get(_COMPILER) is self:
                return fn(*given, **named)
            return self._loaded().disable(fn, *args, **kwargs)(*given, **named)

        return run

    def end(self):
        """Nothing of it stays in torch: a compiler that comes later is told by those functions themselves."""
        self._is_over = True
        if sys.modules.get(_COMPILER) is self:
            del sys.modules[_COMPILER]
        for fn in self._left_alone:
            getattr(fn, "__dict__", {}).pop("__dynamo_disable", None)


def _has_compiler():
    return _COMPILER in sys.modules and not isinstance(sys.modules[_COMPILER], _NoCompiler)


@contextlib.contextmanager
def _without_compiler():
    """It is not loaded only because tensors have no data."""
    if _COMPILER in sys.modules:
        yield
        return
    none = sys.modules[_COMPILER] = _NoCompiler()
    try:
        yield
    finally:
        none.end()


@contextlib.contextmanager
def _uncompiled(torch):
    """What was compiled runs as it was written, because only so its operators are seen.  Where the compiler is not loaded there
    is nothing to do, and to load it takes seconds; flex_attention loads it when it is called."""
    if not hasattr(torch.compiler, "set_stance") or not (_has_compiler() or "torch.nn.attention.flex_attention" in sys.modules):
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield


# Operators that compute with what their functions give: what torch runs for them where nothing is compiled is counted whole,
# products over the whole matrix of scores.
_COMPUTING = ("flex_attention", "flex_attention_backward")


def _run_functions(mode, func, args, kwargs):
    """Runs torch's own kernel of an operator such as torch.cond, which calls the functions that it is given: those are watched.

    The kernel itself is not, because most refuse to run below any mode; it only chooses, slices and stacks.  NotImplemented:
    what it runs cannot be seen, so that it has no rule.
    """
    from torch._C import DispatchKey

    kernel = func.py_kernels.get(DispatchKey.CompositeExplicitAutograd)
    if kernel is None:
        return NotImplemented
    if func.name() in _COMPUTING:
        with mode:
            return kernel(*args, **kwargs)
    if not any(_is_function(one) for one in args):
        return NotImplemented
    return kernel(*[_watched(mode, one) if _is_function(one) else one for one in args], **kwargs)


def _is_function(o):
    from torch._ops import OperatorBase

    return callable(o) and not isinstance(o, OperatorBase)


def _watched(mode, function):
    def run(*args, **kwargs):
        with mode:
            return function(*args, **kwargs)

    return run


@functools.lru_cache(maxsize=None)
def _settled_mode():
    """The same for a device that works while we go on: at each border of a layer it is waited for, so that the work counts
    for the layer that started it.  Untested: no such device was at hand."""
    class SettledMode(_mode()):
        device = None

        def enter(self, *told):
            _settle(_torch(), self.device)
            return super().enter(*told)

        def leave(self, *told):
            _settle(_torch(), self.device)
            return super().leave(*told)

        def mark(self, *told):
            _settle(_torch(), self.device)
            return super().mark(*told)

    return SettledMode


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
    raise ModelError("a torch.nn.Module is wanted, not {0}: wrap a function in a module whose forward calls it".format(
        type(model).__name__))


# ---- inputs


def _first_float(module):
    for tensor in list(module.parameters()) + list(module.buffers()):
        if tensor.is_floating_point():
            return tensor
    return None


def _shapes(input_shape):
    """One shape, or several of them; () is one of a single number."""
    try:
        if all(hasattr(n, "__index__") for n in input_shape):
            several = [tuple(int(n) for n in input_shape)]
        else:
            several = [tuple(operator.index(n) for n in one) for one in input_shape]
    except TypeError:
        raise ModelError("input_shape={0!r} is no shape: numbers without the batch axis, as (3, 224, 224), or a list of such "
                         "shapes".format(input_shape)) from None
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
    made = torch.randn(1, *shape, generator=torch.Generator().manual_seed(0))
    return made.to(device=device, dtype=dtype)


def inputs_of(model, input_shape=None, inputs=None, real=False):
    """(args, kwargs) of one forward: `inputs` as they are given, or made from `input_shape`, which has no batch axis."""
    torch = _torch()
    module = module_of(model)
    if inputs is not None:
        if input_shape is not None:
            raise ModelError("give either input_shape= or inputs=, not both")
        if isinstance(inputs, dict) or (hasattr(inputs, "keys") and not isinstance(inputs, torch.Tensor)):
            return (), dict(inputs)
        return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)), {}
    if input_shape is None:
        raise ModelError("what does the model take? input_shape=(3, 224, 224), without the batch axis, or inputs=: "
                         "a tensor, a tuple of them, or a dict of keyword arguments")
    like = _first_float(module)
    return tuple(_made(shape, like, real) for shape in _shapes(input_shape)), {}


# ---- states that a forward may move


def _random_states(torch):
    states = [(torch.set_rng_state, torch.get_rng_state())]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states.append((torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all()))
    if "random" in sys.modules:
        states.append((sys.modules["random"].setstate, sys.modules["random"].getstate()))
    if "numpy.random" in sys.modules:
        states.append((sys.modules["numpy.random"].set_state, sys.modules["numpy.random"].get_state()))
    return states


def _put_back(states):
    for put, state in states:
        put(state)


@contextlib.contextmanager
def _same_randomness(torch):
    states = _random_states(torch)
    try:
        yield
    finally:
        _put_back(states)


def _version(tensor):
    """How often a tensor was written to; None of one made in inference mode, which does not count."""
    return None if tensor.is_inference() else tensor._version


def _as_before(now, before):
    """The same objects under the same keys; None is none at all."""
    return (now is None) == (before is None) and (now is None or list(map(id, now.values())) == list(map(id, before.values())) and list(now) == list(before))


class _Kept:
    """A tensor as it is before a real pass: gradient, flags, hooks and attributes; its numbers where they are copied."""

    _HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")

    def __init__(self, name, tensor, is_copied):
        self.name, self.tensor, self.version = name, tensor, _version(tensor)
        self.is_leaf, self.requires_grad = tensor.is_leaf, tensor.requires_grad
        self.grad = tensor.grad if tensor.is_leaf else None
        self.attributes = dict(vars(tensor))
        hooks = [(word, getattr(tensor, word, None)) for word in self._HOOKS]
        self.hooks = [(word, now, None if now is None else now.copy()) for word, now in hooks]
        self.data = tensor.detach()
        self.numbers = self.data.clone() if is_copied and tensor.device.type != "meta" else None

    def _has_moved(self, torch):
        """Has it other numbers than before?  Statistics of a batch norm move without a new version."""
        if _version(self.tensor) != self.version:
            return True
        try:
            return not torch.equal(self.tensor, self.numbers)
        except RuntimeError:  # sparse ones and some small floats cannot be compared
            return self.version is None or self.tensor.layout is torch.strided

    def _put_back_numbers(self, torch):
        if not self._has_moved(torch):
            return
        with torch.inference_mode() if self.tensor.is_inference() else torch.no_grad():
            self.tensor.copy_(self.numbers)
        # A graph of the caller's that holds it would else take it for another one.
        counts = getattr(torch._C._autograd, "_unsafe_set_version_counter", None)
        if counts is not None and self.version is not None:
            with contextlib.suppress(Exception):
                counts((self.tensor,), (self.version,))

    def _put_back_flags(self):
        tensor = self.tensor
        if self.is_leaf and not tensor.is_leaf:  # it was written to with what has a graph, which would live on in it
            tensor.detach_()
        if tensor.is_leaf and tensor.requires_grad != self.requires_grad:
            tensor.requires_grad_(self.requires_grad)
        if tensor.is_leaf and tensor.grad is not self.grad:
            tensor.grad = self.grad
        for word, was, held in self.hooks:
            if was is not None and not _as_before(was, held):
                was.clear()
                was.update(held)
            if getattr(tensor, word, None) is not was:
                setattr(tensor, word, was)
        if not _as_before(vars(tensor), self.attributes):
            vars(tensor).clear()
            vars(tensor).update(self.attributes)

    def _is_elsewhere(self, torch):
        """Has its data been exchanged for other data?  Of a tensor without any torch does not say."""
        tensor = self.tensor
        if tensor.layout is not torch.strided or tensor.device.type == self.data.device.type == "meta":
            return False
        return tensor.device != self.data.device or not tensor.is_set_to(self.data)

    def put_back(self, torch):
        """True: it is another one for good."""
        try:
            if self._is_elsewhere(torch):
                self.tensor.data = self.data
            self._put_back_flags()
            if self.numbers is not None:
                self._put_back_numbers(torch)
            return self.numbers is None and self.data.device.type != "meta" and _version(self.tensor) != self.version
        except Exception:  # torch refuses with many classes; what one tensor refuses keeps no other from its own
            return True


_MOST_ENTRIES = 1 << 16  # a larger table is a vocabulary
_MOST_BYTES = 1 << 28    # of tensors that are copied


def _within(o, name):
    """What a module, list or dict holds, with names."""
    if isinstance(o, dict):
        return [("{0}.{1}".format(name, key), one) for key, one in o.items()] if len(o) < _MOST_ENTRIES else []
    if isinstance(o, (list, tuple)):
        return [("{0}.{1}".format(name, i), one) for i, one in enumerate(o)] if len(o) < _MOST_ENTRIES else []
    return []


def _plain_tensors(torch, module):
    """{tensor's id: (name, tensor)} of all that modules hold as attributes, in lists and in dicts, and those of modules there."""
    found, seen, left = {}, set(), [(name, one, 4) for name, one in module.named_modules()]
    while left:
        name, o, depth = left.pop()
        if isinstance(o, torch.Tensor):
            found.setdefault(id(o), (name, o))
        elif id(o) not in seen:
            seen.add(id(o))
            if isinstance(o, torch.nn.Module):
                left += [("{0}.{1}".format(name, key), one, 4) for key, one in vars(o).items()]
            elif depth:
                left += [(key, one, depth - 1) for key, one in _within(o, name)]
    return found


def _bytes(torch, tensor):
    """What a copy takes."""
    if tensor.device.type == "meta":
        return 0
    if tensor.layout is torch.sparse_coo:
        return tensor._indices().nbytes + tensor._values().nbytes
    return tensor.numel() * tensor.element_size()


def _kept_tensors(torch, module):
    """All tensors that the model holds, as they are.  The smallest are copied, as many as there is room for."""
    all_of_them = {id(t): (name, t) for name, t in list(module.named_parameters()) + list(module.named_buffers())}
    for at, (name, tensor) in _plain_tensors(torch, module).items():
        all_of_them.setdefault(at, (name.lstrip("."), tensor))
    room, copied = _MOST_BYTES, set()
    for size, at in sorted((_bytes(torch, t), at) for at, (_, t) in all_of_them.items()):
        if size > room:
            break
        room -= size
        copied.add(at)
    return [_Kept(name, t, at in copied) for at, (name, t) in all_of_them.items()]


def _told(changed):
    return "the model itself changed {0} in place, which cannot be undone".format(", ".join(changed[:3]) + (", ..." if len(changed) > 3 else ""))


@contextlib.contextmanager
def _same_tensors(torch, module):
    """What the model holds is as it was after a real pass: gradients, flags, hooks and attributes of its tensors, and their numbers,
    but those that are too large to copy.  Gives a list that says afterwards which ones were changed for good."""
    changed, kept = [], _kept_tensors(torch, module)
    try:
        for one in kept:
            if one.grad is not None:
                one.tensor.grad = None
        yield changed
    finally:
        changed += [one.name for one in kept if one.put_back(torch)]


@contextlib.contextmanager
def _same_modules(module):
    """What the modules hold is put back afterwards."""
    run = _mode()()
    try:
        run.begin(module)
        yield
    finally:
        run.end()


@contextlib.contextmanager
def trained(model, training):
    """The model in training or in evaluation; afterwards each module is in the one it was in."""
    module = module_of(model)
    before = [(one, one.training) for one in module.modules() if hasattr(one, "training")]
    try:
        if before:  # else it is a frozen script, which has one mode
            module.train(training)
        yield
    finally:
        for one, was in before:
            one.training = was


@contextlib.contextmanager
def _hooks(run):
    """Every module tells `run` when its forward begins and ends."""
    from torch.nn.modules import module as modules

    before = modules.register_module_forward_pre_hook(run.enter)
    try:
        after = _hook_behind(modules, run.leave)
        try:
            yield
        finally:
            after.remove()
            # torch forgets to take this note of a hook away with it.
            getattr(modules, "_global_forward_hooks_with_kwargs", {}).pop(after.id, None)
    finally:
        before.remove()


def _hook_behind(modules, leave):
    try:
        return modules.register_module_forward_hook(leave, with_kwargs=True, always_call=True)
    except TypeError:  # an older torch tells no keyword arguments here
        return modules.register_module_forward_hook(leave, always_call=True)


# ---- backward


def _tensors(torch, out, found, depth=6):
    """Every tensor in what a model gave that has a gradient."""
    if isinstance(out, torch.Tensor):
        if out.requires_grad and (out.is_floating_point() or out.is_complex()):
            found.append(out)
    elif depth and isinstance(out, dict):
        for one in out.values():
            _tensors(torch, one, found, depth - 1)
    elif depth and isinstance(out, (tuple, list)):
        for one in out:
            _tensors(torch, one, found, depth - 1)
    elif depth and hasattr(out, "__dataclass_fields__"):
        for one in vars(out).values():
            _tensors(torch, one, found, depth - 1)
    return found


def _starts(torch, out):
    """Outputs and their gradients: of the sum of all of them, each is 1."""
    tensors = _tensors(torch, out, [])
    if not tensors:
        raise ModelError("there is nothing to go backward from: no output of the model depends on a parameter or input "
                         "that requires a gradient (are gradients switched off, or all parameters frozen?)")
    return tensors, [torch.ones(one.shape, dtype=one.dtype, device=one.device) for one in tensors]


@contextlib.contextmanager
def _gradients(torch, backward):
    """A forward runs with gradients where the caller's would; for a backward it must, in inference mode too."""
    if not backward:
        yield
        return
    with torch.inference_mode(False), torch.enable_grad():
        yield


def _backward(torch, tensors, ones):
    """torch.autograd.backward() without its look at the shapes, which loads a library of symbols for half a second: ours fit."""
    engine = getattr(getattr(torch.autograd, "Variable", None), "_execution_engine", None)
    if engine is None or any(type(t) not in (torch.Tensor, torch.nn.Parameter) for t in tensors):
        torch.autograd.backward(tensors, ones)
        return
    engine.run_backward(tuple(tensors), tuple(ones), False, False, (), allow_unreachable=True, accumulate_grad=True)


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
        stack.enter_context(_hooks(run))
        stack.enter_context(_uncompiled(torch))
        stack.enter_context(_without_compiler())
        if memory:
            stack.enter_context(_functions_mode()(run))
            stack.enter_context(torch.autograd.graph.saved_tensors_hooks(run.saved, run.restored))
        with run:
            out = module(*args, **kwargs)
        if backward:
            tensors, ones = _starts(torch, out)
            run.set_backward(True)
            with run:
                _backward(torch, tensors, ones)


def _copied(torch, tensor):
    """A tensor with the same numbers that a pass may write to, and whose gradient goes no further than to itself.

    One that was computed from others stays a computed one: a forward may write to it in place, to a leaf it may not.
    """
    own = tensor.detach().clone()
    if not tensor.requires_grad:
        return own
    own.requires_grad_()
    if tensor.is_leaf:
        return own
    with torch.enable_grad():
        return own.clone()


def _real(torch, tensor, device):
    """Numbers for a tensor without data: zeros where they are indices."""
    if tensor.is_floating_point():
        made = torch.randn(tensor.shape, generator=torch.Generator().manual_seed(0)).to(device=device, dtype=tensor.dtype)
    else:
        made = torch.zeros(tensor.shape, dtype=tensor.dtype, device=device)
    return made.requires_grad_(tensor.requires_grad)


def _own(torch, o, device, depth=6):
    """Inputs of one real pass: copies, because nothing of the caller's is written to, its gradients and graph neither.

    Tensors are looked for in tuples, lists, dicts and dataclasses, and in what is derived from them.
    """
    if isinstance(o, torch.Tensor):
        return _real(torch, o, device) if o.device.type == "meta" else _copied(torch, o)
    if not depth or isinstance(o, torch.Size):
        return o
    if isinstance(o, (tuple, list)):
        own = [_own(torch, one, device, depth - 1) for one in o]
        return type(o)(*own) if hasattr(o, "_fields") else type(o)(own)
    if isinstance(o, dict):
        made = copy.copy(o)
        for key, value in o.items():
            made[key] = _own(torch, value, device, depth - 1)
        return made
    if hasattr(type(o), "__dataclass_fields__"):
        made = copy.copy(o)
        for key, value in vars(o).items():
            object.__setattr__(made, key, _own(torch, value, device, depth - 1))
        return made
    return o


def _device_of(torch, module):
    first = _first_float(module)
    return first.device if first is not None else torch.device("cpu")


def _own_parameters(module):
    """{module's id: (module, {name: parameter})} of all modules; those of scripts, whose tensors are made when they are asked for, have none."""
    tables = [(one, vars(one).get("_parameters")) for one in module.modules()]
    return {id(one): (one, dict(table)) for one, table in tables if isinstance(table, dict)}


def _tell_new(module, made, before):
    """Parameters that a forward gave to a module that was there before (`before`: with which ones): they come too late to be counted."""
    known = {t["name"] for t in made.tensors()}
    new = [name for name, _ in module.named_parameters() if name not in known]
    for path, one in module.named_modules():
        had = before.get(id(one), (None, {}))[1]
        for key, was in had.items():
            now = one._parameters.get(key)
            if was is not None and now is not None and now is not was:
                new.append("{0}.{1}".format(path, key).lstrip("."))
    if new:
        made.note("the forward itself made parameters: {0}; they are not in the counts, and were taken away again".format(
            ", ".join(new[:3]) + (", ..." if len(new) > 3 else "")))


def _once(torch, module, args, kwargs, twins, backward, memory, rules):
    """One pass; where torch.func takes gradients inside of the forward, it has what the backward keeps told to nobody."""
    try:
        return _once_as_asked(torch, module, args, kwargs, twins, backward, memory, rules)
    except RuntimeError as why:
        if not memory or "saved tensor hooks" not in str(why):
            raise
    made = _once_as_asked(torch, module, args, kwargs, twins, backward, False, rules)
    made.note("what is kept for the backward is not known: torch.func, which this model uses, does not tell it")
    return made


def _once_as_asked(torch, module, args, kwargs, twins, backward, memory, rules):
    run, device = _mode()(), _device_of(torch, module)
    try:
        run.begin(module, twins=twins, backward=backward, memory=memory, rules=rules, cpu=device.type == "cpu")
        _facts(run.model, torch, module, device, args, kwargs, twins)
        before = _own_parameters(module)
        if twins:
            args, kwargs = run.twins(args), run.twins(kwargs)
        _pass(torch, run, module, args, kwargs, backward, memory)
        if run.refused:
            _went_on(run, device)
        if memory:
            run.model.fact("peak_bytes", str(run.peak_bytes))
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


def _went_on(run, device):
    """The model has caught what an operator raised without data, and went another way than with it."""
    said = "{0} was refused without data, and the model went on".format(run.refused)
    if device.type != "meta":
        raise RuntimeError(said)
    run.model.note(said + ": with data it may take another way")


def _really(torch, module, args, kwargs, backward, memory, rules):
    device = _device_of(torch, module)
    args, kwargs = _own(torch, args, device), _own(torch, kwargs, device)
    with _same_tensors(torch, module) as changed:
        made = _once(torch, module, args, kwargs, False, backward, memory, rules)
    if changed:
        made.note(_told(changed))
    return made


def parameters_of(model):
    """The model's tensors, not its work: a _sonde.Model of a model that was not run."""
    module = module_of(model)
    if _is_lazy(module):
        raise _lazy(module)
    run = _mode()()
    try:
        run.begin(module)
    finally:
        made = run.end()
    return made


def _lazy(module):
    return ModelError("{0} has lazy parameters, which have no shape before its first forward: call it once on a real input first".format(
        type(module).__name__))


def _is_lazy(module):
    from torch.nn.parameter import is_lazy

    return any(is_lazy(p) for p in list(module.parameters()) + list(module.buffers()))


def _words(why):
    text = " ".join(str(why).split())
    return "{0}: {1}".format(type(why).__name__, text[:300] + ("..." if len(text) > 300 else "")) if text else type(why).__name__


def _why_really(because):
    doubt = because.partition("RuntimeError: ")[2]
    return doubt if doubt.startswith("torch might refuse ") else "without data it cannot: " + because


def _refused(module, why, args, kwargs):
    """What to raise for what a model raised."""
    layer = getattr(why, "_sonde_layer", ())  # of a pass without hooks nothing is known
    where = ", in {0} ({1})".format(layer[0] or "the model", layer[1]) if layer else ", before its first layer" if layer is None else ""
    given = ["{0}".format(tuple(a.shape) if hasattr(a, "shape") else type(a).__name__) for a in args]
    given += ["{0}={1}".format(k, tuple(v.shape) if hasattr(v, "shape") else type(v).__name__) for k, v in kwargs.items()]
    return ModelError("{0} could not be run{1}: {2} (it was given {3}; input_shape= has no batch axis, inputs= takes a tensor, a "
                      "tuple of several, or a dict by name)".format(type(module).__name__, where, _words(why), ", ".join(given) or "nothing"))


def collect(model, args=(), kwargs=None, *, backward=False, real=False, memory=False, rules=None):
    """Runs the model once and gives what ran as a _sonde.Model.

    On tensors without data, unless `real` is true or the model cannot do without (it reads values, or an operator knows
    only real tensors): then on its own, with buffers, gradients and random states put back afterwards.
    """
    torch = _torch()
    module = module_of(model)
    args, kwargs, because = tuple(args), dict(kwargs or {}), None
    if _is_lazy(module):
        raise _lazy(module)
    on_meta = _device_of(torch, module).type == "meta"
    memory = memory or backward
    with _gradients(torch, backward), _same_randomness(torch):
        if not real or on_meta:
            try:
                return _once(torch, module, args, kwargs, True, backward, memory, rules)
            except ModelError:
                raise
            except Exception as why:
                if on_meta:
                    raise _refused(module, why, args, kwargs) from why
                because = _words(why)
        try:
            made = _really(torch, module, args, kwargs, backward, memory, rules)
        except ModelError:
            raise
        except Exception as why:
            raise _refused(module, why, args, kwargs) from why
    if because:
        made.fact("because", because)
        made.note("the model ran on real tensors, because {0}".format(_why_really(because)))
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
        self._run = _mode()()
        self._run.begin(self._module, rules=self._rules, backward=True, lent=True)
        self.model = self._run.model
        with contextlib.ExitStack() as stack:
            stack.enter_context(_hooks(self._run))
            stack.enter_context(_uncompiled(_torch()))
            stack.enter_context(_functions_mode()(self._run))
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


def _settle(torch, device):
    """Waits for work of a device that is still on its way."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _timed_pass(torch, module, args, kwargs, device, backward):
    """(forward, backward) of one pass without hooks, in nanoseconds."""
    import time

    args, kwargs = _own(torch, args, device), _own(torch, kwargs, device)
    _settle(torch, device)
    begin = time.perf_counter_ns()
    out = module(*args, **kwargs)
    _settle(torch, device)
    middle = time.perf_counter_ns()
    if not backward:
        return middle - begin, None
    tensors, ones = _starts(torch, out)
    started = time.perf_counter_ns()
    _backward(torch, tensors, ones)
    _settle(torch, device)
    return middle - begin, time.perf_counter_ns() - started


def _layered_pass(torch, run, module, args, kwargs, device, backward):
    """One pass whose layers `run` times; its graph is gone when the next one begins."""
    args, kwargs = _own(torch, args, device), _own(torch, kwargs, device)
    _settle(torch, device)
    run.pass_begins()
    out = module(*args, **kwargs)
    _settle(torch, device)
    run.pass_ends(False)
    if backward:
        tensors, ones = _starts(torch, out)
        run.pass_begins()
        _backward(torch, tensors, ones)
        _settle(torch, device)
        run.pass_ends(True)


def _time_layers(torch, module, args, kwargs, device, into, backward, repeats):
    """The same with hooks: each layer's own time."""
    run = _mode()() if device.type == "cpu" else _settled_mode()()
    run.device = device
    try:
        run.begin(module, backward=backward, timing=repeats, into=into)
        with _hooks(run):
            for _ in range(repeats):
                _layered_pass(torch, run, module, args, kwargs, device, backward)
        run.put_times(False)
        if backward:
            run.put_times(True)
    finally:
        run.end()


def _processor():
    """What the machine calls its processor: times are compared with the peak of the same one only."""
    try:
        with open("/proc/cpuinfo") as f:
            return next((line.partition(":")[2].strip() for line in f if line.startswith("model name")), None)
    except OSError:
        return None


def measure(model, args=(), kwargs=None, into=None, *, backward=False, warmup=3, repeats=10):
    """Runs the model on real tensors and times it: medians of `repeats` passes, after `warmup` ones that do not count.

    Gradients are on where they are for the caller, and for a backward.  Gives {"forward_ns", "backward_ns", "repeats",
    "timed_grad"}: whole passes without any hook.  With `into`, a Model of the same model,
    the layers are timed in passes of their own, and their times put there.
    """
    torch = _torch()
    module = module_of(model)
    if _is_lazy(module):
        raise _lazy(module)
    device = _device_of(torch, module)
    if device.type == "meta":
        raise ModelError("{0} is on meta and has no numbers to run with: move it to a real device (model.to_empty(device='cpu')) "
                         "to time it".format(type(module).__name__))
    if repeats < 1 or warmup < 0:
        raise ModelError("to time a model takes at least one pass: repeats={0}, warmup={1}".format(repeats, warmup))
    args, kwargs = tuple(args), dict(kwargs or {})
    try:
        with _gradients(torch, backward), _same_randomness(torch), _same_modules(module), _same_tensors(torch, module) as changed:
            grad = torch.is_grad_enabled()
            for _ in range(warmup):
                _timed_pass(torch, module, args, kwargs, device, backward)
            passes = [_timed_pass(torch, module, args, kwargs, device, backward) for _ in range(repeats)]
            if into is not None:
                _time_layers(torch, module, args, kwargs, device, into, backward, repeats)
    except ModelError:
        raise
    except Exception as why:
        raise _refused(module, why, args, kwargs) from why
    took = {"forward_ns": _median([f for f, _ in passes]), "backward_ns": _median([b for _, b in passes]) if backward else None, "repeats": repeats,
            "timed_grad": "on" if grad else "off"}
    if into is not None:
        for key, value in list(took.items()) + [("cpu", _processor())]:
            if value is not None:
                into.fact(key, str(value))
        if changed:
            into.note(_told(changed))
    elif changed:
        warnings.warn(_told(changed), RuntimeWarning, stacklevel=3)
    return took
