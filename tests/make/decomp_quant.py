"""Small modules whose decomposition is tested: quantization."""

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  registers its operators
import torchao.quantization.quant_primitives  # noqa: F401  registers its operators

from decomp_case import case, section
from decomp_dynamic import dyn

AFFINE, DECOMPOSED = torch.ops.torchao, torch.ops.quantized_decomposed
I8, U8, I32, F32 = torch.int8, torch.uint8, torch.int32, torch.float32
F16, BF16 = torch.float16, torch.bfloat16


def integers(low, high, dtype, *sizes):
    return torch.arange(torch.Size(sizes).numel()).reshape(sizes).mul(7).remainder(high - low).add(
        low
    ).to(dtype)


section("quantization")
MAPPINGS = {
    "asymmetric": "ASYMMETRIC",
    "symmetric": "SYMMETRIC",
    "unclipped": "SYMMETRIC_NO_CLIPPING_ERR",
}
for name, mapping in MAPPINGS.items():
    case(
        f"affine_choose_{name}",
        lambda x, m=mapping: AFFINE.choose_qparams_affine(x, m, [1, 12], I8),
        (4, 12),
    )
    case(
        f"affine_choose_{name}_group",
        lambda x, m=mapping: AFFINE.choose_qparams_affine(
            x, m, [1, 4], I8, -8, 7, 1e-5, F32, I8, True
        ),
        (4, 12),
    )
    case(
        f"affine_choose_{name}_uint8",
        lambda x, m=mapping: AFFINE.choose_qparams_affine(x, m, [4, 12], U8, 1, 15, None, F32, U8),
        (4, 12),
    )
case(
    "affine_choose_blocks",
    lambda x: AFFINE.choose_qparams_affine(x, "ASYMMETRIC", [2, 1, 3], I32, 0, 9),
    (4, 2, 6),
)
case(
    "affine_choose_half",
    lambda x: AFFINE.choose_qparams_affine(x, "ASYMMETRIC", [1, 4], I8, None, None, None, F32),
    ("h", 4, 12),
)
case(
    "affine_choose_bf16",
    lambda x: AFFINE.choose_qparams_affine(x, "SYMMETRIC", [1, 12], I8),
    ("bf", 4, 12),
)
case(
    "affine_quantize",
    lambda x, s, z: AFFINE.quantize_affine(x, [1, 12], s, z, I8),
    *((4, 12), torch.rand(4, 1) + 0.1, integers(-5, 5, I8, 4, 1)),
)
case(
    "affine_quantize_axis",
    lambda x, s, z: AFFINE.quantize_affine(x, [4, 1, 3], s, z, I8, -127, 127),
    *((4, 2, 3), torch.rand(2) + 0.1, integers(-5, 5, I32, 2)),
)
case(
    "affine_quantize_group",
    lambda x, s, z: AFFINE.quantize_affine(x, [1, 4], s, z, U8, 0, 15),
    *((4, 12), torch.rand(4, 3) + 0.1, integers(0, 15, I32, 4, 3)),
)
case(
    "affine_quantize_tensor_half",
    lambda x, s, z: AFFINE.quantize_affine(x, [4, 12], s, z, I32, -100, 100),
    *(("h", 4, 12), torch.tensor(0.25, dtype=F16), torch.tensor(3)),
)
case(
    "affine_quantize_transposed",
    lambda x, s, z: AFFINE.quantize_affine(x.t(), [12, 1], s, z, I8),
    *((4, 12), torch.rand(4) + 0.1, integers(-5, 5, I8, 4)),
)
case(
    "affine_dequantize",
    lambda q, s, z: AFFINE.dequantize_affine(q, [1, 12], s, z, I8, -8, 7),
    *(integers(-8, 8, I8, 4, 12), torch.rand(4, 1), integers(-5, 5, I8, 4, 1)),
)
case(
    "affine_dequantize_group",
    lambda q, s, z: AFFINE.dequantize_affine(q, [1, 4], s, z, U8, 0, 15),
    *(integers(0, 15, U8, 4, 12), torch.rand(4, 3), integers(0, 15, I32, 4, 3)),
)
case(
    "affine_dequantize_no_zero",
    lambda q, s: AFFINE.dequantize_affine(q, [1, 4], s, None, I8, -8, 7, output_dtype=F16),
    *(integers(-8, 8, I8, 4, 12), torch.rand(4, 3).half()),
)
case(
    "affine_dequantize_wide_scale",
    lambda q, s, z: AFFINE.dequantize_affine(q, [2, 4], s, z, I32, output_dtype=BF16),
    *(integers(-99, 99, I32, 4, 12), torch.rand(2, 3), torch.rand(2, 3)),
)


