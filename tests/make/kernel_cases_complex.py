"""Cases of complex numbers, which lowering always splits: PyTorch's results where infinities,
signed zeros, and very small or large numbers meet."""
import torch

from kernel_case_writer import *  # noqa: F403

C64, C128 = torch.complex64, torch.complex128
PARTS = [0.0, -0.0, 1e-20, 1e-6, 0.5, -0.5, 1.0, -1.0, 2.0, -3.0, 20.0, -20.0, 100.0, -100.0,
         1e10, 3e38, -3e38, INF, -INF, NAN]  # fmt: skip
GRID = torch.tensor([complex(a, b) for a in PARTS for b in PARTS], dtype=C64)
FUNCTIONS = [
    "exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh",
    "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "reciprocal", "abs", "angle",
]  # fmt: skip


def numbers(*shape, dtype=C64):
    return torch.randn(shape, dtype=dtype)


def is_settled(x, y):
    """NaN in a part leaves the other one to each library; and so does what overflows in one."""
    if not y.is_complex():
        return ~y.isnan()
    parts = torch.view_as_real(y)
    one = (parts.isinf().any(-1) & parts.isfinite().any(-1)) & (parts != 0).all(-1)
    return ~(y.isnan() | (one & x.isfinite()))


@composite
def complex_functions():
    for name in FUNCTIONS:
        op = getattr(aten, name).default
        special = GRID[is_settled(GRID, op(GRID))]
        if name in ("atan", "atanh"):  # NaN with an infinite part gives NaN here
            special = special[~special.isnan()]
        case(op, special, tag="special")
        near = numbers(24) * torch.tensor([3.0, 1.0, 1e-3]).repeat(8)
        case(op, near)
        case(op, numbers(8, dtype=C128))
    small = numbers(24) * torch.tensor([1e-2, 1e-6, 1e-12]).repeat(8)
    for name in ("log1p", "expm1", "asin", "asinh", "atan", "atanh", "sin", "tanh"):
        case(getattr(aten, name).default, small, tag="small", tol=(1e-5, 1e-30))
    for name in ("expm1", "sigmoid", "sgn"):
        case(getattr(aten, name).default, numbers(24))


@composite
def complex_powers():
    exponents = [0, 1, -1, 2.5, -2.5, 1j, -1j, 1 + 1j, -1 + 1j, 0.5, 2]
    z, w = torch.tensor([0, 1, 1 - 2j, -3, 2j, 1e-20]), torch.tensor(exponents, dtype=C64)
    case(aten.pow.Tensor_Tensor, z[:, None], w, tol=(1e-4, 1e-5))
    case(aten.pow.Tensor_Tensor, z.real[:, None].contiguous(), w, tol=(1e-4, 1e-5))
    for exponent in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.5, -1.5, -3):
        case(aten.pow.Tensor_Scalar, z, exponent)
    for base in (0, 1, 2.5, -2):
        case(aten.pow.Scalar, base, w)


@composite
def complex_sums():
    odd = [[complex(INF, 0), 1], [complex(2, INF), 1j], [complex(-INF, NAN), 1], [1 + 2j, 3 - 1j]]
    x = torch.tensor(odd, dtype=C64)
    case(aten.mean.dim, x, [1])
    case(aten.mean.default, x)
    case(aten.mean.default, numbers(3, 4))
    case(aten.mean.dim, make((3, 4), F32), [0], True, dtype=C64)
    case(aten.var_mean.correction, x[3:], [1], correction=0)
    case(aten.std_mean.default, numbers(3, 4))


