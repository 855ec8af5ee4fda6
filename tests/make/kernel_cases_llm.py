"""Kernel cases of ExecuTorch's libraries for language models."""

import torch
from kernel_case_writer import *  # noqa: F403
from kernel_case_writer import header, lines


def libraries():
    """Raises ImportError without ExecuTorch, and then the cases stay as they are."""
    import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401
    import executorch.kernels.quantized  # noqa: F401
    from executorch.extension.llm.custom_ops import op_fallback, op_tile_crop_aot  # noqa: F401


class Renamed:
    """An operator under the name of the row that has its kernel."""

    def __init__(self, op, name):
        self.op, self.name, self._schema = op, name, op._schema

    def __str__(self):
        return self.name


def writes(op, name, written, *args, result=None, tol=None, tag=""):
    """A call that writes the arguments of these indices; its result is open if there is none."""
    before = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
    found = op(*args)
    header(Renamed(op, name), before, {}, tag)
    if tol:
        lines.append(f"tol {tol[0]} {tol[1]}")
    if result is None:
        dtype = tensor_text(args[0]).split()[0]
        lines.append(f"u {dtype} 1 - [0]")
    else:
        lines.append("o " + tensor_text(found))
    lines.extend("m " + tensor_text(args[i]) for i in written)


def refuses(op, name, slug, *args):
    header(Renamed(op, name), list(args), {}, "bad")
    lines.append(f"fails {slug}")
    lines.append("u " + tensor_text(args[0]))


def caches():
    llama = torch.ops.llama
    update, indexed = llama.update_cache.default, llama.update_cache_with_indices.default
    for dtype in (F32, F16, BF16, I8, F64):
        for batch, rows, start in ((1, 2, 0), (1, 1, 6), (2, 3, 2)):
            value, cache = make((batch, rows, 2, 4), dtype), make((batch, 7, 2, 4), dtype)
            writes(update, "sconce::update_cache_", [1], value, cache, start)
            indices = torch.stack([torch.randperm(7)[:rows] for _ in range(batch)])
            writes(indexed, "sconce::update_cache_with_indices_", [1], value, cache, 3, indices)
    value, cache = make((1, 2, 1, 3), F32), make((1, 4, 1, 3), F32)
    same = torch.tensor([[1, 1]])
    writes(indexed, "sconce::update_cache_with_indices_", [1], value, cache, 0, same, tag="same")
    for start in (3, -1, 4):
        refuses(update, "sconce::update_cache_", "index", value, cache, start)
    for bad in (torch.tensor([[0, 4]]), torch.tensor([[-1, 0]])):
        refuses(indexed, "sconce::update_cache_with_indices_", "index", value, cache, 0, bad)


def attention():
    llama = torch.ops.llama
    sdpa = llama.custom_sdpa.default
    half = {F32: (1e-5, 1e-6), F16: (0, 2e-3), BF16: (0, 1.6e-2)}
    for dtype in (F32, F16, BF16):
        for batch, queries, keys, heads, kept, start in (
            (1, 5, 9, 4, 2, 0),
            (1, 1, 9, 4, 1, 6),
            (2, 3, 8, 2, 2, 4),
            (1, 40, 300, 2, 1, 240),
        ):
            if queries > 5 and dtype != F32:
                continue
            size = 8 if queries <= 5 else 3
            q = make((batch, queries, heads, size), dtype, -1, 1)
            k, v = (make((batch, keys, kept, size), dtype, -1, 1) for _ in range(2))
            for causal, scale in ((True, None), (False, 0.5)):
                case(sdpa, q, k, v, start, None, 0.0, causal, scale, tol=half[dtype])
            if queries > 5:
                continue
            mask = torch.where(torch.rand(queries, keys) > 0.4, 0.0, -INF)
            mask[:, 0] = make((queries,), F32, -1, 1)
            case(sdpa, q, k, v, 0, mask, 0.0, False, None, tol=half[dtype], tag="mask")
    q, k = make((1, 2, 2, 4), F32, -1, 1), make((1, 3, 2, 4), F32, -1, 1)
    blind = torch.tensor([[0.0, -INF, 0.0], [-INF, -INF, -INF]])
    case(sdpa, q, k, k, 0, blind, 0.0, False, None, tol=half[F32], tag="blind")
    # All scores are equal. The official kernel gives NaN.
    flat = torch.stack([k[:, 0], k[:, :2].mean(1)], 1)
    given(sdpa, [flat], q, k, k, 0, None, 0.0, True, 0.0, tag="flat", tol=half[F32])
    for start in (-1, 2):
        refuses(sdpa, "llama::custom_sdpa", "index", q, k, k, start, None, 0.0, True, None)
    mask = torch.zeros(2, 3)
    refuses(sdpa, "llama::custom_sdpa", "argument", q, k, k, 0, mask, 0.0, True, None)
    cached = llama.sdpa_with_kv_cache.default
    for dtype in (F32,):
        q = make((1, 1, 4, 8), dtype, -1, 1)
        k, v = (make((1, 1, 2, 8), dtype, -1, 1) for _ in range(2))
        caches = [make((1, 6, 2, 8), dtype, -1, 1) for _ in range(2)]
        args = (q, k, v, *caches, 3, 1, None, 0.0, True, None)
        writes(cached, "sconce::sdpa_with_kv_cache_", [3, 4], *args, result=True, tol=half[dtype])


