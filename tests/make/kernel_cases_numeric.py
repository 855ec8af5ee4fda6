"""Calls of operators that factorise, detect and count, and of special functions."""

import torch

from kernel_case_writer import (
    BF16,
    F16,
    F32,
    F64,
    I32,
    I64,
    INF,
    NAN,
    SHORT,
    SPECIAL,
    aten,
    case,
    fails,
    family,
    given,
    make,
)


def spd(n, batch=()):
    x = make((*batch, n, n), F64)
    return x @ x.mT + torch.eye(n, dtype=F64)


@family
def factor():
    rough = (1e-4, 1e-5)
    for dtype in (F32, F64):
        tol = rough if dtype == F32 else (1e-11, 1e-12)
        a, b = spd(4, (2,)).to(dtype), make((2, 4, 3), dtype)
        case(aten.linalg_inv_ex.default, a, tol=tol)
        case(aten.linalg_cholesky_ex.default, a, tol=tol)
        case(aten.linalg_cholesky_ex.default, a, upper=True, tol=tol)
        case(aten.linalg_solve_ex.default, a, b, tol=tol)
        case(aten.linalg_solve_triangular.default, a.triu(), b, upper=True, tol=tol)
        case(aten.linalg_solve_triangular.default, a.tril(), b, upper=False, tol=tol)
        case(
            aten.linalg_solve_triangular.default,
            a.tril(),
            b,
            upper=False,
            unitriangular=True,
            tol=tol,
        )
        case(
            aten.linalg_solve_triangular.default,
            a.tril(),
            b.mT.clone(),
            upper=False,
            left=False,
            tol=tol,
        )
        case(aten.linalg_lu_factor_ex.default, make((2, 4, 4), dtype), tol=tol)
        case(aten.linalg_lu_factor_ex.default, make((5, 3), dtype), tol=tol)
        case(aten.linalg_matrix_exp.default, make((2, 3, 3), dtype), tol=tol)
        case(aten._linalg_eigh.default, a, compute_v=False, tol=tol)
        case(aten._linalg_eigh.default, a, "U", False, tol=tol)
        for shape in ((2, 5, 3), (3, 5), (1, 4), (4, 4)):
            case(aten._linalg_svd.default, make(shape, dtype), False, False, tol=tol)
        # Signs of vectors are free: matrices whose factors are known.
        one, zero = torch.eye(3, dtype=dtype), torch.zeros(0, dtype=dtype)
        s = torch.tensor([3.0, 2.0, 1.0], dtype=dtype)
        given(aten._linalg_svd.default, [one, s, one], torch.diag(s), tol=tol)
        given(
            aten._linalg_eigh.default,
            [s.flip(0), one.flip(1)],
            torch.diag(s),
            tol=tol,
        )
        case(aten.linalg_qr.default, make((2, 4, 3), dtype), tol=tol)
        case(aten.linalg_qr.default, make((3, 4), dtype), tol=tol)
        case(aten.linalg_qr.default, make((3, 3), dtype), "r", tol=tol)
        case(aten.linalg_qr.default, make((4, 2), dtype), "complete", tol=tol, match=False)
    ends_of_factors()
    # More rows than the official runtime gets written out.
    many = make((33, 33), F32)
    symmetric = many + many.mT + 120 * torch.eye(33)
    case(aten.linalg_inv_ex.default, many + 10 * torch.eye(33), tol=rough)
    case(aten.linalg_cholesky_ex.default, symmetric, upper=True, tol=rough)
    case(aten.linalg_solve_triangular.default, symmetric.triu(), many, upper=True, tol=rough)
    case(aten.linalg_lu_factor_ex.default, many, tol=rough)
    case(aten._linalg_eigh.default, symmetric, compute_v=False, tol=rough)
    for part in (many[:5, :12], many[:12, :5], many[:6, :6], many[:5, :1] @ many[:1, :5]):
        case(aten._linalg_svd.default, part.clone(), False, False, tol=rough)
    values = torch.arange(6.0, 0, -1)
    unit, zeros = torch.eye(6), torch.zeros(6, 6)
    given(aten._linalg_svd.default, [unit, values, unit], torch.diag(values), tol=rough)
    given(aten._linalg_svd.default, [unit, torch.zeros(6), unit], zeros, tol=rough)
    turned = [values.flip(0), unit.flip(1)]
    given(aten._linalg_eigh.default, turned, torch.diag(values), tol=rough)


