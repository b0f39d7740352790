# SPDX-License-Identifier: MIT
"""What models keep for the backward, told without data, is what a real forward on this processor keeps; prints `ok` or what is wrong.

The truth is torch's own: every storage that its hooks for saved tensors are told, once, without those of the model.
With a word it does one of: attention layers outputs.
"""
import contextlib
import functools
import itertools
import sys
import threading

import torch
from torch import nn
from torch.nn import functional as F

from sonde._torch import _model

torch.set_num_threads(1)


def say(what, got, wanted):
    print("ok %s" % what if got == wanted else "WRONG %s: %r, not %r" % (what, got, wanted))


def kept(model, args):
    """Bytes, in a forward that nobody else watches."""
    storages, own = {}, {t.untyped_storage()._cdata for t in list(model.parameters()) + list(model.buffers())}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            storages[storage._cdata] = (storage.nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(*args)
    return sum(size for size, _ in storages.values())


def told(model, args, **how):
    """(bytes for the backward, bytes at the peak, MACs, operators and their calls, ran on)"""
    made = _model.collect(model, args, memory=True, **how)
    totals = made.totals()
    return (totals["activation_bytes"] or 0, int(made.facts["peak_bytes"]), totals["macs"],
            sorted((o["name"], o["n_ops"]) for o in made.operators() if o["known"] != "free"), made.facts["ran_on"])


def same(what, model, args, backward=True):
    """Without data as with it, and as torch itself tells; and without data, not by a real pass in its place."""
    for asks in ({}, {"backward": True}) if backward else ({},):
        ours, real = told(model, args, **asks), told(model, args, real=True, **asks)
        say("%s %s" % (what, asks), ours, real[:-1] + ("meta",))
    say(what + ", kept", ours[0], kept(model, args))


# ---- attention


class Attends(nn.Module):
    def __init__(self, mask=None, **asks):
        super().__init__()
        self.q, self.k, self.v = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
        self.mask, self.asks = mask, asks

    def forward(self, q, k, v):
        kind = q.dtype
        return F.scaled_dot_product_attention(q * self.q.to(kind), k * self.k.to(kind), v * self.v.to(kind), attn_mask=self.mask, **self.asks)


def layout(how, heads, rows, width):
    """Heads by heads, rows by rows, or with the width apart."""
    if how == "heads":
        return torch.randn(2, heads, rows, width)
    if how == "rows":
        return torch.randn(2, rows, heads, width).transpose(1, 2)
    if how == "apart":
        return torch.randn(2, heads, width, rows).transpose(2, 3)
    return torch.randn(heads, rows, width)


def masks(rows, others, dtype):
    whole = torch.zeros(rows, others, dtype=dtype)
    return {"none": None, "of truth": torch.ones(rows, others, dtype=torch.bool), "of two axes": whole,
            "of float32": whole.float(), "of four": torch.zeros(2, 1, rows, others, dtype=dtype),
            "of three": torch.zeros(3, rows, others, dtype=dtype), "stretched": torch.zeros(2, 1, 1, 1, dtype=dtype).expand(2, 3, rows, others),
            "one row": torch.zeros(1, others, dtype=dtype), "learned": nn.Parameter(whole.clone())}


def attention():
    for how, (rows, others), dtype in itertools.product(("heads", "rows", "apart", "no batch"), ((5, 7), (1, 5)), (torch.float32, torch.bfloat16)):
        q, k, v = [layout(how, 3, n, 4).to(dtype) for n in (rows, others, others)]
        for name, mask in masks(rows, others, dtype).items():
            if mask is not None and mask.dim() > q.dim():
                continue
            same("%s %s %s mask %s" % (how, rows, dtype, name), Attends(mask), (q, k, v), backward=name != "one row")
    q, one = layout("heads", 4, 5, 8), layout("heads", 2, 5, 8)
    same("causal", Attends(is_causal=True), (q, q, q))
    same("scaled", Attends(scale=0.3), (q, q, q))
    same("dropout", Attends(dropout_p=0.5), (q, q, q), backward=False)
    same("shared keys", Attends(enable_gqa=True), (q, one, one))
    for shape in ((0, 4, 5, 8), (2, 0, 5, 8), (2, 4, 0, 8), (2, 4, 5, 0)):
        same("of nothing %s" % (shape,), Attends(), (torch.zeros(shape),) * 3)
    same("a narrower value", Attends(), (q, q, q[..., :4].contiguous()))
    with torch.backends.cuda.sdp_kernel(enable_flash=False) if not hasattr(nn.attention, "sdpa_kernel") else nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
        same("switched off", Attends(), (q, q, q))
    for around in (torch.no_grad, torch.inference_mode):
        with around():
            say("in %s" % around.__name__, told(Attends(), (q, q, q))[1:], told(Attends(), (q, q, q), real=True)[1:-1] + ("meta",))
    large = torch.zeros(1, 12, 1024, 64)
    say("no scores", told(Attends(), (large,) * 3)[0], kept(Attends(), (large,) * 3))
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2, enable_nested_tensor=False)
    x = torch.randn(2, 16, 64)
    same("an encoder", encoder.eval(), (x,))
    same("an encoder that learns", encoder.train(), (x,), backward=False)
    heads = nn.MultiheadAttention(64, 4, batch_first=True)
    same("heads", type("Heads", (nn.Module,), {"__init__": lambda self: (nn.Module.__init__(self), setattr(self, "heads", heads))[0],
                                               "forward": lambda self, x: self.heads(x, x, x, need_weights=False)[0]})(), (x,))
    without_a_trace(q)


