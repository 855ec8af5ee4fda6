"""Weights in files that programs share: a foundation and adapters (LoRA) of two programs. Files of
this exporter and of the official one take each other's places, on both runtimes."""

import re

import runtimes
import torch

BASE = re.compile(r"base\.")


class Adapted(torch.nn.Module):
    """A layer of the foundation and an adapter of rank 2."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(7)
        self.base = torch.nn.Linear(8, 16)
        torch.manual_seed(seed)
        self.lora_a = torch.nn.Linear(8, 2, bias=False)
        self.lora_b = torch.nn.Linear(2, 16, bias=False)

    def forward(self, x):
        return self.base(x) + self.lora_b(self.lora_a(x)) * 0.5


def exported(seed):
    return torch.export.export(Adapted(seed).eval(), (torch.ones(3, 8),))


def official(program, delegated):
    """The .pte and the .ptd of the official exporter, with the weights of `base` apart."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
    from executorch.exir.passes.external_constants_pass import (
        delegate_external_constants_pass_unlifted,
    )

    def portable(node):
        return "foundation" if "base" in node.name else None

    def unlifted(node):
        return "foundation" if node.target.startswith("base.") else None

    if not delegated:
        edge = to_edge(program)
        return edge.to_executorch(ExecutorchBackendConfig(external_constants=portable))
    module = program.module()
    delegate_external_constants_pass_unlifted(module, unlifted)
    again = torch.export.export(module, (torch.ones(3, 8),))
    edge = to_edge_transform_and_lower(again, partitioner=[XnnpackPartitioner()])
    return edge.to_executorch()


def write_official(program, delegated, folder, name):
    made = official(program, delegated)
    path = folder / f"{name}.official.pte"
    path.write_bytes(made.buffer)
    data = folder / f"{name}.official"
    data.mkdir()
    made.write_tensor_data_to_file(str(data))
    return path, next(data.glob("*.ptd"))


def write_ours(program, words, folder, name):
    source = folder / f"{name}.pt2"
    torch.export.save(program, source)
    data = folder / name
    data.mkdir()
    path = data / f"{name}.pte"
    runtimes.lower([str(source), "--external-constants", "base.*=foundation", *words], path)
    return path, data / "foundation.ptd"


def judge(delegated, folder):
    words = ["--backend", "xnnpack"] if delegated else []
    x = torch.randn(3, 8)
    rows = []
    for seed in (1, 2):
        program = exported(seed)
        rows.append(
            (
                seed,
                Adapted(seed)(x).detach(),
                write_official(program, delegated, folder, f"p{seed}"),
                write_ours(program, words, folder, f"p{seed}"),
            )
        )
    # One file of weights serves both programs; other names of weights are those of XNNPACK alone.
    ours, theirs = rows[0][3][1], rows[0][2][1]
    assert ours.read_bytes() == rows[1][3][1].read_bytes(), "two foundations differ"
    pairs = []
    for seed, expected, (their_pte, _), (our_pte, _) in rows:
        pairs += [(f"ours, {seed}", our_pte, ours, expected)]
        pairs += [(f"official, {seed}", their_pte, theirs, expected)]
        if not delegated:
            pairs += [(f"ours with the official weights, {seed}", our_pte, theirs, expected)]
            pairs += [(f"official with our weights, {seed}", their_pte, ours, expected)]
    jobs = [(pte, [("forward", [x])], [ptd]) for _, pte, ptd, _ in pairs]
    answers = runtimes.run_files(folder, jobs)
    for (title, pte, ptd, expected), answer in zip(pairs, answers):
        assert isinstance(answer, list), f"{title}: {answer}"
        runtimes.check_value(answer[0][0], expected, f"{title}, here")
        program = runtimes.load(pte, ptd)
        found = program.load_method("forward").execute([x])
        runtimes.check_value(found[0], expected, f"{title}, official runtime")


def cases():
    yield "weight files: foundation and adapters", judge, (False,)
    yield "weight files: foundation and adapters, xnnpack", judge, (True,)