def ends_of_factors():
    # Matrices that are zero below the diagonal already, and a diagonal of 0.
    for rows in (
        [[1, 2], [0, 3]],
        [[-1, 2, 3], [0, -4, 5], [0, 0, 6]],
        [[0, 1], [1, 0]],
        [[-2, 1], [0, 0], [0, 0]],
        [[1, 2], [0, 3], [0, 4]],
    ):
        for dtype in (F32, F64):
            case(aten.linalg_qr.default, torch.tensor(rows, dtype=dtype))
    # As often squared as float64 has powers of 2, or not at all.
    rows = [
        [[-1e60, 0], [0, -1e60]],
        [[0, 1e300], [0, 0]],
        [[0, -1], [1, 0]],
        [[0, 0], [0, 0]],
        [[1e60, 0], [0, 1]],
        [[-1e30, 1e10], [0, -1e30]],
        [[INF, 0], [0, 0]],
    ]
    case(aten.linalg_matrix_exp.default, torch.tensor(rows, dtype=F64))
    case(aten.linalg_matrix_exp.default, torch.tensor(rows[2:4] + rows[5:], dtype=F32))
    # Squares that are no numbers, or 0.
    for size in (1e200, 1e-200):
        x = torch.tensor([[1.0, 2], [3, -1]], dtype=F64)
        exact = {"tol": (1e-9, 1e-9 * size)}
        case(aten.linalg_qr.default, x * size, "r", **exact)
        case(aten._linalg_svd.default, x * size, False, False, **exact)
        case(aten._linalg_eigh.default, (x + x.mT) * size, compute_v=False, **exact)
        unit = torch.eye(2, dtype=F64)
        values = torch.tensor([3.0, 2.0], dtype=F64) * size
        given(aten._linalg_svd.default, [unit, values, unit], torch.diag(values), **exact)


POLYNOMIALS = [f"special_{base}_polynomial_{kind}" for base, kinds in (
    ("chebyshev", "tuvw"), ("shifted_chebyshev", "tuvw"), ("hermite", ("h", "he")),
    ("laguerre", "l"), ("legendre", "p")) for kind in kinds]


@family
def polynomials():
    """PyTorch leaves open what those of NaN are, but for degrees 0 and 1, and some first kinds."""
    x = torch.cat([torch.linspace(-1.3, 1.3, 11), torch.tensor([0.0, 1.0, -1.0, 0.5, INF])])
    n = torch.tensor([-3, -1, -0.5, 0, 1, 2, 3.7, 5, 7, 8, 9, 20, 130, -INF, INF, NAN, 1e19])
    near = torch.tensor([1 - 2**-24, -1 + 2**-24, 1 - 2**-25, 2**-25, 1e-9, -0.0])
    for name in POLYNOMIALS:
        op = getattr(aten, name).default
        case(op, x[:, None].clone(), n, tol=(1e-4, 2e-4))
        case(op, x[:, None].double(), n.double(), tol=(1e-10, 1e-10))
        case(op, near[:, None].clone(), n[3:12].clone(), tol=(1e-3, 1e-3))
        case(op, torch.tensor([NAN, 0.5, NAN, -2.0]), torch.tensor([0, 1, 1, 4]))
        case(op, torch.arange(-2, 3), torch.tensor(3, dtype=I32))
        case(op, torch.tensor(0.3), torch.tensor(4))
        case(op, torch.tensor(0.3, dtype=F64), torch.tensor([[4], [5]]))
        case(op, make((2, 3), F16), torch.tensor([1.0, 2, 3]))
        case(op, make((3, 0), F32), torch.zeros(1, 1))
    inside, high = torch.tensor([0.3, 1.0, -1.0]), torch.tensor(1e9, dtype=F64)
    first = aten.special_chebyshev_polynomial_t.default
    case(first, inside.double(), high, tol=(1e-6, 1e-6))
    case(first, torch.tensor([2.0, -3.0, 1.5]), high)
    for name in ("special_legendre_polynomial_p", "special_laguerre_polynomial_l"):
        op = getattr(aten, name).default
        most = torch.tensor([16384, 3], dtype=I64)
        case(op, torch.tensor([0.5, 0.25], dtype=F64), most, tol=(1e-9, 1e-9))
        fails(op, "limit", [inside], inside / 2, high)
    case(aten.special_legendre_polynomial_p.default, inside[1:].clone(), high)
    case(aten.special_laguerre_polynomial_l.default, torch.zeros(2), high)


