# SPDX-License-Identifier: MIT
"""sonde.model: parameters, MACs, FLOPs, memory and run time of a model, layer by layer.

    from sonde.model import profile_macs, profile_metrics, Profiler, ProfilerReport, ReportAnalyzer, MetricType

    profile_macs(model, input_shape=(3, 224, 224))                  # 1814073344
    profile_params(model, readable=True)                            # '11.69M'
    report = profile_metrics(model, input_shape=(3, 224, 224))
    report.pretty_details                                           # with pandas; report.rows() always
    report.unsupported, report.coverage                             # what no rule counts
    ReportAnalyzer(report).find_top_n_layers(MetricType.FLOPS, n=5)

The names, arguments and columns are metinor's.  A model is given its input as `input_shape` (one sample: an axis for the
batch, of 1, is put before it), or as `inputs`: a tensor, a tuple of positional or a dict of keyword arguments.  Counting
runs the model on tensors without data where that is possible; nothing is left on it, after an exception neither.

MACs and MAdds count one for each multiply-add of every matrix or vector product, FLOPs two.  `count=` names another tool,
whose definition is then followed: COUNTS has them all.  Nothing of torch is imported before a model is profiled.
"""
import enum
import functools
import math
import os
import re
from operator import index as _index

__all__ = [
    "COUNTS", "MetricType", "ModelError", "Picture", "ProfiledNode", "Profiler", "ProfilerMetric", "ProfilerReport", "ReportAnalyzer",
    "profile_flops", "profile_macs", "profile_madds", "profile_memory", "profile_metrics", "profile_params", "profile_runtime", "rule",
]

SHAPE = (3, 224, 224)  # of an image, as metinor has it
_MOST = (1 << 63) - 1    # where sums stop
WARM_UP, REPEATS = 1, 5  # runs before the clock is looked at, and with it


class ProfilerMetric(enum.Enum):
    """A column of the frames.  The first twelve are metinor's; memory is in elements, run time in seconds."""

    NAME = "name"
    TYPE = "type"
    INPUTS = "inputs"
    OUTPUTS = "outputs"
    PARAMS = "params"
    PARAMS_TRAINABLE = "params_trainable"
    FLOPS = "flops"
    MADDS = "madds"
    MEM_READ = "mem_read"
    MEM_WRITE = "mem_write"
    RUNTIME = "runtime"
    RMS = "rms"
    MACS = "macs"
    CALLS = "calls"
    RUNTIME_BACKWARD = "backward_time"
    ACTIVATION_BYTES = "activation_bytes"
    FLOPS_PER_SECOND = "rate"


MetricType = ProfilerMetric
_WORDS = (MetricType.NAME, MetricType.TYPE, MetricType.INPUTS, MetricType.OUTPUTS)
# Under what name each stands in the columns that the extension makes.
_FROM = {MetricType.PARAMS_TRAINABLE: "trainable", MetricType.RUNTIME: "time_ns", MetricType.RUNTIME_BACKWARD: "backward_ns", MetricType.CALLS: "n_calls"}


def __getattr__(name):
    if name == "ModelError":
        from ._torch._model import ModelError

        return ModelError
    if name == "COUNTS":
        from ._sonde import count_modes

        return count_modes()
    raise AttributeError("module {0!r} has no attribute {1!r}".format(__name__, name))


# ---- Rules for one's own operators

_rules = {}
_LATER = object()  # the function comes as a decorator's


def rule(operator, macs=_LATER):
    """Says how many MACs one call of an operator has: rule("mine::op", fn), or as a decorator; fn None takes it away.

    fn gets the shapes of the tensors that went in, and of those that came out, as two lists of tuples, and gives an
    integer; 0 says that there is no product in it.  An operator is counted with all its overloads, which have no rule of their
    own.
    """
    if isinstance(operator, str) and "." in operator.partition("::")[2]:
        raise ValueError("a rule covers an operator with all its overloads; use {0!r}, not {1!r}".format(operator.rpartition(".")[0], operator))
    if macs is _LATER:
        return functools.partial(rule, operator)
    if macs is None:
        _rules.pop(operator, None)
        return None
    if not callable(macs) or not isinstance(operator, str) or "::" not in operator:
        raise TypeError("rule() needs the name of an operator, as 'mine::op', and a function of two lists of shapes that gives its MACs")
    _rules[operator] = macs
    return macs


