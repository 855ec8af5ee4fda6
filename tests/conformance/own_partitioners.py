"""The partitioners of examples/partitioners.mjs: parts of two methods, given to two backends,
compute what PyTorch computes, here and, where the official runtime has the backends, there."""

import json

import runtimes
import torch

PARTITIONERS = runtimes.ROOT / "examples" / "partitioners.mjs"


class Encode(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 8)

    def forward(self, x):
        return torch.tanh(self.second(torch.nn.functional.gelu(self.first(x))))


class Decode(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.only = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.tanh(self.only(x)) * 2


# By partitioner, the parts of both methods; the official runtime has no null backend.
PARTS = {"inTurn": 3, "linearPairs": 3}
RUNS_OFFICIALLY = {"linearPairs"}


def judge(name, folder):
    torch.manual_seed(0)
    x, methods, arguments = torch.randn(3, 8), {"encode": Encode(), "decode": Decode()}, []
    for method, module in methods.items():
        source = folder / f"{method}.pt2"
        torch.export.save(torch.export.export(module.eval(), (x,)), source)
        arguments += ["--method", f"{method}={source}"]
    path = folder / "program.pte"
    report = folder / "report.json"
    arguments += ["--import", str(PARTITIONERS), "--backend", name, "--report", str(report)]
    runtimes.lower(arguments, path)
    reported = json.loads(report.read_text())["methods"].values()
    parts = sum(len(method["delegates"]) for method in reported)
    assert parts == PARTS[name], f"{parts} parts"
    ours = runtimes.run_files(folder, [(path, [(method, [x]) for method in methods], ())])[0]
    assert isinstance(ours, list), ours
    official = runtimes.load(path) if name in RUNS_OFFICIALLY else None
    for (method, module), here in zip(methods.items(), ours):
        expected = module(x).detach()
        runtimes.check_value(here[0], expected, f"{method}, here")
        if official:
            there = official.load_method(method).execute([x])
            runtimes.check_value(there[0], expected, f"{method}, official")


def cases():
    for name in PARTS:
        yield f"own partitioners: {name}", judge, (name,)
