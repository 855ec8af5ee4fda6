"""Calls whose results lie in memory in ways that follow from how their arguments do: what
make_cases.py writes down for tensors that lie in odd ways."""

import random

import torch
from torch._prims_common import suggest_memory_format

CONVOLUTION = [1, 1], [0, 0], [1, 1], False, [0, 0], 1


def odd_tensor(tensor, dice, rank, sizes=None, dtype=torch.float32):
    """Any physical order, gaps and repeats now and then, and what PyTorch itself makes of dims of
    size 1: any stride at all."""
    sizes = sizes or [dice.choice([1, 1, 2, 3, 4]) for _ in range(rank)]
    order = dice.choice([list(range(rank)), [0, *range(2, rank), 1][:rank], None])
    order = order or dice.sample(range(rank), rank)
    strides, step = [0] * rank, dice.choice([1, 1, 1, 2])
    for d in reversed(order):
        strides[d] = step
        step *= sizes[d] + dice.choice([0, 0, 0, 0, 0, 1])
        if dice.randrange(20) == 0:
            strides[d] = 0
    for d in range(rank):
        if sizes[d] == 1 and dice.randrange(3):
            strides[d] = dice.choice(strides + [1, 7, 1000])
    return tensor(sizes, dtype, strides=strides)


def regrouped(dice, sizes):
    """Other sizes that hold as many elements."""
    factors = [f for s in sizes for f in ([2, 2] if s == 4 else [s])]
    out, product = [], 1
    for f in factors:
        product *= f
        if dice.randrange(2):
            out.append(product)
            product = 1
        if dice.randrange(5) == 0:
            out.append(1)
    return out + [product] if product > 1 or not out else out


def layouts(case, tensor):
    """Strides of everything that makes its own, on tensors that lie in memory in odd ways."""
    dice = random.Random(0)
    for _ in range(100):
        rank = dice.choice([2, 3, 4, 4, 4, 5])
        x = odd_tensor(tensor, dice, rank)
        sizes, n = list(x.shape), dice.randrange(rank)
        other = odd_tensor(tensor, dice, rank, sizes)
        less = odd_tensor(tensor, dice, rank, [dice.choice([s, 1]) for s in sizes])
        few = dice.randrange(1, rank)
        case("exp", x)
        case("add.Tensor", x, other)
        case("mul.Tensor", x, less)
        case("mul.Tensor", odd_tensor(tensor, dice, few, sizes[-few:]), x)
        case("where.self", tensor(sizes, torch.bool), other, less)
        case("clone", x)
        case("_to_copy", x, dtype=torch.float64)
        case("full_like", x, 1)
        case("native_dropout", x, 0.5, True)
        case("cat", [x, other], n)
        case("stack", [x, other], dice.randrange(rank + 1))
        case("constant_pad_nd", x, [1, 1])
        case("constant_pad_nd", x, [0, 0])
        case("flip", x, [n])
        case("roll", x, [1], [n])
        case("cumsum", x, n)
        case("sum.dim_IntList", x, [n], dice.choice([True, False]))
        case("max.dim", x, n, True)
        case("_softmax", x, n, False)
        case("_log_softmax", x, n, False)
        case("sort", x, n)
        case("topk", x, 1, n)
        case("index.Tensor", x, [None] * n + [tensor([3], torch.int64)])
        case("index_select", x, n, tensor([2], torch.int64))
        case("index_put", x, [tensor([3], torch.int64)], tensor([1]))
        case("gather", x, n, tensor([1] * rank, torch.int64))
        case("copy", x, other)
        case("view", x, regrouped(dice, sizes))
        case("view", x, sizes)
        case("native_layer_norm", x, sizes[-1:], None, None, 1e-5)
        case("_fft_c2c", tensor(sizes, torch.complex64, strides=list(x.stride())), [n], 0, True)
        if rank == 4:
            case("convolution", x, tensor([3, sizes[1], 1, 1]), None, *CONVOLUTION)
            if x.is_contiguous(memory_format=suggest_memory_format(x)):  # group_norm sees to that
                group = sizes[0], sizes[1], sizes[2] * sizes[3], 1, 0.1
                case("native_group_norm", x, None, None, *group)
                case("native_group_norm", x, *[tensor([sizes[1]])] * 2, *group)
            case("upsample_bilinear2d.vec", x, [3, 2], False, None)
            case("avg_pool2d", x, [1, 1])
            case("max_pool2d_with_indices", x, [1, 1])
            case("_adaptive_avg_pool2d", x, [2, 1])
            case("reflection_pad2d", x, [0, 0, 0, 0])
            case("replication_pad2d", x, [1, 1, 1, 1])
            case("pixel_shuffle", odd_tensor(tensor, dice, 4, [sizes[0], 4, *sizes[2:]]), 2)
            case("_native_batch_norm_legit_no_training", x, *[tensor([sizes[1]])] * 4, 0.1, 1e-5)
