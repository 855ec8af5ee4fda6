"""Makes the files of tests/training: joint graphs of loss and gradients, what ExecuTorch's exporter
writes of them, and the losses and parameters of 20 steps in PyTorch.

Run with torch and executorch in the environment:
    python tests/make/make_training.py FOLDER
"""

import usage  # noqa: F401

import json
import sys
from pathlib import Path

import torch
from executorch.exir import to_edge
from make_models import exported
from torch.export.experimental import _export_forward_backward
from torch.nn.functional import relu

STEPS = 20


class Regression(torch.nn.Module):
    """A linear layer under the mean squared error."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 1)
        self.loss = torch.nn.MSELoss()

    def forward(self, x, y):
        return self.loss(self.linear(x), y)


class Classifier(torch.nn.Module):
    """Two layers under the cross entropy. The classes are a second result; one bias is fixed."""

    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(2, 8)
        self.out = torch.nn.Linear(8, 2)
        self.out.bias.requires_grad = False
        self.loss = torch.nn.CrossEntropyLoss()

    def classify(self, x):
        return self.out(torch.tanh(self.hidden(x)))

    def forward(self, x, y):
        scores = self.classify(x)
        return self.loss(scores, y), scores.detach().argmax(dim=1)


class Classes(torch.nn.Module):
    """The same layers without the loss, under the same names."""

    def __init__(self, classifier):
        super().__init__()
        self.hidden, self.out = classifier.hidden, classifier.out

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


class Pictures(torch.nn.Module):
    """Two convolutions, a batch norm that is evaluated only, and a layer.

    No pooling: the official kernel of its gradient adds to what its memory held before.
    """

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4).eval()
        self.halves = torch.nn.Conv2d(4, 4, 2, stride=2, groups=2)
        self.out = torch.nn.Linear(4 * 3 * 3, 3)
        self.loss = torch.nn.CrossEntropyLoss()

    def forward(self, x, y):
        x = self.halves(relu(self.norm(self.conv(x))))
        return self.loss(self.out(x.flatten(1)), y)


def data():
    x = torch.randn(8, 3)
    yield "regression", Regression(), (x, x @ torch.tensor([[1.0], [-2.0], [0.5]]) + 3), {"lr": 0.1}
    corners = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    options = {"lr": 0.2, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True}
    yield "classifier", Classifier(), (corners, torch.tensor([0, 1, 1, 0])), options
    options = {"lr": 0.05, "momentum": 0.8, "dampening": 0.1}
    yield "pictures", Pictures(), (torch.randn(4, 2, 6, 6), torch.tensor([0, 2, 1, 2])), options


def leaf(tensor):
    return {
        "dtype": str(tensor.dtype).split(".")[1],
        "shape": list(tensor.shape),
        "data": tensor.detach().flatten().tolist(),
    }


def train(module, inputs, options):
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], **options)
    losses, gradients = [], {}
    for _ in range(STEPS):
        optimizer.zero_grad()
        result = module(*inputs)
        loss = result[0] if isinstance(result, tuple) else result
        loss.backward()
        losses.append(loss.item())
        if len(losses) == 1:
            trained = [(n, p) for n, p in module.named_parameters() if p.requires_grad]
            gradients = {name: leaf(parameter.grad) for name, parameter in trained}
        optimizer.step()
    return losses, gradients


def write(folder, name, module, inputs, options):
    joint = _export_forward_backward(exported(module, inputs))
    # Those of a joint graph name generated code and this machine's folders.
    for node in joint.graph.nodes:
        node.meta.pop("stack_trace", None)
    torch.export.save(joint, str(folder / f"{name}.pt2"))
    (folder / f"{name}.official.pte").write_bytes(to_edge(joint).to_executorch().buffer)
    if isinstance(module, Classifier):
        classes = exported(Classes(module), inputs[:1])
        torch.export.save(classes, str(folder / f"{name}.infer.pt2"))
    losses, gradients = train(module, inputs, options)
    golden = {
        "inputs": [leaf(value) for value in inputs],
        "options": options,
        "losses": losses,
        "firstGradients": gradients,
        "parameters": {name: leaf(p) for name, p in module.named_parameters() if p.requires_grad},
    }
    (folder / f"{name}.json").write_text(json.dumps(golden, indent=1) + "\n")


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    torch.manual_seed(0)
    for name, module, inputs, options in data():
        write(folder, name, module, inputs, options)


if __name__ == "__main__":
    main()
