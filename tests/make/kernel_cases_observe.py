"""Observing and comparing, for tests/kernels: the operators of our own, done by PyTorch's observers
and by NumPy's float64. See make_kernel_cases.py."""

import warnings

import torch
from torchao.quantization.pt2e import observer as official

from kernel_case_writer import BF16, F16, F32, F64, INF, NAN, case, fails, family, last, make

HEADER, BINS = 8, 2048
MIN_MAX, MOVING_AVERAGE, HISTOGRAM, CHANNELS = range(4)
COMMON = dict(dtype=torch.int8, quant_min=-128, quant_max=127, eps=2.0**-12)
OBSERVERS = {
    MIN_MAX: official.MinMaxObserver,
    MOVING_AVERAGE: official.MovingAverageMinMaxObserver,
    HISTOGRAM: official.HistogramObserver,
}


def observe_whole(x, state, kind):
    observer = OBSERVERS[kind](qscheme=torch.per_tensor_affine, **COMMON)
    if state[2] > 0:
        observer.min_val.copy_(state[0])
        observer.max_val.copy_(state[1])
        if kind == HISTOGRAM:
            observer.histogram.copy_(state[HEADER:])
    observer(x)
    state[0], state[1] = observer.min_val, observer.max_val
    if kind == HISTOGRAM:
        state[HEADER:] = observer.histogram


def observe_channels(x, state, axis):
    n = x.shape[axis]
    observer = official.PerChannelMinMaxObserver(
        ch_axis=axis, qscheme=torch.per_channel_symmetric, **COMMON
    )
    if state[2] > 0:
        observer.min_val = state[HEADER : HEADER + n].clone()
        observer.max_val = state[HEADER + n :].clone()
    observer(x)
    state[HEADER : HEADER + n], state[HEADER + n :] = observer.min_val, observer.max_val
    state[0], state[1] = observer.min_val.min(), observer.max_val.max()


def observe(self, state, kind, axis=0):
    state = state.clone()
    finite = self.float()[self.float().isfinite()]
    state[3] += self.isnan().sum()
    state[4] += self.isinf().sum()
    if finite.numel() == 0:
        return state
    if kind == CHANNELS:
        observe_channels(self.float(), state, axis)
    else:
        observe_whole(finite, state, kind)
    state[2] += 1
    return state


def observe_error(expected, found, state):
    state = state.clone()
    a, b = expected.double(), found.double()
    same = (a == b) | (a.isnan() & b.isnan())
    finite = (a - b).isfinite()
    odd = ~finite & ~same
    a, b = a[finite], b[finite]
    state[0] += (a * a).sum()
    state[1] += ((b - a) ** 2).sum()
    state[2] = max([state[2].item()] + (b - a).abs().tolist())
    state[3] += same.numel() - odd.sum()
    state[4] += odd.sum()
    return state


LIBRARY = torch.library.Library("sconce", "DEF")
LIBRARY.define("observe(Tensor self, Tensor state, int kind, int axis=0) -> Tensor")
LIBRARY.define("observe_error(Tensor expected, Tensor found, Tensor state) -> Tensor")
LIBRARY.impl("observe", observe, "CompositeExplicitAutograd")
LIBRARY.impl("observe_error", observe_error, "CompositeExplicitAutograd")
OBSERVE, ERROR = torch.ops.sconce.observe.default, torch.ops.sconce.observe_error.default


def seen(kind, *tensors, axis=0):
    size = 2 * tensors[0].shape[axis] if kind == CHANNELS else BINS if kind == HISTOGRAM else 0
    state = torch.zeros(HEADER + size)
    for x in tensors:
        state = observe(x, state, kind, axis)
    return state


