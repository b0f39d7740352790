# SPDX-License-Identifier: MIT
"""Well-known networks in plain torch, shaped as published: their parameters and multiply-adds are known as integers.

MODELS: {name: (factory, shape of the input or, for indices, of the tokens, parameters, MACs)}
"""
import torch
from torch import nn
from torch.nn import functional as F


def conv_bn(before, after, kernel, stride=1, groups=1, activation=None):
    parts = [nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(after)]
    return nn.Sequential(*(parts + ([activation(inplace=True)] if activation else [])))


# ---- plain stacks


def alexnet():
    features = [nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(True), nn.MaxPool2d(3, 2), nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(True), nn.MaxPool2d(3, 2),
                nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(True), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(True),
                nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(3, 2), nn.AdaptiveAvgPool2d(6), nn.Flatten()]
    classifier = [nn.Dropout(), nn.Linear(9216, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True), nn.Linear(4096, 1000)]
    return nn.Sequential(*(features + classifier))


def vgg16():
    parts, before = [], 3
    for width in [64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0]:
        parts += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU(True)] if width else [nn.MaxPool2d(2)]
        before = width or before
    parts += [nn.AdaptiveAvgPool2d(7), nn.Flatten(), nn.Linear(25088, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True),
              nn.Dropout(), nn.Linear(4096, 1000)]
    return nn.Sequential(*parts)


class Fire(nn.Module):
    def __init__(self, before, squeeze, expand):
        super().__init__()
        self.squeeze, self.one, self.three = nn.Conv2d(before, squeeze, 1), nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)
        self.relu = nn.ReLU(True)

    def forward(self, x):
        x = self.relu(self.squeeze(x))
        return torch.cat([self.relu(self.one(x)), self.relu(self.three(x))], 1)


def squeezenet1_0():
    def pool():
        return nn.MaxPool2d(3, 2, ceil_mode=True)

    return nn.Sequential(nn.Conv2d(3, 96, 7, 2), nn.ReLU(True), pool(), Fire(96, 16, 64), Fire(128, 16, 64), Fire(128, 32, 128), pool(),
                         Fire(256, 32, 128), Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), pool(), Fire(512, 64, 256),
                         nn.Dropout(), nn.Conv2d(512, 1000, 1), nn.ReLU(True), nn.AdaptiveAvgPool2d(1), nn.Flatten())


# ---- residual networks


class Basic(nn.Module):
    grows = 1

    def __init__(self, before, width, stride, groups, base):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = conv_bn(before, width, 1, stride) if stride != 1 or before != width else None

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class Bottleneck(nn.Module):
    grows = 4

    def __init__(self, before, width, stride, groups, base):
        super().__init__()
        inner, after = width * base // 64 * groups, width * 4
        self.conv1, self.bn1 = nn.Conv2d(before, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.conv2, self.bn2 = nn.Conv2d(inner, inner, 3, stride, 1, groups=groups, bias=False), nn.BatchNorm2d(inner)
        self.conv3, self.bn3 = nn.Conv2d(inner, after, 1, bias=False), nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = conv_bn(before, after, 1, stride) if stride != 1 or before != after else None

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(y)))))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self, block, depths, groups=1, base=64):
        super().__init__()
        self.conv1, self.bn1, self.relu = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        before = 64
        for i, depth in enumerate(depths):
            blocks = []
            for k in range(depth):
                blocks.append(block(before, 64 << i, 2 if i and not k else 1, groups, base))
                before = (64 << i) * block.grows
            setattr(self, "layer%d" % (i + 1), nn.Sequential(*blocks))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(before, 1000)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Inverted(nn.Module):
    def __init__(self, before, after, stride, grows):
        super().__init__()
        inner = before * grows
        parts = [conv_bn(before, inner, 1, activation=nn.ReLU6)] if grows != 1 else []
        parts += [conv_bn(inner, inner, 3, stride, inner, nn.ReLU6), conv_bn(inner, after, 1)]
        self.conv, self.adds = nn.Sequential(*parts), stride == 1 and before == after

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


def mobilenet_v2():
    parts, before = [conv_bn(3, 32, 3, 2, activation=nn.ReLU6)], 32
    for grows, after, n, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(n):
            parts.append(Inverted(before, after, 1 if i else stride, grows))
            before = after
    return nn.Sequential(*(parts + [conv_bn(320, 1280, 1, activation=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, 1000)]))


