# SPDX-License-Identifier: MIT
"""Checks of sonde.model that need torch, in one process of a Python that has it: test_model.py runs this.

Prints `ok NAME` or `FAIL NAME: why` for each; names on the command line choose among them.
"""
import contextlib
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import traceback

import torch
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch_networks  # noqa: E402

import sonde.model as sm  # noqa: E402
from sonde.model import MetricType, Profiler, ProfilerReport, ReportAnalyzer, profile_macs, profile_metrics, profile_params, profile_runtime  # noqa: E402

try:
    import pandas
except ImportError:
    pandas = None

SHAPE = (3, 224, 224)
SONDE = os.environ["SONDE"]
# What the tools themselves say of these models, where they are right.
PEERS = {
    "alexnet": {"fvcore": 714197696, "thop": 714206912, "ptflops": 714682664, "ptflops-hooks": 716441128, "torchinfo": 714682664},
    "vgg16": {"fvcore": 15470289408, "thop": 15470314496, "ptflops": 15483821032, "ptflops-hooks": 15523225576, "torchinfo": 15483821032},
    "resnet18": {"fvcore": 1819065856, "thop": 1824033792, "ptflops": 1814074344, "ptflops-hooks": 1825313768, "torchinfo": 1814083944},
    "resnet50": {"fvcore": 4111512576, "thop": 4133742592, "ptflops": 4089185256, "ptflops-hooks": 4132436968, "torchinfo": 4089238376},
    "mobilenet_v2": {"fvcore": 314193216, "thop": 327550720, "ptflops": 300775272, "ptflops-hooks": 320362728, "torchinfo": 300809384},
}


def equal(found, wanted, what=""):
    if found != wanted:
        raise AssertionError("%s%r, not %r" % (what and what + ": ", found, wanted))


def refused(call, *words):
    """What is raised is one sentence that has these words."""
    try:
        call()
    except Exception as error:
        said = str(error)
        if not all(w in said for w in words) or "\n" in said.strip():
            raise AssertionError("%s said %r" % (type(error).__name__, said))
        return
    raise AssertionError("nothing was raised")


def made(name, device="meta"):
    with torch.device(device):
        return torch_networks.MODELS[name][0]()


def check_functions():
    for name in ("resnet50", "vit_b_16"):
        model, (_, _, params, macs) = made(name), torch_networks.MODELS[name]
        equal(sm.profile_params(model, SHAPE), params, name)
        equal(sm.profile_macs(model, SHAPE), macs, name + " in training")
        equal(sm.profile_flops(model.eval(), SHAPE), 2 * macs, name)
        with torch.no_grad():
            equal(sm.profile_madds(model, SHAPE), macs, name + " without gradients")
    tokens = torch.zeros(1, 128, dtype=torch.int64)
    equal(sm.profile_macs(made("gpt2_128"), inputs=tokens), 16114089984)
    equal(sm.profile_params(made("gpt2_128"), readable=True), "124.44M")


def check_other_tools_definitions():
    for name, sums in PEERS.items():
        counted = Profiler(made(name).eval(), SHAPE, runtime=False).profile().profile.model
        equal({tool: counted.totals(tool)["macs"] for tool in sums}, sums, name)


def check_metinors_rows():
    model = made("resnet18", "cpu").eval()
    report = ProfilerReport(Profiler(model, SHAPE, count="metinor", runtime=False).profile())
    rows = {r["NAME"]: r for r in report.rows()}
    equal(len(report.rows()), 52)
    wanted = {"conv1": (118013952, 235225088, 159936, 802816), "bn1": (1605632, 3211264, 802944, 802816), "maxpool": (802816, 1605632, 802816, 200704),
              "layer4.1.conv2": (115605504, 231185920, 2384384, 25088)}
    equal({n: tuple(rows[n][k] for k in ("FLOPS", "MADDS", "MEM_READ", "MEM_WRITE")) for n in wanted}, wanted)
    equal((rows["relu"]["FLOPS"], rows["relu"]["MADDS"], rows["fc"]["FLOPS"], rows["fc"]["MADDS"]), (802816, 802816, 512000, 1023000))
    t = report.totals
    equal((t["flops"], t["madds"], t["mem_read"], t["mem_write"]), (1821399040, 3638757912, 18714664, 6724584))
    equal(rows["conv1"]["INPUTS"], (3, 224, 224))
    equal(rows["fc"]["OUTPUTS"], (1000,))
    equal(report.coverage, 1)
    equal(sm.profile_memory(model, SHAPE, readable=True), ("18.71M", "6.72M"))


