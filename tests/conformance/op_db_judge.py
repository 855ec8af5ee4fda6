"""Compares results with PyTorch's, by the tolerances of torch.testing. A result may also be as
close to the numbers in double precision as PyTorch's own is. For random results only shape and type
are compared, and for factorisations their products."""

import op_db_factors
import op_db_samples
import torch

# A result may be so many times as far from the exact one as PyTorch's is, and some ulps. A result
# that is so many times as far from it as half of PyTorch's elements are is a bad one, which excuses
# no other.
TIMES, ULPS, BAD = 4, 8, 100


def same(one, other):
    """Equal bit for bit, but for NaN."""
    if not isinstance(one, torch.Tensor):
        return one == other or (one != one and other != other)
    return one.shape == other.shape and torch.equal(numbers(one), numbers(other))


def numbers(tensor):
    """In double precision, with a number for NaN, so that NaN equals itself."""
    if tensor.dtype.is_complex:
        tensor = torch.view_as_real(tensor.to(torch.complex128))
    return tensor.double().nan_to_num(nan=1.2345e300, posinf=float("inf"), neginf=-float("inf"))


def is_close(got, want):
    try:
        torch.testing.assert_close(got, want, equal_nan=True, check_stride=False)
    except AssertionError as error:
        return False, str(error)
    return True, ""


def doubled(tensor):
    if tensor.dtype.is_complex:
        return tensor.to(torch.complex128)
    return tensor.double() if tensor.dtype.is_floating_point else tensor


def in_doubles(case, inputs):
    try:
        return case.eager([doubled(x) for x in inputs])
    except Exception:
        return None


def is_as_exact(got, want, exact):
    if not (want.dtype.is_floating_point or want.dtype.is_complex) or got.shape != exact.shape:
        return False
    got, eps = numbers(got), torch.finfo(want.dtype).eps
    want, exact = numbers(want), numbers(exact)
    unequal = (got != want) & ~((got - want).abs() <= eps)
    ours, theirs = (got - exact).abs(), (want - exact).abs()
    theirs = theirs.nan_to_num(nan=0.0, posinf=0.0)
    allowed = TIMES * theirs.maximum(usual(theirs)) + ULPS * eps * exact.abs().clamp(min=1)
    return not (unequal & ~(ours <= allowed)).any()


def usual(distances):
    """The largest one but for bad elements."""
    far = distances[distances > 0]
    return far[far <= BAD * far.median()].max() if far.numel() else torch.tensor(0.0)


def unlike(got, want):
    """Why a value cannot be the other one, whatever its numbers are."""
    if not isinstance(want, torch.Tensor):
        return "" if type(got) is type(want) else f"{got!r} instead of {want!r}"
    if not isinstance(got, torch.Tensor) or got.dtype != want.dtype:
        return f"{getattr(got, 'dtype', got)} instead of {want.dtype}"
    if got.shape != want.shape:
        return f"{list(got.shape)} instead of {list(want.shape)}"
    return ""


def first_difference(got, want):
    apart = (numbers(got) != numbers(want)).reshape(-1)
    place = int(apart.int().argmax()) // (2 if want.dtype.is_complex else 1)
    return f"{got.reshape(-1)[place].item()} instead of {want.reshape(-1)[place].item()} at {place}"


def unequal(case, inputs, got, want):
    """The fault of the first wrong result of one call, if any."""
    again = case.eager(inputs, seed=1)
    exact, remade = None, op_db_factors.remade(case, inputs, want)
    if remade is not None and len(got) == len(want):
        got, want = op_db_factors.remade(case, inputs, got), remade
        again = want
    for k, expected in enumerate(want):
        told = unlike(got[k], expected)
        if told:
            return f"output {k}: {told}"
        is_random = case.info.name in op_db_samples.UNSET or not same(again[k], expected)
        if is_random or same(got[k], expected):
            continue
        if not isinstance(expected, torch.Tensor):
            return f"output {k}: {got[k]!r} instead of {expected!r}"
        close, _ = is_close(got[k], expected)
        if close:
            continue
        exact = exact or exact_of(case, inputs)
        if exact is None or not is_as_exact(got[k], expected, exact[k]):
            return f"output {k}: {first_difference(got[k], expected)}"
    return ""


def exact_of(case, inputs):
    exact = in_doubles(case, inputs)
    return exact and (op_db_factors.remade(case, inputs, exact) or exact)


def difference(case, calls, results):
    """The mistakes in the results of a program's calls; empty if they are PyTorch's."""
    for number, ((inputs, want), got) in enumerate(zip(calls, results, strict=True)):
        if len(got) < len(want):
            return f"call {number}: {len(got)} outputs instead of {len(want)}"
        # Inputs that the program writes come back as outputs before its own.
        told = unequal(case, inputs, got[len(got) - len(want) :], want)
        if told:
            sizes = "" if number == 0 else f" with {[list(x.shape) for x in inputs]}"
            return f"call {number}{sizes}, {told}"
    return ""
