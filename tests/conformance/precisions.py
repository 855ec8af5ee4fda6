"""Precisions of operators: a text decoder whose linear layers are quantized dynamically goes to
XNNPACK layer by layer, and the rest of it after that, as officially."""

import json
import operator

import node_server
import runtimes
import torch
import xnnpack

WIDTH, HEADS, WORDS = 32, 2, 40


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(WIDTH) for _ in range(2))
        self.query, self.key, self.value, self.out = (
            torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4)
        )
        self.up, self.down = torch.nn.Linear(WIDTH, 64), torch.nn.Linear(64, WIDTH)
        self.head = torch.nn.Linear(WIDTH, WORDS, bias=False)

    def attend(self, x):
        split = [
            layer(x).reshape(1, -1, HEADS, WIDTH // HEADS).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        ]
        scores = split[0] @ split[1].transpose(2, 3) / (WIDTH // HEADS) ** 0.5
        mask = torch.triu(torch.full(scores.shape[-2:], -1e4), 1)
        return self.out((torch.softmax(scores + mask, -1) @ split[2]).transpose(1, 2).flatten(2))

    def forward(self, tokens):
        x = self.words(tokens)
        x = x + self.attend(self.norms[0](x))
        x = x + self.down(torch.relu(self.up(self.norms[1](x))))
        return self.head(x)


def quantized(inputs):
    """The decoder with the official quantization of linear layers: 8 bits, dynamic, per channel."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    torch.manual_seed(3)
    module = torch.export.export(Decoder().eval(), inputs).module()
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    prepared = prepare_pt2e(module, XNNPACKQuantizer().set_global(config))
    prepared(*inputs)
    return torch.export.export(convert_pt2e(prepared), inputs)


def official(program):
    from executorch.backends.xnnpack.partition.config.xnnpack_config import ConfigPrecisionType
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    first = XnnpackPartitioner(
        config_precisions=ConfigPrecisionType.DYNAMIC_QUANT, per_op_mode=True
    )
    return to_edge_transform_and_lower(program, partitioner=[first, XnnpackPartitioner()])


PRODUCTS = ("linear", "addmm", "mm")


def official_layers(edge):
    """How many linear layers each delegate has, in order of size."""
    module = edge.exported_program().graph_module
    counts = []
    for node in module.graph.nodes:
        if node.op != "get_attr":
            continue
        part = getattr(module, node.target).original_module
        names = [str(n.target) for n in part.graph.nodes if n.target is not operator.getitem]
        layers = sum(any(f"aten.{p}." in name for p in PRODUCTS) for name in names)
        counts.append((layers, "choose_qparams" in " ".join(names)))
    return sorted(counts)


def our_layers(report):
    (method,) = json.loads(report.read_text())["methods"].values()
    counts = []
    for delegate in method["delegates"]:
        events = " ".join(delegate["debugHandleMap"])
        counts.append((events.count("FullyConnected"), "Convert" in events))
    return sorted(counts)


def judge(folder):
    inputs = (torch.tensor([[1, 5, 9, 2, 33, 7]]),)
    program = quantized(inputs)
    expected = program.module()(*inputs).detach()
    source, recipe = folder / "decoder.pt2", folder / "recipe.json"
    torch.export.save(program, source)
    first = {"backend": "xnnpack", "configPrecisions": "dynamic_quant", "perOpMode": True}
    recipe.write_text(json.dumps({"loweringRecipe": {"partitioners": [first, "xnnpack"]}}))
    ours, report = folder / "ours.pte", folder / "ours.json"
    arguments = ["export", source, "--recipe", recipe, "-o", ours, "--report", report]
    done = node_server.call("command", [str(one) for one in arguments])
    assert done.returncode == 0, done.stderr
    edge = official(program)
    theirs = folder / "official.pte"
    theirs.write_bytes(edge.to_executorch().buffer)
    found, wanted = our_layers(report), official_layers(edge)
    dynamic = [row for row in found if row[1]]
    assert dynamic == [row for row in wanted if row[1]], f"{found}, officially {wanted}"
    reference = runtimes.load(theirs).load_method("forward").execute(list(inputs))[0]
    # XNNPACK quantizes row by row, and the exported program whole tensors.
    assert (reference - expected).abs().max() <= 0.02 * expected.abs().max()
    for who, pte in (("ours", ours), ("official", theirs)):
        here = xnnpack.run_here(folder, pte, [("forward", list(inputs))])
        there = runtimes.load(pte).load_method("forward").execute(list(inputs))
        xnnpack.check(here[0][0], reference, f"{who}, here")
        xnnpack.check(there[0], reference, f"{who}, official runtime")
    return f"{len(dynamic)} linear layers, {len(found)} delegates, officially {len(wanted)}"


def cases():
    yield "precisions: a dynamically quantized decoder", judge, ()
