"""Writes tests/quant/observers.txt: tensors, what PyTorch's observers keep after each of them, and
what they make of it in the end. Run with a Python that has torch and torchao:

    python tests/make/make_observer_data.py tests/quant/observers.txt
    python tests/make/make_observer_data.py FILE --random 200   # that many made-up ones instead
"""

import usage  # noqa: F401
import argparse
import math
import random
import warnings

import torch
from torchao.quantization.pt2e import observer as official

from quant_numbers import MAKERS, bits, digest, given, lines, make

warnings.filterwarnings("ignore")
EPS, INF = 2.0**-12, math.inf


# --- Observers ------------------------------------------------------------------------------------

COMMON = dict(dtype=torch.int8, quant_min=-128, quant_max=127, eps=EPS)
KINDS = {
    "min_max": lambda: official.MinMaxObserver(qscheme=torch.per_tensor_affine, **COMMON),
    "moving_average": lambda: official.MovingAverageMinMaxObserver(
        qscheme=torch.per_tensor_affine, **COMMON
    ),
    "histogram": lambda: official.HistogramObserver(qscheme=torch.per_tensor_affine, **COMMON),
    "channels": lambda: official.PerChannelMinMaxObserver(
        qscheme=torch.per_channel_symmetric, **COMMON | dict(quant_min=-127)
    ),
}


def told(observer, low, high):
    """Scale and zero point of both schemes."""
    own = observer.qscheme, observer.quant_min
    observer.qscheme, observer.quant_min = torch.per_tensor_affine, -128
    scale, zero = observer._calculate_qparams(low, high)
    observer.qscheme, observer.quant_min = torch.per_tensor_symmetric, -127
    even, _ = observer._calculate_qparams(low, high)
    observer.qscheme, observer.quant_min = own
    lines.append(
        f"found {bits(low)} {bits(high)} {bits(scale)} {int(zero)} {bits(even)}"
    )


def found(kind, observer):
    if kind == "channels":
        for low, high in zip(observer.min_val, observer.max_val):
            told(observer, low, high)
    elif kind == "histogram":
        told(observer, *observer._non_linear_param_search())
    else:
        told(observer, observer.min_val, observer.max_val)


def sequence(name, kind, *tensors, channels=0):
    """`tensors` are functions, called in order so that their lines come in order."""
    observer = KINDS[kind]()
    lines.append(f"sequence {name} {kind} {channels}")
    for tensor in tensors:
        t = tensor()
        observer(t.reshape(channels, -1) if channels else t)
        if channels:
            state = torch.cat([observer.min_val, observer.max_val])
            low, high = observer.min_val.min(), observer.max_val.max()
        else:
            state = observer.histogram if kind == "histogram" else torch.tensor([])
            low, high = observer.min_val, observer.max_val
        if math.isinf(low):
            lines.append("state none")
        else:
            lines.append(f"state {bits(low)} {bits(high)} {digest(state.detach())}")
    if not math.isinf(low):
        found(kind, observer)


def M(*args):
    return lambda: make(*args)


def V(*values):
    return lambda: given(*values)


# --- The sequences --------------------------------------------------------------------------------