def check_frames_and_searches():
    if pandas is None:
        return
    report = sm.profile_metrics(made("resnet18", "cpu").eval(), input_shape=(3, 64, 64))
    details = report.details
    equal((list(details.index)[0], len(details), len(details.columns)), (1, 52, len(MetricType)))
    assert (details[MetricType.RUNTIME] > 0).all() and report.summary[MetricType.RUNTIME][0] > 0
    equal(report.pretty_details[MetricType.PARAMS].iloc[0], "9.41K")
    equal(list(report.summary[MetricType.OUTPUTS]), [(1000,)])
    analyzer = ReportAnalyzer(report)
    equal(list(analyzer.find_top_n_layers(MetricType.PARAMS, n=3)[MetricType.NAME]), ["layer4.0.conv2", "layer4.1.conv1", "layer4.1.conv2"])
    equal(len(analyzer.find_layers_by_type(nn.Conv2d)), 20)
    equal(list(analyzer.find_layers_by_name(r"^layer4\.\d\.conv2$")[MetricType.NAME]), ["layer4.0.conv2", "layer4.1.conv2"])
    equal((len(analyzer.find_layers_by_name("bn1")), len(analyzer.find_layers_by_name("none"))), (9, 0))
    refused(lambda: analyzer.find_layers_by_name("["), "'[' is not a regular expression", "re.escape()")
    impact = analyzer.layer_wise_impact("flops")
    assert abs(impact.iloc[:, -1].sum() - 100) < 1e-6 and list(impact.columns)[-1] == "ProfilerMetric.FLOPS (%)"
    refused(lambda: analyzer.find_top_n_layers(MetricType.NAME), "NAME", "not an amount")
    untimed = ReportAnalyzer(ProfilerReport(Profiler(nn.Linear(4, 2), (4,), runtime=False).profile()))
    assert untimed.layer_wise_impact(MetricType.RUNTIME).iloc[:, -1].isna().all()
    for wrong in (analyzer.find_top_n_layers, analyzer.find_bottom_n_layers, lambda m, n: analyzer.plot_top_n_layers(n, m)):
        refused(lambda: wrong(MetricType.PARAMS, n=-1), "n=-1")
    assert report.details[MetricType.RMS].iloc[0] > 0
    equal(len(ProfilerReport(Profiler(made("resnet18"), SHAPE).profile()[:3]).details), 3)
    for wrong in (3, None, [3], "abc"):
        refused(lambda: ProfilerReport(wrong), "ProfilerReport() needs what Profiler(model, ...).profile() gives")


def check_root_mean_squares():
    """Of each layer its own parameters, whatever their precision; of the whole all of them."""
    class Root(nn.Module):
        def __init__(self):
            super().__init__()
            self.own, self.fc = nn.Parameter(torch.full((2,), 3.0)), nn.Linear(2, 2, bias=False)
            nn.init.constant_(self.fc.weight, 1.0)

        def forward(self, x):
            return self.fc(x) @ self.own

    for kind in (torch.float64, torch.float32, torch.bfloat16):
        report = sm.profile_metrics(Root().to(kind), input_shape=(2,), runtime=False)
        equal(sorted(round(row["RMS"], 5) for row in report.rows()), [1.0, 3.0], str(kind))
        assert abs(report._profile.summary()[MetricType.RMS] ** 2 - 22 / 6) < 1e-6
    if pandas is not None:
        equal(len(sm.profile_metrics(nn.Linear(8, 8).double(), input_shape=(8,)).details), 1)


def check_pictures():
    report = ProfilerReport(Profiler(made("resnet18"), SHAPE).profile())
    analyzer = ReportAnalyzer(report)
    for picture in (analyzer.plot_memory_usage(), analyzer.plot_layer_wise_impact(MetricType.FLOPS), analyzer.plot_top_n_layers(5, figsize=(8, 4)),
                    analyzer.plot_total_params_per_layer(limit=10), analyzer.plot_layers_by_type("Conv2d"), report.graph(MetricType.PARAMS), report.graph(depth=2)):
        svg = picture._repr_svg_()
        assert svg.rstrip().endswith("</svg>") and "conv1" in svg, svg[:200]
    with tempfile.TemporaryDirectory() as folder:
        analyzer.plot_memory_usage().savefig(os.path.join(folder, "x.png"))
        with open(os.path.join(folder, "x.png"), "rb") as f:
            equal(f.read(4), b"\x89PNG")
        refused(lambda: analyzer.plot_memory_usage().savefig("x.gif"), ".svg")
    refused(lambda: analyzer.plot_top_n_layers(5, MetricType.RUNTIME)._repr_svg_(), "not measured")
    refused(lambda: analyzer.plot_total_params_per_layer(limit=-1), "n=-1")
    refused(lambda: analyzer.plot_layers_by_type("Foo"), "'Foo'", "Conv2d")
    for call, words in ((lambda: report.graph(MetricType.ACTIVATION_BYTES)._repr_svg_(), "memory=True"), (lambda: report.graph(depth=-1)._repr_svg_(), "depth="),
                        (lambda: analyzer.plot_top_n_layers(5, MetricType.RUNTIME)._repr_svg_(), "runtime=True")):
        refused(call, words)
        try:
            call()
        except Exception as why:
            assert "--" not in str(why) and not str(why).startswith("sonde: "), str(why)
    refused(lambda: report.save("x.json"), ".sonde")
    assert "conv1" in str(report) and "1,814,073,344" in str(report)


