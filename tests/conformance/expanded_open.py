"""Expansions over sizes that an export leaves open: each program is exported once and runs with
several sizes, 1 and the largest among them. Sizes of inputs PyTorch takes to be positive; those
that depend on data may be 0. See expanded.py."""

import torch
import torch.nn.functional as F
from expanded_halves import low
from programs import Fn
from torch.export import Dim

NAN, INF = float("nan"), float("inf")
MOST = 21
LENGTH = Dim("length", min=1, max=MOST)
AUTO = Dim.AUTO(min=4, max=MOST)
PLACES = {"return_indices": True}
ENDS = torch.tensor([2.0, 2.0, -1.0, INF, -0.0, 0.0, NAN, INF, -INF, NAN, 3.0])
SIZES = (7, 1, 2, 3, 4, 8, 16, 17, MOST)


def floats(*shape):
    """Equals among them, and everything that is no ordinary number."""
    x = torch.randn(shape).mul(2).round() / 2
    for k, end in enumerate(ENDS):
        x.view(-1)[5 * k + 1 :: 67] = end
    return x


def numbers(*shape):
    return torch.randn(shape).clamp(-3, 3)


def whole_of(x):
    return x.nan_to_num(1, 3, -3).int()


def whole(high, *shape, low=0):
    return torch.randint(low, high, shape)


def scans():
    def extremes(x):
        return x.cummax(1), x.cummin(1), x.cummax(0), whole_of(x).cummin(1), (x > 0).cummax(1)

    wide = [(floats(3, n),) for n in SIZES]
    yield "cummax, cummin open", Fn(extremes), wide, ({1: LENGTH},)
    both = [(floats(n, k, 2),) for n, k in ((3, 5), (1, 1), (MOST, 2), (2, MOST))]
    dims = ({0: LENGTH, 1: Dim("other", min=1, max=MOST)},)
    yield "cummax of open rows", Fn(lambda x: (x.cummax(0), x.cummax(-2), x.cummin(2))), both, dims

    def products(x):
        return x.cumprod(1), x.double().cumprod(1), x.long().cumprod(1), x.half().cumprod(0)

    yield "cumprod open", Fn(products), [(numbers(3, n),) for n in SIZES], ({1: LENGTH},)
    yield "cumprod ends open", Fn(lambda x: x.cumprod(1)), wide, ({1: LENGTH},)
    sums = Fn(lambda x: (x.logcumsumexp(1), x.double().logcumsumexp(0)))
    yield "logcumsumexp open", sums, [(numbers(3, n) * 9,) for n in SIZES], ({1: LENGTH},)
    yield "logcumsumexp ends open", Fn(lambda x: x.logcumsumexp(1)), wide, ({1: LENGTH},)
    # A size that is computed, in the middle of a program.
    joined = Fn(lambda x: torch.cat([x, x + 1, x[:1]]).cumprod(0).cummax(0))
    yield "scans of computed sizes", joined, [(numbers(n),) for n in SIZES], ({0: LENGTH},)


def tallied():
    """With as large a bound as the operand can have elements, which says nothing of the result."""

    def counts(x):
        n, rows = torch.bincount(x, minlength=3), x.repeat_interleave(x)
        torch._check(n.shape[0] <= MOST)
        torch._check(rows.shape[0] <= MOST)
        return n + 1, rows

    some = [torch.tensor(x) for x in ([1, 0, 2], [0], [20], [1] * MOST, [2, 2, 2, 5])]
    yield "counts open", Fn(counts), [(x,) for x in some], ({0: LENGTH},)


def polynomials():
    """As many turns as the data asks for, whatever the sizes."""
    s = torch.special

    def both(x, n):
        each = x[:, None].double()
        return (
            s.legendre_polynomial_p(each, n),
            s.shifted_chebyshev_polynomial_v(each, n),
            s.hermite_polynomial_h(each, n.int()),
            s.laguerre_polynomial_l(0.5, n),
            s.chebyshev_polynomial_u(x, x.abs() * 9),
        )

    sizes = (7, 3), (1, 1), (2, 9), (MOST, 4), (MOST, 1), (3, MOST)
    inputs = [(torch.linspace(-1.2, 1.1, n), torch.arange(k) * 7.0 % 60 - 3) for n, k in sizes]
    dims = {0: LENGTH}, {0: Dim("degrees", min=1, max=MOST)}
    yield "polynomials of degrees open", Fn(both), inputs, dims


