# SPDX-License-Identifier: MIT
"""Writes one small network with both exporters of torch: older.onnx and newer.onnx."""
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 64, 10)).eval()
x = (torch.zeros(1, 3, 8, 8),)
torch.onnx.export(net, x, "older.onnx", dynamo=False)
torch.onnx.export(net, x, "newer.onnx", dynamo=True, external_data=False)
