"""Training on both sides: the official module trains with our files to PyTorch's losses, and what
the official exporter writes of the same graphs gives the same results here. Constant methods of all
kinds cross both ways, too."""

import json

import runtimes
import torch

FILES = runtimes.ROOT / "tests" / "training"
NAMES = ("regression", "classifier", "pictures")
BACKENDS = ((), ("--backend", "xnnpack"))


def tensor(leaf):
    return torch.tensor(leaf["data"], dtype=getattr(torch, leaf["dtype"])).reshape(leaf["shape"])


def golden(name):
    read = json.loads((FILES / f"{name}.json").read_text())
    return read, [tensor(leaf) for leaf in read["inputs"]]


def train(path, inputs, options, steps):
    """The losses of the official training module, and its parameters after the last step."""
    from executorch.extension.training import (
        _load_for_executorch_for_training,
        get_sgd_optimizer,
    )

    module, optimizer, losses = _load_for_executorch_for_training(str(path)), None, []
    for _ in range(steps):
        losses.append(module.forward_backward("forward", inputs)[0].item())
        optimizer = optimizer or get_sgd_optimizer(module.named_parameters(), **options)
        optimizer.step(module.named_gradients())
    # The module owns the memory of its parameters.
    return losses, {name: value.clone() for name, value in module.named_parameters().items()}


def judge_ours(name, backend, folder):
    wanted, inputs = golden(name)
    path = folder / "program.pte"
    runtimes.lower([str(FILES / f"{name}.pt2"), *backend], path)
    losses, parameters = train(path, inputs, wanted["options"], len(wanted["losses"]))
    for step, (found, loss) in enumerate(zip(losses, wanted["losses"])):
        assert abs(found - loss) <= 2e-6 + 1e-5 * abs(loss), f"step {step}: {found}, not {loss}"
    assert set(parameters) == set(wanted["parameters"])
    for parameter, leaf in wanted["parameters"].items():
        runtimes.check_value(parameters[parameter], tensor(leaf), parameter)


def judge_theirs(name, folder):
    """One call: the loss, the gradients and the parameters, and what describes them."""
    from executorch.exir import to_edge

    _, inputs = golden(name)
    path = folder / "theirs.pte"
    exported = torch.export.load(FILES / f"{name}.pt2")
    path.write_bytes(to_edge(exported).to_executorch().buffer)
    program = runtimes.load(path)
    calls = [("forward", inputs)]
    calls += [(method, []) for method in sorted(program.method_names) if method != "forward"]
    assert len(calls) == 4, calls
    results = runtimes.run_files(folder, [(path, calls, ())])[0]
    assert isinstance(results, list), results
    for (method, values), here in zip(calls, results):
        there = program.load_method(method).execute(values)
        assert len(here) == len(there), f"{method}: {len(here)} results"
        for k, value in enumerate(there):
            if isinstance(value, torch.Tensor):
                runtimes.check_value(here[k], value, f"{method}, output {k}")
            else:
                assert here[k] == value, f"{method}: {here[k]}, not {value}"


CONSTANTS = {
    "flag": True,
    "limits": {"low": [1, 0.5], "kind": torch.float16, 'a "key"': {}, "name": "x"},
    "table": torch.tensor([[1, -2], [3, 2**40]]),
    "none": [],
}
FLAGS = {
    "flag": "true",
    "limits": '{"low": [1, 0.5], "kind": {"dtype": "float16"}, "a \\"key\\"": {}, "name": "x"}',
    "table": '{"tensor": [[1, -2], [3, 1099511627776]], "dtype": "int64"}',
    "none": "[]",
}


def check_constants(path, folder, run):
    from torch.utils._pytree import tree_leaves

    for method, found in zip(CONSTANTS, run(path, folder)):
        wanted = tree_leaves(CONSTANTS[method])
        assert len(found) == len(wanted), f"{method}: {found}"
        for value, other in zip(found, wanted):
            if isinstance(other, torch.Tensor):
                assert value.dtype == other.dtype and torch.equal(value, other), method
            else:
                assert value == (5 if other is torch.float16 else other), f"{method}: {value}"


def run_there(path, folder):
    program = runtimes.load(path)
    return [program.load_method(method).execute([]) for method in CONSTANTS]


def run_here(path, folder):
    return runtimes.run_files(folder, [(path, [(method, []) for method in CONSTANTS], ())])[0]


def judge_constants(folder):
    from executorch.exir import to_edge
    from executorch.exir._serialize._program import deserialize_pte_binary

    ours, theirs = folder / "ours.pte", folder / "theirs.pte"
    flags = [word for name, text in FLAGS.items() for word in ("--constant", f"{name}={text}")]
    runtimes.lower([str(runtimes.MODELS / "mlp.pt2"), *flags], ours)
    exported = torch.export.load(runtimes.MODELS / "mlp.pt2")
    theirs.write_bytes(to_edge(exported, constant_methods=CONSTANTS).to_executorch().buffer)
    trees = []
    for path in (ours, theirs):
        for run in (run_there, run_here):
            check_constants(path, folder, run)
        plans = deserialize_pte_binary(path.read_bytes()).program.execution_plan
        trees.append({plan.name: plan.container_meta_type.encoded_out_str for plan in plans})
    assert trees[0] == trees[1], trees


def cases():
    for name in NAMES:
        for backend in BACKENDS:
            title = f"training: {name}{', xnnpack' if backend else ''}"
            yield title, judge_ours, (name, backend)
        yield f"training: official {name}", judge_theirs, (name,)
    yield "training: constant methods", judge_constants, ()