def check_what_is_typed_wrong():
    model = nn.Linear(8, 8)
    report = profile_metrics(model, input_shape=(8,), runtime=False)
    for shape, words in ((torch.zeros(2, 8), "Tensor is not a shape"), (b"8", "b'8' is not a shape"), ((1 << 70, 8), "cannot be made")):
        refused(lambda: profile_macs(model, input_shape=shape), words)
    refused(lambda: profile_macs(model, input_shape=(8,), count=["macs"]), "choose among macs")
    refused(lambda: profile_macs(model, inputs={1: torch.ones(1, 8)}), "1 is not a name", "tuple")
    refused(lambda: ReportAnalyzer(report).find_layers_by_type(None), "not a type of layers")
    refused(lambda: report.fit("nope", available=None), "no optimizer 'nope'")
    with tempfile.TemporaryDirectory() as folder:
        report.save(os.path.join(folder, "x.sonde"))
        refused(lambda: report.save(os.path.join(folder, "x.sonde")), "force=True")
        report.save(os.path.join(folder, "x.sonde"), force=True)


def check_settings_of_torch():
    """They are the caller's: anomalies are not looked for where there are no numbers, and inputs are where the model is."""
    import warnings

    with warnings.catch_warnings(record=True) as told, torch.autograd.detect_anomaly():
        warnings.simplefilter("always")
        report = profile_metrics(nn.Linear(8, 8), input_shape=(8,), backward=True, runtime=False)
        equal((report.facts["ran_on"], torch.is_anomaly_enabled(), [str(w.message) for w in told if "Error detected" in str(w.message)]), ("meta", True, []))
    torch.set_default_device("meta")
    try:
        assert profile_runtime(nn.Linear(8, 8, device="cpu"), input_shape=(8,)) > 0
    finally:
        torch.set_default_device(None)


def check_many_modules_in_each_other():
    model = nn.Linear(8, 8)
    for _ in range(300):
        model = nn.Sequential(model)
    equal(profile_params(model), 72)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    try:
        report = profile_metrics(model, input_shape=(8,), runtime=False)
        equal((report.totals["params"], report.totals["macs"], report.notes), (72, 64, []))
    finally:
        sys.setrecursionlimit(limit)


class Odd(nn.Module):
    def forward(self, x):
        return torch.special.bessel_j0(x @ torch.ones(32, 64)) + x @ torch.ones(32, 64)


def check_rules_for_operators():
    report = ProfilerReport(Profiler(Odd(), (8, 32), runtime=False).profile())
    equal(report.unsupported, {"aten::special_bessel_j0": 1})
    assert 0 < report.coverage < 1, report.coverage
    equal(report.totals["macs"], 2 * 16384)
    sm.rule("aten::special_bessel_j0", lambda inputs, outputs: inputs[0][-1])
    try:
        report = ProfilerReport(Profiler(Odd(), (8, 32), runtime=False).profile())
        equal((report.unsupported, report.coverage, report.totals["macs"]), ({}, 1.0, 2 * 16384 + 64))
    finally:
        sm.rule("aten::special_bessel_j0", None)
    refused(lambda: sm.rule("bessel", print), "mine::op")
    refused(lambda: sm.rule(torch.ops.aten.add.Tensor, print), "mine::op")
    refused(lambda: sm.rule("mine::op.default", print), "all its overloads", "'mine::op'")
    for wrong, words in ((lambda i, o: 1 // 0, ("failed", "ZeroDivisionError")), (lambda i, o: 1.5, ("gave 1.5", "integer")), (lambda i, o: "17", ("gave '17'",)),
                         (lambda i, o: None, ("gave None",)), (lambda i, o: -1, ("negative",)), (lambda i, o: 2 ** 80, ("64 bits",)), (lambda: 3, ("failed", "TypeError"))):
        sm.rule("aten::special_bessel_j0", wrong)
        try:
            refused(lambda: sm.profile_macs(Odd(), (8, 32)), "the rule for aten::special_bessel_j0", *words)
        finally:
            sm.rule("aten::special_bessel_j0", None)
    sm.rule("mine::one", lambda inputs, outputs: 1)
    later = sm.rule("mine::one")
    assert "mine::one" in sm._rules, "a decorator that waits for its function took the rule away"
    later(len)
    assert sm._rules.pop("mine::one") is len


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, a, b):
        return self.fc(a) + b


class Bare(nn.Module):
    def __init__(self):
        pass

    def forward(self, x):
        return x


