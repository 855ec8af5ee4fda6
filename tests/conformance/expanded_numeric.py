"""Numeric operators that the official runtime has no kernel for: special functions, divisors,
counts, factorisations of small matrices, regions of images. See expanded.py."""

import torch
from programs import Fn as Of
import torch.nn.functional as F

NAN, INF = float("nan"), float("inf")
ROWS = torch.export.Dim("rows", min=1, max=9)
ENDS = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5, 2.0, 8.0, 1e-30, -1e-30, 30.0, 700.0]


def spread(low, high, dtype=torch.float32):
    """Even numbers, and the ends of everything."""
    return torch.cat([torch.linspace(low, high, 60, dtype=dtype), torch.tensor(ENDS, dtype=dtype)])


def special_functions():
    s = torch.special
    everywhere = {
        "erfc": s.erfc, "erfcx": s.erfcx, "erfinv": s.erfinv, "ndtri": s.ndtri,
        "log_ndtr": s.log_ndtr, "lgamma": s.gammaln, "digamma": s.digamma,
        "trigamma": lambda x: torch.polygamma(1, x), "polygamma": lambda x: torch.polygamma(3, x),
        "i0": s.i0, "i0e": s.i0e, "i1": s.i1, "i1e": s.i1e,
        "modified_bessel_k0": s.modified_bessel_k0,
        "scaled_modified_bessel_k0": s.scaled_modified_bessel_k0,
        "modified_bessel_k1": s.modified_bessel_k1,
        "scaled_modified_bessel_k1": s.scaled_modified_bessel_k1,
        "bessel_j0": s.bessel_j0, "bessel_j1": s.bessel_j1,
        "bessel_y0": s.bessel_y0, "bessel_y1": s.bessel_y1,
        "spherical_bessel_j0": s.spherical_bessel_j0,
    }  # fmt: skip
    narrow = {
        "erfinv": (-1.2, 1.2),
        "ndtri": (-0.2, 1.2),
        "lgamma": (-7.3, 40),
        "trigamma": (-7.7, 21.8),
        "polygamma": (-7.7, 21.8),
    }
    for name, f in everywhere.items():
        x = spread(*narrow.get(name, (-9.7, 24.3)))
        # PyTorch's own numbers of these are not much better than float32, nor near their poles.
        is_rough = name.startswith("bessel") or name == "trigamma"
        if is_rough:
            x = x[(x.abs() < 100) & ((x > 0) | (x != x.floor()))]
        yield name, Of(f), (x,), None
        few = x[:6] if is_rough else x[:6].double()
        yield f"{name} dynamic", Of(f), (few,), ({0: ROWS},)
    ends, f = torch.tensor([INF, -INF, 0.0, 1.0, 30.0, -2.5]), everywhere
    yield "ends of Bessel functions", Of(lambda x: [
        f[name](x) for name in f if name.startswith("bessel")
    ] + [torch.polygamma(n, x) for n in (1, 2)]), (ends,), None  # fmt: skip
    s_values = torch.tensor([1.0, 2.0, 3.0, 2.5, 0.5, 7.0, NAN])[:, None]
    zeta = Of(lambda a, b: torch.special.zeta(a, b))
    yield "zeta", zeta, (s_values, spread(-4.4, 20)), None
    q = torch.tensor([-7.75, -3.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 30.0, NAN, INF])
    yield "zeta of infinity", zeta, (torch.full((12,), INF), q), None
    yield "mvlgamma", Of(lambda x: torch.mvlgamma(x, 3)), (spread(1.5, 20)[:60],), None
    yield "halves", Of(lambda x: (torch.lgamma(x), torch.erfinv(x))), (spread(-1, 1).half(),), None
    yield "i0 of integers", Of(lambda x: torch.i0(x)), (torch.arange(-3, 9),), None


def integers():
    limits = torch.iinfo(torch.int64)
    many = torch.tensor([0, 1, -6, 12, 35, 7540113804746346429, 2880067194370816120, limits.max])
    both = Of(lambda x, y: (torch.gcd(x, y), torch.gcd(x, y.flip(0))))
    yield "gcd", both, (many[:, None].clone(), many.clone()), None
    for dtype in (torch.uint8, torch.int16, torch.int32):
        x = torch.randint(0, 120, (5, 6)).to(dtype)
        y = torch.randint(0, 120, (6,)).to(dtype)
        yield (
            f"gcd, lcm {dtype}",
            Of(lambda x, y: (torch.gcd(x, y), torch.lcm(x, y))),
            (x, y),
            None,
        )
    for dtype in (torch.int32, torch.int64):
        least, most = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        ends = torch.tensor([least, most, 0, 1, -1, 2, 3, 6, -6, 7, least + 1], dtype=dtype)
        yield f"gcd of the least {dtype}", Of(torch.gcd), (ends[:, None].clone(), ends), None
    small = torch.randint(-9, 9, (4, 5))
    yield "lcm dynamic", Of(torch.lcm), (small, small.flip(1)), ({0: ROWS}, {0: ROWS})

    def counted(x, w):
        n = torch.bincount(x, minlength=4)
        torch._check(n.shape[0] <= 40)
        return n, n * 2

    def weighed(x, w):
        n = torch.bincount(x, w)
        torch._check(n.shape[0] <= 40)
        return n

    for name, f in (("bincount", counted), ("bincount weights", weighed)):
        for dtype in (torch.int64, torch.int32, torch.uint8):
            numbers = torch.randint(0, 9, (30,)).to(dtype)
            yield f"{name} {dtype}", Of(f), (numbers, torch.randn(30)), None


