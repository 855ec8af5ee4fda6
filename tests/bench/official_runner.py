"""Runs one method of a .pte in the official runtime, once for each line it reads, and answers each
with a line: the outputs of the first run as JSON lists of numbers, then nothing but "done".

Usage: official_runner.py FILE METHOD INPUTS    INPUTS: JSON, a list of {dtype, shape, data}
"""

import json
import os
import sys
from pathlib import Path

import torch
from executorch.runtime import Runtime


def main(path, name, inputs):
    # What the runtime prints is not an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(1)
    program = Runtime.get().load_program(Path(path))
    method = program.load_method(name)
    listed = json.loads(Path(inputs).read_text())
    values = [
        torch.tensor(v["data"], dtype=getattr(torch, v["dtype"])).reshape(v["shape"])
        for v in listed
    ]
    first = True
    for _ in sys.stdin:
        outputs = method.execute(values)
        told = json.dumps([o.flatten().tolist() for o in outputs]) if first else "done"
        print(told, file=answers, flush=True)
        first = False


if __name__ == "__main__":
    main(*sys.argv[1:])