def _checked(operator, macs):
    """The rule itself, which is named where it fails: else the model would be blamed."""
    def run(inputs, outputs):
        from ._torch._model import ModelError, words

        try:
            found = macs(inputs, outputs)
        except Exception as why:
            raise ModelError("the rule for {0} failed: {1} (it was given the shapes {2} and {3})".format(operator, words(why), inputs, outputs)) from why
        if not hasattr(type(found), "__index__"):
            raise ModelError("the rule for {0} gave {1!r}; it must give the MACs as an integer".format(operator, found))
        if found < 0:
            raise ModelError("the rule for {0} gave a negative number: {1!r}".format(operator, found))
        if found > _MOST:
            raise ModelError("the rule for {0} gave a number that does not fit into 64 bits".format(operator))
        return found

    return run


def _checked_rules():
    return {operator: _checked(operator, macs) for operator, macs in _rules.items()}


# ---- Numbers for people


def _readable(value):
    """'11.69M', '200.7K', '512': as metinor writes numbers; '≥9.22E' of a sum that is more than 64 bits hold."""
    if value is None or value != value:
        return "-"
    unit, sign = 0, "≥" if value == _MOST else ""
    value = float(value)
    while abs(value) >= (1000 if unit == 0 else 999.995) and unit < 6:
        value /= 1000
        unit += 1
    return sign + "{0:.2f}".format(value).rstrip("0").rstrip(".") + " KMGTPE"[unit].strip()


def _readable_time(seconds):
    return float("{0:.2g}".format(seconds)) if seconds == seconds else seconds


def _seconds(ns):
    return math.nan if ns is None else ns / 1e9


# ---- What is asked of the model itself


def _check_made(model):
    """A module whose __init__ forgot that of nn.Module has nothing to be asked for."""
    from ._torch import _model

    module = _model.module_of(model)
    try:
        for one in module.modules():
            one._parameters, one._buffers
    except AttributeError as why:
        raise _model.ModelError("{0}, or a module in it, is not initialised ({1}): its __init__ must call super().__init__() first".format(
            type(module).__name__, why)) from why


def _inputs_of(model, input_shape, inputs, real=False):
    """(args, kwargs) of one forward of a model that can be run."""
    from ._torch import _model

    _check_made(model)
    if real and _model.is_lazy(_model.module_of(model)):
        raise _model.lazy(_model.module_of(model))
    try:
        return _model.inputs_of(model, None if inputs is not None else input_shape, inputs, real=real)
    except (RuntimeError, MemoryError, OverflowError, TypeError) as why:
        if isinstance(why, _model.ModelError):
            raise
        raise _model.ModelError("an input of input_shape={0!r} cannot be made: {1}".format(input_shape, _model.words(why))) from why


def _has_data(model, inputs):
    """Can it be run?  Not where its tensors, or those given, have only shapes."""
    from ._torch import _model
    from torch import Tensor

    given = [inputs] if isinstance(inputs, Tensor) else list(inputs.values()) if isinstance(inputs, dict) else list(inputs or ())
    tensors = [t for t in given if isinstance(t, Tensor)] + list(_model.module_of(model).parameters()) + list(_model.module_of(model).buffers())
    return not any(t.is_meta for t in tensors)


def _root_mean_squares(model):
    """{layer: root of the mean square of its own parameters}; None is the whole model's."""
    from ._torch import _model
    import torch

    found, squares, n = {}, 0.0, 0
    with torch.no_grad():
        for name, module in _model.module_of(model).named_modules():
            own = [p for p in module.parameters(recurse=False) if p.is_floating_point() and not p.is_meta and not p.is_sparse and p.numel()]
            if own:
                here = sum(_norm(torch, p) ** 2 for p in own)
                size = sum(p.numel() for p in own)
                squares, n = squares + here, n + size
                found[name] = math.sqrt(here / size)
    found[None] = math.sqrt(squares / n) if n else math.nan
    return found


