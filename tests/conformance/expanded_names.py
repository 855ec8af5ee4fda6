"""More of what is expanded for both runtimes: operators that models have by name, each held to
PyTorch. See expanded.py."""

import torch
import torch.nn.functional as F

ROWS = torch.tensor([[1, 2], [1, 2], [3, 1], [1, 2], [0, 9]])


def volumes():
    image, at = torch.randn(2, 2, 3, 4, 5), torch.rand(2, 2, 3, 4, 3) * 2.6 - 1.3
    for mode in ("bilinear", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            yield (
                f"grid_sample 3d {mode} {padding}",
                lambda x, g, mode=mode, padding=padding: tuple(
                    F.grid_sample(x, g, mode, padding, corners) for corners in (True, False)
                ),
                (image, at),
            )


def rounding():
    x, scales = torch.randn(4, 6), torch.rand(6) + 0.05
    zeros, ops = torch.arange(6, dtype=torch.int32) - 3, torch.ops.aten
    yield (
        "fake_quantize",
        lambda x, s, z: (
            torch.fake_quantize_per_tensor_affine(x, s[0], z[0], -8, 7),
            torch.fake_quantize_per_channel_affine(x, s, z, 1, -8, 7),
            torch.fake_quantize_per_channel_affine(x, s, z + 0.0, 1, -8, 7),
            ops.fake_quantize_per_tensor_affine_cachemask(x, 0.1, 3, -8, 7),
        ),
        (x, scales, zeros),
    )


def numbers_first():
    a, bools = torch.ops.aten, torch.tensor([True, False, True])
    yield (
        "number first",
        lambda x, y: (
            a.bitwise_and.Scalar_Tensor(3, x),
            a.bitwise_or.Scalar_Tensor(2, x),
            a.bitwise_xor.Scalar_Tensor(True, x),
            a.bitwise_left_shift.Scalar_Tensor(3, x),
            a.bitwise_right_shift.Scalar_Tensor(5, x),
            a.remainder.Scalar_Tensor(2.5, x),
            a.remainder.Scalar_Tensor(7, x | True),
            a.bitwise_and.Scalar_Tensor(6, y),
            a.remainder.Scalar_Tensor(7, y),
            torch.searchsorted(x[1:], 2),
        ),
        (bools, torch.tensor([3, 5, 7], dtype=torch.int8)),
    )


def runs():
    """Operators that find equal neighbours, also where the data has no such pair."""
    for name, least in (("some", 0), ("no", 9)):
        yield (
            f"unique_consecutive of {name} rows",
            lambda x, least=least: torch.unique_consecutive(
                x[x > least], return_inverse=True, return_counts=True
            ),
            (torch.tensor([3, 3, 0, 1, 1, 1]),),
        )


def cases():
    """name, function, inputs"""
    yield from numbers_first()
    yield from runs()
    x, numbers = torch.randn(4, 6), torch.arange(6.0)
    yield from volumes()
    yield from rounding()
    yield (
        "unique_consecutive",
        lambda x: (
            torch.unique_consecutive(x, return_inverse=True, return_counts=True),
            torch.unique_consecutive(x, dim=0),
        ),
        (ROWS,),
    )
    yield "nonzero_static", lambda x: torch.nonzero_static(x > 0, size=7), (x,)
    yield (
        "searchsorted number",
        lambda x: (torch.searchsorted(x, 0.3), torch.searchsorted(x, 1, right=True)),
        (numbers,),
    )
    yield (
        "vander",
        lambda x: (torch.vander(x), torch.vander(x, 3, True), torch.linalg.vander(x, N=2)),
        (numbers,),
    )
    whole = torch.arange(12, dtype=torch.int32).reshape(3, 4)
    yield (
        "addmv of integers",
        lambda x: torch.addmv(x[:, 0], x, x[1], alpha=1.5, beta=2.5),
        (whole,),
    )