def scattered():
    def inputs(n, places, columns=3):
        return floats(places, columns), whole(places, n, columns), floats(n, columns)

    sizes = [(7, 4), (1, 1), (2, 9), (MOST, 4), (MOST, 1), (5, MOST)]
    shapes = {0: Dim("places", min=1, max=MOST)}, {0: LENGTH}, {0: LENGTH}
    for how in ("prod", "mean", "amax", "amin", "sum"):

        def reduce(x, i, s, how=how):
            part = whole_of(x), i, whole_of(s)
            return (
                x.scatter_reduce(0, i, s, how),
                x.scatter_reduce(0, i, s, how, include_self=False),
                part[0].scatter_reduce(0, part[1], part[2], how),
            )

        case = [inputs(*size) for size in sizes]
        if how in ("prod", "mean", "sum"):  # in any order
            case = [(x.nan_to_num(0, 2, 2), i, s.nan_to_num(0, 2, -2)) for x, i, s in case]
        yield f"scatter_reduce {how} open", Fn(reduce), case, shapes
    index = Fn(lambda x, i, s: x.index_reduce(0, i[:, 0], s, "amax"))
    yield "index_reduce open", index, [inputs(*size) for size in sizes], shapes


def searched():
    def edges(n):
        return numbers(n).mul(2).round().sort()[0]

    def inputs(n, k):
        return edges(n), torch.cat([floats(3, k), edges(n)[:1].expand(3, -1)], 1)

    sizes = (7, 3), (1, 1), (2, 9), (MOST, 4), (MOST - 1, 1), (8, 2), (16, 5)
    two = {0: LENGTH}, {1: Dim("values", min=2, max=10)}
    f = Fn(
        lambda e, x: (
            torch.bucketize(x, e),
            torch.bucketize(x, e, out_int32=True, right=True),
            torch.searchsorted(e, x, side="right"),
        )
    )
    yield "bucketize open", f, [inputs(*size) for size in sizes], two

    def rows(n):
        x = floats(3, n)  # whatever their order is
        return x, floats(3, 5), x.argsort(1)

    f = Fn(lambda e, x, o: (torch.searchsorted(e, x), torch.searchsorted(e, x, sorter=o)))
    yield "searchsorted open", f, [rows(n) for n in SIZES], ({1: LENGTH}, None, {1: LENGTH})


def bags():
    def inputs(n, k):
        offsets = torch.cat([torch.zeros(1, dtype=torch.long), whole(n + 1, k - 1).sort()[0]])
        return whole(10, n), offsets

    sizes = (7, 3), (1, 1), (2, 9), (MOST, 4), (16, MOST), (17, 1)
    dims = {0: LENGTH}, {0: Dim("bags", min=1, max=MOST)}
    for mode in ("max", "mean", "sum"):
        bag = torch.nn.EmbeddingBag(10, 4, mode=mode, padding_idx=3)
        yield f"embedding_bag {mode} open", bag, [inputs(*size) for size in sizes], dims


def positive(n, *batch):
    a = torch.randn(*batch, n, n)
    return a + a.mT + 4 * n * torch.eye(n)


