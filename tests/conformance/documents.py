"""The Python that the documents show: it runs, the models that it saves lower, and the functions
that it writes in place of others give the numbers of those."""

import os
import re

import programs
import torch
from runtimes import ROOT, lower

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks():
    """Each block with the blocks above it: a page is read from the top."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text()
        above = []
        for found in BLOCK.finditer(text):
            line = text.count("\n", 0, found.start()) + 2
            above = [*above, found.group(1)]
            yield f"{page.relative_to(ROOT)}, line {line}", above


def run_blocks(codes):
    """The names of a page after its blocks, with the model that the README takes for granted."""
    names = {
        "torch": torch,
        "model": torch.nn.Linear(16, 4),
        "example_input": torch.randn(4, 16),
    }
    for code in codes:
        exec(compile(code, "document", "exec"), names)
    return names


def judge_block(codes, folder):
    home = os.getcwd()
    os.chdir(folder)
    try:
        run_blocks(codes)
        if "torch.export.save(" in codes[-1]:
            for saved in re.findall(r'"(\w+\.pt2)"', codes[-1]):
                lower([saved], "saved.pte")
    finally:
        os.chdir(home)


WRITTEN_OUT = {
    "cov": (torch.cov, [(4, 9)]),
    "corrcoef": (torch.corrcoef, [(4, 9)]),
    "lstsq": (lambda a, b: torch.linalg.lstsq(a, b).solution, [(6, 3), (6, 2)]),
}


def judge_written(name, folder):
    (codes,) = [codes for _, codes in blocks() if f"def {name}(" in codes[-1]]
    function, (wanted, shapes) = run_blocks(codes)[name], WRITTEN_OUT[name]
    torch.manual_seed(0)
    inputs = tuple(torch.randn(*shape) for shape in shapes)
    torch.testing.assert_close(function(*inputs), wanted(*inputs), rtol=1e-4, atol=1e-5)
    programs.judge(name, programs.Fn(function), inputs, None, folder)


def cases():
    for where, codes in blocks():
        yield f"documents: {where}", judge_block, (codes,)
    for name in WRITTEN_OUT:
        yield f"documents: {name} written out", judge_written, (name,)
