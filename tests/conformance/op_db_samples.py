"""Calls of PyTorch's own tests (op_db) as programs: tensors are inputs, all
else is constant."""

import copy
import itertools
import zlib
from unittest import mock

import torch
import torch.utils._pytree as pytree

DTYPES = ("float32", "int64", "bool", "float16", "complex64")
SAMPLES, LOOKED_AT, LARGEST = 4, 120, 1 << 16
# Operators whose results are memory as it was found.
UNSET = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}


class Program(torch.nn.Module):
    """A call of an operator with these tensors."""

    def __init__(self, case):
        super().__init__()
        self.case = case

    def forward(self, *tensors):
        return tuple(self.case.call(tensors))


class Case:
    def __init__(self, info, dtype, number, sample):
        self.info, self.dtype, self.number = info, dtype, number
        leaves, self.spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
        self.leaves = [None if isinstance(x, torch.Tensor) else x for x in leaves]
        self.places = [k for k, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
        self.inputs = [dense(leaves[k]) for k in self.places]

    def call(self, tensors):
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        results = pytree.tree_leaves(self.info(*args, **kwargs))
        return [result for result in results if result is not None]

    def eager(self, inputs, seed=0):
        """PyTorch's answer; with another seed another one, even where the tests set theirs."""
        torch.manual_seed(seed)
        fixed = torch.default_generator.manual_seed
        with torch.no_grad(), mock.patch("torch.manual_seed", lambda n: fixed(n + seed)):
            return [detached(x) for x in self.call(copy.deepcopy(inputs))]

    def told(self):
        """Arguments of the call, for people."""
        constants = (repr(leaf) for leaf in self.leaves if leaf is not None)
        return ", ".join(itertools.chain(self.shapes(), constants))[:200]

    def shapes(self):
        return [f"{str(x.dtype).split('.')[1]}{list(x.shape)}" for x in self.inputs]


class Unmade:
    """Samples of a type that PyTorch's tests could not make."""

    def __init__(self, dtype, number, error):
        self.dtype, self.number, self.error = dtype, number, error

    def told(self):
        return f"{self.dtype} after {self.number} samples"


def detached(value):
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().resolve_conj().resolve_neg().clone()


def dense(tensor):
    """In one piece and without a bit that says conjugated or negated: as inputs have to be."""
    plain = tensor.detach()
    if plain.layout is not torch.strided:
        return plain
    plain = plain.resolve_conj().resolve_neg()
    is_dense = torch.empty_like(plain).stride() == plain.stride()
    return plain if is_dense else plain.contiguous()


def is_small(case):
    return sum(x.numel() for x in case.inputs) <= LARGEST


def spread(items, most):
    """At most so many of a list: the first, the last, and some between."""
    if len(items) <= most:
        return items
    return [items[k * (len(items) - 1) // (most - 1)] for k in range(most)]


def distinct(cases):
    """One of each kind of call: the shapes and what is constant say which."""
    return list({case.told(): case for case in reversed(list(cases))}.values())[::-1]


def seeded(info, dtype):
    torch.manual_seed(zlib.crc32(f"{info.full_name} {dtype}".encode()))


def of_dtype(info, dtype):
    """Some calls of an operator with tensors of this type; none where PyTorch has none. If
    making samples fails, those before it, and what failed."""
    if getattr(torch, dtype) not in info.supported_dtypes("cpu"):
        return []
    seeded(info, dtype)
    cases, failed = [], []
    try:
        made = info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=False)
        for number, sample in enumerate(itertools.islice(made, LOOKED_AT)):
            cases.append(Case(info, dtype, number, sample))
    except Exception as error:
        failed.append(Unmade(dtype, len(cases), error))
    return spread(distinct(filter(is_small, cases)), SAMPLES) + failed


def of(info):
    return [case for dtype in DTYPES for case in of_dtype(info, dtype)]