def check_what_it_is_called_with():
    a, b = torch.zeros(3, 4), torch.zeros(3, 2)
    equal(sm.profile_macs(Two(), inputs=(a, b)), 24)
    equal(sm.profile_macs(Two(), inputs={"b": b, "a": a}), 24)
    equal(sm.profile_macs(nn.Linear(4, 2), inputs=a), 24)
    equal(sm.profile_macs(nn.Linear(4, 2), (4,), backward=True), 8 + 8)
    refused(lambda: sm.profile_macs(Two(), (4,)), "inputs=")
    refused(lambda: sm.profile_macs(nn.Linear(4, 2), (5,)), "Linear")
    refused(lambda: sm.profile_macs("resnet", (5,)), "str")
    refused(lambda: sm.profile_macs(nn.Linear(4, 2), "abc"), "not a shape")
    refused(lambda: sm.profile_macs(nn.Linear(4, 2), (4,), count="mine"), "mine", "fvcore")
    refused(lambda: sm.profile_macs(nn.Linear(4, 2), (4,), count="thop", backward=True), "thop", "backward")
    refused(lambda: sm.profile_params(nn.LazyLinear(3)), "lazy")
    refused(lambda: sm.profile_runtime(nn.LazyLinear(3), (4,)), "lazy", "call it once")
    refused(lambda: sm.profile_macs(nn.Linear(4, 2), (10 ** 6,) * 4), "input_shape=", "cannot be made")
    refused(lambda: sm.profile_runtime(nn.Linear(4, 2), (10 ** 6,) * 4), "input_shape=", "cannot be made")
    for call in (sm.profile_macs, sm.profile_params, sm.profile_runtime, sm.profile_metrics):
        refused(lambda: call(Bare(), (4,)), "Bare, or a module in it, is not initialised", "super().__init__()")
        refused(lambda: call(nn.Sequential(nn.Linear(4, 4), Bare()), (4,)), "Sequential, or a module in it, is not initialised")


def quiet(call):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        return call(), said.getvalue()


def check_other_tools_names():
    from sonde.compat.fvcore.nn import ActivationCountAnalysis, FlopCountAnalysis, activation_count, flop_count_table, parameter_count
    from sonde.compat.ptflops import get_model_complexity_info
    from sonde.compat.thop import clever_format, profile
    from sonde.compat.torchinfo import summary

    model, x = made("resnet18", "cpu").eval(), torch.zeros(1, *SHAPE)
    flops = FlopCountAnalysis(model, x)
    equal(flops.total(), 1819065856)
    equal(flops.by_module()["fc"], 512000)
    equal(sum(flops.by_operator().values()), 1819065856)
    equal(sorted(flops.by_operator()), ["adaptive_avg_pool2d", "batch_norm", "conv", "linear"])
    equal(flops.total("layer1.0"), flops.by_module()["layer1.0"])
    equal((flops.by_operator("fc"), sum(flops.by_operator("layer1.0").values())), ({"linear": 512000}, flops.total("layer1.0")))
    refused(lambda: flops.by_operator("layer9"), "layer9")
    plain = FlopCountAnalysis(model, x).set_op_handle("aten::batch_norm", None)
    equal(plain.total(), flops.total() - flops.by_operator()["batch_norm"])
    refused(lambda: plain.set_op_handle("aten::matmul", None), "aten::mm")
    both = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4), nn.LayerNorm(4))
    equal(FlopCountAnalysis(both, torch.zeros(2, 3, 4)).by_operator(), {"linear": 192, "layer_norm": 120})
    equal(flops.unsupported_ops(), {})
    for name, n in (("resnet18", 2484712), ("resnet50", 11114984), ("vgg16", 13556712), ("mobilenet_v2", 6679112)):
        equal(ActivationCountAnalysis(made(name).eval(), x).total(), n, name)
    equal(activation_count(model, (x,)), ({"conv": 2.483712, "linear": 0.001}, {}))
    refused(lambda: activation_count(model, (x,), {"aten::mul": None}), "supported_ops")
    equal(flops.ancestor_mode("owner").total(), 1819065856)
    refused(lambda: flops.ancestor_mode("caller"), "caller", "own")
    refused(lambda: flops.ancestor_mode("child"), "child", "owner, caller")
    equal(parameter_count(model)[""], 11689512)
    assert "layer1.0.conv1" in flop_count_table(flops)
    equal(profile(model, inputs=(x,)), (1824033792, 11689512))
    equal(clever_format([1824033792, 11689512], "%.3f"), ("1.824G", "11.690M"))
    equal(get_model_complexity_info(model, SHAPE, as_strings=False, print_per_layer_stat=False), (1825313768, 11689512))
    equal(get_model_complexity_info(model, SHAPE, print_per_layer_stat=False, backend="aten"), ("1.81 GMac", "11.69 M"))
    refused(lambda: get_model_complexity_info(model, SHAPE, backend="foo"), "backend='foo'", "pytorch, aten")
    found, text = quiet(lambda: summary(model, (1,) + SHAPE))
    equal((found.total_params, found.total_mult_adds, found.total_output_bytes), (11689512, 1814083944, 39747392))
    found = summary(model, input_data=x, col_names=("kernel_size",), verbose=0)
    assert "[7, 7]" in str(found), str(found)[:300]
    refused(lambda: summary(model, input_data=x, col_names=("kernels",), verbose=0), "kernels", "kernel_size")
    equal(summary(Two(), input_data=torch.zeros(3, 4), b=torch.zeros(3, 2), verbose=0).total_params, 10)
    found, plain = quiet(lambda: summary(Two()))
    equal((found.total_params, "Linear: 1-1" in plain, "Total params: 10" in plain, "mult-adds" in plain, "Output Shape" in plain), (10, True, True, False, False))
    refused(lambda: summary(Two(), col_names=("output_size",)), "input_size", "output_size")
    assert "Total params: 11,689,512" in text and "├─Conv2d: 1-1" in text, text[:300]


