"""Fourier transforms as models use them: each program is lowered with the target executorch and
sconce, run by the official runtime and by this one, and compared with what PyTorch computes."""

import torch
import torch.nn.functional as F

from expanded import Fn, floats, whole

fft = torch.fft
BATCH = torch.export.Dim("batch", min=2, max=9)
FRAMES = torch.export.Dim("frames", min=4, max=40)
SAMPLES = torch.export.Dim("samples", min=64, max=900)


def pairs(z):
    return torch.view_as_real(z.resolve_conj())


def of_pairs(f):
    """Pairs in, pairs out: files of both runtimes then hold real numbers only."""
    return Fn(lambda x: pairs(f(torch.view_as_complex(x * 1.0))))


def times(x, y):
    """The product of complex numbers in pairs."""
    (a, b), (c, d) = x.unbind(-1), y.unbind(-1)
    return torch.stack([a * c - b * d, a * d + b * c], -1)


class Mel(torch.nn.Module):
    """The front end of speech models: a spectrogram on a mel scale, in decibels."""

    def __init__(self, n=400, hop=160, bands=20):
        super().__init__()
        self.n, self.hop = n, hop
        self.register_buffer("window", torch.hann_window(n))
        self.register_buffer("bank", torch.rand(bands, n // 2 + 1))

    def forward(self, x):
        spectrum = pairs(torch.stft(x, self.n, self.hop, window=self.window, return_complex=True))
        power = spectrum.square().sum(-1)
        return (self.bank @ power).clamp(min=1e-10).log10()


class RoundTrip(torch.nn.Module):
    def __init__(self, **how):
        super().__init__()
        self.how = {"n_fft": 64, "hop_length": 16} | how
        self.register_buffer("window", torch.hann_window(self.how.get("win_length", 64)) + 0.1)

    def forward(self, x):
        how = self.how | {"window": self.window}
        return torch.istft(torch.stft(x, return_complex=True, **how), **how)


class Vocoder(torch.nn.Module):
    """Frames between frames: sizes are interpolated, phases are added up, by whole turns."""

    def forward(self, x):
        spectrum = pairs(torch.stft(x, 64, 16, window=torch.ones(64), return_complex=True))
        re, im = spectrum.unbind(-1)
        size, phase = (re.square() + im.square()).sqrt(), torch.atan2(im, re)
        sizes = (size[..., :-1] + size[..., 1:]) / 2
        phases = (phase[..., 1:] - phase[..., :-1]).cumsum(-1)
        made = torch.stack([sizes * phases.cos(), sizes * phases.sin()], -1)
        return torch.istft(torch.view_as_complex(made), 64, 16, window=torch.ones(64))


class SpectralConv(torch.nn.Module):
    """A layer of a Fourier neural operator: a few modes are mixed over channels."""

    def __init__(self, channels=3, modes=4):
        super().__init__()
        self.modes = modes
        shape = (channels, channels, modes, modes, 2)
        self.weight = torch.nn.Parameter(torch.randn(shape) / channels)

    def forward(self, x):
        m = self.modes
        z = pairs(fft.rfft2(x))[:, :, :m, :m]
        (a, b), (c, d) = z.unbind(-1), self.weight.unbind(-1)
        mix = lambda p, q: torch.einsum("bixy,ioxy->boxy", p, q)  # noqa: E731
        made = torch.stack([mix(a, c) - mix(b, d), mix(a, d) + mix(b, c)], -1)
        rest = x.shape[-1] // 2 + 1 - m
        made = F.pad(made, (0, 0, 0, rest, 0, x.shape[-2] - m))
        return fft.irfft2(torch.view_as_complex(made), s=x.shape[-2:])


class LongConv(torch.nn.Module):
    """A filter as long as the sequence, by transforms of twice the length."""

    def __init__(self, channels=3, length=48):
        super().__init__()
        self.filter = torch.nn.Parameter(torch.randn(channels, length) / 8)

    def forward(self, x):
        n = 2 * x.shape[-1]
        made = times(pairs(fft.rfft(x, n=n)), pairs(fft.rfft(self.filter, n=n)))
        return fft.irfft(torch.view_as_complex(made), n=n)[..., : x.shape[-1]]


def transforms():
    x, z, i = floats(2, 6, 8), floats(2, 6, 8, 2), whole(9, 2, 12)
    for name in ("fft", "ifft", "rfft", "ihfft"):
        f = getattr(fft, name)
        lengths = Fn(
            lambda x, f=f: (pairs(f(x)), pairs(f(x, n=11, dim=1)), pairs(f(x, n=5, norm="ortho")))
        )
        yield f"{name} of real numbers", lengths, (x,), None
        yield f"{name} of integers", Fn(lambda x, f=f: pairs(f(x, norm="forward"))), (i,), None
    for name in ("fft", "ifft"):
        f = getattr(fft, name)
        for n in (1, 2, 3, 7, 8, 13):
            yield f"{name} of {n}", of_pairs(lambda x, f=f, n=n: f(x, n=n, dim=-2)), (z,), None
        many = getattr(fft, name + "n")
        yield f"{name}n", of_pairs(lambda x, f=many: f(x, norm="ortho")), (z,), None
        yield f"{name}n s", of_pairs(lambda x, f=many: f(x, s=(7, -1), dim=(2, 0))), (z,), None
        yield (
            f"{name}2 of real numbers",
            Fn(lambda x, f=getattr(fft, name + "2"): pairs(f(x))),
            (x,),
            None,
        )
    for name in ("irfft", "hfft"):
        f = getattr(fft, name)
        inverse = Fn(
            lambda x, f=f: tuple(
                f(torch.view_as_complex(x * 1.0), n=n, dim=d)
                for n, d in ((None, -1), (9, 1), (4, -1), (31, 0))
            )
        )
        yield name, inverse, (z,), None
        yield f"{name} of real numbers", Fn(lambda x, f=f: f(x, norm="forward")), (x,), None
        for of, how in (("2", {"s": (5, 9)}), ("n", {}), ("n", {"s": (4, 7), "dim": (2, 0)})):
            g = getattr(fft, name + of)
            inverse = Fn(lambda x, g=g, how=how: g(torch.view_as_complex(x * 1.0), **how))
            yield f"{name}{of} {how}", inverse, (z,), None
    for name in ("rfft2", "rfftn", "ihfft2", "ihfftn"):
        f = getattr(fft, name)
        yield (
            name,
            Fn(lambda x, f=f: (pairs(f(x)), pairs(f(x, s=(3, 11), norm="ortho")))),
            (x,),
            None,
        )
    shifts = Fn(
        lambda x: (fft.fftshift(x), fft.ifftshift(x[:, :5], dim=(0, 1)), fft.fftshift(x, 1))
    )
    yield "shifts", shifts, (x,), None
    places = Fn(
        lambda x: (
            x + fft.fftfreq(8, 0.5),
            x[..., :7] + fft.fftfreq(7),
            x[..., :5] + fft.rfftfreq(8),
        )
    )
    yield "frequencies", places, (x,), None
    yield "returned complex", Fn(lambda x: pairs(fft.fft(x * 2)) + pairs(fft.fft(x))), (x,), None
    yield (
        "float64",
        Fn(lambda x: (pairs(fft.fft2(x)), fft.irfft(fft.rfft(x)))),
        (x.double(),),
        None,
    )
    yield (
        "prime lengths",
        Fn(lambda x: (pairs(fft.rfft(x)), pairs(fft.fft(x)))),
        (floats(3, 211),),
        None,
    )


def dynamic():
    x = floats(3, 6, 8)
    yield (
        "dynamic batch",
        Fn(lambda x: (pairs(fft.fft(x)), fft.irfft(fft.rfft(x)))),
        (x,),
        ({0: BATCH},),
    )
    chain = Fn(lambda x: fft.irfft(torch.view_as_complex(pairs(fft.rfft(x)) * 0.5), n=8))
    yield "dynamic batch, pairs", chain, (x,), ({0: BATCH},)
    both = Fn(lambda x: pairs(fft.ifft2(torch.view_as_complex(pairs(fft.fft2(x)) * 0.5))))
    yield "dynamic batch, all pairs", both, (x,), ({0: BATCH},)
    yield (
        "dynamic length",
        Fn(lambda x: (pairs(fft.rfft(x)), pairs(fft.rfft(x, n=2 * x.shape[1])))),
        (floats(2, 300),),
        ({1: SAMPLES},),
    )
    yield (
        "dynamic length, all pairs",
        Fn(lambda x: (pairs(fft.fft(x, dim=1)), pairs(fft.fftn(x, dim=(1, 2))), fft.fft2(x).real)),
        (floats(1, 7, 4),),
        ({1: torch.export.Dim("length", max=32)},),
    )
    yield (
        "dynamic signal",
        Mel(64, 16),
        (floats(2, 400),),
        ({1: torch.export.Dim.AUTO(min=64, max=900)},),
    )
    frames = Fn(
        lambda x: torch.istft(torch.view_as_complex(x * 1.0), 64, 16, window=torch.ones(64))
    )
    yield "dynamic frames", frames, (floats(2, 33, 11, 2),), ({2: FRAMES},)


def cases():
    """name: (module or function, inputs, dynamic shapes or None)"""
    yield from transforms()
    yield from dynamic()
    yield "mel", Mel(), (floats(2, 3200),), None
    for name, how in {
        "plain": {},
        "short window": {"win_length": 40},
        "not centred": {"center": False},
        "normalized, whole": {"normalized": True, "onesided": False},
        "longer": {"length": 700},
        "cut": {"length": 500},
    }.items():
        length = how.pop("length", None)
        trip = RoundTrip(**how)
        if length:
            given = lambda x, trip=trip, length=length: torch.istft(  # noqa: E731
                torch.stft(x, 64, 16, window=torch.ones(64), return_complex=True),
                64,
                16,
                window=torch.ones(64),
                length=length,
            )
            trip = Fn(given)
        yield f"there and back, {name}", trip, (floats(2, 640),), None
    edges = {"center": False, "win_length": 20, "hop_length": 7, "align_to_window": True}
    aligned = Fn(
        lambda x: pairs(torch.stft(x, 32, window=torch.ones(20), return_complex=True, **edges))
    )
    yield "stft, aligned to the window", aligned, (floats(200),), None
    for mode in ("reflect", "constant", "replicate"):
        padded = Fn(
            lambda x, mode=mode: pairs(torch.stft(x, 30, pad_mode=mode, return_complex=True))
        )
        yield f"stft, {mode}", padded, (floats(2, 100),), None
    yield "vocoder", Vocoder(), (floats(2, 320),), None
    mixing = Fn(lambda x: pairs(fft.fft(fft.fft(x, dim=-1), dim=-2))[..., 0])
    yield "FNet", mixing, (floats(2, 20, 48),), None
    yield "spectral convolution", SpectralConv(), (floats(2, 3, 12, 10),), None
    yield "long convolution", LongConv(), (floats(2, 3, 48),), None
    yield "long convolution, dynamic batch", LongConv(), (floats(2, 3, 48),), ({0: BATCH},)