def without_a_trace(q):
    """torch's own attention without data is as before, and is for others meanwhile."""
    bare = q.to("meta").requires_grad_()
    before = (F.scaled_dot_product_attention(bare, bare, bare).grad_fn.name(), set(torch.library._impls))

    seen = []

    class Beside(Attends):
        def forward(self, *given):
            thread = threading.Thread(target=lambda: seen.append(F.scaled_dot_product_attention(bare, bare, bare).grad_fn.name()))
            thread.start()
            thread.join()
            return super().forward(*given)

    same("beside another thread's", Beside(), (q, q, q), backward=False)
    say("another thread's attention", set(seen), {before[0]})
    say("torch afterwards", (F.scaled_dot_product_attention(bare, bare, bare).grad_fn.name(), set(torch.library._impls)), before)
    with contextlib.suppress(_model.ModelError):
        told(Attends(), (q, q[..., :3], q))
    say("and after a failure", (F.scaled_dot_product_attention(bare, bare, bare).grad_fn.name(), set(torch.library._impls)), before)


# ---- layers


LAYERS = {
    "linear": (lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)), (6, 8)),
    "conv": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2)), (2, 3, 12, 12)),
    "transposed conv": (lambda: nn.Sequential(nn.ConvTranspose2d(3, 8, 3), nn.GroupNorm(4, 8), nn.SiLU()), (2, 3, 12, 12)),
    "conv1d": (lambda: nn.Sequential(nn.Conv1d(3, 8, 3), nn.BatchNorm1d(8), nn.Hardswish(), nn.AvgPool1d(2)), (2, 3, 12)),
    "conv3d": (lambda: nn.Sequential(nn.Conv3d(3, 8, 3), nn.BatchNorm3d(8), nn.Tanh()), (2, 3, 6, 6, 6)),
    "instances": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.InstanceNorm2d(8, affine=True)), (2, 3, 12, 12)),
    "norms": (lambda: nn.Sequential(nn.LayerNorm(8), nn.RMSNorm(8), nn.Softmax(-1)), (6, 8)),
    "dropout": (lambda: nn.Sequential(nn.Linear(8, 16), nn.Dropout(), nn.Linear(16, 4)), (6, 8)),
    "upsampling": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.Upsample(scale_factor=2, mode="bilinear"), nn.PixelShuffle(2)), (2, 3, 6, 6)),
    "recurrent": (lambda: nn.RNN(8, 16), (5, 2, 8)),
    "gated": (lambda: nn.GRU(8, 16, batch_first=True), (2, 5, 8)),
}


