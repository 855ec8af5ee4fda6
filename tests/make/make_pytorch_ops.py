"""Writes src/ops/pytorch.def: the operators of PyTorch that torch.export can leave in a program, by
overload. EXCLUDED lists what is left out, and why. `--check` compares instead of writing; so does
the case "operator table: PyTorch's operators" of the conformance tests.

    python tests/make/make_pytorch_ops.py [--check]
"""

import usage  # noqa: F401

import pathlib
import re
import sys

import torch

FILE = pathlib.Path(__file__).parents[2] / "src" / "ops" / "pytorch.def"

HEAD = """\
// The operators of PyTorch that torch.export can leave in a program, by overload, in the order of
// their bytes. They compute tensors and do not write. Forms that write in place count with the
// forms that do not. Left out are out-variants, *_copy twins, gradients, optimizers, operators for
// one device or library, and tensors that are sparse, nested, named or of PyTorch's old
// quantization. Made by tests/make/make_pytorch_ops.py, which has the rules.
"""

EXCLUDED = {
    "gradients": r"backward|_jvp$|_grad$|_bwd$|^_dirichlet_grad|^_make_dual|_unpack_dual|"
    r"_fw_primal",
    "one device or library": r"cuda|cudnn|miopen|mkldnn|mps|xpu|metal|vulkan|cslt|nnpack|fbgemm|"
    r"_for_cpu|cpu_fallback|_triton_|_flash_attention|efficient_attention|_fused_sdp|_dyn_quant|"
    r"_overrideable|overrideable|_weight_int4pack|_int4pack|_mixed_dtypes|_wrapped_",
    "other tensors": r"sparse|coo\b|csr|csc|bsr|bsc|nested|^(_?coalesce|_?indices|_?values)$|"
    r"crow_|ccol_|row_indices|col_indices|hspmm|sspaddmm|^smm$|to_dense|jagged|padded_dense|"
    r"_offsets|^_spdiags|^_spsolve",
    "PyTorch's old quantization": r"^quantize|dequant|^quantized|int_repr|q_per|q_scale|q_zero|"
    r"affine_quantized|empty_quantized|_make_per_|^_choose_qparams|choose_qparams_opt|"
    r"_rowwise_prune|_saturate_weight",
    "optimizers and training": r"_foreach|_fused_(adam|sgd|ada|moving)|_amp_|^_functional_|"
    r"_use_cudnn|batch_norm_(elemt|gather|stats)|batch_norm_update_stats|_fused_dropout|"
    r"_masked_scale",
    "what tracing answers": r"^_test_|^_foobar|requires_grad|^data$|pin_memory|from_file|storage|"
    r"_lazy|_reshape_alias|_neg_view|resolve_|^lift|_add_batch_dim|_remove_batch_dim|_copy_from|"
    r"_efficientzero|_new_zeros_with_same|_resize_output|^resize|^set$|_has_|_print|_shape_as|"
    r"_propagate|_dim_arange|_cast_|^alias$|autocast|_dep_token|_to_cpu|_dual|_parallel_mat",
}
PLAIN = {"Tensor", "Optional[Tensor]", "List[Tensor]"}


def overloads():
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        if space == "aten":
            yield rest, base, getattr(getattr(torch.ops.aten, base), overload or "default")._schema


def is_exported(name, base, schema, bases):
    text = str(schema)
    if any(a.alias_info and a.alias_info.is_write for a in schema.arguments):
        return False
    if not any(str(r.type) in PLAIN for r in schema.returns):
        return False
    if "generator" in name or re.search(r"Dimname|Storage|Stream", text):
        return False
    if base.endswith("_copy") and base[: -len("_copy")] in bases:
        return False
    return not any(re.search(rule, base) for rule in EXCLUDED.values())


def rows(names):
    """As many names to a line as there is room for, each ended by a zero byte."""
    lines = []
    for name in names:
        ended = f"aten::{name}\\0"
        if not lines or len(lines[-1] + ended) > 100 - len('PYTORCH("")'):
            lines.append("")
        lines[-1] += ended
    return "".join(f'PYTORCH("{line}")\n' for line in lines)


def made():
    found = list(overloads())
    bases = {base for _, base, _ in found}
    names = sorted(name for name, base, schema in found if is_exported(name, base, schema, bases))
    version = ".".join(torch.__version__.split(".")[:2])
    return f'{HEAD}VERSION("{version}")\n{rows(names)}'


def check():
    """Nothing, or what to do about the file."""
    if made() == FILE.read_text():
        return ""
    return f"PyTorch {torch.__version__} has others than {FILE.name}: run make_pytorch_ops.py"


def main():
    if "--check" in sys.argv[1:]:
        sys.exit(check() or 0)
    FILE.write_text(made())


if __name__ == "__main__":
    main()
