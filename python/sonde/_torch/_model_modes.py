# SPDX-License-Identifier: MIT
"""What makes torch tell a _sonde.ModelRun what a model does: modes, hooks, and a compiler that stands aside.

Each is entered and left around a pass.  torch is imported when the first model comes.
"""
import contextlib
import functools
import importlib
import itertools
import os
import sys
import threading
import types

from .. import _sonde
from . import _on_cpu


@functools.lru_cache(maxsize=None)
def mode():
    """The class that is both torch's mode and our body of it."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class SondeMode(_sonde.ModelRun, TorchDispatchMode):
        supports_higher_order_operators = True
        is_as_on_cpu = follows_memory = has_data = False

        def told_once(self, sentence):
            if sentence not in self.model.notes:
                self.model.note(sentence)

        def decompose(self, func, args, kwargs):
            if _is_for_nested(torch, func, args):
                return NotImplemented
            with self:
                found = _on_cpu.run_as_there(self, func, args, kwargs) if self.is_as_on_cpu else NotImplemented
                return func.decompose(*args, **kwargs) if found is NotImplemented else found

        def settle_shapes(self, module, args):
            from torch.utils._python_dispatch import _disable_current_modes

            def initialize(*given, **named):
                with _disable_current_modes():
                    module.initialize_parameters(*given, **named)

            def settle_and_enter(*given, **named):
                del module.initialize_parameters
                initialize(*given, **named)
                self.enter(module, given)

            if args:
                initialize(*args)
            else:  # they come by name: its own hook, which runs next, is told them
                module.initialize_parameters = settle_and_enter

        run_functions = torch._disable_dynamo(_run_functions)  # torch calls it from what it means to compile

    return SondeMode


def _is_for_nested(torch, func, args):
    """Has torch a kernel of its own for a nested tensor (of the older kind, which is no class) among these?  Taken apart, the operator
    would ask such a tensor for a shape that it does not have."""
    if not any(isinstance(one, torch.Tensor) and one.is_nested and one.layout is torch.strided for one in args):
        return False
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key) for key in ("NestedTensorCPU", "NestedTensorCUDA"))


def functions_mode():
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
            self._mode.look_at_casts()
            if isinstance(func, HigherOrderOperator):
                with _pop_mode_temporarily():
                    found = self._mode.run_functions(func, args, kwargs or {})
            return func(*args, **kwargs or {}) if found is NotImplemented else found

    if has_compiler:  # its name alone would load one
        FunctionsMode.__torch_function__ = torch._disable_dynamo(FunctionsMode.__torch_function__)
    return FunctionsMode


# What torch keeps besides of which modes there are.
_FLAGS = ("_is_in_torch_dispatch_mode", "_is_in_non_infra_torch_dispatch_mode", "_is_in_any_mode_without_ignore_compile_internals")


def _stacks(torch):
    """Torch's modes now, each with what takes the last away and puts one there: those of functions, and those below autograd."""
    of = torch._C
    return [([of._get_function_stack_at(i) for i in range(of._len_torch_function_stack())], of._pop_torch_function_stack, of._push_on_torch_function_stack),
            ([of._get_dispatch_stack_at(i) for i in range(of._len_torch_dispatch_stack())], of._pop_torch_dispatch_stack, of._push_on_torch_dispatch_stack)]


@contextlib.contextmanager
def same_modes(torch):
    """Torch takes modes away for a while, and puts them back, in Python: a handler that raises in between (Ctrl-C) leaves one too many
    or too few, and the next operator of the program fails."""
    if not hasattr(torch._C, "_get_dispatch_stack_at"):
        yield
        return
    from torch.utils import _python_dispatch as dispatch

    before, flags = [all_of_them for all_of_them, _, _ in _stacks(torch)], [(name, getattr(dispatch, name)) for name in _FLAGS if hasattr(dispatch, name)]
    try:
        yield
    finally:
        for was, (now, pop, push) in zip(before, _stacks(torch)):
            same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] is pair[1], zip(was, now)))
            for _ in now[same:]:
                pop()
            for one in was[same:]:
                push(one)
        for name, was in flags:
            setattr(dispatch, name, was)
        if len(flags) == len(_FLAGS) and hasattr(dispatch, "set_is_in_mode_without_ignore_compile_internals"):
            dispatch.set_is_in_mode_without_ignore_compile_internals(flags[-1][1])


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
def without_compiler():
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
def uncompiled(torch):
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


def settle(torch, device):
    """Waits for work of a device that is still on its way."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def event_on(torch, device):
    """The device looks at its clock when it comes to this place of its work."""
    event = torch.cuda.Event(enable_timing=True)
    event.record(torch.cuda.current_stream(device))
    return event


@functools.lru_cache(maxsize=None)
def stamped_mode():
    """The mode for a device that works while we go on, and has a clock of its own.  Tried with a device that was made up only."""
    import torch

    class StampedMode(mode()):
        device = None

        def stamp(self):
            self.__dict__.setdefault("events", []).append(event_on(torch, self.device))

        def stamps(self):
            """Nanoseconds from the first border to each."""
            events = self.__dict__.pop("events")
            settle(torch, self.device)
            return [int(events[0].elapsed_time(one) * 1e6) for one in events]

    return StampedMode


_rooms = {"lock": threading.Lock(), "users": 0, "given": 0, "ours": 0}  # the limit is one for all threads


def _renew():
    """In a child that was forked nobody runs below it."""
    if _rooms["users"] and sys.getrecursionlimit() == _rooms["ours"]:
        sys.setrecursionlimit(_rooms["given"])
    _rooms.update(lock=threading.Lock(), users=0)


os.register_at_fork(after_in_child=_renew)


@contextlib.contextmanager
def room_below():
    """torch calls a module that has any hook through one more function of Python's (five frames in the place of four), and we have some
    below: a model that is nested as deep as the limit allows runs all the same.  A limit that the forward sets is its own."""
    with _rooms["lock"]:
        if not _rooms["users"]:
            _rooms["given"] = sys.getrecursionlimit()
            _rooms["ours"] = _rooms["given"] + _rooms["given"] // 4 + 100
            sys.setrecursionlimit(_rooms["ours"])
        _rooms["users"] += 1
    try:
        yield
    finally:
        with _rooms["lock"]:
            _rooms["users"] = max(_rooms["users"] - 1, 0)  # a fork has forgotten it
            if not _rooms["users"] and sys.getrecursionlimit() == _rooms["ours"]:
                sys.setrecursionlimit(_rooms["given"])


@contextlib.contextmanager
def hooks(run):
    """Every module tells `run` when its forward begins and ends."""
    with room_below(), _only_hooks(run):
        yield


@contextlib.contextmanager
def _only_hooks(run):
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