def check_layers_as_torchinfo_lists_them():
    from sonde.compat.torchinfo import summary

    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Sequential(nn.ReLU(), nn.Flatten()), nn.Linear(16, 2, bias=False).requires_grad_(False))
    rows = summary(model, (1, 3, 4, 4), depth=1, verbose=0).summary_list
    equal([(r.class_name, r.var_name, r.depth, r.depth_index) for r in rows],
          [("Sequential", "Sequential", 0, None), ("Conv2d", "0", 1, 1), ("Sequential", "1", 1, 2), ("ReLU", "0", 2, 1), ("Flatten", "1", 2, 2), ("Linear", "2", 1, 3)])
    equal([(r.num_params, r.trainable_params, r.trainable, r.macs) for r in (rows[1], rows[5])], [(112, 112, "True", 448), (32, 0, "False", 32)])
    equal((rows[1].input_size, rows[1].output_size, rows[1].kernel_size, rows[1].is_leaf_layer), ([1, 3, 4, 4], [1, 4, 2, 2], [3, 3], True))
    equal((rows[0].trainable, rows[2].is_leaf_layer, rows[3].kernel_size, rows[4].module is model[1][1]), ("Partial", False, None, True))
    equal([r.executed for r in summary(model, verbose=0).summary_list], [False] * 6)


ANNOTATED = """Net(
  #params: 0.22K, #flops: 100
  (fc): Linear(
    in_features=10, out_features=10, bias=True
    #params: 0.11K, #flops: 100
  )
  (relu): ReLU()
  (unused): Linear(
    in_features=10, out_features=10, bias=True
    #params: 0.11K, #flops: N/A
  )
  (none): None
)"""


def check_a_model_with_its_counts_as_fvcore_shows_it():
    from sonde.compat.fvcore.nn import ActivationCountAnalysis, FlopCountAnalysis, flop_count_str

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.relu, self.unused = nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 10)
            self.register_module("none", None)

        def forward(self, x):
            return self.relu(self.fc(x))

    model, x = Net(), torch.zeros(1, 10)
    equal(flop_count_str(FlopCountAnalysis(model, x)), ANNOTATED)
    assert "#params: 0.22K, #flops: 100, #acts: 10\n" in flop_count_str(FlopCountAnalysis(model, x), ActivationCountAnalysis(model, x))


def check_formulas_are_registered_with_torch():
    import torch.utils.flop_counter as torchs

    import sonde.compat.flop_counter as ours
    from sonde.compat.flop_counter import register_flop_formula

    equal(register_flop_formula is torchs.register_flop_formula, True)
    refused(lambda: ours.nothing, "nothing")


def sonde(*words, **how):
    return subprocess.run([SONDE, "model"] + list(words) + ["--python", sys.executable], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          stdin=subprocess.DEVNULL, **how)


def check_the_verb():
    here = os.path.dirname(os.path.abspath(__file__))
    done = sonde("torch_networks.py:alexnet", "-i", "1,3,224,224", "--json", "--count", "thop", cwd=here)
    equal((done.returncode, done.stderr), (0, ""))
    said = json.loads(done.stdout)
    equal((said["macs"], said["params"], said["coverage"], said["unsupported"]), (714206912, 61100840, 1, {}))
    equal([r["layers"] for r in said["types"] if r["type"] == "Conv2d"], [5])
    assert said["definition"].startswith("As THOP"), said["definition"]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "net.py"), "w") as f:
            f.write("from torch import nn\nprint('hello')\nnumber = 3\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                    "        self.fc = nn.Linear(4, 2)\n    def forward(self, x, mask=None):\n        return self.fc(x)\ndef bad():\n    raise ValueError('no weights')\n"
                    "class Odd(Net):\n    def train(self, mode=True):\n        raise TypeError('no mode of mine')\ndef odd():\n    return Odd()\n")
        env = dict(os.environ, XDG_CACHE_HOME=folder)
        words = ("net:Net", "--input", "x=2,4", "--input", "mask=2:bool", "--runtime", "--backward", "--csv")
        done = sonde(*words, cwd=folder, env=env)
        equal((done.returncode, done.stderr), (0, "hello\nsonde: measuring once the highest speed of this machine (FLOP/s and memory bandwidth); sonde info --machine shows the result\n"))
        done = sonde(*words, cwd=folder, env=env)
        equal((done.returncode, done.stderr), (0, "hello\n"))
        assert done.stdout.splitlines()[1].startswith("fc,Linear,"), done.stdout
        beside_the_machine(folder, env)
        sys.path.insert(0, folder)
        for words, status, said in ((("net:Net",), 2, "--input"), (("net:number", "--input=1"), 1, "int"), (("net:bad", "--input=1"), 1, "no weights"),
                                    (("net:Not", "--input=1"), 2, "has no Not"), (("nut:Net", "--input=1"), 1, "no module named nut"),
                                    (("net:Net", "--input=2,5"), 1, "; --input has the batch axis first"), (("net:Net", "--input=2,4:floot"), 2, "floot"),
                                    (("net:Net", "--input=-2,4"), 2, "numbers separated by commas"), (("net:Net", "--input=99999999999999999999,4"), 2, "too large"),
                                    (("net:Net", "--input=9999999999,100000,100000,4"), 2, "an input of 9999999999,100000,100000,4 is too large to be made: "),
                                    (("net:Net", "--input=1000000000,1000000,4", "--runtime"), 1, "an input of 1000000000,1000000,4 is too large to be made: "),
                                    (("net:odd", "--input=2,4"), 1, "no mode of mine")):
            status_found, text = ended(words)
            equal(status_found, status, text)
            assert said in text and text.count("\n") == 1 and "input_shape=" not in text, text
        sys.path.remove(folder)


