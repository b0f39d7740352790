# SPDX-License-Identifier: MIT
"""What sonde.model says of a model that cannot be run, or not whole: sentences, with the way out."""
import sys
import warnings


class ModelError(RuntimeError):
    """A model that cannot be run as it was asked: one sentence, with the way out; __cause__ is the model's own exception."""


# How inputs are given, as a refusal ends; the command line, which has another way, says its own instead.
HOW_INPUTS_ARE_GIVEN = "input_shape= has no batch axis, inputs= takes a tensor, a tuple of several, or a dict by name"


def warn(sentence):
    """A RuntimeWarning for the line of the caller's own code, however deep in ours it comes from."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "sonde":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, RuntimeWarning, stacklevel=level)


def told_beyond(model, count="macs"):
    """The Model; a warning where a sum of it is more than 64 bits hold."""
    said = model.beyond(count)
    if said:
        warn(said)
    return model


def words(why):
    text = " ".join(str(why).partition("Exception raised from")[0].split())  # behind it are frames of C++
    return "{0}: {1}".format(type(why).__name__, text[:300] + ("..." if len(text) > 300 else "")) if text else type(why).__name__


def why_really(because):
    doubt = because.partition("RuntimeError: ")[2]
    return doubt if doubt.startswith("torch might refuse ") else "without data it cannot: " + because


def _shape_or_type(o):
    try:
        return "a nested tensor" if getattr(o, "is_nested", False) is True else str(tuple(o.shape))
    except Exception:  # it has none, or does not tell it
        return type(o).__name__


def _is_blank(o):
    """True if `o` is an integer or boolean tensor on the meta device, which has no values."""
    torch = sys.modules["torch"]
    return isinstance(o, torch.Tensor) and o.device.type == "meta" and not (o.is_floating_point() or o.is_complex())


def refused(module, why, args, kwargs):
    """Returns the ModelError to raise for what a model raised."""
    layer = getattr(why, "_sonde_layer", ())  # of a pass without hooks nothing is known
    where = "in {0} ({1})".format(layer[0] or "the model", layer[1]) if layer else ""
    if getattr(why, "_sonde_backward", False):
        where = "in the backward" + (where and " of " + where[len("in "):])
    where = ", " + where if where else ", before its first layer" if layer is None else ""
    given = [_shape_or_type(a) for a in args] + ["{0}={1}".format(k, _shape_or_type(v)) for k, v in kwargs.items()]
    way = HOW_INPUTS_ARE_GIVEN
    if "meta tensors" in str(why) and any(_is_blank(one) for one in list(args) + list(kwargs.values())):
        way = "it looks at what it is given: give whole numbers, as masks and lengths are, on the processor, where they have values"
    return ModelError("{0} could not be run{1}: {2} (it was given {3}; {4})".format(type(module).__name__, where, words(why), ", ".join(given) or "nothing", way))
