# SPDX-License-Identifier: MIT
"""thop.profile() and clever_format(), with Sonde underneath: from sonde.compat.thop import profile.

MACs are thop's: one for each multiply-add, and its own for norms, pooling and softmax.  Parameters are all of them (thop
leaves out those of modules that it has no rule for).  The model runs in evaluation, as there; nothing is left on it.
"""
from .._torch import _model
from .. import model as _m

__all__ = ["clever_format", "profile"]


def profile(model, inputs, custom_ops=None, verbose=True, ret_layer_info=False, report_missing=False):
    """Returns (macs, params), and with ret_layer_info {layer: (macs, params, {...})}."""
    if custom_ops:
        raise NotImplementedError("custom_ops are hooks on modules; set the cost of an operator with sonde.model.rule('ns::op', fn)")
    with _model.trained(model, False):
        report = _m.ProfilerReport(_m.Profiler(model, inputs=tuple(inputs), count="thop", runtime=False).profile())
    totals = report.totals
    if report_missing or verbose:
        for name, calls in report.unsupported.items():
            print("[WARN] {0} has no rule: {1} calls are not counted".format(name, calls))
    if not ret_layer_info:
        return totals["macs"], totals["params"]
    return totals["macs"], totals["params"], _tree(report._profile.model.layers("thop"))


def _tree(layers):
    below = [{} for _ in layers]
    for i in range(len(layers) - 1, 0, -1):
        row, name = layers[i], layers[i]["name"].rsplit(".", 1)[-1]
        below[row["parent"]][name] = (row["within"]["macs"], row["within"]["params"], dict(reversed(list(below[i].items()))))
    return dict(reversed(list(below[0].items())))


def clever_format(nums, format="%.2f"):
    """Returns '1.82G' for a number, and a list of such words for several."""
    nums = nums if isinstance(nums, (list, tuple)) else [nums]
    words = []
    for n in nums:
        for limit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
            if n > limit:
                words.append((format + letter) % (n / limit))
                break
        else:
            words.append((format + "B") % n)
    return words[0] if len(words) == 1 else tuple(words)
