# SPDX-License-Identifier: MIT
"""torchinfo.summary(), with Sonde underneath: from sonde.compat.torchinfo import summary.

Mult-adds are torchinfo's: parameters of a layer times the positions they are used at, so the bias counts; of modules alone,
so a functional operator counts nothing (sonde.model counts those).  cache_forward_pass and row_settings are taken and mean
nothing here; device says where inputs are made.  The model runs in evaluation unless mode= says otherwise, as there.
"""
import contextlib
import math
from collections import namedtuple

from .._torch import _model
from .. import model as _m

__all__ = ["LayerInfo", "ModelStatistics", "summary"]

HEADINGS = {"input_size": "Input Shape", "output_size": "Output Shape", "num_params": "Param #", "params_percent": "Param %", "mult_adds": "Mult-Adds",
            "trainable": "Trainable", "kernel_size": "Kernel Shape"}

LayerInfo = namedtuple("LayerInfo", "class_name var_name depth depth_index module is_leaf_layer executed input_size output_size kernel_size num_params "
                                    "trainable_params trainable param_bytes macs")


class ModelStatistics:
    """What summary() gives: str() of it is the table, summary_list has a LayerInfo for each module, in the order they ran."""

    def __init__(self, report, module, depth, col_names, col_width, has_run=True):
        self._has_run = has_run
        counted, totals = report._profile.model, report.totals
        self._modules = dict(module.named_modules())
        self.report = report
        self.depth, self.col_names, self.col_width = depth, col_names, col_width
        self.layers = counted.layers("torchinfo")
        self.total_params, self.trainable_params = totals["params"], totals["trainable"]
        self.total_mult_adds = totals["madds"]
        self.total_param_bytes = totals["param_bytes"]
        # Of layers with parameters; twice, for forward and backward.
        self.total_output_bytes = 2 * sum(_bytes(row["outputs"]) * row["n_calls"] for row in counted.rows("torchinfo") if row["params"] and row["leaf"])
        self.total_input = _bytes(self.layers[0].get("inputs") or [])

    @property
    def summary_list(self):
        return [self._layer_info(i, depth, index) for i, depth, index in self._walk()]

    def _layer_info(self, i, depth, index):
        row = self.layers[i]
        within, name = row["within"], row["name"]
        return LayerInfo(row["type"], name.rsplit(".", 1)[-1] or row["type"], depth, index, self._modules.get(name), row["leaf"], bool(row["order"]),
                         _first_shape(row.get("inputs")), _first_shape(row.get("outputs")), self._kernel(name), within["params"], within["trainable"],
                         _trainable(within), within["param_bytes"], within["madds"])

    def _cells(self, row):
        total = self.total_params or 1
        within, kernel = row["within"], self._kernel(row["name"])
        words = {"input_size": _shapes(row.get("inputs")), "output_size": _shapes(row.get("outputs")),
                 "num_params": "{0:,}".format(within["params"]) if within["params"] else "--", "params_percent": "{0:.2%}".format(within["params"] / total),
                 "mult_adds": "{0:,}".format(within["madds"]) if within["madds"] else "--", "kernel_size": "--" if kernel is None else str(kernel),
                 "trainable": _trainable(within)}
        return [words[c] for c in self.col_names]

    def _kernel(self, name):
        size = getattr(self._modules.get(name), "kernel_size", None)
        return size if size is None else list(size) if isinstance(size, (tuple, list)) else [size]

    def _walk(self):
        """Yields (layer, depth, its number at that depth), parents before children, in the order they ran."""
        below, counters = {}, {}
        for i, row in enumerate(self.layers[1:], 1):
            below.setdefault(row["parent"], []).append(i)
        stack = [(0, 0)]
        while stack:
            i, depth = stack.pop()
            counters[depth] = counters.get(depth, 0) + 1
            yield i, depth, counters[depth] if i else None
            stack += [(k, depth + 1) for k in reversed(sorted(below.get(i, []), key=self._order))]

    def _rows(self):
        """Yields (words of the first column, cells), as deep as asked for."""
        for i, depth, index in self._walk():
            kind = self.layers[i]["type"]
            if depth <= max(self.depth, 1):
                yield "{0}├─{1}: {2}-{3}".format("│    " * (depth - 1), kind, depth, index) if i else kind, self._cells(self.layers[i])

    def _order(self, i):
        return self.layers[i]["order"] or math.inf, i

    def __str__(self):
        rows = list(self._rows())
        first = max([len(words) for words, _ in rows] + [24]) + 2
        line = "=" * (first + self.col_width * len(self.col_names))
        head = "Layer (type:depth-idx)".ljust(first) + "".join(HEADINGS[c].ljust(self.col_width) for c in self.col_names)
        body = ["".join([words.ljust(first)] + [c.ljust(self.col_width) for c in cells]).rstrip() for words, cells in rows]
        mb = [x / 1e6 for x in (self.total_input, self.total_output_bytes, self.total_param_bytes)]
        tail = ["Total params: {0:,}".format(self.total_params), "Trainable params: {0:,}".format(self.trainable_params),
                "Non-trainable params: {0:,}".format(self.total_params - self.trainable_params), "Total mult-adds ({0}): {1:.2f}".format(*_scale(self.total_mult_adds))]
        if not self._has_run:
            return "\n".join([line, head.rstrip(), line] + body + [line] + tail[:3] + [line])
        sizes = ["Input size (MB): {0:.2f}".format(mb[0]), "Forward/backward pass size (MB): {0:.2f}".format(mb[1]), "Params size (MB): {0:.2f}".format(mb[2]),
                 "Estimated Total Size (MB): {0:.2f}".format(sum(mb))]
        return "\n".join([line, head.rstrip(), line] + body + [line] + tail + [line] + sizes + [line])

    __repr__ = __str__