def check_fit_is_of_training():
    """Dropout keeps its mask in training only; Python's fit() is the verb's where memory was asked for."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "net.py"), "w") as f:
            f.write("from torch import nn\ndef net():\n    return nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5))\n")
        done = sonde("net.py:net", "-i", "1,64", "--fit", "8", "--json", cwd=folder)
        equal((done.returncode, done.stderr), (0, ""))
        said = json.loads(done.stdout)
        text = sonde("net.py:net", "-i", "1,64", "--fit", "8", cwd=folder).stdout
        assert "Activations are those of training mode." in text, text
    equal(said["facts"]["mode"], "train")
    model = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5))
    ours = sm.profile_metrics(model, (64,), runtime=False, memory=True).fit(batch=8)
    equal({k: said["fit"][k] for k in ("activation_bytes", "total_bytes", "activations_measured")}, {k: ours[k] for k in ("activation_bytes", "total_bytes", "activations_measured")})
    asleep = sm.profile_metrics(model.eval(), (64,), runtime=False, memory=True).fit(batch=8)
    assert asleep["activation_bytes"] < ours["activation_bytes"], (asleep, ours)
    equal(sm.profile_metrics(model, (64,), runtime=False).fit()["activations_measured"], False)


def check_amounts_of_fit():
    report = sm.profile_metrics(nn.Linear(4, 2), (4,), runtime=False)
    for name in ("batch", "available"):
        for given, kind, said in ((10 ** 30, ValueError, " is more than 64 bits hold"), (-1, ValueError, " is negative"), (-10 ** 30, ValueError, " is negative"),
                                  (1.5, TypeError, " must be an integer, not float"), ("16GiB", TypeError, " must be an integer, not str")):
            try:
                report.fit(**{name: given})
                found = None
            except Exception as why:
                found = type(why), str(why)
            equal(found, (kind, name + said))
    equal(report.fit(batch=torch.tensor(3), available=True)["largest_batch"], 0)


def check_nothing_is_kept_without_a_backward():
    """What is frozen, or runs without gradients, keeps nothing, and a note says so."""
    model, x = nn.Sequential(nn.Linear(8, 8), nn.ReLU()), torch.zeros(4, 8)

    def told(**how):
        report = sm.profile_metrics(model, inputs=x, runtime=False, **how)
        return report.totals["activation_bytes"], [n for n in report.notes if "nothing is kept for a backward" in n], report.fit()["activations_measured"]

    equal((told(memory=True)[1:], told()[1:]), (([], True), ([], False)))
    with torch.no_grad():
        equal(told(memory=True), (None, ["nothing is kept for a backward, because gradients are off: activation bytes are not measured"], False))
        equal(told(), (None, [], False))
    model.requires_grad_(False)
    note = "nothing is kept for a backward, because no parameter is trained: activation bytes are not measured"
    equal(told(memory=True), (None, [note], False))
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "net.py"), "w") as f:
            f.write("from torch import nn\ndef net():\n    return nn.Linear(8, 8).requires_grad_(False)\n")
        equal(note in json.loads(sonde("net.py:net", "-i", "4,8", "--memory", "--json", cwd=folder).stdout)["notes"], True)


class Masked(nn.Module):
    """The batch is that of the second input."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 1)

    def forward(self, mask, x):
        return self.l(x) * mask.sum()


class Looked(nn.Module):
    """Also what is not the batch can be longer."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 8)

    def forward(self, table, given):
        return torch.relu(self.l(given["x"]) @ table.t())


class Cast(nn.Module):
    """The copies of its weights do not grow."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.layers(x)


def weight_normed():
    norm = torch.nn.utils.weight_norm
    return nn.Sequential(norm(nn.Linear(512, 512)), nn.ReLU(), norm(nn.Linear(512, 512)))


def kept(model, inputs, **asked):
    return sm.profile_metrics(model, inputs=inputs, runtime=False, memory=True, **asked)


GROWING = (
    ("weight_norm", weight_normed, lambda b: torch.randn(b, 512), 1, 1314816),
    ("a mask first", Masked, lambda b: (torch.ones(16, 16), torch.randn(b, 8)), 2, 2052),
    ("a table first", Looked, lambda b: (torch.ones(16, 8), {"x": torch.randn(b, 8)}), 2, 64 * 4 * (8 + 16) + 4 * 16 * 8),
    ("an MLP", lambda: nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)), lambda b: torch.randn(b, 784), 3, 64 * 4 * (784 + 256)),
    ("convolutions", lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(), nn.Flatten(), nn.Linear(392, 10)),
     lambda b: torch.randn(b, 3, 16, 16), 2, 1400896),
    ("of other strides", lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()), lambda b: torch.randn(b, 3, 8, 8).to(memory_format=torch.channels_last), 1, 122880),
    ("casts, which run on real tensors", Cast, lambda b: torch.randn(b, 64), 2, 64 * 2 * 64 * 2 + 64 * 64 * 2),
    ("indices", lambda: nn.Sequential(nn.Embedding(100, 32), nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)), lambda b: torch.arange(16).repeat(b, 1), 2, 3170304),
)