def _norm(torch, parameter):
    """torch has no norm of floats of 8 bits: those are widened; and it narrows none."""
    data = parameter.detach()
    kind = torch.float64 if data.dtype == torch.float64 else torch.float32
    return float(torch.linalg.vector_norm(data.float() if data.element_size() == 1 else data, dtype=kind))


# ---- Counting


def _collect(model, input_shape, inputs, backward, **how):
    from ._torch import _model

    args, kwargs = _inputs_of(model, input_shape, inputs)
    return _model.collect(model, args, kwargs, backward=backward, rules=_checked_rules(), **how)


def _check_count(count, backward):
    from ._sonde import count_is_of_modules, count_modes

    if not isinstance(count, str) or count not in count_modes():
        raise ValueError("count={0!r} is not a way of counting; choose among {1}".format(count, ", ".join(count_modes())))
    if backward and count_is_of_modules(count):
        raise ValueError("count={0!r} counts modules only, not the backward pass; drop backward=True or count".format(count))


def _told(counted, count, value):
    """The value, with a warning where it is more than 64 bits hold."""
    from ._torch._model_words import told_beyond

    if value == _MOST:
        told_beyond(counted, count)
    return value


def _total(what, model, input_shape, readable, inputs, count, backward):
    _check_count(count, backward)
    counted = _collect(model, input_shape, inputs, backward)
    value = _told(counted, count, counted.totals(count)[what])
    return _readable(value) if readable else value


def profile_macs(model, input_shape=SHAPE, readable=False, *, inputs=None, count="macs", backward=False):
    """Counts the multiply-adds of all matrix and vector products of one forward (and backward)."""
    return _total("macs", model, input_shape, readable, inputs, count, backward)


def profile_flops(model, input_shape=SHAPE, readable=False, *, inputs=None, count="macs", backward=False):
    """Counts floating-point operations: two for each MAC, or what the tool named by `count` calls FLOPs."""
    return _total("flops", model, input_shape, readable, inputs, count, backward)


def profile_madds(model, input_shape=SHAPE, readable=False, *, inputs=None, count="macs", backward=False):
    """Counts multiply-adds: one for each MAC, or what the tool named by `count` calls multiply-adds."""
    return _total("madds", model, input_shape, readable, inputs, count, backward)


def profile_memory(model, input_shape=SHAPE, readable=False, *, inputs=None, count="macs", backward=False):
    """Counts the elements that layers read (inputs and parameters) and write (outputs)."""
    _check_count(count, backward)
    counted = _collect(model, input_shape, inputs, backward)
    both = tuple(_told(counted, count, counted.totals(count)[what]) for what in ("mem_read", "mem_write"))
    return tuple(_readable(v) for v in both) if readable else both


def profile_params(model, input_shape=SHAPE, readable=False, *, inputs=None, count="macs", backward=False):
    """Counts the elements of the parameters, tied ones once, without running the model."""
    from ._torch import _model

    _check_made(model)
    counted = _model.parameters_of(model)
    n = _told(counted, "macs", counted.totals()["params"])
    return _readable(n) if readable else n


def profile_runtime(model, input_shape=SHAPE, readable=False, *, inputs=None, count="macs", backward=False, warmup=WARM_UP, repeats=REPEATS):
    """Measures the seconds of one forward (and backward): the median of several, after some that are not timed."""
    from ._torch import _model

    args, kwargs = _inputs_of(model, input_shape, inputs, real=True)
    found = _model.measure(model, args, kwargs, None, backward=backward, warmup=warmup, repeats=repeats)
    seconds = (found["forward_ns"] + (found.get("backward_ns") or 0)) / 1e9
    return _readable_time(seconds) if readable else seconds