class Bags(nn.Module):
    """Rows summed up, and a layer."""

    def __init__(self, mode, **asks):
        super().__init__()
        self.bag, self.layer = nn.EmbeddingBag(10, 4, mode=mode, **asks), nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(self.bag(x))


def layers():
    for mode, asks in itertools.product(("sum", "mean", "max"), ({}, {"padding_idx": 1})):
        same("bags %s %s" % (mode, asks), Bags(mode, **asks), (torch.arange(10).reshape(2, 5),))
    for name, (make, shape) in LAYERS.items():
        for train, dtype in itertools.product((True, False), (torch.float32, torch.bfloat16)):
            torch.manual_seed(0)
            model, x = make().to(dtype).train(train), torch.randn(*shape).to(dtype)
            ours = told(model, (x,))
            say("%s %s train=%s" % (name, dtype, train), (ours[0], ours[-1]), (kept(model, (x,)), "meta"))
    for stride in (1, 3):
        same("columns %d apart" % stride, nn.Sequential(nn.Conv2d(2, 2, 1), nn.Unfold(3, stride=stride), nn.Fold((9, 9), 3, stride=stride)), (torch.randn(2, 2, 9, 9),))
    wide = nn.Sequential(nn.BatchNorm2d(8), nn.GroupNorm(4, 8))
    for how in (torch.contiguous_format, torch.channels_last):
        x = torch.randn(2, 8, 6, 6, dtype=torch.bfloat16).to(memory_format=how)
        for model in (wide.train(), wide.eval()):
            same("wide weights %s" % how, model, (x,))
            same("channels of 32 bits %s" % how, nn.Sequential(nn.Conv2d(8, 8, 3), model), (x.float(),))
    turned()
    lstm, x = nn.LSTM(8, 16, 2), torch.randn(5, 2, 8)
    ours = told(lstm, (x,))
    say("an LSTM is run", (ours[0], ours[-1]), (kept(lstm, (x,)), "real tensors"))
    say("and only counted without data", _model.collect(lstm, (x,)).facts["ran_on"], "meta")
    narrow = nn.LSTM(8, 16, proj_size=4)
    ours = told(narrow, (x,))
    say("one with projections", (ours[0], ours[-1]), (kept(narrow, (x,)), "meta"))
    x = torch.randn(6, 8)
    if hasattr(torch, "_grouped_mm"):
        for dtype in (torch.float32, torch.bfloat16):
            same("experts %s" % dtype, Experts().to(dtype), (x.to(dtype),))
        say("their products", told(Experts(), (x,))[2], 2 * 6 * 8 * 16)
    say("a graph that is let go", told(Tries(), (x,))[0], 6 * 8 * 4 + 6 * 16 * 4)
    casts()


class Around(nn.Module):
    """A function of two layers."""

    def __init__(self, first, last, forward):
        super().__init__()
        self.first, self.last, self.way = first, last, forward

    def forward(self, x):
        return self.way(self, x)