def check_what_grows_with_the_batch():
    """From one count what is measured with another batch, to the byte; what stays is not multiplied."""
    for name, make, inputs, batch, wanted in GROWING:
        model = make()
        report = kept(model, inputs(batch))
        found, now = report.fit("sgd", batch=64), report.fit("sgd", batch=batch)
        equal((found["activation_bytes"], found["activations_grow"]), (kept(model, inputs(64)).fit()["activation_bytes"], "measured"), name)
        equal((found["activation_bytes"], now["activation_bytes"], report.facts["batch"]), (wanted, report.totals["activation_bytes"], str(batch)), name)
        equal(kept(model, inputs(batch), backward=True).fit(batch=64)["activation_bytes"], wanted, name)
    equal(kept(Masked(), (torch.ones(16, 16), torch.randn(2, 8))).fit("sgd", batch=2)["activation_bytes"], 68)


def check_growth_is_assumed_where_it_is_not_measured():
    class Fixed(nn.Linear):
        def forward(self, x):
            return super().forward(x.view(2, 8))

    x = torch.randn(2, 8)
    reports = (kept(Fixed(8, 8), x), kept(nn.Linear(8, 8), x[0]), sm.profile_metrics(nn.Linear(8, 8), inputs=x, runtime=False, backward=True),
               sm.profile_metrics(nn.Linear(8, 8), inputs=x, runtime=False))
    for at, report in enumerate(reports):
        found = report.fit(batch=64)
        equal((found["activations_grow"], "batch" in report.facts, "activation_bytes_at_2" in report.facts), ("assumed", False, False), at)
    equal([n for r in reports for n in r.notes], [])
    equal(reports[0].fit(batch=64)["activation_bytes"], 32 * reports[0].totals["activation_bytes"])


def check_the_second_count_leaves_nothing():
    """Plain counts have none; the model, its inputs, random states, sums and notes are those of one count."""
    class Counts(nn.Linear):
        runs = []

        def forward(self, x, *also):
            self.runs.append(tuple(x.shape))
            self.last = x
            return nn.functional.dropout(super().forward(x))

    model, x = Counts(8, 8), torch.randn(2, 8, requires_grad=True)
    before, state = dict(vars(model)), torch.get_rng_state()
    sm.profile_macs(model, inputs=x)
    sm.profile_metrics(model, inputs=x, runtime=False, backward=True)
    equal(Counts.runs, [(2, 8)] * 2)
    report = kept(model, (x, [torch.ones(5), torch.tensor(1.0)]))
    equal(Counts.runs[2:], [(2, 8), (4, 8)])
    equal((list(vars(model)), x.grad, tuple(x.shape), torch.equal(state, torch.get_rng_state())), (list(before), None, (2, 8), True))
    equal((report.totals["macs"], report.rows()[0]["CALLS"], report.notes), (2 * 8 * 8, 1, []))


def check_growth_is_in_a_capture():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "net.py"), "w") as f:
            f.write("import torch\nfrom torch import nn\nnorm = torch.nn.utils.weight_norm\ndef net():\n"
                    "    return nn.Sequential(norm(nn.Linear(512, 512)), nn.ReLU(), norm(nn.Linear(512, 512)))\n"
                    "class Fixed(nn.Linear):\n    def forward(self, x):\n        return super().forward(x.view(2, 8))\n"
                    "def fixed():\n    return Fixed(8, 8)\n")
        how = dict(cwd=folder, env=dict(os.environ, PYTHONWARNINGS="ignore"))
        kept(weight_normed(), torch.randn(1, 512)).save(os.path.join(folder, "saved.sonde"))
        done = sonde("net.py:net", "-i", "1,512", "--memory", "--train", "-o", "verb.sonde", **how)
        equal((done.returncode, done.stderr), (0, ""))
        for words in (("saved.sonde",), ("verb.sonde",), ("net.py:net", "-i", "1,512")):
            said = json.loads(sonde(*words + ("--fit", "64", "--json"), **how).stdout)
            equal((said["fit"]["activation_bytes"], said["fit"]["activations_grow"], said["facts"]["batch"]), (1314816, "measured", "1"), words)
        told = "This assumes that activations grow in proportion to the batch."
        equal(told in sonde("saved.sonde", "--fit", "64", **how).stdout, False)
        equal(told in sonde("net.py:fixed", "-i", "2,8", "--fit", "64", **how).stdout, True)
        equal(json.loads(sonde("verb.sonde", "--fit", "0", "--json", **how).stdout)["fit"]["activation_bytes"], 1056768)