def profile_metrics(model, input_shape=SHAPE, readable=False, *, inputs=None, count="macs", backward=False, runtime=True, memory=False):
    """Measures all of it and returns a ProfilerReport; with memory=True also what each layer keeps for the backward, which fit() adds up."""
    return ProfilerReport(Profiler(model, input_shape, inputs=inputs, count=count, backward=backward, runtime=runtime, memory=memory).profile())


class ProfiledNode:
    """One layer and its figures: node.name, node[MetricType.FLOPS]."""

    __slots__ = ("_profile", "_at")

    def __init__(self, profile, at):
        self._profile, self._at = profile, at

    def __getitem__(self, metric):
        return self._profile.column(_metric(metric))[self._at]

    def __getattr__(self, name):
        if name.startswith("_"):  # asked for by copy and pickle, before there is a profile
            raise AttributeError("a node has no {0!r}".format(name))
        try:
            return self[name]
        except ValueError:
            raise AttributeError("a node has no {0!r}".format(name)) from None

    def __repr__(self):
        return "<{0} {1}>".format(self[MetricType.TYPE], self[MetricType.NAME])


class ProfiledNodes(list):
    """The layers of a profiled model, in the order they ran, and what is known of the whole."""

    def __init__(self, profile):
        super().__init__(ProfiledNode(profile, i) for i in range(len(profile.column(MetricType.NAME))))
        self.profile = profile


class _Profile:
    """A counted model, and what only Python can know of it.

    The root mean squares of the weights are worked out when they are first asked for, from the module as it is then: to read
    every weight may take longer than all the rest.
    """

    def __init__(self, model, count, has_batch_axis, module=None):
        self.model, self.count, self.has_batch_axis, self._module = model, count, has_batch_axis, module
        self._columns = self._rms = None

    def rms(self):
        """{layer: root of the mean square of its weights}"""
        if self._rms is None:
            self._rms = _root_mean_squares(self._module) if self._module is not None else {}
            self._module = None
        return self._rms

    def _shapes(self, tensors):
        """Without the axis of 1 that input_shape was given as a batch, where a layer has it."""
        shapes = [tuple(shape)[1:] if not self.has_batch_axis and tuple(shape)[:1] == (1,) else tuple(shape) for shape, _ in tensors]
        return shapes[0] if len(shapes) == 1 else tuple(shapes)

    def column(self, metric):
        """A list, by rows."""
        if metric is MetricType.RMS:
            return [self.rms().get(name, math.nan) for name in self.column(MetricType.NAME)]
        if self._columns is None:
            from_c = self.model.columns(self.count)
            made = {m: from_c.get(_FROM.get(m, m.value)) for m in MetricType}
            made[MetricType.INPUTS] = [self._shapes(x) for x in from_c["inputs"]]
            made[MetricType.OUTPUTS] = [self._shapes(x) for x in from_c["outputs"]]
            made[MetricType.RUNTIME] = [_seconds(x) for x in from_c["time_ns"]]
            made[MetricType.RUNTIME_BACKWARD] = [_seconds(x) for x in from_c["backward_ns"]]
            ours = self.model.layers("macs")
            made[MetricType.FLOPS_PER_SECOND] = [_rate(ours[i]["own"], ns, back) for i, ns, back in zip(from_c["layer"], from_c["time_ns"], from_c["backward_ns"])]
            self._columns = made
        return self._columns[metric]

    def name(self):
        return self.model.layers(self.count)[0]["type"] or "model"

    def summary(self):
        """{metric: value} of the whole."""
        totals, facts = self.model.totals(self.count), self.model.facts
        root = self.model.layers(self.count)[0]
        ns, back = (int(facts[key]) if key in facts else totals[key2] for key, key2 in (("forward_ns", "time_ns"), ("backward_ns", "backward_ns")))
        row = {m: totals.get(_FROM.get(m, m.value)) for m in MetricType}
        row.update({
            MetricType.NAME: root["type"] or "model", MetricType.TYPE: root["type"], MetricType.INPUTS: self._shapes(root.get("inputs") or []),
            MetricType.OUTPUTS: self._shapes(root.get("outputs") or []), MetricType.RUNTIME: _seconds(ns), MetricType.RUNTIME_BACKWARD: _seconds(back),
            MetricType.RMS: self.rms().get(None, math.nan), MetricType.FLOPS_PER_SECOND: _rate(self.model.totals("macs"), ns, back),
        })
        return row


