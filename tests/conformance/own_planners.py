"""The planner of examples/planners.mjs: files with its plans compute what PyTorch computes, here
and on the official runtime."""

import runtimes
import torch

PLANNERS = runtimes.ROOT / "examples" / "planners.mjs"


class Encode(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.second = torch.nn.Conv2d(8, 4, 3)

    def forward(self, x):
        y = torch.relu(self.first(x))
        return torch.sigmoid(self.second(y)) * 2, y.mean()


class Decode(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        self.count.add_(1)
        return torch.softmax(x, 1).sum((2, 3)) + self.count


# By case, the methods that it lowers.
CASES = {"one method": ["encode"], "state": ["decode"], "two methods": ["encode", "decode"]}
MODULES = {"encode": (Encode, (1, 3, 8, 8)), "decode": (Decode, (1, 4, 6, 6))}


def judge(case, folder):
    torch.manual_seed(0)
    arguments, calls = [], []
    for method in CASES[case]:
        make, shape = MODULES[method]
        module, x = make().eval(), torch.randn(*shape)
        source = folder / f"{method}.pt2"
        torch.export.save(torch.export.export(module, (x,)), source)
        arguments += ["--method", f"{method}={source}"]
        calls.append((method, x, module(x)))
    path = folder / "program.pte"
    arguments += ["--import", str(PLANNERS), "--memory-planning", "largestFirst"]
    runtimes.lower(arguments, path)
    inputs = [(method, [x]) for method, x, _ in calls]
    ours = runtimes.run_files(folder, [(path, inputs, ())])[0]
    assert isinstance(ours, list), ours
    official = runtimes.load(path)
    for (method, x, expected), here in zip(calls, ours):
        there = official.load_method(method).execute([x])
        wanted = expected if isinstance(expected, tuple) else (expected,)
        for value, ours_value, official_value in zip(wanted, here, there, strict=True):
            runtimes.check_value(ours_value, value.detach(), f"{method}, here")
            runtimes.check_value(official_value, value.detach(), f"{method}, official")


def cases():
    for name in CASES:
        yield f"own planners: {name}", judge, (name,)
