"""Tensors as tests/quant holds them, as numbers or as the recipe for them, which
tests/quant/numbers.h follows too; results as digests."""
import math
import struct

import torch

lines = []


def bits(x):
    return struct.pack(">f", float(x)).hex()


def digest(values):
    """FNV-1a of the bytes."""
    h = 0xCBF29CE484222325
    for byte in values.detach().contiguous().view(torch.uint8).numpy().tobytes():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return f"{h:016x}"


class Numbers:
    def __init__(self, seed):
        self.state = seed

    def __call__(self):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 8) / 2**24


def cubed(u, a, b):
    v = 2 * u() - 1
    return a + b * (v * v * v)


MAKERS = {
    "uniform": lambda u, a, b: a + (b - a) * u(),
    "cubed": cubed,
    "bell": lambda u, a, b: a + b * (u() + u() + u() + u() - 2),
    "steps": lambda u, a, b: a + b * math.floor(8 * u()),
    "positive": lambda u, a, b: max(0.0, a + b * (u() + u() + u() + u() - 2)),
}


def make(kind, count, seed, a, b):
    u = Numbers(seed)
    values = [MAKERS[kind](u, a, b) for _ in range(count)]
    lines.append(f"make {kind} {count} {seed} {a!r} {b!r}")
    return torch.tensor(values, dtype=torch.float64).float()


def given(*values):
    lines.append(" ".join(["values"] + [bits(v) for v in values]))
    return torch.tensor(values, dtype=torch.float32)
