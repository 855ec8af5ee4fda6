"""Writes tests/decompose/*.ir: small modules before and after torch's own decomposition.

Run with torch 2.13 in the environment:
    python tests/make/make_decomp_cases.py tests/decompose [NAME...]
A case is a line "=== name", the exported program, a line "----" and the core program, as IR text.
"""

import usage  # noqa: F401

import operator
import os
import re
import sys

import torch
from torch.export import export

sys.path.insert(0, os.path.dirname(__file__))
from ir_text import DTYPES, ir_text  # noqa: E402
import decomp_modules  # noqa: E402, F401
import decomp_programs  # noqa: E402, F401
import decomp_dynamic  # noqa: E402, F401
import decomp_layouts  # noqa: E402, F401
import decomp_llm  # noqa: E402, F401
import decomp_numeric  # noqa: E402, F401
import decomp_operators  # noqa: E402, F401
import decomp_quant  # noqa: E402, F401
import decomp_calls  # noqa: E402, F401
from decomp_case import BY_NUMBERS, CASES, DRAWN  # noqa: E402

# Torch 2.13 decomposes these differently from 2.14: their core graphs are what ours makes, and
# tests/trace/gold_test.c compares them with the graphs of 2.14 in tests/decompose/gold.
BY_GOLD = {"gn_cl", "gn_nc", "sdpa_3d", "dropout_eval", "tfenc", "normal_", "multinomial"}

# Core graphs of ours, too: better expanded than kept (as batch norm in training mode, which no
# runtime has), or kept than computed again, copies into buffers, of which PyTorch forgets that they
# cast and expand, writes through expand, which it adds to the base as a rounded difference, views
# that its own decomposition makes impossible, quantization without an official kernel, and factors
# of open sizes, which are tensors here and numbers there. Here
# torch runs them, and must get the numbers of the module.
BY_NUMBERS |= {
    "expand_mut",
    "expand_more_mut",
    "fill_diagonal_",
    "fill_diagonal_wrapped",
    "fill_diagonal_cube",
    "hamming",
    "products_of_whole_numbers",
    "addmv",
    "bn1d_train",
    "bn2d_train",
    "bn2d_train_mixed",
    "bn2d_train_plain",
    "bn2d_train_last",
    "bn2d_train_last_half",
    "bn1d_train_half",
    "bn1d_train_length",
    "bn1d_train_length_half",
    "rrelu",
    "stft_win",
    "stft_win_ones",
    "istft_win",
    "istft_plain",
    "istft_longer",
    "dyn_cat_flatten",
    "dyn_conv_flatten",
    "dyn_up_nearest1d",
    "dyn_up_nearest1d_size",
    "dyn_up_nearest3d",
    "dyn_up_nearest_exact",
    "dyn_up_linear1d_corners",
    "dyn_up_linear1d_size",
    "dyn_up_bicubic",
    "copy_dt",
    "copy_bc",
    "copy_dt_bc",
    "sdpa_view",
    "dyn_sdpa_view",
    "quantize_tensor2",
    "dequantize_tensor2",
    "quantize_channel_group",
    "dequantize_channel_group",
    "dequantize_channel_one_group",
    "choose_symmetric",
    "choose_symmetric_uint8",
    "choose_per_token",
    "choose_per_token_half",
    "fake_quant_channel",
    "convert_no_fuse",
    "int_mm",
    "is_all",
}


def table():
    from torch._refs.linalg import vector_norm

    def norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
        if dim and ord not in (0, float("inf"), float("-inf")):
            dim = [d % max(x.ndim, 1) for d in dim]
        return vector_norm(x, ord, dim, keepdim, dtype=dtype)

    decompositions = torch.export.default_decompositions()
    decompositions[torch.ops.aten.linalg_vector_norm.default] = norm
    return decompositions