def quantized(*sizes):
    zeros = torch.randint(-20, 20, (*sizes[:-1], 1), dtype=I8)
    scales = torch.rand(*sizes[:-1], 1) * 0.01 + 0.002
    return torch.randint(-128, 128, sizes, dtype=I8), zeros, scales


def quantized_attention():
    sdpa = torch.ops.llama.custom_quantized_sdpa.default
    for queries, late, start in ((2, False, 3), (1, False, 7), (3, True, 2)):
        few, many = (4, 4) if late else (2, 4)
        rows = (1, few, 9, 8) if late else (1, 9, few, 8)
        q, qz, qs = quantized(*((1, many, queries, 8) if late else (1, queries, many, 8)))
        k, kz, ks = quantized(*rows)
        v, vz, vs = quantized(*rows)
        more = (qz, qs, kz, ks, vz, vs, late)
        case(sdpa, q, k, v, start, None, 0.0, True, None, *more, tol=(1e-4, 1e-5))
        if not late:
            mask = torch.where(torch.rand(queries, 9) > 0.5, 0.0, -INF)
            mask[:, 1] = 0.5
            case(sdpa, q, k, v, 0, mask, 0.0, False, 0.3, *more, tol=(1e-4, 1e-5), tag="mask")


def others():
    llama = torch.ops.llama
    for name in ("gated_delta_rule", "channelwise_gated_delta_rule"):
        op = getattr(llama, name).default
        for steps, heads, by_channel in ((1, 4, False), (5, 2, True), (40, 4, False)):
            key = torch.nn.functional.normalize(make((2, 2, steps, 8), F32), dim=-1)
            decay = torch.rand((2, 2, steps, 8) if by_channel else (2, 2, steps)) * 0.5 + 0.5
            args = (make((2, heads, steps, 8), F32), key, make((2, 2, steps, 6), F32), decay)
            args += (torch.rand(2, 2, steps), make((2, 2, 8, 6), F32))
            case(op, *args, tol=(1e-4, 1e-4))
    hadamard = llama.fast_hadamard_transform.default
    for dtype in (F32, F16):
        for shape in ((3, 64), (1,), (2, 2, 28 * 4), (28,)):
            case(hadamard, make(shape, dtype), tol=(1e-5, 1e-5) if dtype == F32 else (0, 6e-2))
    for dtype in (F32, U8, BF16, I64):
        case(llama.fallback.default, make((2, 3), dtype))
        image = make((3, 4, 6), dtype)
        tiles = image.reshape(3, 2, 2, 3, 2).permute(1, 3, 0, 2, 4).reshape(6, 3, 2, 2)
        given(torch.ops.preprocess.tile_crop.default, [tiles], image, 2, tag="")
    for dtype in (F32, I64, B8):
        case(torch.ops.et_copy._h2d_copy.default, make((2, 3), dtype))
        case(torch.ops.et_copy._d2h_copy.default, make((2, 3), dtype))
    for dtype in (F32, F64, F16, BF16):
        shapes = (((2, 3, 5), (4, 5), True), ((5,), (4, 5), False), ((6, 5), (1, 5), True))
        for x, w, bias in shapes:
            args = [make(x, dtype), make(w, dtype), make(w[:1], dtype) if bias else None]
            case(aten.linear.default, *args, tol=(1e-5, 1e-5) if dtype in (F32, F64) else None)


def mixed():
    """The library has only the out forms, of tensors."""
    ops = torch.ops.quantized_decomposed
    for rows, inner, columns, groups in ((2, 6, 3, 1), (1, 8, 2, 2), (3, 7, 2, 3)):
        x, w = make((rows, inner), F32), make((columns, inner), I8, -100, 100)
        scales = torch.rand(columns, groups) if groups > 1 else torch.rand(columns)
        out = torch.empty(rows, columns)
        ops.mixed_linear.out(x, w, scales, None, None, out=out)
        row = Renamed(ops.mixed_linear.out, "quantized_decomposed::mixed_linear")
        header(row, [x, w, scales, None, None], {}, "")
        lines.extend(["tol 1e-5 1e-4", "o " + tensor_text(out)])
        w, scales = make((inner, columns), I8, -100, 100), torch.rand(inner)
        ops.mixed_mm.out(x, w, scales, None, out=out)
        row = Renamed(ops.mixed_mm.out, "quantized_decomposed::mixed_mm")
        header(row, [x, w, scales, None], {}, "")
        lines.extend(["tol 1e-5 1e-4", "o " + tensor_text(out)])
    for shape in ((2, 5), (40,)):
        a, b = (torch.randint(0, 256, shape).to(U8) for _ in range(2))
        out = torch.empty(shape, dtype=U8)
        numbers = (0.02, 12, 0, 255), (0.03, 40, 0, 255), (0.04, 7, 0, 200)
        args = [a, *numbers[0], b, *numbers[1], *numbers[2]]
        ops.add.out(*args, out=out)
        header(Renamed(ops.add.out, "quantized_decomposed::add"), args, {}, "")
        lines.append("o " + tensor_text(out))


def complex_numbers():
    a, b = (torch.complex(make((2, 3), F32), make((2, 3), F32)) for _ in range(2))
    for x, y in ((a, b), (a.to(torch.complex128), b.to(torch.complex128)), (a, b[:1])):
        case(aten.abs.default, x)
        case(aten.add.Tensor, x, y, alpha=2)
        case(aten.mul.Tensor, x, y)


@family
def llm():
    libraries()
    caches()
    attention()
    quantized_attention()
    others()
    mixed()
    complex_numbers()
