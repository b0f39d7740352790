# SPDX-License-Identifier: MIT
"""How what a model keeps for the backward grows with the batch: it is counted once more, with a batch twice as large.

Copies of weights (of weight_norm, of autocast) and tables that a layer makes stay as they are, so one count does not tell.
"""
from .. import _sonde
from . import _gate, _model_kept

_MOST_TRIED = 4  # lengths that may be the batch: each takes a pass


def has_room(counted):
    """May a real pass take twice the memory that it took, and half of what is left stays?  A system that runs out of it asks nobody."""
    return 4 * int(counted.facts.get("peak_bytes", 0)) < _sonde.memory_free()


def _can_be_doubled(torch, tensor):
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and not tensor.is_nested and tensor.layout is torch.strided and tensor.dim()


def _without_data(torch, like, length):
    """As `like` but for the length of its first axis; its axes lie in memory in the same order, with one of length 1, whose step says
    nothing, outside."""
    shape = (length,) + tuple(like.shape[1:])
    order = sorted(range(like.dim()), key=lambda i: (like.shape[i] != 1, -like.stride(i)))
    made = torch.empty([shape[i] for i in order], dtype=like.dtype, device="meta")
    return made.permute([order.index(i) for i in range(like.dim())])


def _doubled(torch, tensor):
    """Whole numbers keep their values, which a forward may look at; axes that were stretched stay so."""
    shape = (2 * tensor.shape[0],) + tuple(tensor.shape[1:])
    once = tensor.detach()[tuple(slice(0, 1) if step == 0 else slice(None) for step in tensor.stride())]
    if once.shape[0] == tensor.shape[0]:
        has_values = not (tensor.is_floating_point() or tensor.is_complex())
        once = torch.cat([once, once]) if has_values else _without_data(torch, once, shape[0])
    elif tensor.is_floating_point() or tensor.is_complex():
        once = _without_data(torch, once, once.shape[0])
    made = once.expand(shape)
    if tensor.requires_grad:
        made.requires_grad_()
        if not tensor.is_leaf:  # a forward may write to it
            with torch.enable_grad():
                made = made.clone()
    return made


def _rows(counted):
    """The first axis of what the model gave; 0 where there is none, as of a loss."""
    shapes = [shape for shape, _ in counted.layers()[0]["outputs"]]
    return shapes[0][0] if shapes and shapes[0] else 0


def _tried(torch, counted, tensors, given, length, count_again):
    """(how well it goes with twice as much of each tensor of that length, what is kept then); None: it does not."""
    kept = counted.totals()["activation_bytes"]
    others = {id(t): _doubled(torch, t) for t in tensors if t.shape[0] == length}
    again = count_again(*_model_kept.exchanged(torch, given, others))
    now = again.totals()["activation_bytes"]
    if now is None or now < kept:
        return None
    return (2 if _rows(again) == 2 * _rows(counted) > 0 else 0) + (now > kept), now


def tell_growth(torch, counted, args, kwargs, count_again, most=_MOST_TRIED):
    """Adds the facts "batch" and "activation_bytes_at_2" to what was counted: `count_again` counts with other (args, kwargs), `most` times at most.

    The batch is the length of a first axis, with which the model also runs when all inputs of that length have twice as much; where
    there are several of them the first with which it gives twice as much and keeps more, or one of these.  Where there is none nothing
    is added.  It raises nothing but what a handler of a signal does.
    """
    best, batch, at_2 = -1, None, None
    try:
        tensors = [t for t in _model_kept.tensors_in(torch, (args, kwargs)) if _can_be_doubled(torch, t)]
        if counted.totals()["activation_bytes"] is None:
            return
    except Exception:
        return
    for length in list(dict.fromkeys(t.shape[0] for t in tensors if t.shape[0]))[:most]:
        try:
            found = _tried(torch, counted, tensors, (args, kwargs), length, count_again)
        except Exception as why:  # whatever a model raises: this length is not its batch
            _gate.pass_on(why)
            continue
        if found is not None and found[0] > best:
            best, batch, at_2 = found[0], length, found[1]
        if best == 3:
            break
    if batch is not None:
        counted.fact("batch", str(batch))
        counted.fact("activation_bytes_at_2", str(at_2))
