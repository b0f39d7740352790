# SPDX-License-Identifier: MIT
"""What torch does on a processor and not without data, for a model that lives there and runs on tensors without data.

Some functions choose by the device.  Attention and an LSTM are mostly one operator on a processor, where they are several elsewhere,
and it keeps other things for the backward; a norm of groups takes pictures as they lie in memory.  As long as a run is watched,
torch's functions of these names ask that run, in its own thread, when their tensors have no data; others get what torch does by itself.
"""
import contextlib
import functools
import os
import threading

_FUSED = "_scaled_dot_product_flash_attention_for_cpu"

_lock = threading.Lock()
_running = threading.local()  # .runs: of this thread, the innermost last
_registered = []              # torch's record of us, as long as anybody uses it
_users = 0


@functools.lru_cache(maxsize=None)
def _takes_groups():
    """Are heads that share keys and values fused, too?  That depends on torch's version, and is the same for all shapes."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        query, key = torch.zeros(1, 2, 1, 8), torch.zeros(1, 1, 1, 8)
        return torch._fused_sdp_choice(query, key, key, enable_gqa=True) == int(torch.nn.attention.SDPBackend.FLASH_ATTENTION)


def _attend(torch, run, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    if dropout_p > 0.0 or not hasattr(torch.ops.aten, _FUSED) or not torch._C._get_flash_sdp_enabled():
        return NotImplemented
    if not run.is_fused(query, key, value, attn_mask) or (query.shape[1] != key.shape[1] and not (enable_gqa and _takes_groups())):
        return NotImplemented
    if attn_mask is not None and attn_mask.dtype is torch.bool:
        like = {"dtype": query.dtype, "device": query.device}
        attn_mask = torch.where(attn_mask, torch.scalar_tensor(0.0, **like), torch.scalar_tensor(float("-inf"), **like))
    return getattr(torch.ops.aten, _FUSED)(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)[0]


def _recur(torch, run, input, hx, *rest):
    """The operator of a processor keeps a room that only its library knows the size of."""
    is_whole = torch._C._get_mkldnn_enabled() and input.dtype in (torch.float32, torch.bfloat16, torch.float16)
    if run.follows_memory and is_whole and hx[0].shape == hx[1].shape:  # else it is one with projections
        if run.has_data:
            run.refuse("aten::lstm")
            raise RuntimeError("what an LSTM keeps on a CPU is known only with data")
        run.told_once("an LSTM keeps more for its backward on a processor, and computes more in it, than is told without data")
    return NotImplemented


def _norm_groups(torch, run, input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """Pictures with their channels last stay so on a processor; others copy them first."""
    if input.dim() != 4 or input.is_contiguous() or not input.is_contiguous(memory_format=torch.channels_last):
        return NotImplemented
    batch, channels, height, width = input.shape
    if not input.numel() or num_groups < 1 or channels % num_groups:
        return NotImplemented
    return torch.native_group_norm(input, weight, bias, batch, channels, height * width, num_groups, eps)[0]


_KERNELS = {"scaled_dot_product_attention.default": _attend, "lstm.input": _recur, "group_norm.default": _norm_groups}


def run_as_there(run, func, args, kwargs):
    """What this operator of torch gives on a processor; NotImplemented: what it does without data, too."""
    import torch

    kernel = _KERNELS.get(func.__name__)
    return NotImplemented if kernel is None else kernel(torch, run, *args, **kwargs)


def _asked(func):
    def kernel(*args, **kwargs):
        runs = getattr(_running, "runs", None)
        found = run_as_there(runs[-1], func, args, kwargs) if runs else NotImplemented
        return func.decompose(*args, **kwargs) if found is NotImplemented else found

    return kernel


def _functions(torch):
    """(name for torch's library, operator) of those that this torch has."""
    for name in _KERNELS:
        packet, overload = name.split(".")
        func = getattr(getattr(torch.ops.aten, packet, None), overload, None)
        if func is not None:
            yield name.replace(".default", ""), func


def _register(torch):
    global _users
    with _lock:
        if not _registered:
            _registered.append(torch.library.Library("aten", "IMPL"))
            for name, func in _functions(torch):
                with contextlib.suppress(Exception):  # somebody else's is there: it is the program's own way
                    _registered[0].impl(name, _asked(func), "AutogradMeta")
        _users += 1


def _unregister():
    global _users
    with _lock:
        _users = max(_users - 1, 0)  # a fork has forgotten it
        if not _users and _registered:
            _registered.pop()._destroy()


def _renew():
    """In a child that was forked nobody counts; what is registered is taken over by the next who does."""
    global _lock, _users
    _lock, _users = threading.Lock(), 0


os.register_at_fork(after_in_child=_renew)


@contextlib.contextmanager
def as_on_cpu(torch, run):
    """In this thread those functions run as they do on a processor."""
    _register(torch)
    runs = _running.__dict__.setdefault("runs", [])
    runs.append(run)
    try:
        yield
    finally:
        runs.pop()
        _unregister()
