"""Programs with sizes that their export leaves open, by what leaves them open: exported without a
largest size, or with one."""

from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch.export import Dim


class Classify(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = torch.nn.Linear(8, 16)
        self.narrow = torch.nn.Linear(16, 4)

    def forward(self, x):
        y = torch.relu(self.wide(x))
        return self.narrow(y).softmax(-1), torch.cat([x, x + 1]).sum(1)


class Halve(torch.nn.Module):
    def forward(self, pairs, once):
        return pairs.reshape(-1, 2).sum(1) + once


class Attend(torch.nn.Module):
    def forward(self, query, keys):
        weights = (query @ keys.transpose(0, 1)).softmax(-1)
        return weights @ keys, weights.cumsum(0)


class Rows(torch.nn.Module):
    """As many rows as the data says; how many is known by `bound` only."""

    def __init__(self, bound=None):
        super().__init__()
        self.bound = bound

    def forward(self, count, x):
        rows = count.item()
        torch._check(rows >= 1)
        if self.bound is not None:
            torch._check(rows <= self.bound)
        return torch.zeros(rows, 4) + x


def dim(name, largest):
    return Dim(name) if largest is None else Dim(name, max=largest)


@dataclass
class Case:
    module: torch.nn.Module
    inputs: Callable[[int], tuple]  # of a size
    shapes: Callable[[int | None], Any]  # dynamic_shapes with a largest size
    flags: list[str]
    largest: int  # size that the flags allow
    sizes: tuple[int, ...]
    refusal: str = "has shape .* exceeds|at most"
    example: int = 3

    def exported(self, largest):
        module = Rows(largest) if isinstance(self.module, Rows) else self.module
        shapes = self.shapes(largest)
        return torch.export.export(module, self.inputs(self.example), dynamic_shapes=shapes)


def matrix(size):
    return (torch.randn(size, 8),)


def auto(size):
    # PyTorch has no AUTO with a bound other than a Dim.
    return {"x": {0: Dim.AUTO if size is None else Dim("size", min=2, max=size)}}


def dynamic(size):
    return {"x": {0: Dim.DYNAMIC if size is None else Dim("size", min=2, max=size)}}


def derived(size):
    half = dim("half", size)
    return {"pairs": {0: 2 * half}, "once": {0: half}}


def attend(size):
    return {"query": {0: dim("queries", size)}, "keys": {0: dim("length", size and size + 1)}}


CASES = {
    "dim": Case(
        Classify(),
        matrix,
        lambda size: {"x": {0: dim("batch", size)}},
        ["--max-size", "s77=64"],
        64,
        (1, 2, 7, 64),
    ),
    "auto": Case(Classify(), matrix, auto, ["--max-size", "x.0=40"], 40, (2, 13, 40)),
    "dynamic": Case(
        Classify(), matrix, dynamic, ["--max-size", "forward:x.0=5"], 5, (2, 3, 5)
    ),
    "derived": Case(
        Halve(),
        lambda size: (torch.randn(2 * size), torch.randn(size)),
        derived,
        ["--max-size", "pairs.0=33", "--max-size", "once.0=16"],
        16,
        (1, 3, 16),
    ),
    "two inputs": Case(
        Attend(),
        lambda size: (torch.randn(size, 6), torch.randn(size + 1, 6)),
        attend,
        ["--max-size", "query.0=12", "--max-size", "keys.0=13"],
        12,
        (2, 5, 12),
    ),
    "unbacked": Case(
        Rows(),
        lambda size: (torch.tensor(size), torch.randn(4)),
        lambda size: None,
        ["--max-size", "u0=9"],
        9,
        (1, 4, 9),
        "does not fit its tensor",
    ),
}
