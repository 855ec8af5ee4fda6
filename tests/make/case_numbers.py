"""Elements of a tensor as text, for .case files: numbers that a reviewer can read where there are
few, else base64 of their bytes. tests/kernels/kernel_case.h describes both."""

import base64
import math

import numpy
import torch

ELEMENTS_MAX = 32
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(t):
    return t.view(BITS[t.element_size()]).item()


def read_back(text, dtype):
    """The float that the reader makes of a number."""
    if dtype == torch.float64:
        return torch.tensor(float(text), dtype=dtype)
    if text in ("nan", "-nan"):
        single = math.copysign(math.nan, -1 if text[0] == "-" else 1)
    else:
        single = float(numpy.float32(text))
    return torch.tensor(single, dtype=torch.float32).to(dtype)


def float_text(t):
    """The shortest decimal that is read back as the same bits; None if no decimal is."""
    value = t.double().item()
    if math.isnan(value):
        is_half = t.element_size() == 2  # the reader has one NaN for these
        sign = "" if bits(t) >= 0 else None if is_half else "-"
        candidates = [] if sign is None else [f"{sign}nan"]
    elif math.isinf(value):
        candidates = ["inf" if value > 0 else "-inf"]
    else:
        candidates = (f"{value:.{digits}g}" for digits in range(1, 18))
    return next((text for text in candidates if bits(read_back(text, t.dtype)) == bits(t)), None)


def element_text(t):
    if t.dtype in FLOATS:
        return float_text(t)
    if t.dtype.is_floating_point:
        return None
    if t.dtype == torch.bool:
        number = t.view(torch.uint8).item()
        return str(number) if number < 2 else None
    return str(t.item())


def data_text(flat):
    """Elements in the order of memory: "[1 -0 nan]", "-" for none, or base64."""
    if not flat.numel():
        return "-"
    if flat.numel() <= ELEMENTS_MAX:
        parts = flat.view(PARTS[flat.dtype]) if flat.dtype in PARTS else flat
        numbers = [element_text(part) for part in parts]
        if None not in numbers:
            return f"[{' '.join(numbers)}]"
    return base64.b64encode(bytes(flat.view(torch.uint8).numpy().tobytes())).decode()
