"""Programs of tests/models and models/ on the official runtime: their numbers, their sizes."""

import json
import re
import sys

import node_server
import runtimes


def judge_program(name, folder):
    path = folder / f"{name}.pte"
    runtimes.lower([str(runtimes.MODELS / f"{name}.pt2")], path)
    program = runtimes.load(path)
    runtimes.check_cases(program.load_method("forward"), name)


def judge_sizes(files, folder, flags=()):
    path = folder / "sizes.pte"
    methods = [part for m, file in files.items() for part in ("--method", f"{m}={file}")]
    runtimes.lower([*methods, *flags], path)
    ours, theirs = path.read_bytes(), runtimes.official_program(files)
    told = []
    for method in files:
        planned = runtimes.planned_bytes(ours, method), runtimes.planned_bytes(theirs, method)
        assert planned[0] <= planned[1], f"planned {planned[0]} bytes, officially {planned[1]}"
        told.append(f"{method} planned {planned[0]} of {planned[1]} bytes")
    assert len(ours) <= len(theirs), f"file of {len(ours)} bytes, officially {len(theirs)}"
    return ", ".join([*told, f"file {len(ours)} of {len(theirs)}"])


def judge_package(folder):
    path = folder / "encdec.pte"
    constants = ["get_vocab_size=64", "get_name=encdec", "get_scale=0.5", "is_bidirectional=true"]
    flags = [part for constant in constants for part in ("--constant", constant)]
    methods = [
        part
        for m in ("encode", "decode", "forward")
        for part in ("--method", f"{m}={runtimes.MODELS / f'encdec.{m}.pt2'}")
    ]
    runtimes.lower([*methods, *flags], path)
    program = runtimes.load(path)
    for name in ("encode", "decode", "forward"):
        runtimes.check_cases(program.load_method(name), f"encdec.{name}")
    expected = {
        "get_vocab_size": 64,
        "get_name": "encdec",
        "get_scale": 0.5,
        "is_bidirectional": True,
    }
    for name, value in expected.items():
        assert program.load_method(name).execute([]) == [value], name


def judge_external(folder):
    path = folder / "mlp.external.pte"
    runtimes.lower(["--external-constants", str(runtimes.MODELS / "mlp.pt2")], path)
    program = runtimes.load(path, next(folder.glob("*.ptd")))
    runtimes.check_cases(program.load_method("forward"), "mlp")


def judge_story(folder):
    import torch

    golden = json.loads((runtimes.SAMPLES / "stories260k.golden.json").read_text())["tokens"]
    path = folder / "stories260k.pte"
    methods = [
        part
        for m in ("prefill", "decode")
        for part in ("--method", f"{m}={runtimes.SAMPLES / f'stories260k.{m}.pt2'}")
    ]
    runtimes.lower([*methods, "--constant", "get_max_seq_len=256", "--share-state"], path)
    assert path.stat().st_size <= 1.25e6, f"{path.stat().st_size} bytes"
    program = runtimes.load(path)
    prefill, decode = program.load_method("prefill"), program.load_method("decode")
    tokens = [golden[0]]
    while len(tokens) < len(golden):
        last = torch.tensor([[tokens[-1]]]), torch.tensor([len(tokens) - 1])
        tokens.append(int(decode.execute(list(last))[0].argmax()))
    assert tokens == golden, (
        f"differs at token {next(i for i, t in enumerate(tokens) if t != golden[i])}"
    )
    # The cache that prefill fills is the one that decode reads.
    half = len(golden) // 2
    logits = prefill.execute([torch.tensor([golden[:half]]), torch.arange(half)])[0]
    assert int(logits.argmax()) == golden[half], "prefill"
    logits = decode.execute([torch.tensor([[golden[half]]]), torch.tensor([half])])[0]
    assert int(logits.argmax()) == golden[half + 1], "decode after prefill"


def judge_story_sizes(files, folder):
    # Officially the methods' caches lie over each other; apart, as without sharing, takes more.
    return judge_sizes(files, folder, ["--share-state"])


def judge_face(folder):
    import numpy
    import torch

    path = folder / "face-rfb320.pte"
    runtimes.lower([str(runtimes.SAMPLES / "face-rfb320.pt2")], path)
    exported = torch.export.load(runtimes.SAMPLES / "face-rfb320.pt2")
    image = torch.from_numpy(
        numpy.random.default_rng(0).random((1, 3, 240, 320), dtype=numpy.float32) * 2 - 1
    )
    program = runtimes.load(path)
    outputs = program.load_method("forward").execute([image])
    for k, expected in enumerate(exported.module()(image)):
        runtimes.check_value(outputs[k], expected.detach(), f"output {k}")


def judge_mobilenet(folder):
    """Too large to keep: made here, and run by both runtimes."""
    import numpy
    import torch

    sys.path.insert(0, str(runtimes.ROOT / "tests" / "bench"))
    from make_models import mobilenet

    torch.manual_seed(0)
    model, image = mobilenet()
    expected = model.eval()(image).detach()
    source, path = folder / "mobilenet_v2.pt2", folder / "mobilenet_v2.pte"
    torch.export.save(torch.export.export(model, (image,)), source)
    runtimes.lower([str(source)], path)
    program = runtimes.load(path)
    outputs = program.load_method("forward").execute([image])
    runtimes.check_value(outputs[0], expected, "official runtime")
    numpy.save(folder / "image.npy", image.numpy())
    run = ["run", path, "--input", folder / "image.npy", "--out", folder / "out"]
    done = node_server.call("command", run)
    assert done.returncode == 0, done.stderr
    ours = torch.from_numpy(numpy.load(folder / "out" / "output_0.npy"))
    runtimes.check_value(ours, expected, "this runtime")
    return judge_sizes({"forward": source}, folder)


def judge_largest(name, folder):
    """Sizes that the export left open, bounded when lowering: as if the file had bounded them."""
    import open_sizes
    import torch

    case = open_sizes.CASES[name]
    torch.manual_seed(0)
    source, path = folder / "open.pt2", folder / "open.pte"
    torch.export.save(case.exported(None), source)
    refused = node_server.call("command", ["lower", source, "-o", path])
    hinted = re.search(r"has no maximum.*--max-size \w+=N", refused.stderr, re.DOTALL)
    assert refused.returncode == 1 and hinted, refused.stderr
    runtimes.lower([str(source), *case.flags], path)
    method = runtimes.load(path).load_method("forward")
    for size in case.sizes:
        inputs = case.inputs(size)
        expected = case.module(*inputs)
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        for told, outputs in (
            ("official runtime", method.execute(list(inputs))),
            ("this runtime", runtimes.run_here(path, inputs, folder)),
        ):
            assert isinstance(outputs, list), f"size {size}, {told}: {outputs}"
            for k, value in enumerate(expected):
                runtimes.check_value(outputs[k], value.detach(), f"size {size}, {told}, output {k}")
    beyond = runtimes.run_here(path, case.inputs(case.largest + 1), folder)
    assert isinstance(beyond, str) and re.search(case.refusal, beyond), beyond
    bounded, ours = folder / "bounded.pt2", path.read_bytes()
    torch.export.save(case.exported(case.largest), bounded)
    runtimes.lower([str(bounded)], folder / "bounded.pte")
    told = (folder / "bounded.pte").read_bytes()
    planned = runtimes.planned_bytes(ours, "forward"), runtimes.planned_bytes(told, "forward")
    assert planned[0] == planned[1], f"planned {planned[0]} bytes, bounded at export {planned[1]}"
    return f"planned {planned[0]} bytes as bounded at export, file {len(ours)} of {len(told)}"