def run(graph, inputs, state):
    """Results of torch for a core graph without subgraphs: results by the mutated buffer's name,
    and the user's as a list by ""."""
    formats = {"contiguous": torch.contiguous_format, "preserve": torch.preserve_format}
    scope = {short: dtype for dtype, short in DTYPES.items()} | formats | vars(torch)
    values, inputs, results = {}, iter(inputs), {}

    def arguments(text):
        names = re.sub(r"%(\w+)", r'values["\1"]', text)
        return eval(f"pack({names})", scope | {"values": values, "pack": lambda *a, **k: (a, k)})

    for line in graph.splitlines():
        if match := re.match(r'  input %(\w+):.* (?:parameter|buffer) "(.*?)"', line):
            values[match[1]] = state[match[2]]
        elif match := re.match(r"  input %(\w+):", line):
            values[match[1]] = next(inputs)
        elif match := re.match(r"  (\w+: \()?(%\w+: .*?) = (\w+)::([\w.]+)\((.*)\)$", line):
            several, outs, space, op, text = match.groups()
            function = operator if space == "sym" else getattr(torch.ops, space)
            for part in op.split("."):
                function = getattr(function, part)
            given, named = arguments(text)
            result = function(*given, **named)
            names = re.findall(r"%(\w+): ", outs)
            values.update(zip(names, result if several else [result]))
        elif line.startswith("  return "):
            for name, target in re.findall(r'%(\w+)(?: buffer_mutation "([\w.]+)")?', line):
                if target:
                    results[target] = values[name]
                else:
                    results.setdefault("", []).append(values[name])
        elif line and not re.match(r"method |  symbol |}|  _assert_scalar", line):
            raise ValueError("cannot run: " + line)
    return results


def check_numbers(module, args, graph):
    state = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    results = run(graph, args, state)
    expected = {"": torch.utils._pytree.tree_leaves(module(*args))} | dict(module.named_buffers())
    # PyTorch's kernels round what they compute halves with to halves; its decompositions do not.
    halves = {"rtol": 4e-3, "atol": 4e-3} if args[0].dtype == torch.float16 else {}
    torch.testing.assert_close(results.pop(""), expected.pop(""), check_stride=True, equal_nan=True,
                               **halves)
    torch.testing.assert_close(results, expected)


def make(case, known):
    """`known`: what the file holds of this case now, or None."""
    torch.manual_seed(0)
    module, args, dynamic = case.module(), case.args(), case.dynamic
    module.train(case.train)
    program = export(module, tuple(args), dynamic_shapes=dynamic, strict=False)
    before = ir_text(program)
    if case.name not in BY_GOLD | BY_NUMBERS | DRAWN:
        return before + "----\n" + ir_text(program.run_decompositions(table()))
    if not known or not known.startswith(before + "----\n"):
        print("to be completed by sc_tests --update, then to be made again:", case.name)
        return before
    if case.name in BY_NUMBERS:
        check_numbers(module, args, known.removeprefix(before + "----\n"))
    return known


def read_bundle(path):
    """name -> text of the cases in a file."""
    cases = {}
    if os.path.exists(path):
        for part in open(path).read().split("\n=== ")[1:]:
            name, text = part.split("\n", 1)
            cases[name] = text
    return cases


def write_bundle(path, section, cases):
    names = [c.name for c in CASES if c.section == section and c.name in cases]
    with open(path, "w") as out:
        out.write(f"# Programs and torch's decompositions of them: {section}.\n")
        for name in names:
            out.write(f"\n=== {name}\n" + cases[name].rstrip("\n") + "\n")


def main():
    folder, wanted = sys.argv[1], set(sys.argv[2:])
    for section in dict.fromkeys(c.section for c in CASES):
        path = os.path.join(folder, section + ".ir")
        cases = read_bundle(path)
        for case in CASES:
            if case.section != section or (wanted and case.name not in wanted):
                continue
            try:
                cases[case.name] = make(case, cases.get(case.name))
            except Exception as error:  # a module that this torch cannot export
                print("not made:", case.name, type(error).__name__, str(error).split("\n")[0][:120])
        write_bundle(path, section, cases)


if __name__ == "__main__":
    main()
