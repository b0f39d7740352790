# SPDX-License-Identifier: MIT
"""torch.utils.flop_counter's FlopCounterMode, with Sonde underneath: from sonde.compat.flop_counter import FlopCounterMode.

    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    counter.get_total_flops()

FLOPs are two for each multiply-add, as there; attention and recurrent layers on the CPU, of which torch's own counts
nothing, are counted.  Formulas of custom_mapping are torch's kind and are given what torch's are.
"""
from .. import model as _m

__all__ = ["FlopCounterMode", "register_flop_formula"]


def __getattr__(name):
    if name == "register_flop_formula":  # torch's own: what it registers is counted here, too
        from torch.utils.flop_counter import register_flop_formula

        return register_flop_formula
    raise AttributeError("module {0!r} has no attribute {1!r}".format(__name__, name))


class FlopCounterMode:
    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        self.depth, self.display = depth, display
        self._rules = {**_m._checked_rules(), **{_name(op): (_formula(fn),) for op, fn in (custom_mapping or {}).items()}}
        self._mods = mods
        self._counting = None

    def __enter__(self):
        from .._torch import _model

        self._counting = _model.Counting(rules=self._rules)
        self._counting.__enter__()
        return self

    def __exit__(self, *why):
        ended = self._counting.__exit__(*why)
        if self.display and why[0] is None:
            print(self.get_table(self.depth))
        return ended

    def _layers(self):
        return self._counting.model.layers("macs")

    def get_total_flops(self):
        from .._torch import _model_words

        return _model_words.told_beyond(self._counting.model).totals("macs")["flops"] if self._counting else 0

    def get_flop_counts(self):
        """Returns {module: {operator: FLOPs}}, by torch's own operators; "Global" is all of it."""
        found = {"Global": self._operators(0)}
        for row in self._layers()[1:]:
            if row["within"]["flops"] and row["order"]:  # a list of modules is never called
                found[row["name"]] = self._operators(row["layer"])
        return found

    def _operators(self, layer):
        return {_packet(row["name"]): row["flops"] for row in self._counting.model.operators("macs", layer) if row["flops"]}

    def get_table(self, depth=None):
        depth = self.depth if depth is None else depth
        total = self.get_total_flops() or 1
        rows = [("Module", "FLOP", "% Total")]
        for i, row in enumerate(self._layers()):
            level = row["name"].count(".") + 1 if i else 0
            if level <= depth and (row["within"]["flops"] or i == 0):
                rows.append((" " * level + (row["name"] or "Global"), "{0:,}".format(row["within"]["flops"]), "{0:.2%}".format(row["within"]["flops"] / total)))
        widths = [max(len(r[k]) for r in rows) for k in range(3)]
        lines = ["  ".join([r[0].ljust(widths[0]), r[1].rjust(widths[1]), r[2].rjust(widths[2])]) for r in rows]
        return "\n".join([lines[0], "  ".join("-" * w for w in widths)] + lines[1:])


def _name(op):
    """"aten::mm" of torch.ops.aten.mm, or of one of its overloads."""
    words = op if isinstance(op, str) else getattr(op, "_qualified_op_name", None) or getattr(op, "name", lambda: str(op))()
    return words.replace(".", "::", 1).split(".")[0] if "::" not in words else words.split(".")[0]


def _packet(name):
    """torch.ops.aten.mm of "aten::mm"; the name itself where torch has none such."""
    import torch

    space, _, word = name.partition("::")
    try:
        return getattr(getattr(torch.ops, space), word)
    except AttributeError:
        return name


def _formula(fn):
    """One that takes the arguments and out_val: torch's formulas take shapes in their place, unless they say otherwise."""
    from torch.utils.flop_counter import shape_wrapper

    return fn if getattr(fn, "_get_raw", False) else shape_wrapper(fn)