def per_token(x):
    block = [1] * (x.dim() - 1) + [x.shape[-1]]
    scale, zero = AFFINE.choose_qparams_affine(
        x, "ASYMMETRIC", block, I8, -128, 127, None, None, I8
    )
    q = AFFINE.quantize_affine(x, block, scale, zero, I8, -128, 127)
    return AFFINE.dequantize_affine(q, block, scale, zero, I8, -128, 127)


case("affine_per_token", per_token, (2, 5, 12))
dyn("affine_per_token", per_token, (2, 5, 12), dims=[[1]])
dyn(
    "affine_per_tensor",
    lambda x: AFFINE.choose_qparams_affine(
        x, "SYMMETRIC", list(x.shape), I8, None, None, None, None, None, True
    ),
    (2, 5, 12),
    dims=[[1]],
)

# Operators that PyTorch leaves whole.
case(
    "quantize_tensor2",
    lambda x, *args: DECOMPOSED.quantize_per_tensor.tensor2(x, *args, I8),
    *((3, 4), torch.tensor([0.03], dtype=torch.float64), torch.tensor([3])),
    *(torch.tensor([-20]), torch.tensor([30])),
)
case(
    "dequantize_tensor2",
    lambda q, *args: DECOMPOSED.dequantize_per_tensor.tensor2(q, *args, I8),
    *(integers(-20, 30, I8, 3, 4), torch.tensor([0.03], dtype=torch.float64), torch.tensor([3])),
    *(torch.tensor([-20]), torch.tensor([30])),
)
case(
    "quantize_channel_group",
    lambda x, s, z: DECOMPOSED.quantize_per_channel_group(x, s, z, -8, 7, I8, 4),
    *((4, 12), torch.rand(4, 3) + 0.1, integers(-5, 5, I32, 4, 3)),
)
case(
    "dequantize_channel_group",
    lambda q, s, z: DECOMPOSED.dequantize_per_channel_group(q, s, z, -8, 7, I8, 4, F32),
    *(integers(-8, 8, I8, 4, 12), torch.rand(4, 3) + 0.1, integers(-5, 5, I32, 4, 3)),
)
case(
    "dequantize_channel_one_group",
    lambda q, s: DECOMPOSED.dequantize_per_channel_group(q, s, None, -8, 7, I8, 32, F16),
    *(integers(-8, 8, I8, 4, 12), torch.rand(4, 1) + 0.1),
)
# One result says both.
case(
    "choose_symmetric",
    lambda x: sum(DECOMPOSED.choose_qparams_symmetric.tensor(x, -128, 127, 1e-4, I8)),
    (3, 4),
)
case(
    "choose_symmetric_uint8",
    lambda x: sum(DECOMPOSED.choose_qparams_symmetric.tensor(x * 1e-6, 0, 255, 1e-4, U8)),
    (3, 4),
)


def symmetric_tokens(x):
    scales, zeros = DECOMPOSED.choose_qparams_per_token(x, I8)
    return DECOMPOSED.quantize_per_token(x, scales, zeros, -127, 127, I8)


case("choose_per_token", symmetric_tokens, (2, 5, 12))
case("choose_per_token_half", symmetric_tokens, ("h", 5, 12))
case(
    "fake_quant_channel",
    lambda x, s, z: DECOMPOSED.fake_quant_per_channel(x, s, z, 1, -8, 7),
    *((2, 3, 4), torch.rand(3) + 0.1, torch.tensor([0, 2, -1])),
)
case("convert_no_fuse", lambda x: DECOMPOSED.convert_element_type.no_fuse(x, F16), (3, 4))
case(
    "int_mm",
    torch._int_mm,
    *(integers(-128, 127, I8, 18, 8), integers(-128, 127, I8, 8, 16)),
)