def _scale(n):
    for limit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= limit:
            return letter, n / limit
    return "Units", n


def _bytes(tensors):
    import torch

    return sum(getattr(torch, dtype).itemsize * math.prod(shape) for shape, dtype in tensors)


def _first_shape(tensors):
    return list(tensors[0][0]) if tensors else []


def _shapes(tensors):
    return str(_first_shape(tensors)) if tensors else "--"


def _trainable(within):
    if not within["params"]:
        return "--"
    return "True" if within["trainable"] == within["params"] else "Partial" if within["trainable"] else "False"


def _sized(input_size, dtypes, device, model):
    """Tensors of the sizes given: one size, or a list of them."""
    import torch

    sizes = [input_size] if all(isinstance(d, int) for d in input_size) else list(input_size)
    kinds = list(dtypes) if dtypes else [None] * len(sizes)
    first = next((p for p in model.parameters() if p.is_floating_point()), None)
    place = device or (first.device if first is not None else "cpu")
    made = []
    for size, kind in zip(sizes, kinds):
        kind = kind or (first.dtype if first is not None else torch.float32)
        made.append(torch.zeros(tuple(size), dtype=kind, device=place))
    return tuple(made)


def _args(input_data):
    """(args, kwargs) of what summary() was given."""
    if isinstance(input_data, dict):
        return (), dict(input_data)
    return (tuple(input_data) if isinstance(input_data, (tuple, list)) else (input_data,)), {}


def _training(mode):
    """None: each module as it is."""
    word = str(getattr(mode, "value", mode))
    if word not in ("None", "eval", "train", "same"):
        raise ValueError("mode={0!r} is none of eval, train, same".format(mode))
    return None if word == "same" else word == "train"


_OF_A_RUN = ("input_size", "output_size", "mult_adds")


def _of_parameters(model, depth, col_names, col_width, verbose):
    """What summary() tells of a model that is not run."""
    needs = [c for c in col_names if c in _OF_A_RUN]
    if needs:
        raise ValueError("summary() needs input_size or input_data for col_names {0}: what the model is called with".format(", ".join(needs)))
    module = _model.module_of(model)
    report = _m.ProfilerReport(_m.ProfiledNodes(_m._Profile(_model.parameters_of(model), "torchinfo", True, module)))
    found = ModelStatistics(report, module, depth, col_names, col_width, has_run=False)
    if verbose:
        print(found)
    return found


def summary(model, input_size=None, input_data=None, batch_dim=None, cache_forward_pass=None, col_names=None, col_width=25, depth=3,
            device=None, dtypes=None, mode=None, row_settings=None, verbose=1, **kwargs):
    """Prints the layers (verbose=0: not) and returns a ModelStatistics.  Further keyword arguments go to the model's forward.

    Without input_size, input_data and such arguments the model is not run, and the table is of its parameters.
    """
    has_run = input_size is not None or input_data is not None or bool(kwargs)
    col_names = col_names if col_names is not None else ("output_size", "num_params") if has_run else ("num_params",)
    strange = [c for c in col_names if c not in HEADINGS]
    if strange:
        raise ValueError("col_names has {0!r}, which is none of {1}".format(strange[0], ", ".join(HEADINGS)))
    if not has_run:
        return _of_parameters(model, depth, tuple(col_names), col_width, verbose)
    if input_size is not None and batch_dim is not None:
        sizes = [input_size] if all(isinstance(d, int) for d in input_size) else input_size
        input_size = [tuple(s[:batch_dim]) + (1,) + tuple(s[batch_dim:]) for s in sizes]
    inputs = input_data if input_data is not None else _sized(input_size, dtypes, device, model) if input_size is not None else ()
    args, named = _args(inputs)
    module = _model.module_of(model)
    training = _training(mode)
    with contextlib.nullcontext() if training is None else _model.trained(model, training):
        counted = _model.collect(model, args, {**named, **kwargs}, rules=_m._checked_rules())
    report = _m.ProfilerReport(_m.ProfiledNodes(_m._Profile(counted, "torchinfo", True, module)))
    found = ModelStatistics(report, module, depth, tuple(col_names), col_width)
    if verbose:
        print(found)
    return found
