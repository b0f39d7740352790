# SPDX-License-Identifier: MIT
"""A real pass that leaves no trace: what a forward and a backward may move is put back, and what they are given is a copy.

Random states, the model's tensors, and what its modules hold (C's) are as they were; what cannot be put back is told.
"""
import contextlib
import copy
import sys
import types

from . import _model_modes


# ---- random states


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
def same_randomness(torch):
    states = _random_states(torch)
    try:
        yield
    finally:
        _put_back(states)


# ---- what a model holds


def _version(tensor):
    """How often a tensor was written to; None of one made in inference mode, which does not count."""
    return None if tensor.is_inference() else tensor._version


def _as_before(now, before):
    """The same objects under the same keys; None is none at all."""
    return (now is None) == (before is None) and (now is None or list(map(id, now.values())) == list(map(id, before.values())) and list(now) == list(before))


def hooks_of_sums(tensor):
    """Those that run when a gradient was added to the one that a leaf has."""
    found = getattr(tensor, "_post_accumulate_grad_hooks", None)
    return {} if found is None else found


@contextlib.contextmanager
def same_gradients(leaves):
    """The gradients of these are those of before, and nobody hears of others."""
    before = [(leaf, leaf.grad, hooks_of_sums(leaf), dict(hooks_of_sums(leaf))) for leaf in leaves]
    try:
        for leaf, _, hooks, _ in before:
            leaf.grad = None
            hooks.clear()
        yield
    finally:
        for leaf, grad, hooks, were in before:
            leaf.grad = grad
            hooks.update(were)


@contextlib.contextmanager
def own_gradients(module):
    """A forward may reach parameters past the module, by an optimizer that it holds, and take their gradients away."""
    before = [(p, p.grad) for p in module.parameters()]
    try:
        yield
    finally:
        for parameter, grad in before:
            if parameter.grad is not grad:
                parameter.grad = grad


class _Kept:
    """The state of a tensor before a real pass: gradient, flags, hooks and attributes, and a copy of its values if there was room."""

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

    def silence(self):
        """An optimizer may stand behind such a hook, and make a step of its own."""
        hooks_of_sums(self.tensor).clear()

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
                try:
                    counts((self.tensor,), (self.version,))
                except TypeError:  # an older torch
                    counts(self.tensor, self.version)

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


_MOST_ENTRIES = 1 << 20  # a larger table is a vocabulary (as of containers.h)
_MOST_BYTES = 1 << 28    # of tensors that are copied
_SCALARS = frozenset((int, float, complex, bool, str, bytes, type(None)))


def _within(o):
    """What a list, tuple or dict holds that may hold a tensor, past what a class of its own tells of itself."""
    kind = next((kind for kind in (dict, list, tuple) if issubclass(type(o), kind)), None)
    if kind is None or kind.__len__(o) >= _MOST_ENTRIES:
        return []
    return [one for one in (dict.values(o) if kind is dict else kind.__iter__(o)) if type(one) not in _SCALARS]


def _in_slots(o):
    """{name: value} of what an object holds in __slots__, without running any code of its class."""
    found = {}
    for kind in type(o).__mro__:
        for name, slot in vars(kind).items():
            if type(slot) is types.MemberDescriptorType and name != "__dict__":
                with contextlib.suppress(AttributeError, TypeError):  # not set, or another class's
                    found.setdefault(name, slot.__get__(o))
    return found


def _plain_tensors(torch, module):
    """{tensor's id: (name of the attribute, tensor)} of all that modules hold as attributes, in lists and in dicts, and those of modules there."""
    found, seen, left = {}, set(), [(name, one, 8) for name, one in module.named_modules()]
    while left:
        name, o, depth = left.pop()
        if issubclass(type(o), torch.Tensor):
            found.setdefault(id(o), (name, o))
        elif id(o) not in seen:
            seen.add(id(o))
            if issubclass(type(o), torch.nn.Module):
                left += [("{0}.{1}".format(name, key), one, 8) for held in (vars(o), _in_slots(o)) for key, one in held.items() if type(one) not in _SCALARS]
            elif depth:
                left += [(name, one, depth - 1) for one in _within(o)]
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


def told(changed):
    return "the model itself changed {0} in place, which cannot be undone".format(", ".join(changed[:3]) + (", ..." if len(changed) > 3 else ""))


@contextlib.contextmanager
def same_tensors(torch, module):
    """What the model holds is as it was after a real pass: gradients, flags, hooks and attributes of its tensors, and their numbers,
    but those that are too large to copy.  Gives a list that says afterwards which ones were changed for good."""
    changed, kept = [], _kept_tensors(torch, module)
    try:
        for one in kept:
            if one.grad is not None:
                one.tensor.grad = None
            one.silence()
        yield changed
    finally:
        changed += [one.name for one in kept if one.put_back(torch)]


@contextlib.contextmanager
def same_modules(module):
    """What the modules hold is put back afterwards."""
    run = _model_modes.mode()()
    try:
        run.begin(module)
        yield
    finally:
        run.end()


# ---- what it is given