def _rate(sums, ns, backward_ns):
    """FLOPs a second, of what was timed: always our FLOPs, because what other tools call so is not what the machine does."""
    if not ns:
        return math.nan
    return sums["flops"] / (ns + backward_ns) * 1e9 if backward_ns else (sums["flops"] - 2 * sums["backward_macs"]) / ns * 1e9


class Profiler:
    """Counts a model, and times its layers unless runtime=False: Profiler(model, input_shape).profile().

    memory=True (and backward=True) measures what each layer keeps for the backward."""

    def __init__(self, model, input_shape=SHAPE, *, inputs=None, count="macs", backward=False, runtime=True, memory=False, warmup=WARM_UP,
                 repeats=REPEATS):
        self.model, self.input_shape, self.inputs, self.count, self.backward = model, input_shape, inputs, count, backward
        self.runtime, self.memory, self.warmup, self.repeats = runtime, memory, warmup, repeats

    def _measure(self, counted):
        """Times every layer; where the model has no data to be run with, there are no times."""
        from ._torch import _model

        if not _has_data(self.model, self.inputs):
            return
        args, kwargs = _inputs_of(self.model, self.input_shape, self.inputs, real=True)
        _model.measure(self.model, args, kwargs, counted, backward=self.backward, warmup=self.warmup, repeats=self.repeats)

    def profile(self):
        """Returns the nodes of the model, one for each layer that has work or parameters of its own, in the order they ran."""
        _check_count(self.count, self.backward)
        counted = _collect(self.model, self.input_shape, self.inputs, self.backward, memory=self.memory)
        if self.runtime:
            self._measure(counted)
        return ProfiledNodes(_Profile(counted, self.count, self.inputs is not None, self.model))


# ---- Reports


def _pandas():
    try:
        import pandas
    except ImportError:
        raise ImportError("the frames of a report need pandas (pip install pandas); report.rows() gives the same without it") from None
    return pandas


def _metric(metric):
    """The member that a name or a member means."""
    if isinstance(metric, MetricType):
        return metric
    for member in MetricType:
        if str(metric).lower() in (member.name.lower(), member.value):
            return member
    raise ValueError("{0!r} is not a metric; the metrics are {1}".format(metric, ", ".join(m.name for m in MetricType)))


def _amount(metric):
    metric = _metric(metric)
    if metric in _WORDS:
        raise ValueError("{0} is not an amount; choose among {1}".format(metric.name, ", ".join(m.name for m in MetricType if m not in _WORDS)))
    return metric


def _how_many(n):
    n = _index(n)
    if n < 0:
        raise ValueError("n={0} is not a number of layers; give 0 or more".format(n))
    return n


def _pretty(metric, value):
    if metric in _WORDS:
        return value
    if metric in (MetricType.RUNTIME, MetricType.RUNTIME_BACKWARD, MetricType.RMS):
        return _readable_time(value) if isinstance(value, float) else value
    return _readable(value)


