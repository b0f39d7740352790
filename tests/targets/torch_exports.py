# SPDX-License-Identifier: MIT
"""Writes one small network with both exporters of torch: older.onnx and newer.onnx, and attention with the older one, which
computes shapes in the graph: attention.onnx; parts.onnx has sequences of parts of a tensor, as the newer one first writes them."""
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.one, self.other = nn.Linear(16, 32), nn.Linear(16, 4), nn.Linear(10, 4)

    def forward(self, x):
        a, b = self.wide(x).chunk(2, -1)
        return self.one(a * b) + self.other(self.wide(x).split([10, 10, 12], -1)[1])


net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 64, 10)).eval()
x = (torch.zeros(1, 3, 8, 8),)
torch.onnx.export(net, x, "older.onnx", dynamo=False)
torch.onnx.export(net, x, "newer.onnx", dynamo=True, external_data=False)
torch.onnx.export(Attention().eval(), (torch.zeros(2, 7, 16),), "attention.onnx", dynamo=False)
torch.onnx.export(Parts().eval(), (torch.zeros(2, 16),), "parts.onnx", dynamo=True, optimize=False, external_data=False)