def check_states_of_optimizers():
    """As many tensors of a parameter's shape as torch itself keeps after a step."""
    optim = torch.optim
    makes = {"sgd": optim.SGD, "sgd-momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9), "amsgrad": lambda p: optim.Adam(p, amsgrad=True)}
    makes.update((name.lower(), getattr(optim, name)) for name in ("Adagrad", "RMSprop", "Adadelta", "Rprop", "ASGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam"))
    for name, make in makes.items():
        model = nn.Linear(64, 32, bias=False)
        optimizer = make(model.parameters())
        model(torch.randn(4, 64)).sum().backward()
        optimizer.step()
        states = [s for s in optimizer.state[model.weight].values() if isinstance(s, torch.Tensor) and s.shape == model.weight.shape]
        equal(sm.profile_metrics(model, (64,), runtime=False).fit(name)["optimizer_bytes"], sum(s.numel() * s.element_size() for s in states), name)


ENDING = """
import os, sys, torch
from torch import nn
def leaves(): sys.exit(3)
def dies(): os._exit(9)
def dies_well(): os._exit(0)
def stops(): raise KeyboardInterrupt
async def waits(): return nn.Linear(2, 2)
class Forward(nn.Module):
    def forward(self, x): sys.exit(4)
class Stopped(nn.Module):
    def forward(self, x): raise KeyboardInterrupt
class Bare(nn.Module):
    def __init__(self): pass
def plain(): return nn.Linear(2, 2)
"""


def check_programs_that_end_themselves():
    """One sentence, and a status that is ours."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("net.py", ENDING), ("gone.py", "import sys\nsys.exit(5)\n")):
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        for target, said in (("net.py:dies", "exited with status 9"), ("net.py:dies_well", "without a counted model"), ("net.py:leaves", "leaves() failed: it ended the program (SystemExit: 3)")):
            done = sonde(target, "-i", "1,2", cwd=folder)
            equal((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
            assert said in done.stderr, done.stderr
        done = sonde("net.py:plain", "-i", "1,2", "--top", "2", "--metric", "runtime", cwd=folder)
        equal((done.returncode, done.stdout), (2, ""))
        assert "not measured" in done.stderr and "--runtime" in done.stderr, done.stderr
        before = os.getcwd()
        os.chdir(folder)
        try:
            for target, said in (("net.py:leaves", "SystemExit: 3"), ("net.py:stops", "stops() failed: KeyboardInterrupt"), ("net.py:waits", "a coroutine"),
                                 ("net.py:Forward", "SystemExit: 4"), ("net.py:Stopped", "KeyboardInterrupt"), ("net.py:Bare", "super().__init__()"),
                                 ("gone.py:net", "cannot import gone.py: it ended the program (SystemExit: 5)")):
                status, text = ended((target, "--input=1,2"))
                equal((status, text.count("\n")), (1, 1), text)
                assert said in text, text
            status, text = ended(("net.py:plain", "--input=1,3"))
            assert "--input" in text and "inputs=" not in text and "input_shape" not in text, text
        finally:
            os.chdir(before)


def beside_the_machine(folder, env):
    """Times have their share of the peak where that is known, and reading a capture never measures it."""
    def layer(**how):
        done = sonde("net.sonde", "--csv", cwd=folder, **how)
        equal(done.returncode, 0, done.stderr)
        return next(csv.DictReader(io.StringIO(done.stdout)))

    done = sonde("net:Net", "--input", "x=2,4", "--runtime", "-o", "net.sonde", cwd=folder, env=env)
    equal((done.returncode, done.stderr), (0, "hello\n"))
    done = subprocess.run([SONDE, "info", "--machine", "--json"], env=env, stdout=subprocess.PIPE)
    peak = json.loads(done.stdout)["operations_per_second"]["float32"]["all_cores"]
    row = layer(env=env)
    reached = 100 * int(row["flops"]) / (int(row["runtime"]) * 1e-9) / peak
    assert abs(float(row["peak%"]) / reached - 1) < 1e-6, (row, peak)
    elsewhere = os.path.join(folder, "elsewhere")
    assert "peak%" not in layer(env=dict(env, XDG_CACHE_HOME=elsewhere))
    assert not os.path.exists(elsewhere)
    done = sonde("net.sonde", "--plot", "roofline", "-o", "roof.svg", cwd=folder, env=env)
    equal((done.returncode, done.stderr), (0, ""))
    with open(os.path.join(folder, "roof.svg")) as f:
        assert "layers in the roofline of this machine" in f.read()


def ended(words):
    """Status and stderr of the verb's Python half, in this process: importing torch takes longer than all that it does."""
    from sonde._torch import _model_main

    argv, sys.argv = sys.argv, ["_model_main", "99"] + list(words)
    try:
        with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
            return _model_main.main(), said.getvalue()
    finally:
        sys.argv = argv


def main():
    wanted, failed = sys.argv[1:], 0
    for name, check in list(globals().items()):
        if not name.startswith("check_") or wanted and not any(w in name for w in wanted):
            continue
        try:
            check()
            print("ok %s" % name[6:], flush=True)
        except Exception as why:
            failed += 1
            print("FAIL %s: %s" % (name[6:], str(why).splitlines()[0] if str(why) else type(why).__name__))
            print("    " + traceback.format_exc().strip().replace("\n", "\n    "), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