def observed():
    x, y = make((1, 3, 2, 4), F32), make((1, 3, 2, 4), F32, -6, 5)
    for kind in (MIN_MAX, MOVING_AVERAGE):
        case(OBSERVE, x, torch.zeros(HEADER), kind)
        case(OBSERVE, last(y), seen(kind, x), kind)
        for dtype in (F16, BF16):
            case(OBSERVE, y.to(dtype), seen(kind, x), kind)
        case(OBSERVE, torch.tensor(-7.5), seen(kind, x), kind)
        case(OBSERVE, torch.empty(0, 3), seen(kind, x), kind)
        odd = torch.tensor([1.0, NAN, INF, -9.0, -INF, NAN, NAN])
        case(OBSERVE, odd, seen(kind, x), kind)
        case(OBSERVE, torch.tensor([INF, NAN]), torch.zeros(HEADER), kind)


def counted():
    many = make((2, 300), F32)
    case(OBSERVE, many, torch.zeros(HEADER + BINS), HISTOGRAM)
    case(OBSERVE, last(make((1, 3, 4, 5), F32, -6, 2)), seen(HISTOGRAM, many), HISTOGRAM)
    case(OBSERVE, make((40,), F16), seen(HISTOGRAM, many), HISTOGRAM)
    odd = torch.tensor([1.0, NAN, INF, 9.0, -INF], dtype=BF16)
    case(OBSERVE, odd, seen(HISTOGRAM, torch.tensor(2.0)), HISTOGRAM)


def per_channel():
    x, y = make((2, 3, 2, 4), F32), make((2, 3, 2, 4), F32, -6, 5)
    for axis in (0, 1, 3, -2):
        n = HEADER + 2 * x.shape[axis]
        case(OBSERVE, x, torch.zeros(n), CHANNELS, axis)
        case(OBSERVE, last(y), seen(CHANNELS, x, axis=axis), CHANNELS, axis)
    case(OBSERVE, y.to(F16), seen(CHANNELS, x, axis=1), CHANNELS, 1)
    case(OBSERVE, torch.empty(3, 0), seen(CHANNELS, make((3, 2), F32)), CHANNELS)


def compared():
    a, zeros = make((2, 3, 2, 4), F32), torch.zeros(5, dtype=F64)
    b = a + make((2, 3, 2, 4), F32, -1, 1) / 8
    case(ERROR, a, b, zeros, tol=(1e-12, 0))
    case(ERROR, a, last(b), observe_error(a, a * 2, zeros), tol=(1e-12, 0))
    case(ERROR, a.to(F16), b.to(BF16), zeros, tol=(1e-12, 0))
    case(ERROR, torch.empty(0), torch.empty(0), zeros)
    odd = torch.tensor([NAN, INF, -INF, INF, 1.0, NAN, 2.0])
    found = torch.tensor([NAN, INF, INF, 3.0, INF, 0.5, 2.5])
    case(ERROR, odd, found, zeros)


def refused():
    x, state = make((2, 3), F32), torch.zeros(HEADER)
    fails(OBSERVE, "shape", [torch.zeros(9)], x, torch.zeros(9), MIN_MAX)
    fails(OBSERVE, "shape", [state], x, state, HISTOGRAM)
    fails(OBSERVE, "shape", [state], x, state, CHANNELS, 1)
    fails(OBSERVE, "argument", [state], x, state, 4)
    fails(OBSERVE, "argument", [state], x, state, -1)
    fails(OBSERVE, "argument", [state], torch.tensor(1.0), state, CHANNELS)
    for low, high in ((NAN, 1.0), (2.0, 1.0), (-INF, 1.0), (0.0, NAN)):
        wrong = torch.tensor([low, high, 1.0, 0, 0, 0, 0, 0])
        fails(OBSERVE, "argument", [state], x, wrong, MIN_MAX)
    zeros = torch.zeros(5, dtype=F64)
    fails(ERROR, "shape", [zeros], x, x.t().contiguous(), zeros)
    fails(ERROR, "shape", [torch.zeros(4, dtype=F64)], x, x, torch.zeros(4, dtype=F64))


@family
def observing():
    warnings.filterwarnings("ignore")
    observed()
    counted()
    per_channel()
    compared()
    refused()