def histograms():
    def s(name, *tensors):
        sequence(name, "histogram", *tensors)

    bell = M("bell", 3000, 7, 0.1, 1.5)
    s("once", bell)
    s("same_range_again", M("bell", 3000, 7, 0.0, 1.0), M("steps", 900, 3, -0.5, 0.125))
    s("growing", *[M("bell", 1000, k, 0.1 * k, 1.0 + 0.3 * k) for k in range(6)])
    s("growing_below", *[M("uniform", 700, k, -1.0 - k, 2.0) for k in range(4)])
    s("growing_a_little", M("uniform", 2000, 1, -1.0, 1.0), V(-1.0001, 1.00003, 0.2))
    much = M("uniform", 2000, 1, -1.0, 1.0), V(-1000.0, 5e6), M("cubed", 500, 5, 0.0, 9.0)
    s("growing_much", *much)
    s("shared", bell, bell, bell, bell)
    s("positive", M("positive", 4000, 11, 0.0, 1.0), M("positive", 4000, 12, 0.2, 2.0))
    s("outliers", M("cubed", 6000, 2, 0.0, 20.0), V(90.0), M("cubed", 6000, 3, 0.0, 20.0))
    rare = M("cubed", 9000, 21, 0.0, 1.0), V(300.0, -200.0), M("bell", 9000, 22, 0.0, 0.3)
    s("deep_search", *rare)
    s("large", M("bell", 120000, 31, 0.3, 2.0), M("bell", 120000, 32, 0.3, 2.2))
    s("quantiles", M("cubed", 150000, 33, 0.5, 4.0))
    s("steps", M("steps", 1000, 5, -3.0, 0.75), M("steps", 1000, 6, -4.0, 0.75))
    s("constant", V(*[2.5] * 10))
    s("number", V(2.0))
    s("number_again", V(2.0), V(2.0), V(2.0))
    s("negative_number", V(-3.0))
    s("zeros", V(*[0.0] * 40), V(*[-0.0] * 3))
    s("zeros_then_more", V(*[0.0] * 40), M("uniform", 500, 4, -1.0, 2.0))
    s("point_grows", V(1.5, 1.5), V(1.5, 3.0), V(-1.0))
    s("point_at_the_end", V(3.0, 3.0, 3.0), V(1.0, 2.0, 3.0))
    s("point_inside", V(0.3), V(-7.0, 0.5))
    s("tiny_range", V(1.0, 1.0000001, 1.0000002), V(1.0000004))
    s("tiny_numbers", V(1e-30, -2e-30, 3e-31), V(4e-30))
    s("subnormal", V(1e-42, 3e-42, -2e-42), V(5e-42))
    s("far_from_0", M("uniform", 300, 8, 1e6, 1.00002e6), M("uniform", 300, 9, 1e6, 1.00003e6))
    s("large_numbers", V(1e15, -3e15, 2e14), V(1e16))
    s("infinite", V(INF, 1.0, -2.0, -INF, 0.5), V(INF, 0.0), V(0.25, 3.0))
    s("only_infinite", V(INF, -INF), V(-INF))
    s("infinite_at_first", V(-INF, -INF), V(1.0, 2.0))
    s("mask", V(0.0, -INF, 0.0, -INF), V(0.0, -INF))
    s("empty", V(), V(1.0, 2.0, 4.0), V())
    s("nothing", V())
    s("two", V(-1.0, 1.0))
    s("range_below_0", M("uniform", 900, 41, -9.0, -4.0), M("uniform", 900, 42, -9.5, -4.0))


def ranges():
    for kind in ("min_max", "moving_average"):
        sequence("growing", kind, *[M("bell", 50, k, 0.1 * k, 1.0 + 0.3 * k) for k in range(9)])
        sequence("constant", kind, V(2.5, 2.5), V(2.5))
        sequence("zeros", kind, V(0.0, 0.0), V(0.0))
        sequence("tiny", kind, V(1e-20, -1e-30), V(1e-21))
        sequence("empty", kind, V(), V(-1.0, 4.0), V())
        sequence("nothing", kind, V())
        sequence("large", kind, V(3e38, -1.0), V(-5.0, 1.0))
    for name, count in (("channels", 5), ("one", 1)):
        tensors = [M("bell", 60 * count, k, 0.2, 1.0 + k) for k in range(3)]
        sequence(name, "channels", *tensors, channels=count)
    sequence("channels_of_0", "channels", V(0.0, 0.0, 1e-9, 0.0, -1.0, -2.0), channels=3)


def made_up(count):
    rng = random.Random(20)
    for i in range(count):
        tensors = []
        spread, middle = 10 ** rng.uniform(-4, 4), rng.choice([0.0, 0.0, 1.0, -3.0])
        for _ in range(rng.randint(1, 8)):
            a = middle + spread * rng.uniform(-1, 1) * rng.choice([0, 0.1, 1])
            b = spread * 10 ** rng.uniform(-0.5, 0.8)
            size = int(10 ** rng.uniform(0, 4.3))
            tensors.append(M(rng.choice(list(MAKERS)), size, rng.randrange(2**32), a, a + b))
            if rng.random() < 0.1:
                tensors.append(V(*[rng.gauss(0, spread * 10) for _ in range(3)]))
        sequence(f"random_{i}", "histogram", *tensors)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--random", type=int)
    options = parser.parse_args()
    if options.random:
        made_up(options.random)
    else:
        histograms()
        ranges()
    with open(options.file, "w") as f:
        f.write("\n".join(lines) + "\n")
