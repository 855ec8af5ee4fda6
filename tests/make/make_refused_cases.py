"""Writes tests/refused/*.ir: programs that are refused, and what their messages advise to write, of
refused_programs.py. PyTorch itself computes both: the advice has to give the same.

    python tests/make/make_refused_cases.py tests/refused [--files FOLDER] [NAME...]

A case is a line "=== name", the program, a line "----" and what is said of it, which
`sc_tests --file trace/refused_test.c --update` writes. --files also saves the advised programs,
with inputs and results, to be run elsewhere."""

import usage  # noqa: F401

import json
import os
import re
import sys

import torch
from torch.utils._pytree import tree_leaves

sys.path.insert(0, os.path.dirname(__file__))
import ir_text  # noqa: E402
from refused_programs import CASES, Decomposed  # noqa: E402

ir_text.DTYPES |= {torch.uint16: "u16", torch.uint64: "u64", torch.float8_e4m3fn: "f8e4m3fn"}


class Call(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *args):
        return self.f(*args)


class Printer(ir_text.Printer):
    """With the author's line, as if all had been written in model.py."""

    def call(self, node, graph_module, indent):
        text = super().call(node, graph_module, indent)
        text = text.replace("sym::_sym_", "sym::sym_")
        module = getattr(node.target, "__module__", "")
        if module == "torch._functorch.predispatch":
            text = text.replace(node.target.__name__, f"functorch::{node.target.__name__}", 1)
        elif indent != 1:
            return text
        return f'{text} !(trace "  File \\"model.py\\", line 1, in forward\\n    {node.name}\\n")'


def exported(program, inputs, shapes):
    is_module = isinstance(program, torch.nn.Module)
    module = program if is_module else Call(program)
    dynamic = (shapes if is_module else {"args": shapes}) if shapes else None
    found = torch.export.export(module, inputs, dynamic_shapes=dynamic, strict=False)
    return found.run_decompositions() if isinstance(program, Decomposed) else found


def results(program, inputs):
    return [out for out in tree_leaves(program(*inputs))]


def compare(name, how, one, other):
    if how == "equal":
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-4, msg=name)
    if how == "drawn":
        assert [(o.shape, o.dtype) for o in one] == [(o.shape, o.dtype) for o in other], name


def save(folder, name, program, how, inputs, outs):
    torch.export.save(program, os.path.join(folder, f"{name}.pt2"))
    plain = [[str(t.dtype)[6:], list(t.shape), t.flatten().tolist()] for t in inputs]
    with open(os.path.join(folder, f"{name}.json"), "w") as file:
        values = [o.double().flatten().tolist() for o in outs]
        json.dump({"random": how == "drawn", "inputs": plain, "outs": values}, file)


def main(folder, *names):
    files = None
    if names[:1] == ("--files",):
        files, names = names[1], names[2:]
    texts = {"programs": [], "advised": []}
    for name, (refused, advised, inputs, *more) in CASES.items():
        shapes, how = (*more, *(None, "equal")[len(more) :])
        if names and name not in names:
            continue
        takes_more = how == "other" and len(inputs) > 1
        given = inputs[:1] if takes_more else inputs
        if how != "other":  # some of those run on other machines only
            compare(name, how, results(refused, given), results(advised, inputs))
        old = exported(refused, given, shapes)
        new = exported(advised, inputs, shapes)
        if files:
            save(files, name, new, how, inputs, results(advised, inputs))
        texts["programs"].append(f"=== {name}\n{Printer(old).program()}----\n")
        texts["advised"].append(f"=== {name}\n{Printer(new).program()}----\n")
        print(name, flush=True)
    for file, cases in texts.items():
        if not names:
            with open(os.path.join(folder, f"{file}.ir"), "w") as out:
                out.write("# Made by tests/make/make_refused_cases.py.\n" + "".join(cases))


main(*sys.argv[1:])