class DenseLayer(nn.Module):
    def __init__(self, before):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(before), nn.Conv2d(before, 128, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(128), nn.Conv2d(128, 32, 3, padding=1, bias=False)

    def forward(self, x):
        y = self.conv1(F.relu(self.norm1(x), inplace=True))
        return torch.cat([x, self.conv2(F.relu(self.norm2(y), inplace=True))], 1)


def densenet121():
    parts, width = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], 64
    for i, n in enumerate([6, 12, 24, 16]):
        for _ in range(n):
            parts.append(DenseLayer(width))
            width += 32
        if i < 3:
            parts += [nn.BatchNorm2d(width), nn.ReLU(True), nn.Conv2d(width, width // 2, 1, bias=False), nn.AvgPool2d(2)]
            width //= 2
    return nn.Sequential(*(parts + [nn.BatchNorm2d(width), nn.ReLU(True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000)]))


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width, eps=1e-6)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width, 1, 1), 1e-6))

    def forward(self, x):
        y = self.down(F.gelu(self.up(self.norm(self.conv(x).permute(0, 2, 3, 1)))))
        return x + self.scale * y.permute(0, 3, 1, 2)


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def convnext_tiny():
    parts, widths = [nn.Conv2d(3, 96, 4, 4), LayerNorm2d(96, eps=1e-6)], [96, 192, 384, 768]
    for i, n in enumerate([3, 3, 9, 3]):
        if i:
            parts += [LayerNorm2d(widths[i - 1], eps=1e-6), nn.Conv2d(widths[i - 1], widths[i], 2, 2)]
        parts += [ConvNeXtBlock(widths[i]) for _ in range(n)]
    return nn.Sequential(*(parts + [nn.AdaptiveAvgPool2d(1), LayerNorm2d(768, eps=1e-6), nn.Flatten(), nn.Linear(768, 1000)]))


# ---- transformers


class EncoderBlock(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Dropout(0.0), nn.Linear(inner, width), nn.Dropout(0.0))

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class ViT(nn.Module):
    def __init__(self, size=224, patch=16, width=768, depth=12, heads=12, inner=3072):
        super().__init__()
        self.conv_proj, self.class_token = nn.Conv2d(3, width, patch, patch), nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        self.layers, self.ln = nn.Sequential(*[EncoderBlock(width, heads, inner) for _ in range(depth)]), nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        x = self.conv_proj(x).flatten(2).permute(0, 2, 1)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        return self.head(self.ln(self.layers(x))[:, 0])