class ProfilerReport:
    """What was found of a model, from Profiler(...).profile().

    summary, details and their pretty_ forms are frames of pandas; rows() and totals need nothing.  unsupported:
    {operator: calls} of those that no rule counts; coverage: the share of calls that have one, 1 when all have.
    """

    def __init__(self, nodes):
        nodes = list(nodes) if not isinstance(nodes, ProfiledNodes) and hasattr(nodes, "__iter__") else nodes
        if not isinstance(nodes, list) or not all(isinstance(node, ProfiledNode) for node in nodes):
            raise TypeError("ProfilerReport() needs what Profiler(model, ...).profile() gives")
        if not nodes and not isinstance(nodes, ProfiledNodes):
            raise ValueError("there are no nodes to report")
        self._nodes = nodes
        self._profile = nodes.profile if isinstance(nodes, ProfiledNodes) else nodes[0]._profile
        self._frames = {}

    # -- of the whole

    @property
    def unsupported(self):
        return self._profile.model.unsupported

    @property
    def coverage(self):
        return self._profile.model.coverage

    @property
    def totals(self):
        """Returns {"params": …, "macs": …, …} of the whole model.  A sum of more than 64 bits is 2**63 - 1, and a warning says so."""
        from ._torch._model_words import told_beyond

        return told_beyond(self._profile.model, self._profile.count).totals(self._profile.count)

    @property
    def notes(self):
        """Sentences about what was done and could not be done."""
        said = self._profile.model.beyond(self._profile.count)
        return self._profile.model.notes + ([said] if said else [])

    @property
    def facts(self):
        return self._profile.model.facts

    @property
    def definition(self):
        """What the counts mean."""
        from ._sonde import count_modes

        return count_modes()[self._profile.count]

    def types(self):
        """Returns a dict of sums for each type of layer."""
        return self._profile.model.types(self._profile.count)

    def operators(self):
        """Returns a dict of sums for each operator; "known" says how it is counted."""
        return self._profile.model.operators(self._profile.count)

    def tensors(self):
        """Returns a dict for each parameter and buffer."""
        return self._profile.model.tensors()

    def fit(self, optimizer="adam", batch=0, available=0):
        """Works out the bytes that training takes: parameters, gradients, states of the optimizer, activations of a batch; with the bytes
        that are available, the largest batch that fits.  batch=0 is the one that the model was run with.

        Activations are measured where memory=True or backward=True was asked for and anything is kept for a backward (not where all is
        frozen, or gradients are off), in the mode that the model was in (training keeps more: the masks of dropout).  Else activations_measured
        is False, and they are all that operators wrote.
        activations_grow is "measured" where memory=True has told how much of them grows with the batch, else "assumed": all of it."""
        found = self._profile.model.fit(optimizer, batch, available or 0)
        said = found.pop("beyond")
        if said:
            from ._torch._model_words import warn

            warn(said)
        return found

    # -- of layers

    def rows(self):
        """Returns a dict for each layer: {"NAME": "conv1", …}."""
        columns = {m: self._profile.column(m) for m in MetricType}
        return [{m.name: columns[m][node._at] for m in MetricType} for node in self._nodes]

    def _frame(self, name, make):
        if name not in self._frames:
            self._frames[name] = make()
        return self._frames[name].copy()

    def _make_details(self):
        columns, at = {m: self._profile.column(m) for m in MetricType}, [node._at for node in self._nodes]
        frame = _pandas().DataFrame({m: [columns[m][i] for i in at] for m in MetricType}, columns=list(MetricType))
        frame.index = range(1, len(frame) + 1) if isinstance(self._nodes, ProfiledNodes) else [i + 1 for i in at]
        return frame

    @property
    def details(self):
        return self._frame("details", self._make_details)

    @property
    def summary(self):
        return self._frame("summary", lambda: _pandas().DataFrame([self._profile.summary()], columns=list(MetricType)))

    @property
    def pretty_details(self):
        return self._frame("pretty_details", lambda: _prettified(self.details))

    @property
    def pretty_summary(self):
        return self._frame("pretty_summary", lambda: _prettified(self.summary))

    def _repr_html_(self):
        return self.pretty_details._repr_html_()

    def _repr_mimebundle_(self, include=None, exclude=None):
        """What a notebook shows: a page with layers, operators and pictures, unless it is large."""
        from ._plot import bundle, page_of_model

        return bundle(self, lambda: page_of_model(self._profile.model, self._profile.name(), self._profile.count))

    def __str__(self):
        """The tables that `sonde model` prints."""
        from ._picture import draw

        return draw(self._profile.model, ["--count", self._profile.count]).decode("utf-8")

    def __repr__(self):
        totals = self._profile.model.totals(self._profile.count)  # without a warning: the sign says it
        return "<ProfilerReport of {0}: {1} parameters, {2} MACs, coverage {3:.4g}>".format(
            self._profile.name(), _readable(totals["params"]), _readable(totals["macs"]), self.coverage)

    def graph(self, metric="macs", depth=None):
        """Draws the layers and what goes from one to another, coloured by a metric; not deeper than `depth`, 0 is the model alone."""
        words = ["--graph", "--metric", _amount(metric).value]
        return Picture(self, words + (["--depth", str(depth)] if depth is not None else []), None)

    def save(self, path, force=False):
        """Writes a capture, x.sonde, which `sonde model` and `sonde report` read; only force=True replaces an existing file."""
        from ._picture import draw

        if not str(path).endswith(".sonde"):
            raise ValueError("a capture is .sonde, not {0!r}; str(report) is the table, report.graph().savefig() a picture".format(str(path)))
        if not force and os.path.lexists(path):
            raise FileExistsError("{0} already exists; choose another name, or use force=True to replace it".format(path))
        draw(self._profile.model, ["-o", str(path), "--force"])


