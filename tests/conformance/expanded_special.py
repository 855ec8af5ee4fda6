"""Special functions without a kernel on either runtime, and what is left of rows and memory. See
expanded.py."""

import torch

NAN, INF = float("nan"), float("inf")
ENDS = torch.tensor([0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0])
DEGREES = -1, 0, 1, 2, 3.7, 7, 12
FAMILIES = {"chebyshev": "tuvw", "shifted_chebyshev": "tuvw", "hermite": ("h", "he"),
            "laguerre": "l", "legendre": "p"}  # fmt: skip


def polynomials():
    x = torch.cat([torch.linspace(-1.2, 1.3, 40), ENDS])
    for base, kinds in FAMILIES.items():
        for kind in kinds:
            f = getattr(torch.special, f"{base}_polynomial_{kind}")
            # float64, in which sums that cancel keep what a float32 has
            yield (
                f"{base}_polynomial_{kind}",
                lambda x, y, f=f: tuple(f(x, n) for n in DEGREES) + (f(y, 2),),
                (x.double(), x),
            )


def degrees():
    x = torch.cat([torch.linspace(-1.2, 1.3, 21), ENDS, torch.tensor([INF, 1e-9])])
    n = torch.tensor([-2.0, -1, -0.5, 0, 1, 2.9, 4, 5, 6, 7, 8, 9, 40, 130, 520, 1e19, INF, NAN])
    few, high = torch.tensor([[3], [0], [11]]), torch.tensor([1e9, -1e9]).double()
    for base, kinds in FAMILIES.items():
        for kind in kinds:
            f = getattr(torch.special, f"{base}_polynomial_{kind}")
            yield (
                f"{base}_polynomial_{kind} of degrees",
                lambda x, n, k, f=f: (
                    f(x[:, None].double(), n),
                    f(x[:, None], n[:11].int()),
                    f(0.3, n.double()),
                    f(2, k),
                    f(x[3], k[0, 0]),
                    f(x[:4].half(), k.float()),
                    f(x[:0], k),
                    f((x > 0)[:3], k),
                ),
                (x, n, few),
            )
    yield (
        "polynomials of high degrees",
        lambda x, n: (
            torch.special.chebyshev_polynomial_t(x[:, None], n),
            torch.special.shifted_chebyshev_polynomial_w(x[1:3, None], n),
            torch.special.hermite_polynomial_he(x[:, None], n),
            torch.special.legendre_polynomial_p(x[1:3, None], n),
            torch.special.laguerre_polynomial_l(x[:1, None], n),
            torch.special.chebyshev_polynomial_w(x, 600),
            torch.special.legendre_polynomial_p(x[:5], 700.5),
        ),
        (ENDS.double(), high),
    )


def windows():
    """Sums of no, one and more numbers; halves have to be equal, so they are compared as
    float32."""

    def made(dtype):
        for n in (0, 1, 2, 7, 400):
            yield torch.hann_window(n, dtype=dtype)
            yield torch.bartlett_window(n, dtype=dtype)
            yield torch.blackman_window(n, dtype=dtype)
            yield torch.kaiser_window(n, dtype=dtype)
            for periodic in (True, False):
                yield torch.blackman_window(n, periodic, dtype=dtype)
                yield torch.kaiser_window(n, periodic, dtype=dtype)
                yield torch.kaiser_window(n, periodic, 5.5, dtype=dtype)
                yield torch.hamming_window(n, periodic, 0.5, dtype=dtype)
                yield torch.hamming_window(n, periodic, 0.6, 0.3, dtype=dtype)

    for dtype in (torch.float32, torch.float64):
        yield f"windows {dtype}", lambda x, d=dtype: (x + 1, *made(d)), (torch.arange(3),)
    for dtype in (torch.float16, torch.bfloat16):
        yield (
            f"windows {dtype}",
            lambda x, d=dtype: (x + 1, *(window.float() for window in made(d))),
            (torch.arange(3),),
        )


def runs():
    x, lengths = torch.randn(7, 3), torch.tensor([2, 0, 4, 1])
    yield (
        "segment_reduce",
        lambda x, n: tuple(
            torch.segment_reduce(x, how, lengths=n, initial=initial)
            for how in ("sum", "mean", "max", "min", "prod")
            for initial in (None, 1.5)
        ),
        (x, lengths),
    )


def cases():
    """name, function, inputs"""
    x, ends = torch.randn(4, 6), torch.tensor([0.0, 2.09, -2.09, 8.4, 104.0, INF, -INF, NAN])
    yield from polynomials()
    yield from degrees()
    yield from windows()
    yield from runs()
    wide = torch.cat([torch.linspace(-30, 15, 91), ends])
    yield (
        "airy_ai",
        lambda x, y: (torch.special.airy_ai(x), torch.special.airy_ai(y)),
        (wide.double(), wide),
    )
    yield (
        "zeta number",
        lambda x: (torch.special.zeta(x.abs() + 2, 2), torch.special.zeta(3.0, x.abs() + 0.5)),
        (x,),
    )
    yield (
        "as_strided_scatter",
        lambda x, y: torch.as_strided_scatter(x, y, (2, 3), (6, 2), 1),
        (x, torch.randn(2, 3)),
    )
    yield (
        "chunk_cat",
        lambda x, y: torch.ops.aten._chunk_cat([x, y], 0, 3),
        (torch.randn(5, 2, 2), torch.randn(4, 3)),
    )
    yield (
        "native_batch_norm",
        lambda x, m: (
            torch.ops.aten.native_batch_norm(x, None, m, m, m.exp(), False, 0.1, 1e-5)[0],
            torch.ops.aten.native_batch_norm(x, m, None, None, None, True, 0.1, 1e-5),
        ),
        (x, torch.randn(6)),
    )
    yield "nonzero_static nowhere", lambda x: torch.nonzero_static(x[0, 0], size=2) + 1, (x,)
