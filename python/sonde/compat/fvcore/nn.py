# SPDX-License-Identifier: MIT
"""fvcore.nn's FlopCountAnalysis, ActivationCountAnalysis and parameter_count, with Sonde underneath.

"Flops" are fvcore's: one for each multiply-add, and its own for norms and pooling.  Attention, recurrent layers, einsum
and what else it leaves out are counted.  The model is not run on data, and keeps neither hooks nor changed statistics.
"""
from collections import Counter, defaultdict

from ... import model as _m

__all__ = [
    "ActivationCountAnalysis", "FlopCountAnalysis", "activation_count", "flop_count", "flop_count_str", "flop_count_table", "parameter_count",
    "parameter_count_table",
]


def _tuple(inputs):
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


# What operators of torch are called there.  Products come apart before they run: addmm is what a linear layer with a bias
# becomes, mm and bmm what is left of a matmul; a mean is only counted where it is such a pooling.
_NAMES = {"convolution": "conv", "_convolution": "conv", "addmm": "linear", "mm": "matmul", "bmm": "matmul", "native_layer_norm": "layer_norm",
          "native_group_norm": "group_norm", "native_batch_norm": "batch_norm", "_native_batch_norm_legit": "batch_norm",
          "_native_batch_norm_legit_no_training": "batch_norm", "cudnn_batch_norm": "batch_norm", "_adaptive_avg_pool2d": "adaptive_avg_pool2d",
          "mean": "adaptive_avg_pool2d"}
# What operators of a layer are called there instead.
_OF_LAYERS = {"Linear": ("matmul", "linear"), "InstanceNorm1d": ("batch_norm", "instance_norm"), "InstanceNorm2d": ("batch_norm", "instance_norm"),
              "InstanceNorm3d": ("batch_norm", "instance_norm")}
_NOT_ALWAYS = ("mean",)  # that: a handle for it is not for this
_APART = {"aten::linear": "aten::addmm, aten::mm", "aten::matmul": "aten::mm, aten::bmm", "aten::einsum": "aten::bmm"}


_NEVER_CALLED = ("ModuleDict", "ModuleList", "ParameterDict", "ParameterList")


def _torchs_names(name):
    """Those that an operator of fvcore's list runs under."""
    if name in _APART:
        raise ValueError("{0} is split before it runs; use {1}".format(name, _APART[name]))
    theirs = "aten::conv" if name == "aten::_convolution" else name
    return ["aten::" + torchs for torchs, word in _NAMES.items() if "aten::" + word == theirs and torchs not in _NOT_ALWAYS]


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
            from ..._torch import _model, _model_words

            args, kwargs = _model.inputs_of(self._model, None, self._inputs)
            self._counted = _model_words.told_beyond(_model.collect(self._model, args, kwargs, rules={**_m._checked_rules(), **self._rules}), "fvcore")
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
        if found["matmul"] or found["batch_norm"]:
            self._move_by_layers(found, module_name)
        return +found

    def _by_name(self, operators):
        found = Counter()
        for row in operators:
            word = row["name"].split("::")[-1]
            found[_NAMES.get(word, word)] += row[self._what]
        return found

    def _move_by_layers(self, found, module_name):
        """A linear layer without a bias is a product like any other when it runs; its layer says what it was."""
        for row in self._layers():
            was, word = _OF_LAYERS.get(row["type"], (None, None))
            if was and row["leaf"] and (not module_name or (row["name"] + ".").startswith(module_name + ".")):
                n = self._by_name(self._get().operators("fvcore", row["layer"]))[was]
                found[was] -= n
                found[word] += n

    def by_module_and_operator(self):
        return {row["name"]: self.by_operator(row["name"]) for row in self._layers()}

    def unsupported_ops(self, module_name=""):
        """Operators that no rule counts: all that lack one are here, and only they."""
        return Counter({row["name"]: row["n_unknown"] for row in self._operators(module_name) if row["n_unknown"]})

    def uncalled_modules(self):
        return {row["name"] for row in self._layers() if not row["order"] and row["type"] not in _NEVER_CALLED}

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

    def ancestor_mode(self, mode):
        """Accepts only "owner": costs count for the modules that own the running one. "caller" is not implemented."""
        if mode == "caller":
            raise NotImplementedError("ancestor_mode('caller') is not implemented; only 'owner' is")
        if mode != "owner":
            raise ValueError("ancestor_mode({0!r}) is none of owner, caller".format(mode))
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


def _counts(analysis, supported_ops, unit):
    """({operator: amount in that unit}, {operator without a rule: calls})"""
    for name, handle in (supported_ops or {}).items():
        analysis.set_op_handle(name, handle)
    return defaultdict(float, {name: n / unit for name, n in analysis.by_operator().items()}), analysis.unsupported_ops()


def flop_count(model, inputs, supported_ops=None):
    """Returns ({operator: GFlops}, {operator without a rule: calls})"""
    return _counts(FlopCountAnalysis(model, inputs), supported_ops, 1e9)


def activation_count(model, inputs, supported_ops=None):
    """Returns ({operator: millions of elements that it gives}, {operator without a rule: calls}); of convolutions and products alone."""
    if supported_ops:
        raise NotImplementedError("activations are counted as elements that operators return; supported_ops cannot change them")
    return _counts(ActivationCountAnalysis(model, inputs), None, 1e6)


def parameter_count(model):
    """Returns {name of a module or parameter: elements}; "" is the model."""
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


class _Annotated:
    """A model as str() shows it, with a line of amounts in each module that has any."""

    def __init__(self, amounts, uncalled):
        self._amounts, self._uncalled = amounts, uncalled

    def _line(self, name):
        found = {word: of.get(name, 0) for word, of in self._amounts.items()}
        if not any(found.values()) and name not in self._uncalled:
            return []
        return [", ".join("{0}: {1}".format(word, _short(n) if word == "#params" or name not in self._uncalled else "N/A") for word, n in found.items())]

    def words(self, module, name=""):
        own = [line for line in module.extra_repr().split("\n") if line] + self._line(name)
        below = ["({0}): {1}".format(key, self.words(one, name + "." + key if name else key).replace("\n", "\n  ") if one is not None else None)
                 for key, one in module._modules.items()]  # those that are there twice or None, too, as in str()
        if len(own) <= 1 and not below:
            return "{0}({1})".format(module._get_name(), "".join(own))
        return "{0}(\n  {1}\n)".format(module._get_name(), "\n  ".join(own + below))


def _short(n):
    """0.44K, 1.81G: fvcore goes on to the next letter at a tenth of it."""
    for unit, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
        if n > unit / 10:
            return "{0:.2f}".format(n / unit).rstrip("0").rstrip(".") + letter
    return str(n)


def flop_count_str(flops, activations=None):
    """Returns the model as str() shows it, with parameters, flops and activations of each module; N/A of those that were not called."""
    from ..._torch import _model

    module = _model.module_of(flops._model)
    amounts = {"#params": parameter_count(module), "#flops": flops.by_module()}
    if activations is not None:
        amounts["#acts"] = activations.by_module()
    return _Annotated(amounts, flops.uncalled_modules()).words(module)