@functools.lru_cache(maxsize=None)
def _pretty_class():
    """A frame for people: printed, it shows every column, however narrow the terminal."""
    pandas = _pandas()

    class PrettyFrame(pandas.DataFrame):
        @property
        def _constructor(self):
            return PrettyFrame

        def __repr__(self):
            with pandas.option_context("display.max_columns", None, "display.width", 120):
                return super().__repr__()

    return PrettyFrame


def _prettified(frame):
    pretty = _pretty_class()(frame.astype(object))
    for metric in frame.columns:
        if metric not in _WORDS:
            pretty[metric] = [_pretty(metric, v) for v in frame[metric]]
    return pretty


class Picture:
    """A picture that the program draws: savefig("x.svg"), .png, .jpeg or .pdf; a notebook shows it."""

    def __init__(self, report, words, figsize):
        self._model = report._profile.model
        self._words = words + ["--count", report._profile.count]
        if figsize is not None:
            self._words += ["--width", str(int(figsize[0] * 100))]

    def _drawn(self, kind):
        from ._picture import draw

        return draw(self._model, self._words + ["--format", kind, "-o", "-"])

    def savefig(self, path, **ignored):
        """Writes the picture in the format of the suffix, and replaces an existing file."""
        path = os.fspath(path)
        kind = os.path.splitext(path)[1].lstrip(".").lower()
        if kind not in ("svg", "png", "jpeg", "jpg", "pdf"):
            raise ValueError("a picture is written to .svg, .png, .jpeg or .pdf, not to {0!r}".format(path))
        picture = self._drawn(kind)
        with open(path, "wb") as f:
            f.write(picture)

    def _repr_svg_(self):
        return self._drawn("svg").decode("utf-8")

    def show(self):
        """Shows the picture below the cell of a notebook; elsewhere writes it to a file and prints its path."""
        from ._plot import _shows_pages

        if _shows_pages():
            from IPython.display import display

            display(self)
            return
        import tempfile

        with tempfile.NamedTemporaryFile(prefix="sonde-model-", suffix=".svg", delete=False) as f:
            f.write(self._drawn("svg"))
        print(f.name)


def _type_name(layer_type):
    if not isinstance(layer_type, (str, type)):
        raise ValueError("{0!r} is not a type of layers; give the name of the type (\"Conv2d\"), or the class".format(layer_type))
    return layer_type if isinstance(layer_type, str) else layer_type.__name__


