"""How the modules whose decomposition is tested are declared."""

import torch
from torch import nn
from torch.export import Dim

CASES = []
# Cases whose core graph is ours; see make_decomp_cases.py.
BY_NUMBERS = set()
# Cases whose core graph is ours as well, and is not compared: of random numbers, and a few others.
DRAWN = set()
SECTION = [""]
AUTO = Dim.AUTO


class Fn(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, *args):
        return self.fn(*args)


class Case:
    def __init__(self, name, module, args, dynamic=None, train=False):
        self.name, self.module, self.args = name, module, args
        self.dynamic, self.train, self.section = dynamic, train, SECTION[0]


def section(name):
    SECTION[0] = name


def tensor(item):
    if isinstance(item, torch.Tensor):
        return item
    if isinstance(item, tuple) and item and isinstance(item[0], str):
        kind, *sizes = item
        if kind == "i":
            return torch.randint(0, 3, sizes)
        if kind == "b":
            return torch.rand(sizes) > 0.5
        return torch.rand(sizes).to(
            {
                "h": torch.float16,
                "bf": torch.bfloat16,
                "d": torch.float64,
                "c": torch.complex64,
                "i32": torch.int32,
            }[kind]
        )
    return torch.randn(item)


def case(name, module, *inputs, train=False):
    """`module`: an instance or a plain function; `inputs`: shapes, kinds and shapes, or tensors."""
    make = (lambda: module) if isinstance(module, nn.Module) else (lambda: Fn(module))
    CASES.append(Case(name, make, lambda: [tensor(i) for i in inputs], None, train))


A = (2, 5, 6)
IMG = (2, 4, 8, 8)
