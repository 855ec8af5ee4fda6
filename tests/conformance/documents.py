"""The Python that the documents show: it runs, the models that it saves lower, and the functions
that it writes in place of others give the numbers of those."""

import os
import re

import programs
import torch
from runtimes import ROOT, lower

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text()
        for found in BLOCK.finditer(text):
            line = text.count("\n", 0, found.start()) + 2
            yield f"{page.relative_to(ROOT)}, line {line}", found.group(1)


def run_block(code):
    """The names of a block after it has run, with the model that the README takes for granted."""
    names = {
        "torch": torch,
        "model": torch.nn.Linear(16, 4),
        "example_input": torch.randn(4, 16),
    }
    exec(compile(code, "document", "exec"), names)
    return names


def judge_block(code, folder):
    home = os.getcwd()
    os.chdir(folder)
    try:
        run_block(code)
        if ".save(" in code:
            lower(["model.pt2"], "model.pte")
    finally:
        os.chdir(home)


WRITTEN_OUT = {
    "cov": (torch.cov, [(4, 9)]),
    "corrcoef": (torch.corrcoef, [(4, 9)]),
    "lstsq": (lambda a, b: torch.linalg.lstsq(a, b).solution, [(6, 3), (6, 2)]),
}


def judge_written(name, folder):
    (code,) = [code for _, code in blocks() if f"def {name}(" in code]
    function, (wanted, shapes) = run_block(code)[name], WRITTEN_OUT[name]
    torch.manual_seed(0)
    inputs = tuple(torch.randn(*shape) for shape in shapes)
    torch.testing.assert_close(function(*inputs), wanted(*inputs), rtol=1e-4, atol=1e-5)
    programs.judge(name, programs.Fn(function), inputs, None, folder)


def cases():
    for where, code in blocks():
        yield f"documents: {where}", judge_block, (code,)
    for name in WRITTEN_OUT:
        yield f"documents: {name} written out", judge_written, (name,)