def matrices():
    """In a loop: of open size, or of more rows than are written out."""
    la = torch.linalg

    def solved(a, b):
        return la.inv(a), la.solve(a, b), la.inv_ex(a - a)[1], torch.linalg.matrix_exp(a / 40)

    def rooted(a, b):
        lower = la.cholesky(a)
        return lower, la.cholesky(a, upper=True), torch.cholesky_solve(b, lower)

    def triangular(a, b):
        return (
            la.solve_triangular(a.triu(), b, upper=True),
            la.solve_triangular(a.tril(), b.mT, upper=False, left=False),
            la.solve_triangular(a.triu(), b.mT, upper=True, left=False, unitriangular=True) / 1e9,
        )

    def factored(a, b):
        lu, pivots, info = la.lu_factor_ex(a)
        q, r = la.qr(a)
        return lu, pivots, info, q, r, la.qr(b, "r")[1]

    def turned(n):
        """Matrices whose pivots all lie in other rows."""
        return torch.eye(n)[torch.randperm(n)] + 0.01 * torch.randn(n, n)

    for f in (solved, rooted, triangular, factored):
        square = positive if f is rooted else turned if f is not triangular else positive
        case = [(square(n), torch.randn(n, 2)) for n in (7, 1, 2, 3, 16, MOST)]
        yield f"{f.__name__} open", Fn(f), case, ({0: LENGTH, 1: LENGTH}, {0: LENGTH})
        yield f"{f.__name__} of 40 rows", Fn(f), (square(40), torch.randn(40, 2)), None
    many = [(torch.randn(k, 3, n, n), torch.randn(k, 3, n, 2)) for k, n in ((3, 5), (1, 1), (2, 9))]
    dims = {0: LENGTH, 2: Dim("size", min=1, max=9), 3: Dim("size", min=1, max=9)}
    both = Fn(lambda a, b: (la.solve(a + 9 * torch.eye(a.shape[-1]), b), la.qr(b)[1]))
    yield "solve open batches", both, many, (dims, {0: LENGTH, 2: dims[2]})
    tall = [(torch.randn(n, k),) for n, k in ((5, 3), (3, 5), (1, 4), (MOST, 9), (4, 4))]
    sizes = ({0: LENGTH, 1: Dim("width", min=1, max=9)},)
    yield "qr of any shape", Fn(lambda a: la.qr(a, "complete")), tall, sizes
    yield "lu of any shape", Fn(lambda a: la.lu_factor_ex(a)), tall, sizes


