"""Writes tests/data/floats/digests.json: what PyTorch's small floats are as numbers, and which of
them numbers become, by SHA-256. Run with a Python that has torch:

    python tests/make/make_float_digests.py tests/data/floats/digests.json
"""

import usage  # noqa: F401
import argparse
import hashlib
import json

import numpy as np
import torch

NAMES = [
    "float16",
    "bfloat16",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e5m2fnuz",
    "float8_e4m3fnuz",
]
# Low halves of float32 numbers: at ties of both sizes and next to them.
LOWS = [0, 1, 0xFFFF] + [(1 << bit) + by for bit in range(12, 16) for by in (-1, 0, 1)]


def decoded(dtype, word):
    """The numbers of all bit patterns, with one NaN."""
    codes = np.arange(1 << (8 * dtype.itemsize)).astype(word)
    numbers = torch.from_numpy(codes).view(dtype).float().numpy().copy()
    numbers.view(np.uint32)[np.isnan(numbers)] = 0x7FC00000
    return hashlib.sha256(numbers.tobytes()).hexdigest()


def encoded(dtype, word):
    """The bits of float32 numbers, those with each low half one after the other."""
    digest = hashlib.sha256()
    for low in LOWS:
        numbers = ((np.arange(65536, dtype=np.uint32) << 16) | low).view(np.float32)
        numbers = torch.from_numpy(numbers[~np.isnan(numbers)].copy())
        digest.update(numbers.to(dtype).view(word).numpy().tobytes())
    return digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    args = parser.parse_args()
    found = {}
    for name in NAMES:
        dtype = getattr(torch, name)
        is_byte = dtype.itemsize == 1
        found[name] = {
            "decoded": decoded(dtype, np.uint8 if is_byte else np.uint16),
            "encoded": encoded(dtype, torch.uint8 if is_byte else torch.uint16),
        }
    with open(args.file, "w") as file:
        json.dump(found, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
