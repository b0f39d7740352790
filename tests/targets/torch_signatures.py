# SPDX-License-Identifier: MIT
"""Calls a function with tensors of all kinds and prints the signatures; nothing of torch's may hear of it."""
import torch
from sonde import Profile
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode


def f(x):
    return x


class Loud(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *args, **kwargs):
        raise RuntimeError("a tensor was asked")


class Mode(TorchFunctionMode):
    def __torch_function__(self, *args, **kwargs):
        raise RuntimeError("a mode was asked")


def signatures(tensors):
    p = Profile(builtins=False)
    p.enable()
    for x in tensors:
        f(x)
    p.disable()
    p.create_stats()
    return sorted(key[2] for key in p.stats if key[2].startswith("f("))


tensors = [torch.zeros(3, 4), torch.zeros(1, 2, 3, 1, 2, 3, 1, dtype=torch.float16), torch.tensor(1), torch.zeros(0, dtype=torch.bool),
           torch.zeros(2, 2, dtype=torch.bfloat16, device="meta"), torch.nn.Parameter(torch.zeros(5)), torch.zeros(2, 3).t()[1:],
           torch.zeros(6, 7, dtype=torch.complex64).as_subclass(Loud)]
odd = [torch.eye(3).to_sparse(), torch.zeros(2, 5)]
with FakeTensorMode():      # stand for tensors of the processor, and are on "meta"
    fake = [torch.zeros(4, 3)]
with Mode():        # where the layout is not known yet
    print("\n".join(signatures(tensors[:1])))
print("\n".join(signatures(tensors)))
print("\n".join(signatures(odd)))
print("\n".join(signatures(fake + [torch.nn.Parameter(torch.zeros(8, device="meta"))])))
