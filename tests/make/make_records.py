"""Makes tests/data/etrecord/counter_extra.etrecord: a record with an extra module, a program
that writes a buffer. The exporter keeps the module and changes it when it makes the program
executable, so that its signature names more outputs than its graph has.

Run with torch and executorch 1.5.1 in the environment:
    python tests/make/make_records.py tests/data/etrecord
"""

import usage  # noqa: F401

import sys
from pathlib import Path

import torch
from executorch.exir import to_edge
from make_etdumps import leave_out_paths


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


def main(folder):
    program = torch.export.export(Counter(), (torch.zeros(3),))
    edge = to_edge(program, generate_etrecord=True)
    # The manager hands its record on to what is made of it.
    edge._etrecord.add_extra_export_modules({"mine": edge})
    made = edge.to_executorch()
    path = folder / "counter_extra.etrecord"
    made.get_etrecord().save(str(path))
    leave_out_paths(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
