"""Writes tests/decompose/*.ir: small modules before and after torch's own decomposition.

Run with torch 2.13 in the environment:
    python tests/tools/make_decomp_cases.py tests/decompose [NAME...]
A case is a line "=== name", the exported program, a line "----" and the core program, as IR text.
"""

import os
import sys

import torch
from torch.export import export

sys.path.insert(0, os.path.dirname(__file__))
from ir_text import ir_text  # noqa: E402
import decomp_modules  # noqa: E402, F401
import decomp_programs  # noqa: E402, F401
from decomp_case import CASES  # noqa: E402

# Torch 2.14 decomposes these otherwise than 2.13: their files are our own graphs, compared with
# graphs of 2.14 by eye. The last ones are better expanded than kept, or kept than computed again.
BY_HAND = {
    "gn_cl",
    "gn_nc",
    "hamming",
    "sdpa_3d",
    "dropout_eval",
    "tfenc",
    "slice_all",
    "addmv",
    "rrelu",
    "dyn_cat_flatten",
    "dyn_conv_flatten",
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


def make(case):
    torch.manual_seed(0)
    module, args, dynamic = case.module(), case.args(), case.dynamic
    module.train(case.train)
    program = export(module, tuple(args), dynamic_shapes=dynamic, strict=False)
    before = ir_text(program)
    after = ir_text(program.run_decompositions(table()))
    return before + ("" if case.name in BY_HAND else "----\n" + after)


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
                cases[case.name] = make(case)
            except Exception as error:  # a module that this torch cannot export
                print("not made:", case.name, type(error).__name__, str(error).split("\n")[0][:120])
        write_bundle(path, section, cases)


if __name__ == "__main__":
    main()