def turned():
    """What lies in memory in another order than its axes, or with gaps."""
    masks = torch.zeros(5, dtype=torch.bool)
    for train in (True, False):
        for name, model in {"masked": Around(nn.Linear(8, 8), nn.Linear(5, 5), lambda self, x: self.last(self.first(x).transpose(1, 2).masked_fill(masks, 0.0).sigmoid())),
                            "normed": Around(nn.BatchNorm1d(8), nn.Linear(8, 5), lambda self, x: self.last(self.first(x.transpose(1, 2)).exp().transpose(1, 2))),
                            "normed and seen": Around(nn.BatchNorm1d(8), nn.Linear(40, 5), lambda self, x: self.last(self.first(x.transpose(1, 2)).view(len(x), 40)))}.items():
            same("%s turned, train=%s" % (name, train), model.train(train), (torch.randn(2, 5, 8),), backward=not name.endswith("seen"))
        cut = Around(nn.Conv2d(3, 9, 3), nn.BatchNorm2d(8), lambda self, x: self.last(self.first(x)[:, :8]))
        same("cut, train=%s" % train, cut.train(train), (torch.randn(2, 3, 6, 6),))
    weights_last = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Sigmoid(), nn.Flatten(), nn.Linear(128, 2)).to(memory_format=torch.channels_last)
    same("weights with channels last", weights_last, (torch.randn(2, 3, 6, 6),))


class Experts(nn.Module):
    """Each row goes to one of them."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Parameter(torch.randn(3, 8, 16)), nn.Parameter(torch.randn(3, 16, 8))

    def forward(self, x):
        ends = torch.tensor([2, 2, 6], dtype=torch.int32)
        return torch._grouped_mm(torch.relu(torch._grouped_mm(x, self.up, offs=ends)), self.down, offs=ends)


class Tries(nn.Module):
    """The way of a search: all but one of its branches are forgotten."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        for _ in range(5):
            hidden = torch.tanh(self.a(x))
        return self.b(hidden)


class Casts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.layers(x)


def casts():
    model, x = Casts(), torch.randn(6, 8)
    ours = told(model, (x,))
    say("under autocast", (ours[0], ours[-1]), (kept(model, (x,)), "real tensors"))
    made = _model.collect(model, (x,))
    say("counted under autocast", (made.facts["ran_on"], made.totals()["macs"], [n for n in made.notes if "autocast" in n] != []), ("meta", 6 * 8 * 16 + 6 * 16 * 4, True))


# ---- outputs


class Calls(nn.Module):
    """Operators, and what they give: of each output its shape, strides, dtype and bytes."""

    def __init__(self, calls, told):
        super().__init__()
        self.weight, self.calls, self.told = nn.Parameter(torch.ones(1)), calls, told

    def forward(self, x):
        self.told({case: [self.about(t) for t in self.outputs(call)] for case, call in self.calls.items()})
        return x * self.weight

    @staticmethod
    def outputs(call):
        given = call()
        return (given,) if isinstance(given, torch.Tensor) else given

    @staticmethod
    def about(tensor):
        return tensor if tensor is None else (tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.untyped_storage().nbytes())


def alike(what, calls):
    """Each gives without data what it gives with it."""
    passes, x = [], torch.ones(1)
    model = Calls(calls, passes.append)
    model(x)
    ran_on = _model.collect(model, (x,)).facts["ran_on"]
    real, ours = passes
    wrong = [(case, ours[case], real[case]) for case in calls if ours[case] != real[case]]
    say(what, (ran_on, len(wrong), wrong[:2]), ("meta", 0, []))


FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
ATEN = torch.ops.aten


def losses():
    calls = {}
    for dtype, reduction, shape in itertools.product(FLOATS, (0, 1, 2), ((4, 5), (0, 3), (), (2, 3, 4))):
        x, y = torch.rand(shape, dtype=dtype), torch.rand(shape, dtype=dtype)
        for name in ("mse_loss", "smooth_l1_loss", "soft_margin_loss", "huber_loss"):
            calls[name, dtype, reduction, shape] = functools.partial(getattr(ATEN, name), x, y, reduction)
            if x.dim() > 1 and x.numel():
                calls[name, dtype, reduction, shape, "turned"] = functools.partial(getattr(ATEN, name), x.mT, y.mT, reduction)
        for weight in (None, y[:1]) if shape else (None,):
            calls["bce", dtype, reduction, shape, weight is None] = functools.partial(ATEN.binary_cross_entropy, x, y, weight, reduction)
    for name, reduction in itertools.product(("mse_loss", "smooth_l1_loss", "soft_margin_loss"), (1, 2)):
        calls[name, reduction, "stretched"] = functools.partial(getattr(ATEN, name), torch.rand(4, 5), torch.rand(5), reduction)
    alike("losses", calls)


