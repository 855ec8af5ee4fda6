"""Runs one method of a .pte in the official runtime, for each line it reads, and answers each with
a line of JSON. With "run" the outputs of the first run as lists of numbers, then nothing but null;
with "tell" the tokens of a story, each the likeliest after those before it.

Usage: official_runner.py FILE run METHOD INPUTS    INPUTS: JSON, a list of {dtype, shape, data}
       official_runner.py FILE tell METHOD COUNT    COUNT: JSON, how many tokens
"""

import json
import os
import sys
from pathlib import Path

import torch
from executorch.runtime import Runtime

BEGIN = 1


def runs(method, inputs):
    values = [
        torch.tensor(v["data"], dtype=getattr(torch, v["dtype"])).reshape(v["shape"])
        for v in inputs
    ]
    yield [output.flatten().tolist() for output in method.execute(values)]
    while True:
        method.execute(values)
        yield None


def stories(method, count):
    """The mask hides what an earlier story left in the caches."""
    while True:
        tokens = [BEGIN]
        for place in range(count - 1):
            [logits] = method.execute([torch.tensor([tokens[-1:]]), torch.tensor([place])])
            tokens.append(int(logits.argmax()))
        yield tokens


def main(path, what, name, given):
    # Lines that the runtime prints are not an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(1)
    program = Runtime.get().load_program(Path(path))
    method = program.load_method(name)
    given = json.loads(Path(given).read_text())
    told = {"run": runs, "tell": stories}[what](method, given)
    for _ in sys.stdin:
        print(json.dumps(next(told)), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
