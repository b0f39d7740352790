# SPDX-License-Identifier: MIT
"""fvcore.nn's FlopCountAnalysis, ActivationCountAnalysis and parameter_count, with Sonde underneath.

"Flops" are fvcore's: one for each multiply-add, and its own for norms and pooling.  Attention, recurrent layers, einsum
and what else it leaves out are counted.  The model is not run on data, and keeps neither hooks nor changed statistics.
"""
from collections import Counter, defaultdict

from ... import model as _m

__all__ = ["ActivationCountAnalysis", "FlopCountAnalysis", "flop_count", "flop_count_str", "flop_count_table", "parameter_count", "parameter_count_table"]


def _tuple(inputs):
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


# What operators of torch are called there.  Products come apart before they run: addmm is what a linear layer with a bias
# becomes, mm and bmm what is left of a matmul; a mean is only counted where it is such a pooling.
_NAMES = {"convolution": "conv", "_convolution": "conv", "addmm": "linear", "mm": "matmul", "bmm": "matmul", "native_layer_norm": "layer_norm",
          "native_group_norm": "group_norm", "native_batch_norm": "batch_norm", "_native_batch_norm_legit": "batch_norm",
          "_native_batch_norm_legit_no_training": "batch_norm", "cudnn_batch_norm": "batch_norm", "_adaptive_avg_pool2d": "adaptive_avg_pool2d",
          "mean": "adaptive_avg_pool2d"}
_APART = {"aten::linear": "aten::addmm, aten::mm", "aten::matmul": "aten::mm, aten::bmm", "aten::einsum": "aten::bmm"}


def _torchs_names(name):
    """Those that an operator of fvcore's list runs under."""
    if name in _APART:
        raise ValueError("{0} comes apart before it runs: say {1}".format(name, _APART[name]))
    theirs = "aten::conv" if name == "aten::_convolution" else name
    return ["aten::" + torchs for torchs, word in _NAMES.items() if "aten::" + word == theirs]


def _macs_of(handle):
    """A rule of a handle, which may give a number or a Counter; None counts nothing."""
    def macs(inputs, outputs):
        told = 0 if handle is None else handle(inputs, outputs)
        return sum(told.values()) if isinstance(told, dict) else told

    return macs


class _Analysis:
    _what = None

    def __init__(self, model, inputs):
        self._model, self._inputs = model, _tuple(inputs)
        self._counted = None
        self._rules = {}

    def _get(self):
        if self._counted is None:
            from ... import _model

            args, kwargs = _model.inputs_of(self._model, None, self._inputs)
            self._counted = _model.told_beyond(_model.collect(self._model, args, kwargs, rules={**_m._checked_rules(), **self._rules}), "fvcore")
        return self._counted

    def _layers(self):
        return self._get().layers("fvcore")

    def _layer(self, name):
        for row in self._layers():
            if row["name"] == name:
                return row
        raise KeyError("no module {0!r} in the model".format(name))

    def _operators(self, module_name):
        return self._get().operators("fvcore", self._layer(module_name)["layer"])

    def total(self, module_name=""):
        """Of a module with all in it; "" is the model."""
        return self._layer(module_name)["within"][self._what]

    def by_module(self):
        return Counter({row["name"]: row["within"][self._what] for row in self._layers()})

    def by_operator(self, module_name=""):
        """Under fvcore's names where it has one for it: conv, linear, matmul, ..."""
        found = self._by_name(self._operators(module_name))
        if found["matmul"]:
            self._move_linear(found, module_name)
        return +found

    def _by_name(self, operators):
        found = Counter()
        for row in operators:
            word = row["name"].split("::")[-1]
            found[_NAMES.get(word, word)] += row[self._what]
        return found

    def _move_linear(self, found, module_name):
        """A linear layer without a bias is a product like any other when it runs; its layer says what it was."""
        for row in self._layers():
            if row["type"] == "Linear" and (not module_name or (row["name"] + ".").startswith(module_name + ".")):
                n = self._by_name(self._get().operators("fvcore", row["layer"]))["matmul"]
                found["matmul"] -= n
                found["linear"] += n

    def by_module_and_operator(self):
        return {row["name"]: self.by_operator(row["name"]) for row in self._layers()}

    def unsupported_ops(self, module_name=""):
        """Operators that no rule counts: all that lack one are here, and only they."""
        return Counter({row["name"]: row["n_unknown"] for row in self._operators(module_name) if row["n_unknown"]})

    def uncalled_modules(self):
        return {row["name"] for row in self._layers() if not row["order"]}

    def set_op_handle(self, *args, **kwargs):
        """Name and rule, or pairs of them: None leaves an operator out; else a function as sonde.model.rule() takes it."""
        pairs = list(kwargs.items()) + [(args[i], args[i + 1]) for i in range(0, len(args), 2)]
        for name, handle in pairs:
            for torchs in [name] + _torchs_names(name):
                self._rules[torchs] = _macs_of(handle)
        self._counted = None
        return self

    def clear_op_handles(self):
        self._rules, self._counted = {}, None
        return self

    # Warnings are not given: what is not counted is asked for.
    def unsupported_ops_warnings(self, enabled):
        return self

    def uncalled_modules_warnings(self, enabled):
        return self

    def tracer_warnings(self, mode):
        return self


class FlopCountAnalysis(_Analysis):
    _what = "macs"


class ActivationCountAnalysis(_Analysis):
    _what = "activations"


def flop_count(model, inputs, supported_ops=None):
    """({operator: GFlops}, {operator without a rule: calls})"""
    analysis = FlopCountAnalysis(model, inputs)
    for name, handle in (supported_ops or {}).items():
        analysis.set_op_handle(name, handle)
    return defaultdict(float, {name: n / 1e9 for name, n in analysis.by_operator().items()}), analysis.unsupported_ops()


def parameter_count(model):
    """{name of a module or parameter: elements}; "" is the model."""
    found = defaultdict(int)
    for name, p in model.named_parameters():
        parts = name.split(".")
        for i in range(len(parts) + 1):
            found[".".join(parts[:i])] += p.numel()
    return found


def _row(cells, widths):
    return "| " + " | ".join(str(c).ljust(w) for c, w in zip(cells, widths)) + " |"


def _table(head, rows):
    widths = [max(len(str(r[i])) for r in [head] + rows) for i in range(len(head))]
    rule = "|" + "|".join(":" + "-" * (w + 1) for w in widths) + "|"
    return "\n".join([_row(head, widths), rule] + [_row(r, widths) for r in rows])


def _depth(name):
    return name.count(".") + 1 if name else 0


def parameter_count_table(model, max_depth=3):
    rows = [(" " * _depth(name) + (name or "model"), _m._readable(n)) for name, n in parameter_count(model).items() if _depth(name) <= max_depth]
    return _table(("name", "#elements or shape"), rows)


def flop_count_table(flops, max_depth=3, activations=None, show_param_shapes=True):
    acts = activations.by_module() if activations is not None else {}
    params = parameter_count(flops._model)
    rows = [[" " * _depth(name) + (name or "model"), _m._readable(params.get(name, 0)), _m._readable(n)] + ([_m._readable(acts.get(name, 0))] if acts else [])
            for name, n in flops.by_module().items() if _depth(name) <= max_depth]
    return _table(["module", "#parameters or shape", "#flops"] + (["#activations"] if acts else []), rows)


def flop_count_str(flops, activations=None):
    return flop_count_table(flops, max_depth=99, activations=activations)
