"""Operators of every family on every dtype, exported one by one. Lowering refuses a program with
the line of Python that it cannot execute, or this runtime gives PyTorch's numbers; nothing lowers
and then fails when it runs, unless PyTorch fails too. Calls that are refused although PyTorch has
numbers are listed in dtypes_refused.txt, so that a loss is noticed; to write the list again:

    python tests/conformance/dtypes.py
"""

import json
import logging
import subprocess
import tempfile
import warnings
from pathlib import Path

import torch
from torch.nn import functional as nn

DTYPES = {str(dtype).split(".")[1]: dtype for dtype in (
    torch.uint8, torch.int16, torch.int64, torch.bool, torch.uint32,
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
    torch.complex32, torch.complex64, torch.float8_e5m2, torch.float8_e4m3fn,
)}  # fmt: skip
MIXED = [
    ("float32", "complex64"), ("complex64", "float32"), ("complex32", "complex64"),
    ("uint8", "int16"), ("int64", "float32"), ("float16", "float32"), ("bfloat16", "float16"),
    ("bool", "int64"), ("uint32", "int64"), ("float32", "float8_e4m3fn"),
]  # fmt: skip
MASK, ROWS = torch.tensor([[True, False, True]]), torch.tensor([1, 0])
ONE = {
    "add a number": lambda x: x + 2,
    "halve": lambda x: x / 2,
    "negate": lambda x: -x,
    "absolute": lambda x: x.abs(),
    "sine": lambda x: x.sin(),
    "round": lambda x: x.round(),
    "invert": lambda x: ~x,
    "not finite": lambda x: x.isnan(),
    "clamp": lambda x: x.clamp(1, 3),
    "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean(1),
    "product": lambda x: x.prod(),
    "maximum": lambda x: x.amax(1),
    "variance": lambda x: x.var(1),
    "running sum": lambda x: x.cumsum(1),
    "sorted": lambda x: x.sort(1).values,
    "any": lambda x: x.any(1),
    "softmax": lambda x: x.softmax(1),
    "normalised": lambda x: nn.layer_norm(x, (3,)),
    "matrices": lambda x: x @ x.t(),
    "convolved": lambda x: nn.conv1d(x[None], x[None, :, :2]),
    "pooled": lambda x: nn.avg_pool2d(x[None], 2),
    "resized": lambda x: nn.interpolate(x[None, None], scale_factor=2.0, mode="bilinear"),
    "gelu": lambda x: nn.gelu(x),
    "padded": lambda x: nn.pad(x, (1, 1), value=2),
    "filled": lambda x: torch.full_like(x, 3),
    "masked": lambda x: x.masked_fill(MASK, 1),
    "turned": lambda x: x.flip(1).t().contiguous().reshape(6)[1:],
    "picked": lambda x: x[ROWS].gather(1, ROWS[None]),
    "put": lambda x: x.index_put((ROWS,), x),
    "added up": lambda x: x.index_put((ROWS,), x, accumulate=True),
    "scattered": lambda x: x.scatter(1, ROWS[None], 2),
    "joined": lambda x: torch.cat([x, x.roll(1, 0)], 1),
    "spectrum": lambda x: torch.view_as_real(torch.fft.rfft(x)),
    "filtered": lambda x: torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(x), n=3),
    "parts": lambda x: torch.view_as_real(x).sum(-1),
}
TWO = {
    "plus": lambda x, y: x + y,
    "times": lambda x, y: x * y,
    "over": lambda x, y: x / y,
    "modulo": lambda x, y: x % (y + 1),
    "power": lambda x, y: x**y,
    "less": lambda x, y: x < y,
    "equal": lambda x, y: x == y,
    "bits": lambda x, y: x & y,
    "both": lambda x, y: torch.logical_and(x, y),
    "greater of": lambda x, y: torch.maximum(x, y),
    "either": lambda x, y: torch.where(MASK, x, y),
    "beside": lambda x, y: torch.cat([x, y]),
    "cast": lambda x, y: x.to(y.dtype),
    "copied": lambda x, y: x.clone().copy_(y),
}
REFUSED = Path(__file__).with_name("dtypes_refused.txt")
TOLERANCES = {
    torch.float16: 4e-3, torch.complex32: 8e-3, torch.bfloat16: 2e-2, torch.float64: 1e-9,
    torch.complex128: 1e-9, torch.float32: 2e-5, torch.complex64: 2e-5,
}  # fmt: skip


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *operands):
        return self.function(*operands)