@family
def special():
    x = torch.tensor([0.1, 0.5, 0.9, 1.0, 2.5, 7.0, 20.0, 60.0, NAN])
    p = torch.tensor([0.0, 1e-6, 0.02, 0.3, 0.5, 0.8, 0.999, 1.0, NAN])
    # Functions that decay are tiny behind 20. PyTorch's own Bessel functions and trigamma are not
    # much better than float32.
    tol = (1e-5, 1e-6)
    tols = {F32: tol, F64: (1e-11, 1e-14)}
    names = """i0 special_i0e special_i1 special_i1e special_modified_bessel_k0
        special_scaled_modified_bessel_k0 special_modified_bessel_k1
        special_scaled_modified_bessel_k1 special_bessel_j0 special_bessel_j1 special_bessel_y0
        special_bessel_y1 special_spherical_bessel_j0 special_erfcx special_ndtri"""
    for name in names.split():
        op = getattr(aten, name).default
        for dtype in (F32, F64):
            own = tol if name.startswith("special_bessel") else tols[dtype]
            case(op, (p if name == "special_ndtri" else x).to(dtype), tol=own)
    for name in "i0 special_i0e special_i1 special_i1e special_erfcx".split():
        case(getattr(aten, name).default, -x, tol=tol)
    for dtype in (F32, F64):
        y, own = x.flip(0).to(dtype), tols[dtype]
        case(aten.igamma.default, x.to(dtype), y, tol=own)
        case(aten.igammac.default, x.to(dtype), y, tol=own)
        case(aten.special_zeta.default, x.to(dtype) + 1, y, tol=own)
        for n in (0, 1, 2, 5):
            case(aten.polygamma.default, n, x.to(dtype), tol=tol if n == 1 else own)
    for dtype in (I32, I64):
        a, b = make((4, 5), dtype, -30, 30), make((5,), dtype, -30, 30)
        case(aten.gcd.default, a, b)
        case(aten.lcm.default, a, b)
        case(aten.gcd.default, a, torch.zeros(5, dtype=dtype))
        case(aten.mode.default, make((3, 7), dtype, 0, 2), 1)
    f = make((3, 6), F32)
    f[1, 2] = f[1, 4] = NAN
    case(aten.nanmedian.dim, f, 1)
    case(aten.nanmedian.dim, f, 0, True)
    case(aten.mode.default, torch.tensor([[1.0, 2.0, 2.0, 1.0], [4.0, 3.0, 3.0, 3.0]]), 1, True)
    ids = make((9,), I64, 0, 4)
    ids[0] = 4
    case(aten.bincount.default, ids)
    case(aten.bincount.default, ids, None, 8)
    case(aten.bincount.default, ids, make((9,), F32))
    case(aten.bincount.default, ids, make((9,), F64), 2)
    for dtype in (F32, F64):
        ends = torch.tensor([INF, -INF], dtype=dtype)
        for name in names.split():
            case(getattr(aten, name).default, ends)
        for n in (0, 1, 2, 5):
            case(aten.polygamma.default, n, ends)


@family
def float8():
    codes = torch.arange(256).to(torch.uint8)
    x = torch.cat([torch.tensor(SPECIAL), make((60,), F32, -500, 500), make((20,), F32)])
    for dtype in (d for d in SHORT if d.itemsize == 1 and d.is_floating_point):
        case(aten._to_copy.default, codes.view(dtype), dtype=F32)
        case(aten._to_copy.default, codes.view(dtype), dtype=F16)
        case(aten._to_copy.default, x, dtype=dtype)
        case(aten._to_copy.default, x.to(BF16), dtype=dtype)
        case(aten._to_copy.default, torch.arange(-9, 9), dtype=dtype)


@family
def vision():
    import torchvision  # noqa: F401

    tv = torch.ops.torchvision
    for dtype in (F32, F64):
        corner = make((12, 2), dtype, 0, 6)
        boxes = torch.cat([corner, corner + make((12, 2), dtype, 1, 5)], 1)
        scores = make((12,), dtype, 0, 1)
        scores[3] = scores[7]
        for threshold in (0.0, 0.3, 0.9):
            case(tv.nms.default, boxes, scores, threshold)
        image = make((2, 4, 5, 4), dtype)
        rois = torch.cat([torch.tensor([[0.0], [1.0], [1.0], [0.0]], dtype=dtype), boxes[:4]], 1)
        tol = (1e-4, 1e-5)
        for ratio, aligned in ((2, True), (-1, False), (0, True)):
            case(tv.roi_align.default, image, rois, 0.5, 3, 2, ratio, aligned, tol=tol)
        case(tv.ps_roi_align.default, image, rois, 0.5, 2, 2, 2, tol=tol)
        case(tv.ps_roi_align.default, image, rois, 1.0, 2, 2, -1, tol=tol)
        case(tv.roi_pool.default, image, rois, 0.5, 2, 3)
        weight, bias = make((6, 4, 3, 3), dtype), make((6,), dtype)
        offset, mask = make((2, 18, 5, 4), dtype, -2, 2), make((2, 9, 5, 4), dtype, 0, 1)
        sizes = (1, 1, 1, 1, 1, 1)
        op = tv.deform_conv2d.default
        case(op, image, weight, offset, mask, bias, *sizes, 1, 1, True, tol=tol)
        case(op, image, weight, offset, mask, bias, *sizes, 1, 1, False, tol=tol)
        two = make((2, 36, 3, 2), dtype, -2, 2)
        case(
            op,
            image,
            weight[:, :2],
            two,
            mask[:, :, :3, :2],
            bias,
            *(2, 2, 1, 1, 1, 1),
            2,
            2,
            False,
            tol=tol,
        )
    # The scale of float64 is no float32.
    slope = (torch.arange(8, dtype=F64)[:, None] * 100 + torch.arange(8, dtype=F64) * 10)[
        None, None
    ]
    region = torch.tensor([[0, 15, 12, 45, 52]], dtype=F64)
    middle = torch.full((1, 1, 1, 1), 295, dtype=F64)
    given(tv.roi_align.default, [middle], slope, region, 0.1, 1, 1, 2, True)
