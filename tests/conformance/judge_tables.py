"""Tables of the official runtime's kernels and of PyTorch's operators, and op_db's judge."""

import json
import subprocess
import sys

import runtimes


def judge_table(folder):
    """The operator table is true about the official runtime's kernels."""
    from executorch.extension.pybindings.portable_lib import _get_operator_names

    script = (
        "import { createEngine } from './dist/index.js';"
        "process.stdout.write(JSON.stringify((await createEngine()).meta().ops))"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        cwd=runtimes.ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    official = {name.removesuffix(".default") for name in _get_operator_names()}
    rows = [row for row in json.loads(done.stdout) if row["out"]]
    # An operator that is always expanded needs no kernel there, and may have one.
    runs = {"kernel": True, "mended": True, "no": False}
    told = [row for row in rows if row["official"] in runs]
    wrong = [row["out"] for row in told if runs[row["official"]] != (row["out"] in official)]
    assert len(rows) > 250 and not wrong, f"SC_UNOFFICIAL is wrong in: {', '.join(wrong)}"


def judge_list(folder):
    """The list of PyTorch's operators is that of the PyTorch that judges."""
    sys.path.insert(0, str(runtimes.ROOT / "tests" / "make"))
    import make_pytorch_ops

    wrong = make_pytorch_ops.check()
    assert not wrong, wrong


def judge_exactness(folder):
    """op_db's judge: as far off as PyTorch is fine, but one bad element of it excuses no other."""
    import op_db_judge
    import torch

    exact = torch.linspace(1, 2, 64, dtype=torch.float64)
    theirs = exact.float() + 1e-6 * torch.tensor([1.0, -1.0]).repeat(32)
    ours = exact.float() - 2e-6
    assert op_db_judge.is_as_exact(ours, theirs, exact)
    assert not op_db_judge.is_as_exact(ours + 1e-4, theirs, exact)
    for bad in (float("inf"), float("nan"), 50.0):
        theirs[7] = bad
        assert op_db_judge.is_as_exact(ours, theirs, exact), bad
        assert not op_db_judge.is_as_exact(ours + 1e-4, theirs, exact), bad
        broken = ours.clone()
        broken[9] = 3
        assert not op_db_judge.is_as_exact(broken, theirs, exact), bad