def rotated():
    """Eigenvectors and singular vectors of more rows than are written out, in a loop."""
    la = torch.linalg
    near = {torch.float32: 1e-5, torch.float64: 1e-10}

    def is_near(x, y, scale):
        """A batch of matrices, as far as their numbers are."""
        return ((x - y).abs().amax((-2, -1)) <= near[x.dtype] * scale).all()

    def is_unit(x):
        n = x.shape[-1]
        return is_near(x.mT @ x, torch.eye(n, dtype=x.dtype).expand(*x.shape[:-2], n, n), 1)

    def size_of(a):
        size = a.abs().amax((-2, -1))
        return torch.where(size == 0, 1, size) * max(a.shape)

    def eigen(a, lower="L"):
        symmetric = a.triu() + a.triu(1).mT if lower == "U" else a.tril() + a.tril(-1).mT
        size = size_of(a)
        (w, v), alone = la.eigh(a, lower), la.eigvalsh(a, lower)
        scaled = (w / size[..., None], alone / size[..., None])
        again = (v * w[..., None, :]) @ v.mT
        return *scaled, is_near(again, symmetric, size), is_unit(v), w.diff(dim=-1).ge(0).all()

    def singular(a):
        size = size_of(a)
        (u, w, v), (f, _, g) = la.svd(a, full_matrices=False), la.svd(a)
        alone, least = la.svdvals(a), w.shape[-1]
        again = (u * w[..., None, :]) @ v, (f[..., :least] * w[..., None, :]) @ g[..., :least, :]
        right = [is_near(x, a, size) for x in again] + [is_unit(x) for x in (u, v.mT, f, g)]
        return w / size[..., None], alone / size[..., None], *right, w.diff(dim=-1).le(0).all()

    def of(*sizes, dtype=torch.float32):
        return torch.randn(*sizes, dtype=dtype)

    def outer(n, k, dtype=torch.float64):
        return of(n, 1, dtype=dtype) * of(1, k, dtype=dtype)

    odd = torch.stack([torch.zeros(6, 6), torch.eye(6), torch.ones(6, 6), -torch.ones(6, 6)])
    twins = torch.diag(torch.tensor([2.0, 2, -1, -1, 2, 0, 2]))[torch.randperm(7)]
    equal = torch.tensor([[0.0, 1], [1, 0]]).kron(torch.eye(4)) + torch.eye(8)
    far = torch.tensor([1e20, 1e-20, 1])[:, None, None] * of(3, 7, 7)
    farther = torch.tensor([1e200, 1e-200], dtype=torch.float64)[:, None, None]
    squares = {
        "5 rows": of(5, 5), "8 rows": of(8, 8, dtype=torch.float64), "33 rows": of(33, 33),
        "a batch": of(3, 2, 6, 6), "odd ones": odd, "rank 1": outer(9, 9), "1e20, 1e-20": far,
        "no order": twins, "equal values": equal, "graded": torch.logspace(0, -14, 12).diag(),
        "columns from 1 to 1e-20": of(6, 6).double() * torch.logspace(0, -20, 6),
        "rank 2": (outer(20, 20) + outer(20, 20)).float(), "extremes": of(2, 5, 5) * farther,
    }  # fmt: skip
    for name, a in squares.items():
        yield f"eigh of {name}", Fn(eigen), (a,), None
        yield f"svd of {name}", Fn(singular), (a,), None
    yield "eigh of the upper half", Fn(lambda a: eigen(a, "U")), (of(9, 9),), None
    wide = of(7, 12), outer(6, 11), torch.zeros(5, 7), of(2, 5, 64), of(1, 20), of(3, 12)
    for a in wide:
        for x in (a, a.mT.contiguous()):
            yield f"svd {tuple(x.shape)}, {x.dtype}", Fn(singular), (x,), None

    def used(a):
        return la.pinv(a), la.matrix_rank(a), la.cond(a) / 100, la.matrix_norm(a, "nuc")

    for sizes in ((5, 5), (8, 8), (12, 7)):
        a = of(*sizes) + 3 * torch.eye(*sizes)
        yield f"pinv {sizes}", Fn(used), (a,), None
    yield "pinv wide", Fn(lambda a: (la.pinv(a), la.matrix_rank(a))), (of(2, 7, 12),), None
    yield "pinv of rank 1", Fn(lambda a: (la.pinv(a), la.matrix_rank(a))), (outer(7, 9),), None
    one = Dim("size", min=1, max=MOST), Dim("width", min=1, max=9)
    many = [(of(2, n, n),) for n in (7, 1, 2, 3, 16, MOST)]
    yield "eigh open", Fn(lambda a: la.eigh(a)[0]), many, ({1: one[0], 2: one[0]},)
    shapes = [(of(n, k),) for n, k in ((5, 3), (3, 5), (1, 4), (MOST, 9), (4, 4), (1, 1))]
    again = Fn(lambda a: (lambda u, w, v: (w, (u * w) @ v, u.mT @ u))(*la.svd(a, False)))
    yield "svd open", again, shapes, ({0: one[0], 1: one[1]},)
    full = Fn(lambda a: (lambda u, w, v: (w, u.mT @ u, v @ v.mT))(*la.svd(a)))
    yield "svd full and open", full, shapes, ({0: one[0], 1: one[1]},)
    ranked = Fn(lambda a: (la.pinv(a), la.matrix_rank(a), la.matrix_rank(a, atol=a[0, :1] * 0)))
    wide = [(of(3, k),) for k in (5, 3, MOST)] + [(outer(3, 7, dtype=torch.float32),)]
    yield "pinv open", ranked, wide, ({1: Dim("long", min=3, max=MOST)},)
    symmetric = Fn(lambda a: (la.pinv(a, hermitian=True), la.matrix_rank(a, hermitian=True)))
    square = [(of(n, n) + 3 * torch.eye(n),) for n in (5, 2, 3, 12)] + [(torch.ones(6, 6),)]
    both = Dim("rows", min=2, max=MOST)
    yield "pinv of symmetric and open", symmetric, square, ({0: both, 1: both},)