class WindowAttention(nn.Module):
    def __init__(self, width, heads, shift):
        super().__init__()
        self.qkv, self.proj, self.heads, self.shift = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, shift
        self.bias_table = nn.Parameter(torch.zeros(169, heads))
        at = torch.stack(torch.meshgrid(torch.arange(7), torch.arange(7), indexing="ij")).flatten(1)
        apart = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0) + 6
        self.register_buffer("bias_index", (apart[..., 0] * 13 + apart[..., 1]).flatten())

    def forward(self, x):
        b, h, w, c = x.shape
        shift = self.shift if h > 7 else 0
        if shift:
            x = torch.roll(x, (-shift, -shift), (1, 2))
        n = (h // 7) * (w // 7)
        x = x.view(b, h // 7, 7, w // 7, 7, c).permute(0, 1, 3, 2, 4, 5).reshape(b * n, 49, c)
        q, k, v = self.qkv(x).reshape(b * n, 49, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        a = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)
        a = a + self.bias_table[self.bias_index].view(49, 49, -1).permute(2, 0, 1).contiguous().unsqueeze(0)
        if shift:
            mask = x.new_zeros((h, w))
            for i, rows in enumerate([slice(0, -7), slice(-7, -shift), slice(-shift, None)]):
                for k2, columns in enumerate([slice(0, -7), slice(-7, -shift), slice(-shift, None)]):
                    mask[rows, columns] = 3 * i + k2
            mask = mask.view(h // 7, 7, w // 7, 7).permute(0, 2, 1, 3).reshape(n, 49)
            mask = mask.unsqueeze(1) - mask.unsqueeze(2)
            mask = mask.masked_fill(mask != 0, -100.0).masked_fill(mask == 0, 0.0)
            a = (a.view(b, n, self.heads, 49, 49) + mask.unsqueeze(1).unsqueeze(0)).view(-1, self.heads, 49, 49)
        x = self.proj((F.softmax(a, -1) @ v).transpose(1, 2).reshape(b * n, 49, c))
        x = x.view(b, h // 7, w // 7, 7, 7, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        return torch.roll(x, (shift, shift), (1, 2)) if shift else x


class SwinBlock(nn.Module):
    def __init__(self, width, heads, shift):
        super().__init__()
        self.norm1, self.attn, self.norm2 = nn.LayerNorm(width), WindowAttention(width, heads, shift), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Merge(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.reduction = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x):
        return self.reduction(self.norm(torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)))


class Swin(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.norm0 = nn.Conv2d(3, 96, 4, 4), nn.LayerNorm(96)
        parts = []
        for i, (depth, heads) in enumerate([(2, 3), (2, 6), (6, 12), (2, 24)]):
            parts += ([Merge(96 << (i - 1))] if i else []) + [SwinBlock(96 << i, heads, 3 * (k % 2)) for k in range(depth)]
        self.layers, self.norm, self.head = nn.Sequential(*parts), nn.LayerNorm(768), nn.Linear(768, 1000)

    def forward(self, x):
        x = self.norm(self.layers(self.norm0(self.patch(x).permute(0, 2, 3, 1))))
        return self.head(x.permute(0, 3, 1, 2).mean((2, 3)))


class Bert(nn.Module):
    """BERT-base, with its pooler."""

    def __init__(self, width=768, depth=12):
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(30522, width), nn.Embedding(512, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList([nn.ModuleDict(dict(q=nn.Linear(width, width), k=nn.Linear(width, width), v=nn.Linear(width, width), o=nn.Linear(width, width),
                                                        n1=nn.LayerNorm(width), up=nn.Linear(width, 4 * width), down=nn.Linear(4 * width, width), n2=nn.LayerNorm(width)))
                                     for _ in range(depth)])
        self.pooler = nn.Linear(width, width)

    def forward(self, ids):
        x = self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device)) + self.kinds(torch.zeros_like(ids)))
        b, s, c = x.shape
        for layer in self.layers:
            q, k, v = (layer[n](x).view(b, s, 12, c // 12).transpose(1, 2) for n in "qkv")
            y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, s, c)
            x = layer["n1"](x + layer["o"](y))
            x = layer["n2"](x + layer["down"](F.gelu(layer["up"](x))))
        return torch.tanh(self.pooler(x[:, 0]))


class Gpt2(nn.Module):
    """GPT-2 small; the head is tied to the embedding."""

    def __init__(self, width=768, depth=12):
        super().__init__()
        self.wte, self.wpe, self.ln_f = nn.Embedding(50257, width), nn.Embedding(1024, width), nn.LayerNorm(width)
        self.h = nn.ModuleList([nn.ModuleDict(dict(ln_1=nn.LayerNorm(width), qkv=nn.Linear(width, 3 * width), o=nn.Linear(width, width), ln_2=nn.LayerNorm(width),
                                                   up=nn.Linear(width, 4 * width), down=nn.Linear(4 * width, width))) for _ in range(depth)])
        self.lm_head = nn.Linear(width, 50257, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
        b, s, c = x.shape
        for layer in self.h:
            q, k, v = (t.view(b, s, 12, c // 12).transpose(1, 2) for t in layer["qkv"](layer["ln_1"](x)).split(c, 2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, c)
            x = x + layer["o"](y)
            x = x + layer["down"](F.gelu(layer["up"](layer["ln_2"](x)), approximate="tanh"))
        return self.lm_head(self.ln_f(x))


IMAGE = (1, 3, 224, 224)
MODELS = {
    "alexnet": (alexnet, IMAGE, 61100840, 714188480),
    "vgg16": (vgg16, IMAGE, 138357544, 15470264320),
    "resnet18": (lambda: ResNet(Basic, (2, 2, 2, 2)), IMAGE, 11689512, 1814073344),
    "resnet50": (lambda: ResNet(Bottleneck, (3, 4, 6, 3)), IMAGE, 25557032, 4089184256),
    "resnext50_32x4d": (lambda: ResNet(Bottleneck, (3, 4, 6, 3), 32, 4), IMAGE, 25028904, 4230479872),
    "densenet121": (densenet121, IMAGE, 7978856, 2834161664),
    "squeezenet1_0": (squeezenet1_0, IMAGE, 1248424, 818924576),
    "mobilenet_v2": (mobilenet_v2, IMAGE, 3504872, 300774272),
    "convnext_tiny": (convnext_tiny, IMAGE, 28589128, 4455531264),
    "vit_b_16": (ViT, IMAGE, 86567656, 17563828224),
    "swin_t": (Swin, IMAGE, 28288354, 4490566656),
    "bert_base_128": (Bert, (1, 128), 109482240, 11174215680),
    "bert_base_512": (Bert, (1, 512), 109482240, 48318971904),
    "gpt2_128": (Gpt2, (1, 128), 124439808, 16114089984),
    "gpt2_1024": (Gpt2, (1, 1024), 124439808, 145824153600),
}


def build(name, device="meta"):
    """(model, input, parameters, MACs); on meta nothing is allocated."""
    factory, shape, params, macs = MODELS[name]
    with torch.device(device):
        model = factory().eval()
        x = torch.zeros(shape, dtype=torch.int64) if len(shape) == 2 else torch.zeros(shape)
    return model, x, params, macs