def positive(*sizes):
    a = torch.randn(*sizes)
    return a @ a.mT + torch.eye(sizes[-1])


def small_matrices():
    la = torch.linalg
    a, b = torch.randn(2, 3, 5, 5), torch.randn(2, 3, 5, 2)
    yield "inv, det", Of(lambda a: (la.inv(a), la.det(a), la.slogdet(a))), (a,), None
    yield "inv dynamic", Of(la.inv), (torch.randn(4, 3, 3),), ({0: ROWS},)
    yield "inv double", Of(la.inv), (torch.randn(8, 8).double(),), None
    swapped = torch.eye(4)[[2, 0, 3, 1]]
    yield "inv permutation", Of(lambda a: (la.inv(a), la.det(a))), (swapped,), None
    yield "det singular", Of(la.det), (torch.ones(3, 3),), None
    yield "solve", Of(lambda a, b: (la.solve(a, b), la.solve(a, b[..., 0]))), (a, b), None
    for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):
        m, v = ((torch.arange(n) * 37 % 101).to(dtype) for n in (12, 4))
        products = Of(lambda m, v: (m @ v, torch.dot(v, v), torch.addmv(v[:3], m, v)))
        yield f"products of {dtype}", products, (m.view(3, 4), v), None
    right = Of(lambda a, b, v: (*la.solve_ex(a, b, left=False), *la.solve_ex(a, v)))
    yield "solve_ex to the right", right, (a, b.mT.contiguous(), b[..., 0].contiguous()), None
    yield (
        "cholesky",
        Of(lambda a: (la.cholesky(a), la.cholesky(a, upper=True))),
        (positive(2, 6, 6),),
        None,
    )
    yield "cholesky_solve", Of(lambda b, a: torch.cholesky_solve(b, la.cholesky(a))), (
        b, positive(2, 3, 5, 5),
    ), None  # fmt: skip
    for left in (True, False):
        f = Of(lambda a, b, left=left: (
            la.solve_triangular(a.triu(), b, upper=True, left=left),
            la.solve_triangular(a.tril(), b, upper=False, left=left, unitriangular=True),
        ))  # fmt: skip
        yield (
            f"solve_triangular {left}",
            f,
            (a + 3 * torch.eye(5), b if left else b.mT.contiguous()),
            None,
        )
    for sizes in ((4, 4), (2, 6, 3), (3, 5)):
        tall = torch.randn(*sizes)
        yield f"qr {sizes}", Of(lambda a: (la.qr(a), la.qr(a, "complete"))), (tall,), None
    upper = [[1.5, -2, 3], [0, -4, 5], [0, 0, 6]]
    turned = [[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]
    clear = torch.stack([torch.tensor(upper), -torch.eye(3), torch.tensor(turned)])
    yield "qr clear", Of(la.qr), (clear,), None
    # Squares on the way are no numbers, or 0.
    far = torch.tensor([1e200, 1e-200], dtype=torch.float64)[:, None, None]
    yield "factors of extremes", Of(lambda a, k: (
        la.qr(a, "r")[1] / k, la.svdvals(a) / k[..., 0], la.eigvalsh(a) / k[..., 0],
    )), (torch.randn(2, 3, 3).double() * far, far), None  # fmt: skip
    yield "eigvalsh", Of(la.eigvalsh), (positive(3, 4, 4),), None
    again = Of(lambda a: (lambda w, v: (w, (v * w[..., None, :]) @ v.mT))(*la.eigh(a)))
    yield "eigh", again, (torch.stack([positive(3, 3), torch.eye(3), torch.ones(3, 3)]),), None
    whole = Of(lambda a: (lambda u, s, v: (s, (u * s[..., None, :]) @ v, u.mT @ u))(
        *la.svd(a, full_matrices=False)))  # fmt: skip
    yield "svd", whole, (torch.stack([torch.randn(3, 3), torch.ones(3, 3), torch.eye(3)]),), None
    yield "svd tall", whole, (torch.randn(7, 2),), None
    yield "svd wide", whole, (torch.randn(2, 3, 4).double(),), None
    yield "pinv", Of(la.pinv), (torch.randn(4, 3),), None
    yield (
        "matrix_exp",
        Of(torch.matrix_exp),
        (torch.stack([torch.randn(4, 4), torch.zeros(4, 4), -50 * torch.eye(4)]),),
        None,
    )
    ends = [[[-1e60, 0], [0, -1e60]], [[0, 1e300], [0, 0]], [[0, -1], [1, 0]], [[0, 0], [0, 0]]]
    ends = torch.tensor(ends, dtype=torch.float64)
    yield "matrix_exp ends", Of(torch.matrix_exp), (ends,), ({0: ROWS},)
    yield "matrix_exp double", Of(torch.matrix_exp), (3 * torch.randn(2, 3, 3).double(),), None


def images():
    x = torch.rand(2, 3, 17, 20)
    for size in ((9, 8), (30, 33)):
        f = Of(lambda x, size=size: F.interpolate(x, size, mode="bicubic", antialias=True))
        yield f"bicubic antialias {size}", f, (x,), ({0: ROWS},)
    for how in ("bicubic", "bilinear"):
        aligned = Of(lambda x, how=how: F.interpolate(
            x, (5, 6), mode=how, antialias=True, align_corners=True))  # fmt: skip
        yield f"{how} antialias corners", aligned, (x,), None
        half = Of(lambda x, how=how: F.interpolate(
            x, (x.shape[2] // 2, x.shape[3] // 3), mode=how, antialias=True))  # fmt: skip
        yield f"{how} antialias open", half, (x,), (
            {0: ROWS, 1: torch.export.Dim("c", min=1, max=5),
             2: torch.export.Dim("h", min=6, max=20),
             3: torch.export.Dim("w", min=6, max=24)},
        )  # fmt: skip
    for size in ((9, 10), (4, 5), (30, 33)):
        f = Of(lambda x, size=size: F.interpolate(x, size, mode="bilinear", antialias=True))
        yield f"bilinear antialias {size}", f, (x,), None
        yield f"bilinear antialias double {size}", f, (x.double(),), None


def judged():
    """Operators whose kernels on the official runtime give other numbers."""
    large = torch.tensor([7540113804746346429, 3, -(2**62) - 7, 2880067194370816120, 2**53 + 1])
    yield "long quotients", Of(lambda a: (
        torch.div(a, 7, rounding_mode="trunc"), torch.div(a, a.flip(0), rounding_mode="trunc"),
        torch.fmod(a, 7), torch.fmod(a, a.flip(0)), a % 7, a // -7,
    )), (large,), ({0: ROWS},)  # fmt: skip
    for dtype in (torch.int32, torch.int64):
        least, most = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        ends = torch.tensor([least, least + 1, most, 0, 1, -1, 6, -7], dtype=dtype)
        by = torch.tensor([least + 1, most, 1, -3, 5, least], dtype=dtype)  # least / -1 traps there
        yield f"quotients of ends {dtype}", Of(lambda a, b: (
            a % b, torch.fmod(a, b), torch.div(a, b, rounding_mode="trunc"), a // b,
        )), (ends[:, None].clone(), by), None  # fmt: skip
    yield (
        "long sums",
        Of(lambda a: (a[None].sum(1), a[None].sum(-1, keepdim=True))),
        (large,),
        None,
    )
    many = torch.tensor([[2**24, 1, 1, 1, 7]], dtype=torch.int32)
    yield "sums of integers", Of(lambda a: (
        a.sum(1), a.sum(1, dtype=torch.int32), a.long().sum(1), a.to(torch.int8).sum(1),
    )), (many,), None  # fmt: skip

    def dropped(x):
        y, kept = torch.ops.aten.native_dropout(x, 0.25, True)
        z = F.dropout(x, 0.5, training=True)
        few = torch.stack([(y != 0).sum(), (z != 0).sum()])
        low, high = torch.tensor([550, 320]), torch.tensor([950, 680])
        return (
            torch.where(kept, y * 0.75, x), torch.where(kept, x, y) - x * kept,
            torch.where(z != 0, z * 0.5, x), (few > low) & (few < high), F.dropout(x, 1.0),
        )  # fmt: skip

    yield "dropout", Of(dropped), (torch.rand(1000) + 1,), None
    yield "whole powers", Of(lambda a: (a**2, a**3, a.int() ** 7)), (large,), None
    odd = torch.tensor([[1.0, NAN, 3.0, -2.0], [-0.0, 0.0, -INF, INF]])
    yield "sign", Of(torch.sign), (odd,), ({0: ROWS},)
    x = torch.linspace(-3, 3, 24, dtype=torch.float64).reshape(2, 3, 4) * (1 + 1e-9)
    yield (
        "double sums",
        Of(lambda x: (x.sum(0), x.sum(1, keepdim=True), x.norm(dim=2))),
        (x,),
        ({0: ROWS},),
    )
    yield "double norms", Of(lambda x: (
        x.log_softmax(1), F.layer_norm(x, (3, 4), x[0], x[1]), F.layer_norm(x, (4,)),
    )), (x,), None  # fmt: skip


def cases():
    yield from judged()
    yield from special_functions()
    yield from integers()
    yield from small_matrices()
    yield from images()