def counted():
    """As many as the data says, and none."""

    def chosen(x, y, i):
        x = x.masked_select(y > 0)
        torch._check(x.shape[0] <= 12)
        return x

    def scan(x, y, i):
        x = chosen(x, y, i)
        return x.cumprod(0), x.logcumsumexp(0), x.long().cumprod(0), x[None].cumprod(1)

    def scatter(x, y, i):
        j = i.masked_select(y > 0)
        torch._check(j.shape[0] <= 12)
        s = x.masked_select(y > 0)
        torch._check(s.shape[0] == j.shape[0])
        hows = "prod", "amax", "amin", "mean", "sum"
        return [y.scatter_reduce(0, j, s, how) for how in hows]

    def search(x, y, i):
        edges = chosen(x, y, i).exp().cumsum(0)
        rows = edges.expand(2, -1).contiguous()
        return (
            torch.bucketize(y, edges),
            torch.searchsorted(edges, y + 2, right=True),
            torch.searchsorted(rows, y.view(2, 6)),
        )

    def bag(x, y, i):
        rows = i.masked_select(y > 0)
        torch._check(rows.shape[0] <= 12)
        table = torch.arange(48.0).view(12, 4)
        start = torch.zeros(3, dtype=torch.long)
        return [F.embedding_bag(rows, table, start, mode=how) for how in ("max", "mean")]

    def inputs(count):
        y = torch.where(torch.arange(12) < count, 1.0, -1.0)[torch.randperm(12)]
        return numbers(12), y, whole(12, 12)

    for f in (scan, scatter, search, bag):
        case = [inputs(count) for count in (5, 0, 1, 2, 9, 12)]
        yield f"{f.__name__} of what is counted", Fn(f), case, None