def operand(dtype):
    numbers = torch.randint(1, 6, (2, 3))
    if dtype.is_complex:
        return torch.complex(numbers / 4, torch.rand(2, 3)).to(dtype)
    return (numbers / 4).to(dtype) if dtype.is_floating_point else numbers.to(dtype)


def recorded(tensor):
    data = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    return {
        "dtype": str(tensor.dtype).split(".")[1],
        "shape": list(tensor.shape),
        "data": bytes(data.numpy()).hex(),
    }


def combinations():
    for name, function in ONE.items():
        for dtype in DTYPES:
            yield name, function, (dtype,)
    for name, function in TWO.items():
        for pair in [*((dtype, dtype) for dtype in DTYPES), *MIXED]:
            yield name, function, pair
    for dtype in DTYPES:
        yield "cast", TWO["cast"], ("float32", dtype)
        yield "cast", TWO["cast"], (dtype, "float32")


def export(folder):
    """The export of a program: a file and its expected result, or None if PyTorch refuses."""
    cases = []
    for number, (name, function, dtypes) in enumerate(combinations()):
        torch.manual_seed(number)
        operands = tuple(operand(DTYPES[dtype]) for dtype in dtypes)
        try:
            program = torch.export.export(Program(function), operands, strict=False)
        except Exception:
            continue
        try:
            expected = function(*(x.clone() for x in operands))
        except Exception:
            expected = None
        path = Path(folder) / f"{number}.pt2"
        torch.export.save(program, path)
        inputs = [recorded(x) for x in operands]
        cases.append(({"path": str(path), "inputs": inputs}, " ".join([name, *dtypes]), expected))
    return cases


def is_close(actual, expected):
    got = torch.frombuffer(bytearray.fromhex(actual["data"]), dtype=expected.dtype)
    if actual["shape"] != list(expected.shape):
        return False
    tolerance = TOLERANCES.get(expected.dtype, 0)
    wide = torch.complex128 if expected.dtype.is_complex else torch.float64
    if not tolerance:
        return recorded(expected)["data"] == actual["data"]
    a, b = got.to(wide), expected.reshape(-1).to(wide)
    return torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def fault(answer, expected):
    """The fault of an answer, or None."""
    if "refused" in answer:
        told = answer["refused"]
        if told["code"] not in ("dtype", "unsupported", "unsupported_op", "mismatch"):
            return f"refused with {told['code']}: {told['message']}"
        if told["code"] == "dtype" and not (told["hint"] and "dtypes.py" in told["source"]):
            return f"refused without a line or a hint: {told}"
        return None
    if "failed" in answer:
        return None if expected is None and answer["failed"] != "dtype" else f"{answer}"
    if expected is None:
        return None  # PyTorch has no numbers
    actual = answer["outputs"][0]
    if actual["dtype"] != str(expected.dtype).split(".")[1] or not is_close(actual, expected):
        return f"{actual} instead of {recorded(expected)}"
    return None


def judged(folder):
    """The cases and the result of each."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    cases = export(folder)
    listing = Path(folder) / "cases.json"
    listing.write_text(json.dumps([case for case, _, _ in cases]))
    script = Path(__file__).with_name("dtypes.mjs")
    done = subprocess.run(["node", script, listing], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(zip(json.loads(done.stdout), cases, strict=True))


def missed(results):
    """Titles of what is refused though PyTorch has numbers."""
    return {
        title
        for answer, (_, title, expected) in results
        if "refused" in answer and expected is not None
    }


def main(folder):
    results = judged(folder)
    faults = [
        f"{title}: {wrong}"
        for answer, (_, title, expected) in results
        if (wrong := fault(answer, expected))
    ]
    now, known = missed(results), set(REFUSED.read_text().splitlines())
    faults += [f"{title}: refused, and not in {REFUSED.name}" for title in sorted(now - known)]
    faults += [f"{title}: not refused, but in {REFUSED.name}" for title in sorted(known - now)]
    right = sum("outputs" in answer for answer, _ in results)
    refused = sum("refused" in answer for answer, _ in results)
    assert right > 300 and refused > 100 and not faults, "\n".join(faults)
    return f"{right} run, {refused} refused"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        REFUSED.write_text("".join(f"{title}\n" for title in sorted(missed(judged(folder)))))