class ReportAnalyzer:
    """Searches, filters and draws a ProfilerReport.  Results are pandas frames; readable=True writes numbers for people."""

    def __init__(self, report):
        if not isinstance(report, ProfilerReport):
            raise TypeError("ReportAnalyzer() needs a ProfilerReport, not {0}".format(type(report).__name__))
        self.report = report

    def _out(self, frame, readable):
        return _prettified(frame) if readable else frame

    def find_top_n_layers(self, metric, n=5, readable=False):
        """Returns the n layers with most of a metric, largest first."""
        return self._out(self.report.details.sort_values(_amount(metric), ascending=False, kind="stable").head(_how_many(n)), readable)

    def find_bottom_n_layers(self, metric, n=5, readable=False):
        """Returns the n layers with least of a metric, smallest first."""
        return self._out(self.report.details.sort_values(_amount(metric), kind="stable").head(_how_many(n)), readable)

    def layer_wise_impact(self, metric, readable=False):
        """Returns each layer's share of the whole, in percent, largest first."""
        metric = _amount(metric)
        frame = self.report.details[[MetricType.NAME, MetricType.TYPE, metric]].copy()
        amounts = frame[metric].astype(float)
        whole = amounts.sum(min_count=1)  # NaN where nothing was measured, and so is each share then
        share = "{0} (%)".format(metric)
        frame[share] = 100.0 * amounts / whole if whole else 0.0
        frame = frame.sort_values(metric, ascending=False, kind="stable")
        if readable:
            frame[share] = ["{0:.2f}%".format(v) if v == v else "-" for v in frame[share]]
            frame[metric] = [_pretty(metric, v) for v in frame[metric]]
        return frame

    def find_layers_by_type(self, layer_type, readable=False):
        """Returns the layers of a type, which is a name or a class."""
        name = _type_name(layer_type)
        frame = self.report.details
        return self._out(frame[frame[MetricType.TYPE] == name], readable)

    filter_by_layer_type = find_layers_by_type

    def find_layers_by_name(self, pattern, readable=False):
        """Returns the layers in whose names a regular expression is found."""
        try:
            found = re.compile(pattern).search
        except re.error as why:
            raise ValueError("{0!r} is not a regular expression: {1}; re.escape() makes one of plain text".format(pattern, why)) from None
        frame = self.report.details
        return self._out(frame[frame[MetricType.NAME].map(lambda name: found(name) is not None).astype(bool)], readable)

    def analyze_memory_usage(self, readable=False):
        """Returns how many elements each layer reads and writes."""
        return self._out(self.report.details[[MetricType.NAME, MetricType.MEM_READ, MetricType.MEM_WRITE]], readable)

    # -- pictures; `colormap` is taken and means nothing here

    def plot_top_n_layers(self, n=5, metric=MetricType.FLOPS, figsize=None, colormap=None):
        return Picture(self.report, ["--plot", "top", "--metric", _drawable(metric), "-n", str(_how_many(n))], figsize)

    def plot_total_params_per_layer(self, limit=None, figsize=None, colormap=None):
        return Picture(self.report, ["--plot", "layers", "--metric", "params"] + (["-n", str(_how_many(limit))] if limit else []), figsize)

    def plot_memory_usage(self, figsize=None, colormap=None):
        return Picture(self.report, ["--plot", "memory"], figsize)

    def plot_layer_wise_impact(self, metric=MetricType.FLOPS, figsize=None, colormap=None):
        return Picture(self.report, ["--plot", "impact", "--metric", _drawable(metric)], figsize)

    def plot_layers_by_type(self, layer_type, metric=MetricType.FLOPS, figsize=None, colormap=None):
        name = _type_name(layer_type)
        known = sorted(set(self.report._profile.column(MetricType.TYPE)))
        if name not in known:
            raise ValueError("there is no layer of type {0!r} in this model; its types are {1}".format(name, ", ".join(known)))
        return Picture(self.report, ["--plot", "layers", "--type", name, "--metric", _drawable(metric)], figsize)

    def plot_graph(self, metric=MetricType.MACS, depth=None):
        return self.report.graph(metric, depth)


def _drawable(metric):
    metric = _amount(metric)
    if metric in (MetricType.RMS, MetricType.FLOPS_PER_SECOND, MetricType.CALLS):
        raise ValueError("{0} is not drawn; choose an amount that adds up".format(metric.name))
    return metric.value
