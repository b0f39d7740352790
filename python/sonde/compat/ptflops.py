# SPDX-License-Identifier: MIT
"""ptflops' get_model_complexity_info(), with Sonde underneath: from sonde.compat.ptflops import get_model_complexity_info.

MACs are ptflops': of backend "pytorch" by modules, with its own for biases, norms, activations and pooling; of "aten" by
operators, with the biases.  Parameters are those that are trained.  The model runs in evaluation, as there; nothing is
left on it, and an exception of its forward is raised, not swallowed.
"""
import sys

from .._torch import _model
from .. import model as _m

__all__ = ["flops_to_string", "get_model_complexity_info", "params_to_string"]


def _scaled(n, units, precision, letters):
    for limit, letter in letters:
        if units == letter or (units is None and n >= limit):
            return "{0} {1}".format(round(n / limit, precision), letter)
    return str(n)


def flops_to_string(flops, units=None, precision=2):
    letters = ((1e9, "GMac"), (1e6, "MMac"), (1e3, "KMac"))
    text = _scaled(flops, units, precision, letters)
    return text if " " in text else text + " Mac"


def params_to_string(params_num, units=None, precision=2):
    return _scaled(params_num, units, precision, ((1e6, "M"), (1e3, "k")) if units != "K" else ((1e3, "K"),))


def _given(input_res, input_constructor):
    """What the model is called with: its keyword arguments, or none for a shape."""
    if input_constructor is None:
        return None
    made = input_constructor(input_res)
    return made if isinstance(made, dict) else (made,)


def _count_of(backend):
    known = {"pytorch": "ptflops-hooks", "aten": "ptflops"}
    word = str(getattr(backend, "value", backend)).lower()
    if word not in known:
        raise ValueError("backend={0!r} is none of {1}".format(backend, ", ".join(known)))
    return known[word]


def get_model_complexity_info(model, input_res, print_per_layer_stat=True, as_strings=True, input_constructor=None, ost=sys.stdout, verbose=False,
                              ignore_modules=(), custom_modules_hooks=None, backend="pytorch", flops_units=None, param_units=None,
                              output_precision=2, backend_specific_config=None):
    """Returns (macs, params), as words or as integers."""
    if custom_modules_hooks:
        raise NotImplementedError("custom_modules_hooks are hooks on modules; set the cost of an operator with sonde.model.rule('ns::op', fn)")
    profiler = _m.Profiler(model, tuple(input_res), inputs=_given(input_res, input_constructor), count=_count_of(backend), runtime=False)
    with _model.trained(model, False):
        report = _m.ProfilerReport(profiler.profile())
    ignored = {t if isinstance(t, str) else t.__name__ for t in ignore_modules}
    macs, params = report.totals["macs"], report.totals["trainable"]
    for kind in report.types():
        if kind["name"] in ignored:
            macs -= kind["macs"]
    if print_per_layer_stat:
        print(report, file=ost)
    if not as_strings:
        return macs, params
    return flops_to_string(macs, flops_units, output_precision), params_to_string(params, param_units, output_precision)