def bags():
    calls = {}
    offsets = {"some": ([0, 2, 5], 7), "of nothing": ([0, 0], 0), "the first empty": ([0, 0, 4, 7], 7), "one": ([0], 7)}
    for dtype, index, mode, padding, has_last, weighs in itertools.product(FLOATS, (torch.int64, torch.int32), (0, 1, 2), (-1, 1), (False, True), (False, True)):
        for name, (starts, n) in offsets.items():
            if weighs and mode:
                continue  # of sums alone
            weight, indices = torch.rand(10, 4, dtype=dtype), torch.arange(n, dtype=index)
            given = (weight, indices, torch.tensor(starts + [n] * has_last, dtype=index), False, mode, False, torch.rand(n, dtype=dtype) if weighs else None, has_last, padding)
            for call in (ATEN._embedding_bag, ATEN._embedding_bag_forward_only):
                calls[call._qualified_op_name, name, dtype, index, mode, padding, has_last, weighs] = functools.partial(call, *given)
    alike("bags", calls)


def columns():
    calls = {}
    for dtype, batch, channels, kernel, padding, dilation, stride in itertools.product(FLOATS, ((), (1,), (2,)), (1, 3), (2, 3), (0, 1), (1, 2), (1, 3)):
        how = [[kernel, kernel], [dilation, dilation], [padding, padding], [stride, stride]]
        picture = torch.rand(*batch, channels, 6, 7, dtype=dtype)
        rows = ATEN.im2col(picture, *how)
        for name, x, y in (("whole", picture, rows), ("turned", picture.mT.contiguous().mT, rows.mT.contiguous().mT)):
            case = (name, dtype, batch, channels, kernel, padding, dilation, stride)
            calls[("im2col",) + case], calls[("col2im",) + case] = functools.partial(ATEN.im2col, x, *how), functools.partial(ATEN.col2im, y, [6, 7], *how)
    alike("columns", calls)