@composite
def complex_truths():
    x = torch.tensor([0, -0.0, 1, 1j, complex(NAN, 0), 0, complex(0, INF), 2])
    y = torch.tensor([1j, 0, 0, 2, 0, 0, complex(NAN, 0), -1])
    for name in ("logical_and", "logical_or", "logical_xor"):
        op = getattr(aten, name).default
        case(op, x, y)
        case(op, x, y.real.contiguous())
        case(op, y.real.contiguous(), x)
    case(aten.logical_not.default, x)
    for rows in (x.reshape(4, 2), torch.zeros(2, 3, dtype=C64), torch.zeros(0, 2, dtype=C64)):
        for op in (aten.any, aten.all):
            case(op.default, rows)
            case(op.dim, rows, 1)
            case(op.dims, rows, [0], True)
    near = torch.tensor([1 + 1e-7j, 1 + 1e-3j, complex(INF, 1), complex(NAN, 0), complex(0, -INF)])
    far = torch.tensor([1 + 0j, 1, complex(INF, 1), complex(NAN, 0), complex(0, INF)])
    for equal_nan in (False, True):
        case(aten.isclose.default, near, far, 1e-5, 1e-8, equal_nan)
        case(aten.isclose.default, near, far, 0.0, 0.0, equal_nan)


@composite
def complex_matrices():
    for dtype in (C64, C128):
        for shape in ((3, 3), (2, 4, 4), (1, 1)):
            x, y = numbers(*shape, dtype=dtype), numbers(*shape, dtype=dtype)
            tol = (1e-4, 1e-5) if dtype == C64 else None
            case(aten.linalg_inv.default, x, tol=tol)
            case(aten.linalg_inv_ex.default, x, tol=tol)
            case(aten.linalg_solve.default, x, y[..., :2], tol=tol)
            case(aten.linalg_solve.default, x, y, left=False, tol=tol)
            case(aten.linalg_matrix_exp.default, x, tol=tol)
            case(aten.linalg_matrix_power.default, x, -2, tol=(1e-3, 1e-3))
            case(aten.linalg_matrix_power.default, x, 3, tol=(1e-4, 1e-4))
            case(aten.linalg_matrix_power.default, x, 0)
    case(aten.linalg_solve.default, numbers(2, 3, 3), numbers(2, 3), tol=(1e-4, 1e-4))
    x, y, rows = numbers(3, 3), numbers(3, 3), numbers(3)
    case(aten.kron.default, x, numbers(2, 3))
    case(aten.kron.default, x, make((2, 2), F32))
    case(aten.trace.default, x)
    case(aten.linalg_cross.default, x, y)
    case(aten.inner.default, x, y)
    case(aten.tensordot.default, x, y, [1], [0])
    case(aten.addbmm.default, x, numbers(2, 3, 4), numbers(2, 4, 3))
    case(aten.addr.default, x, rows, numbers(3))
    case(aten.linalg_multi_dot.default, [x, y, x])
    case(aten.linalg_vecdot.default, x, y)
    case(aten.diff.default, x)
    case(aten.trapezoid.dx, x)
    case(aten.dist.default, x, y)
    case(aten.std.dim, x, [1])
    case(aten.linalg_norm.default, x)
    case(aten.linalg_matrix_norm.default, x, 1)
    case(aten.linalg_matrix_norm.str_ord, x)
    case(aten.silu.default, x)
    case(aten.sinc.default, x)
    case(aten.float_power.Tensor_Scalar, x, 2)
    case(aten.l1_loss.default, x, y)
    case(aten.dropout.default, x, 0.5, False)
    case(aten.addcmul.default, x, y, numbers(3), value=2)
    case(aten.addcdiv.default, x, y, numbers(3), value=0.5)
    case(aten.linalg_tensorinv.default, numbers(1, 3, 3, 1), 2, tol=(1e-4, 1e-4))
    case(aten.matrix_power.default, x, 2)
    case(aten.matrix_exp.default, x, tol=(1e-4, 1e-5))
    case(aten.chain_matmul.default, [x, y])
    case(aten.ldexp.Tensor, x, torch.tensor([1.0, -2.0, 0.5]))
    case(aten.cumulative_trapezoid.dx, x)
    case(aten.frobenius_norm.dim, x, [0, 1])
    case(aten.arcsin.default, x)
    case(aten.multiply.Tensor, x, y)
    case(aten.special_expit.default, x)
    case(aten.count_nonzero.default, torch.tensor([[0, 1j], [2, 0]]))
