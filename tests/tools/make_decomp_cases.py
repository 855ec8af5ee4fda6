"""Writes tests/decompose/*.ir: small modules before and after torch's own decomposition.

Run once with torch 2.13 in the environment: python tests/tools/make_decomp_cases.py tests/decompose
Each file holds the exported program, a line "----" and the core program, both as IR text. Where
torch 2.13 decomposes otherwise than 2.14, whose graphs we follow, `Case.fix` edits the module
that is decomposed, or the case is left out here and written by hand.
"""

import os
import sys

import torch
from torch import nn
import torch.nn.functional as F
from torch.export import Dim, export

sys.path.insert(0, os.path.dirname(__file__))
from ir_text import ir_text  # noqa: E402
from decomp_modules import CASES  # noqa: E402


def table():
    from torch._decomp import core_aten_decompositions

    decompositions = torch.export.default_decompositions()
    core = core_aten_decompositions()
    for op in (torch.ops.aten.linalg_vector_norm.default,):
        from torch._refs.linalg import vector_norm

        decompositions[op] = core.get(op, vector_norm)
    return decompositions


def make(case):
    torch.manual_seed(0)
    module, args, dynamic = case.module(), case.args(), case.dynamic
    module.train(case.train)
    program = export(module, tuple(args), dynamic_shapes=dynamic, strict=False)
    before = ir_text(program)
    after = ir_text(program.run_decompositions(table()))
    return before + "----\n" + after


def main():
    folder, wanted = sys.argv[1], set(sys.argv[2:])
    failed = []
    for case in CASES:
        if wanted and case.name not in wanted:
            continue
        try:
            text = make(case)
        except Exception as error:  # a module that this torch cannot export
            failed.append((case.name, type(error).__name__, str(error).split("\n")[0][:120]))
            continue
        with open(os.path.join(folder, case.name + ".ir"), "w") as out:
            out.write(text)
    for row in failed:
        print("not made:", *row)


main()