def _clone(torch, tensor):
    """Axes that were stretched stay so: how a tensor lies in memory may decide which operator takes it."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return tensor.clone()
    if 0 not in tensor.stride():
        made = tensor.clone()
        return made if made.stride() == tensor.stride() or type(tensor) is not torch.Tensor else _with_gaps(torch, tensor)
    once = tensor[tuple(slice(0, 1) if step == 0 else slice(None) for step in tensor.stride())]
    return once.clone().expand(tensor.shape)


def _with_gaps(torch, tensor):
    """A clone closes the gaps of one that was cut out of another."""
    made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    return made.copy_(tensor)


def _copied(torch, tensor):
    """A tensor with the same numbers that a pass may write to, and whose gradient goes no further than to itself.

    One that was computed from others stays a computed one: a forward may write to it in place, to a leaf it may not.
    """
    made = _clone(torch, tensor.detach())
    if not tensor.requires_grad:
        return made
    made.requires_grad_()
    if tensor.is_leaf:
        return made
    with torch.enable_grad():
        return made.clone()


def _real(torch, tensor, device):
    """Numbers for a tensor without data: zeros where they are indices."""
    if tensor.is_floating_point():
        made = torch.randn(tensor.shape, generator=torch.Generator("cpu").manual_seed(0), device="cpu").to(device=device, dtype=tensor.dtype)
    else:
        made = torch.zeros(tensor.shape, dtype=tensor.dtype, device=device)
    return made.requires_grad_(tensor.requires_grad)


def fields_of(o):
    """Returns the fields of a dataclass, including those in __slots__, as {name: value}; None if `o` is not a dataclass."""
    return _fields(o) if hasattr(type(o), "__dataclass_fields__") else None


def _fields(o):
    return dict(getattr(o, "__dict__", {}), **_in_slots(o))


def _is_plain(torch, o):
    """An object of a class of Python's that can be copied by what it holds: a cache of keys and values, say."""
    if isinstance(o, (type, types.ModuleType, types.FunctionType, types.MethodType, torch.nn.Module)):
        return False
    return type(o) is types.SimpleNamespace or (type(o).__flags__ & _MADE_IN_PYTHON and type(o).__new__ is object.__new__)


_MADE_IN_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_MOST_OPENED = 1 << 12    # tuples, lists, dicts and objects


class _Copies:
    """What one pass is given, apart from the caller's: a forward may write to it.

    Tuples, lists and dicts are opened, what is derived from them, and plain objects that hold any of these or tensors; what is there
    twice is one in the copies, too.  So are generators of random numbers: a pass draws from its own.  What cannot be copied stays.  `of` gives a tensor its copy.
    """

    def __init__(self, torch, of):
        self._torch, self._of, self._made, self._n = torch, of, {}, 0  # _made: {id: (what, its copy)}

    def of(self, o, depth=7):
        if type(o) in _SCALARS:
            return o
        if id(o) not in self._made:
            self._note(o, o)
            try:
                self._note(o, self._copy(o, depth))
            except Exception:  # it is made in a way of its own
                if isinstance(o, self._torch.Tensor) and o.device.type == "meta":
                    raise  # there is no room for its numbers
                self._note(o, o)
        return self._made[id(o)][1]

    def _note(self, o, made):
        """While it is being filled, too: it may hold itself."""
        self._made[id(o)] = (o, made)
        return made

    def _copy(self, o, depth):
        if isinstance(o, self._torch.Tensor):
            return self._of(o)
        if type(o) is self._torch.Generator:
            return self._torch.Generator(o.device).set_state(o.get_state())
        if not depth or isinstance(o, (self._torch.Size, type)) or self._n > _MOST_OPENED:
            return o
        self._n += 1
        if isinstance(o, tuple):
            copies = [self.of(one, depth - 1) for one in o]
            return type(o)(*copies) if hasattr(o, "_fields") else type(o)(copies)
        if isinstance(o, list):
            copied = self._note(o, copy.copy(o))
            copied[:] = [self.of(one, depth - 1) for one in list(o)]
            return copied
        if isinstance(o, dict):
            copied = self._note(o, copy.copy(o))
            for key, value in list(o.items()):
                copied[key] = self.of(value, depth - 1)
            return copied
        if type(o).__module__ == "numpy" and type(o).__name__ == "ndarray":
            return o.copy()
        return self._copy_of_object(o, depth)

    def _copy_of_object(self, o, depth):
        if hasattr(type(o), "__del__") or not (_is_plain(self._torch, o) or hasattr(type(o), "__dataclass_fields__")):
            return o
        held = _fields(o)
        copied = self._note(o, object.__new__(type(o)) if type(o).__new__ is object.__new__ else copy.copy(o))
        copies = {name: self.of(value, depth - 1) for name, value in held.items()}
        if all(copies[name] is value and not isinstance(value, self._torch.Tensor) for name, value in held.items()):
            return o
        for name, value in copies.items():
            object.__setattr__(copied, name, value)
        return copied


def own(torch, o, device):
    """Inputs of one real pass: copies, because nothing of the caller's is written to, its gradients and graph neither."""
    return _Copies(torch, lambda t: _real(torch, t, device) if t.device.type == "meta" else _copied(torch, t)).of(o)


def exchanged(torch, o, others):
    """The same with those tensors exchanged that `others` has, {id: other}."""
    return _Copies(torch, lambda tensor: others.get(id(tensor), tensor)).of(o)


def tensors_in(torch, o, depth=7):
    """Every tensor in it, in order of appearance: tuples, lists, dicts and dataclasses are opened."""
    if isinstance(o, torch.Tensor):
        return [o]
    held = () if not depth else o.values() if isinstance(o, dict) else o if isinstance(o, (tuple, list)) else (fields_of(o) or {}).values()
    return [tensor for one in held for tensor in tensors_in(torch, one, depth - 1)]


def apart(torch, o):
    """The same for a pass without data, which writes to no tensor: only what holds them is copied."""
    return _Copies(torch, lambda tensor: tensor).of(o)