def orders():
    """Whatever the order of what they are given, they give theirs."""
    calls, pictures = {}, {
        "plain": torch.rand(2, 8, 6, 4), "last": torch.rand(2, 8, 6, 4).to(memory_format=torch.channels_last), "turned": torch.rand(2, 8, 4, 6).mT,
        "permuted": torch.rand(6, 2, 4, 8).permute(1, 3, 0, 2), "cut": torch.rand(2, 9, 6, 4)[:, :8], "stretched": torch.rand(2, 1, 6, 4).expand(2, 8, 6, 4),
        "in steps": torch.rand(2, 8, 6, 8)[..., ::2], "a row": torch.rand(2, 5, 8).mT, "a matrix": torch.rand(8, 5).t()}
    for dtype, (order, picture) in itertools.product(FLOATS, pictures.items()):
        x, ones, case = picture.to(dtype), torch.ones(8, dtype=dtype), (order, dtype)
        for name, call in {"masked_fill": lambda x=x: x.masked_fill(x > 0.5, 0.0), "logsigmoid": lambda x=x: ATEN.log_sigmoid_forward(x),
                           "rrelu": lambda x=x: ATEN.rrelu_with_noise(x, torch.empty_like(x), 0.1, 0.3, True)}.items():
            if name != "rrelu" or dtype != torch.float16:  # which it is not there for
                calls[(name,) + case] = call
        for train in (True, False):
            calls[("batch", train) + case] = functools.partial(ATEN.native_batch_norm, x, ones, ones, ones, ones, train, 0.1, 1e-5)
        for last, turned, groups in itertools.product((False, True), (False, True), (1, 2)):
            if x.dim() == 4:
                weight = torch.rand(*((8, 4) if turned else (4, 8 // groups)), 3, 3).to(dtype)
                weight = weight.to(memory_format=torch.channels_last if last else torch.contiguous_format)
                calls[("convolution", last, turned, groups) + case] = functools.partial(ATEN.convolution, x, weight, None, [1, 1], [0, 0], [1, 1], turned, [0, 0], groups)
    alike("orders", calls)


def norms():
    """And their backwards, which torch cannot do of channels last without the gradient of the input."""
    calls = {}
    for dtype, wide, shape, x_last, g_last, mask in itertools.product(FLOATS, (False, True), ((2, 8, 3, 5), (2, 8, 6)), (False, True), (False, True), ((True, True, True), (True, False, False), (False, True, True))):
        if (x_last or g_last) and (len(shape) < 4 or not mask[0]) or wide and dtype in FLOATS[:2]:
            continue
        x, g = [torch.rand(shape, dtype=dtype).to(memory_format=torch.channels_last if last else torch.contiguous_format) for last in (x_last, g_last)]
        kept = torch.float32 if wide else dtype
        case, ones = (dtype, kept, shape, x_last, g_last, mask), torch.ones(8, dtype=kept)
        for train, weight in itertools.product((True, False), (None, ones)):
            batch = functools.partial(ATEN.native_batch_norm, x, weight, weight, ones, ones, train, 0.1, 1e-5)
            _, mean, scale = batch()
            calls[("batch", train, weight is None) + case] = batch
            calls[("batch, back", train, weight is None) + case] = functools.partial(ATEN.native_batch_norm_backward, g, x, weight, ones, ones, mean, scale, train, 1e-5, mask)
        for weight in (None, ones) if mask == (True, False, False) else (ones,):
            sizes = (2, 8, x.numel() // 16, 4)
            groups = functools.partial(ATEN.native_group_norm, x, weight, weight, *sizes, 1e-5)
            _, mean, scale = groups()
            calls[("groups", weight is None) + case] = groups
            calls[("groups, back", weight is None) + case] = functools.partial(ATEN.native_group_norm_backward, g, x, mean, scale, weight, *sizes, mask)
    alike("norms", calls)


def groups():
    """Rows or columns that do not begin at multiples of 16 bytes are refused, with data and without."""
    calls, rows = {}, 12

    def matrix(dtype, turned, *shape):
        return torch.rand(shape[:-2] + (shape[-1], shape[-2])).to(dtype).mT if turned else torch.rand(shape).to(dtype)

    for dtype, inner, columns, n, a_turned, b_turned in itertools.product((torch.float32, torch.bfloat16, torch.float16), (16, 8, 5), (8, 7, 1), (3, 1), (False, True), (False, True)):
        def ends(total):
            return torch.linspace(total // n, total, n).to(torch.int32)

        a, b = matrix(dtype, a_turned, rows, inner), matrix(dtype, b_turned, inner, columns)
        many_a, many_b = matrix(dtype, a_turned, n, rows, inner), matrix(dtype, b_turned, n, inner, columns)
        for name, given in {"rows": (a, many_b, ends(rows)), "inner": (a, b, ends(inner)), "columns": (many_a, b, ends(columns)), "batch": (many_a, many_b)}.items():
            with contextlib.suppress(RuntimeError):
                ATEN._grouped_mm(*given)
                calls[name, dtype, inner, columns, n, a_turned, b_turned] = functools.partial(ATEN._grouped_mm, *given)
    say("some are refused", 100 < len(calls) < 800, True)
    alike("groups", calls)


def outputs():
    losses()
    bags()
    columns()
    norms()
    orders()
    if hasattr(ATEN, "_grouped_mm"):
        groups()


if __name__ == "__main__":
    for word in sys.argv[1:] or ["attention", "layers", "outputs"]:
        globals()[word]()