def resized():
    """Lines, images and volumes, in one export a mode, by factors and to sizes."""
    modes = {
        "nearest": (3, 4, 5), "nearest-exact": (3, 4, 5), "linear": (3,), "bilinear": (4,),
        "trilinear": (5,), "bicubic": (4,),
    }  # fmt: skip
    rest = {3: (), 4: (5,), 5: (3, 4)}

    def by_factor(x, mode, corners):
        aligned = {"align_corners": corners} if corners else {}
        resize = lambda factor: F.interpolate(x, scale_factor=factor, mode=mode, **aligned)
        return resize(2), resize(2.5), resize(1.0)

    for mode, ranks in modes.items():
        for rank in ranks:
            inputs = [(numbers(2, 2, n, *rest[rank]),) for n in (7, 1, 2, 3, 4, 9)]
            for corners in (False, True) if "linear" in mode or "cubic" in mode else (False,):
                f = Fn(lambda x, mode=mode, corners=corners: by_factor(x, mode, corners))
                name = f"{mode} by factors, rank {rank}" + ", corners" * corners
                yield f"resize {name}", f, inputs, ({2: Dim("side", min=1, max=9)},)
    halves = Fn(lambda x: F.interpolate(x, scale_factor=0.75, mode="linear"))
    yield "resize smaller", halves, [(numbers(1, 2, n),) for n in (8, 4, 9)], (
        {2: Dim("side", min=4, max=9)},
    )

    def to_size(x, like, mode, corners):
        aligned = {"align_corners": corners} if corners else {}
        return F.interpolate(x, size=like.shape[2:], mode=mode, **aligned)

    side, other = Dim("side", min=1, max=9), Dim("other", min=1, max=11)
    for mode, ranks in modes.items():
        for rank in ranks:
            sizes = (7, 4), (5, 11), (9, 9), (2, 3), (3, 2), (1, 1), (4, 1), (1, 5), (9, 11)
            inputs = [
                (numbers(1, 2, n, *rest[rank]), numbers(1, 1, k, *(7,) * len(rest[rank])))
                for n, k in sizes
            ]
            for corners in (False, True) if "linear" in mode or "cubic" in mode else (False,):
                f = Fn(lambda x, y, mode=mode, corners=corners: to_size(x, y, mode, corners))
                name = f"{mode} to a size, rank {rank}" + ", corners" * corners
                yield f"resize {name}", f, inputs, ({2: side}, {2: other})
    double = Fn(lambda x: F.interpolate(x, scale_factor=2, mode="linear", align_corners=True))
    wide = [(numbers(1, 2, n).double(),) for n in (5, 1, 9)]
    yield "resize float64", double, wide, ({2: side},)
    layout = [(numbers(2, 4, n, 5).contiguous(memory_format=torch.channels_last),) for n in (7, 9)]
    exact = Fn(lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"))
    for mode in "bilinear", "bicubic":
        less = {"scale_factor": 0.5, "mode": mode, "antialias": True}
        smooth = Fn(lambda x, less=less: F.interpolate(x, **less))
        sides = [(numbers(1, 2, n, 6),) for n in (8, 4, 9)]
        yield f"resize {mode}, antialiased", smooth, sides, ({2: Dim("side", min=4, max=9)},)
    yield "resize channels last", exact, layout, ({2: Dim("side", min=2, max=9)},)


def transformed():
    """Spatial transformers of an open batch: PyTorch does not export them of open sides."""
    batch = Dim("batch", min=1, max=6)

    def sampled(x, theta, corners):
        grid = F.affine_grid(theta, x.shape, align_corners=corners)
        return grid, F.grid_sample(x, grid, align_corners=corners)

    for corners in (False, True):
        f = Fn(lambda x, theta, corners=corners: sampled(x, theta, corners))
        for sides in (5, 6), (1, 3), (2, 3, 4):
            k = len(sides)
            inputs = [(numbers(n, 3, *sides), numbers(n, k, k + 1)) for n in (2, 1, 3, 6)]
            name = f"affine_grid open {sides}" + ", corners" * corners
            yield name, f, inputs, ({0: batch}, {0: batch})


def pooled():
    """The largest of all: of equals the first, of NaNs the last."""
    sides = Dim("high", min=1, max=9), Dim("wide", min=1, max=9)
    sizes = (7, 4), (1, 1), (2, 1), (1, 3), (5, 5), (9, 9)
    images = [(floats(2, 3, h, w),) for h, w in sizes]
    both = Fn(lambda x: F.adaptive_max_pool2d(x, 1, return_indices=True))
    yield "max_pool of open images", both, images, ({2: sides[0], 3: sides[1]},)
    value = Fn(lambda x: F.adaptive_max_pool2d(x, 1))
    yield "max_pool of open images, values", value, images, ({2: sides[0], 3: sides[1]},)
    lines = [(floats(2, 3, n),) for n in (7, 1, 2, 9)]
    line = Fn(lambda x: F.adaptive_max_pool1d(x, 1, return_indices=True))
    yield "max_pool of open lines", line, lines, ({2: sides[0]},)
    value = Fn(lambda x: (F.adaptive_max_pool1d(x, 1), F.adaptive_max_pool1d(x[0], 1)))
    yield "max_pool of open lines, values", value, lines, ({2: sides[0]},)
    volumes = [(floats(2, 3, h, w, 3),) for h, w in sizes]
    cube = Fn(lambda x: F.adaptive_max_pool3d(x, 1, return_indices=True))
    yield "max_pool of open volumes", cube, volumes, ({2: sides[0], 3: sides[1]},)
    last = [(floats(2, 3, n, 4).contiguous(memory_format=torch.channels_last),) for n in (5, 2)]
    yield "max_pool of open images, channels last", both, last, ({2: Dim("high", min=2, max=9)},)


def volumes():
    """Depth, or all sides: a convolution for each plane of the kernel. That a result is one deep
    PyTorch takes to be another program."""
    nn = torch.nn
    depth, high = Dim("depth", min=3, max=MOST), Dim("high", min=4, max=9)

    def sized(depths):
        return [(torch.randn(2, 4, d, 6, 5),) for d in depths]

    layers = {
        "": (nn.Conv3d(4, 6, 3, padding=1), (7, 1, 2, MOST)),
        "strides": (nn.Conv3d(4, 6, (3, 2, 3), (2, 1, 2), (1, 0, 1)), (7, 3, 4, 8, MOST)),
        "strides of 3": (nn.Conv3d(4, 6, 2, (3, 2, 1), bias=False), (7, 5, 6, 8, 9, MOST)),
        "dilation": (nn.Conv3d(4, 6, 3, (2, 1, 1), 2, (3, 1, 2)), (7, 5, 6, 9, MOST)),
        "groups": (nn.Conv3d(4, 8, (4, 3, 1), (2, 1, 1), 1, groups=2), (7, 4, 5, MOST)),
        "depthwise": (nn.Conv3d(4, 4, (3, 3, 3), 1, 1, groups=4), (7, 1, 2, MOST)),
        "one plane": (nn.Conv3d(4, 6, (1, 3, 3), (2, 1, 1)), (7, 3, 4, MOST)),
        "transposed": (nn.ConvTranspose3d(4, 6, 3), (7, 1, 2, MOST)),
        "transposed, strides": (nn.ConvTranspose3d(4, 6, 3, 2, 1, 1), (7, 1, 2, MOST)),
        "transposed, groups": (nn.ConvTranspose3d(4, 6, 2, 3, 0, 2, 2), (7, 1, 2, MOST)),
        "transposed, dilation": (
            nn.ConvTranspose3d(4, 6, (3, 2, 2), (2, 1, 3), (3, 1, 0), dilation=(2, 1, 1)),
            (7, 3, 4, MOST),
        ),
        "transposed, cut": (nn.ConvTranspose3d(4, 6, 1, 2, (1, 0, 0), bias=False), (7, 3, MOST)),
    }  # fmt: skip
    for name, (layer, depths) in layers.items():
        least = Dim("depth", min=min(depths), max=MOST)
        yield f"conv3d open {name}".strip(), layer.eval(), sized(depths), ({2: least},)
    for dtype in torch.half, torch.bfloat16, torch.double:
        both = nn.Sequential(nn.Conv3d(4, 4, 3, 2, 1), nn.ConvTranspose3d(4, 2, 2, 2)).to(dtype)
        name = f"conv3d open {dtype}".replace("torch.", "")
        yield name, low(both.requires_grad_(False), dtype), sized((7, 3, MOST)), ({2: depth},)
    every = [(torch.randn(n, 4, d, h, 5),) for n, d, h in ((2, 7, 6), (1, 3, 4), (3, MOST, 9))]
    dims = ({0: Dim("batch", min=1, max=3), 2: depth, 3: high},)
    yield "conv3d open in all", nn.Conv3d(4, 6, 3, (2, 2, 1), 1).eval(), every, dims
    alone = Fn(lambda x, w: (F.conv3d(x, w, stride=2), F.conv3d(x, w[:, :, :, :1])))
    weights = [(torch.randn(4, d, 6, 5), torch.randn(3, 4, 2, 3, 3)) for d in (7, 4, 5, MOST)]
    yield "conv3d open, no batch", alone, weights, ({1: Dim("depth", min=4, max=MOST)}, {})
    deep = torch.randn(1, 2, 300, 3, 3)
    less = deep[:, :, :149].clone()
    yield "conv3d 300 deep", nn.Conv3d(2, 3, 3, padding=1).eval(), (deep,), None
    turned = nn.ConvTranspose3d(2, 3, 3, 2).eval()
    yield "conv3d transposed, 299 deep", turned, (less,), None


def windows():
    """Largest of windows with dynamic sides: NaN at any place, and the places of results. The
    remainder of a size decides if `ceil_mode` has a window less. All sizes here have the same."""
    sides = {"depth": (2,), "sides": (3, 4), "all": (2, 3, 4)}
    sizes = (7, 6, 5), (10, 9, 8), (13, 6, 5), (19, 21, 20), (7, 12, 14)
    hows = {
        "3, 2, 1": (3, 2, 1), "2": (2,), "by sides": ((2, 3, 1), (1, 2, 3), (1, 0, 0)),
        "dilation": (2, 2, 1, 3), "ceil": (3, 2, 1, 1, True), "ceil, cut": (2, 3, 1, 1, True),
        "ceil, apart": (2, 3, 0, 1, True),
    }  # fmt: skip
    for which, open_dims in sides.items():
        shapes = [[s[k] if k + 2 in open_dims else sizes[0][k] for k in range(3)] for s in sizes]
        volumes = [(floats(2, 3, *shape),) for shape in shapes]
        dims = dict.fromkeys(open_dims, AUTO)
        for name, how in hows.items() if which == "all" else list(hows.items())[:5:4]:
            f = Fn(lambda x, how=how: (F.max_pool3d(x, *how), F.max_pool3d(x, *how, **PLACES)))
            yield f"max_pool3d of open {which}, {name}", f, volumes, (dims,)
    for dtype in torch.half, torch.double:
        others = [(x.to(dtype),) for (x,) in volumes]
        f = Fn(lambda x: F.max_pool3d(x, 3, 2, 1))
        name = f"max_pool3d of open all, {dtype}".replace("torch.", "")
        yield name, f, others, (dims,)
    f = Fn(lambda x: (F.max_pool3d(x[0], 2), F.max_pool3d(x, 2, 1, return_indices=True)[1]))
    yield "max_pool3d of open all, no batch", f, volumes, (dims,)


def adapted():
    """Windows by the size of the result."""
    high, wide = Dim("high", min=1, max=MOST), Dim("wide", min=1, max=MOST)
    sizes = (7, 5), (1, 1), (2, 9), (9, 2), (MOST, 16), (3, MOST), (12, 12)
    images = [(floats(2, 3, h, w),) for h, w in sizes]
    dims = {2: high, 3: wide}
    pool = F.adaptive_max_pool2d
    for size in (2, 3), (5, 1), (1, 4), (7, 7):
        f = Fn(lambda x, size=size: (pool(x, size), pool(x, size, **PLACES)))
        yield f"adaptive_max_pool2d {size} of open images", f, images, (dims,)
    tall = [(floats(2, 3, h, 8),) for h, _ in sizes]
    both = Fn(lambda x: F.adaptive_max_pool2d(x, (4, 3), **PLACES))
    yield "adaptive_max_pool2d of open height", both, tall, ({2: high},)
    lines = [(floats(2, 3, h),) for h, _ in sizes]
    both = Fn(lambda x: F.adaptive_max_pool1d(x, 4, **PLACES))
    yield "adaptive_max_pool1d of open lines", both, lines, ({2: high},)
    half = [(x.half(),) for (x,) in images]
    both = Fn(lambda x: F.adaptive_max_pool2d(x, (4, 3), **PLACES))
    yield "adaptive_max_pool2d of open images, half", both, half, (dims,)
    volumes = [(floats(1, 2, h, w, 4),) for h, w in sizes]
    both = Fn(lambda x: F.adaptive_max_pool3d(x, (2, 3, 3), **PLACES))
    yield "adaptive_max_pool3d of open volumes", both, volumes, (dims,)
    value = Fn(lambda x: F.adaptive_max_pool3d(x, (3, 2, None)))
    yield "adaptive_max_pool3d of open volumes, values", value, volumes, (dims,)


def chunks():
    def chunked(x, count):
        torch._check(x.shape[1] <= MOST)
        return [y * 2 for y in x.chunk(count, 1)]

    for count in 2, 3:
        f = Fn(lambda x, count=count: chunked(x, count))
        sizes = (7, 2, 3, 8, MOST) if count == 2 else (7, 3, 5, 6, 8, MOST)
        yield f"{count} chunks open", f, [(numbers(2, n),) for n in sizes], ({1: Dim.AUTO},)


def cases():
    yield from chunks()
    yield from resized()
    yield from transformed()
    yield from pooled()
    yield from volumes()
    yield from windows()
    yield from adapted()
    yield from tallied()
    yield from scans()
    yield from counted()
    yield from scattered()
    yield from searched()
    yield from bags()
    yield from matrices()
    yield from rotated()
    yield from polynomials()
