"""Writes tests/kernels/*.case: operator calls with the results that PyTorch computes, in the format
that tests/kernels/kernel_case.h describes. Inputs are seeded, so the files only change when the
list of calls does. Run with a Python that has torch (and executorch, for the dim_order operators,
and torchao, for observers):

    python tests/make/make_kernel_cases.py tests/kernels
"""

import usage  # noqa: F401
import sys
from pathlib import Path

import kernel_cases_basic  # noqa: F401
import kernel_cases_complex  # noqa: F401
import kernel_cases_grouped  # noqa: F401
import kernel_cases_llm  # noqa: F401
import kernel_cases_nn  # noqa: F401
import kernel_cases_numeric  # noqa: F401
import kernel_cases_observe  # noqa: F401
import kernel_cases_official  # noqa: F401
from kernel_case_writer import COMPOSITES, FAMILIES

if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for write in FAMILIES:
        write(target)
    beside = target.parent / "expansions"
    beside.mkdir(exist_ok=True)
    for write in COMPOSITES:
        write(beside)
