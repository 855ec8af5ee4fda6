"""Factors may differ by signs and phases, and equals may come in any order:
they are compared by what they make again."""

import torch


def scaled(left, diagonal, right):
    return (left * diagonal.unsqueeze(-2).to(left.dtype)) @ right


def of_svd(inputs, results):
    if len(results) != 3:
        return None
    u, s, v = results
    k = s.shape[-1]
    return [scaled(u[..., :k], s, v[..., :k, :]), s, gram(u), gram(v.mH)]


def of_old_svd(inputs, results):
    if len(results) != 3 or results[0].shape[-1] == 0:
        return None
    u, s, v = results
    k = s.shape[-1]
    return [scaled(u[..., :k], s, v[..., :k].mH), s, gram(u), gram(v)]


def gram(basis):
    return basis.mH @ basis


def of_eigh(inputs, results):
    values, vectors = results
    return [values, scaled(vectors, values, vectors.mH), gram(vectors)]


def sorted_values(values):
    """Eigenvalues have no order: by real part, then by the other."""
    real, imag = values.real, values.imag
    key = (real.double() * 1e3).round() * 1e6 + imag.double()
    return values.gather(-1, key.argsort(-1))


def of_eig(inputs, results):
    values, vectors = results
    matrix = inputs[0].to(vectors.dtype)
    apart = matrix @ vectors - vectors * values.unsqueeze(-2)
    return [sorted_values(values), apart.abs() < 1e-3, vectors.norm(dim=-2)]


def of_eigvals(inputs, results):
    return [sorted_values(results[0])]


def of_qr(inputs, results):
    q, r = results
    return [r.abs()] if q.numel() == 0 else [q @ r, gram(q), r.abs()]


def stand(tensor, places, values):
    """True if the values are at these places, along any dim."""
    if tensor.dim() == 0:
        return True
    for dim in range(tensor.dim()):
        shape = [*tensor.shape[:dim], -1, *tensor.shape[dim + 1 :]]
        try:
            found = tensor.gather(dim, places.reshape(shape))
        except RuntimeError:
            continue
        pairs = zip(found.reshape(-1).tolist(), values.reshape(-1).tolist(), strict=True)
        if all(x == y or (x != x and y != y) for x, y in pairs):
            return True
    return False


def of_values(inputs, results):
    """Any of several equals may be chosen or come first: the places are right if the values stand
    there."""
    values, places = results
    return [values, torch.tensor(stand(inputs[0], places, values))]


REMADE = {
    "sort": of_values,
    "topk": of_values,
    "mode": of_values,
    "median": of_values,
    "kthvalue": of_values,
    "svd": of_old_svd,
    "linalg.svd": of_svd,
    "linalg.eigh": of_eigh,
    "linalg.eig": of_eig,
    "linalg.eigvals": of_eigvals,
    "linalg.qr": of_qr,
    "qr": of_qr,
}


def remade(case, inputs, results):
    """The tensors to compare for this operator's results, or None: the results themselves."""
    make = REMADE.get(case.info.name)
    try:
        return make and make(inputs, [torch.as_tensor(x) for x in results])
    except (RuntimeError, ValueError, IndexError):
        return None
