"""The parts of a row of the tour: a module, inputs of any size, and which dims are open."""

import random
from dataclasses import dataclass
from typing import Any, Callable

import torch
import torch.utils._pytree as pytree

SMALL, LARGE, LARGEST = 2, 3, 8


@dataclass
class Case:
    module: torch.nn.Module
    # Open sizes: of the batch, or of the sequence.
    inputs: Callable[[int], tuple]
    # Per input the dim whose size is open, or several of them, or None; None where no size can be.
    open: tuple | None = None
    # Size of a static export, another one that a dynamic export has to run, and the largest.
    sizes: tuple[int, int, int] = (SMALL, LARGE, LARGEST)
    # Sizes of the calls that are made one after the other, where that is not once with each of the
    # above: of modules that keep state from call to call.
    steps: tuple[int, ...] | None = None

    def calls(self, is_dynamic):
        steps = self.steps if is_dynamic or self.open is None else None
        return steps or self.sizes[: 2 if is_dynamic else 1]

    def shapes(self):
        """The dynamic_shapes of torch.export."""
        size = torch.export.Dim("size", min=1, max=self.sizes[2])
        return tuple(
            None if dims is None else dict.fromkeys(listed(dims), size) for dims in self.open
        )


def listed(dims):
    return dims if isinstance(dims, tuple) else (dims,)


@dataclass
class Row:
    name: str
    make: Callable[[], Case]

    def prepared(self):
        """The case, the same each time; nothing in it draws random numbers once it is made."""
        random.seed(0)
        torch.manual_seed(0)
        case = self.make()
        case.module = Tensors(case.module.eval()).eval()
        return case


class Tensors(torch.nn.Module):
    """Only the tensors of what a module returns, in order: that is what a runtime can give."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *inputs):
        leaves = pytree.tree_leaves(self.module(*inputs))
        return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))


class Call(torch.nn.Module):
    """A module that is called in another way than with its inputs in order."""

    def __init__(self, module, call):
        super().__init__()
        self.module = module
        self.call = call

    def forward(self, *inputs):
        return self.call(self.module, *inputs)


def noise(*shape):
    """Inputs of any size: `size` stands for the one that is open."""
    return lambda size: (torch.randn([size if n == "size" else n for n in shape]),)


def image(side, channels=3):
    return noise("size", channels, side, side)


def keywords(module, **fixed: Any):
    """Calls with what never changes by name."""
    return Call(module, lambda m, *inputs: m(*inputs, **fixed))
