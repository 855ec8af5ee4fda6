"""Kernel cases of products of groups, as mixtures of experts have them."""
import torch

from kernel_case_writer import *  # noqa: F403

# The meaning of the operator by transformers (integrations/moe.py).
torch.library.define("transformers::grouped_mm_fallback",
                     "(Tensor input, Tensor weight, Tensor offs) -> Tensor")


@torch.library.impl("transformers::grouped_mm_fallback", "CPU")
def grouped(x, w, ends):
    out, start = x.new_zeros(x.shape[0], w.shape[2]), 0
    for group, end in enumerate(ends.tolist()):
        out[start:end] = x[start:end] @ w[group]
        start = end
    return out


FORMS = [
    # rows, k, n, ends: few rows, some, and more than the matrices have elements
    (2, 4, 8, [1, 1, 2]),
    (3, 5, 7, [0, 1, 1, 2]),
    (9, 3, 2, [2, 2, 7, 9]),
    (6, 4, 3, [6]),
    (6, 4, 3, [0, 0]),
    (5, 0, 3, [2, 4]),
    (0, 4, 3, [0, 0]),
    (4, 3, 2, []),
]


@family
def experts():
    op = torch.ops.transformers.grouped_mm_fallback.default
    for dtype in FLOATS:
        for rows, k, n, ends in FORMS:
            ends = torch.tensor(ends, dtype=I32 if rows % 2 else I64)
            x, w = make((rows, k), dtype), make((len(ends), k, n), dtype, -1, 1)
            case(op, x, w, ends, tol=(2e-2, 2e-2) if dtype in (F16, BF16) else None)
    x, w = make((6, 3), F32), make((3, 3, 4), F32)
    x[2, 1], w[2, 0, 0] = NAN, INF  # of one group: the others stay numbers
    case(op, x, w, torch.tensor([2, 4, 5]))
    # Too many rows for all products at once.
    ends = torch.arange(64).clamp(3, 60)
    case(op, make((70, 1), F32), make((64, 1, 31), F32), ends)
    for ends in ([3, 2, 6], [1, 2, 7], [-1, 2, 3]):
        fails(op, "index", [torch.zeros(6, 4)], make((6, 3), F32), make((3, 3, 4), F32),
              torch.tensor(ends))


@composite
def grouped_forms():
    op = aten._grouped_mm.default
    for dtype in (F32, BF16, F16):
        tol = None if dtype == F32 else (2e-2, 2e-2)
        ends = torch.tensor([3, 3, 16], dtype=I32)
        case(op, make((16, 8), dtype), make((3, 8, 16), dtype, -1, 1), ends, tol=tol)
        case(op, make((3, 8, 16), dtype), make((16, 16), dtype, -1, 1), ends, tol=tol)
        case(op, make((8, 16), dtype), make((16, 24), dtype, -1, 1), ends, tol=tol)
        case(op, make((3, 8, 16), dtype), make((3, 16, 8), dtype, -1, 1), None, None, dtype,
             tol=tol)
