"""Delegated programs, both ways: what we lower to XNNPACK runs in the official runtime, what the
official exporter lowers to it runs in ours, both with PyTorch's numbers; and we never leave more
nodes outside than the official partitioner.

The cases are run by run.py, which has each in a process of its own.
"""

import json

import runtimes

COUNTS = json.loads((runtimes.ROOT / "tests/conformance/official_outside.json").read_text())
OFFICIAL = runtimes.MODELS / "xnnpack"

# A share of the largest number of an output. XNNPACK's float32 is not bit for bit PyTorch's: as
# official tests have it, 1e-3 of each number and of 1. Dynamically quantized programs keep to it
# too.
FLOAT, HALF = 1e-3, 5e-3
# A value halfway between two quanta may fall to either: where an output is dequantized last, it
# may be one quantum of its own scale away, and nothing else. Official tests have 1e-3 besides.
QUANTA = 1.001
# Models whose rows torchao quantizes symmetrically and XNNPACK asymmetrically: how far their
# results may be from PyTorch's (docs/differences.md).
OTHER_MAPPING = {"quantized_layers": 0.015}


def quanta_of(name):
    """The scale of each output that the program dequantizes last, None of the others."""
    import torch

    program = torch.export.load(runtimes.MODELS / f"{name}.pt2")
    (returned,) = next(n for n in program.graph.nodes if n.op == "output").args
    dequantize = torch.ops.quantized_decomposed.dequantize_per_tensor.default
    if name in OTHER_MAPPING:
        return [OTHER_MAPPING[name]] * len(returned)
    is_quantized = [getattr(node, "target", None) is dequantize for node in returned]
    return [n.args[1] if yes else None for n, yes in zip(returned, is_quantized, strict=True)]


def tolerance(want, quantum):
    """The distance that each number of an output may have from PyTorch's."""
    if quantum is not None:
        return QUANTA * quantum
    is_half = str(want.dtype) in ("torch.float16", "torch.bfloat16")
    finite = want.double()[want.isfinite()]
    largest = float(finite.abs().amax()) if finite.numel() else 0
    return (HALF if is_half else FLOAT) * max(1, largest)


def check(actual, expected, where, quantum=None):
    import torch

    if not isinstance(expected, torch.Tensor) or not expected.dtype.is_floating_point:
        runtimes.check_value(actual, expected, where)
        return
    assert actual.dtype == expected.dtype, f"{where}: {actual.dtype} instead of {expected.dtype}"
    assert actual.shape == expected.shape, f"{where}: {actual.shape} instead of {expected.shape}"
    got, want = actual.double(), expected.double()
    same = (got == want) | (got.isnan() & want.isnan())
    wrong = ~(same | ((got - want).abs() <= tolerance(expected, quantum)))
    assert not wrong.any(), f"{where}: {got[wrong][0]} instead of {want[wrong][0]}"


def cases_of(name, folder=runtimes.MODELS):
    """Inputs and outputs of each recorded call."""
    reference = json.loads((folder / f"{name}.ref.json").read_text())
    data = (folder / f"{name}.ref.bin").read_bytes()
    for case in reference["cases"]:
        items = case["args"] + [item for group in case["kwargs"].values() for item in group]
        inputs = [runtimes.as_passed(runtimes.recorded_value(item, data), item) for item in items]
        yield inputs, [runtimes.recorded_value(item, data) for item in case["outputs"]]


def check_calls(calls, cases, who, quanta=None):
    for number, ((_, expected), outputs) in enumerate(zip(cases, calls, strict=True)):
        # Inputs that the program writes come back as outputs before its own.
        outputs = outputs[len(outputs) - len(expected) :]
        for k, value in enumerate(expected):
            quantum = quanta[k] if quanta else None
            check(outputs[k], value, f"{who}, case {number}, output {k}", quantum)


# --- Our side ------------------------------------------------------------------------------------


def run_here(folder, pte, calls, ptds=()):
    """Results of our runtime for each call of a method."""
    (answer,) = runtimes.run_files(folder, [(pte, calls, ptds)])
    assert isinstance(answer, list), answer
    return answer


def lower(methods, pte, *flags):
    """Lowers by the command; what became of the nodes of each method."""
    report = pte.with_suffix(".json")
    named = [part for m, path in methods.items() for part in ("--method", f"{m}={path}")]
    runtimes.lower([*named, "--backend", "xnnpack", "--report", str(report), *flags], pte)
    return list(json.loads(report.read_text())["methods"].values())


# Nodes that XNNPACK could take and lowering leaves: copying a tensor in and out costs more than a
# view.
ON_PURPOSE = "its part would only move elements, which is not worth a delegate call"


def check_outside(names, methods):
    """If the official exporter refuses a program, there is no result to be worse than."""
    outside = [row for method in methods for row in method["outside"]]
    rows = [row for row in outside if row["reason"] != ON_PURPOSE]
    if all(COUNTS[name] is not None for name in names):
        most = sum(COUNTS[name] for name in names)
        told = ", ".join(f"{row['op']} ({row['reason']})" for row in rows)
        assert len(rows) <= most, f"{len(rows)} nodes outside, officially {most}: {told}"
        return f"{len(rows)} nodes outside, officially {most}"
    return f"{len(rows)} nodes outside, officially refused"


# --- Small programs ------------------------------------------------------------------------------


def judge_small(fn, inputs, is_delegated, folder):
    """A function, lowered here, on both runtimes."""
    import programs
    import torch

    source, pte = folder / "small.pt2", folder / "small.pte"
    module = programs.Fn(fn).eval()
    torch.export.save(torch.export.export(module, inputs, strict=False), source)
    methods = lower({"forward": source}, pte)
    assert bool(methods[0]["delegates"]) == is_delegated, methods
    expected = [value.detach() for value in module(*inputs)]
    cases = [(list(inputs), expected)]
    check_calls(run_here(folder, pte, [("forward", list(inputs))]), cases, "this runtime")
    program = runtimes.load(pte)
    official = program.load_method("forward").execute(list(inputs))
    check_calls([official], cases, "official runtime")


def numbers():
    """Tensors without dimensions: they go into parts, and come out of kernels only. Name, function,
    inputs, and whether it has parts."""
    import torch

    one, many, image = torch.full((1, 1), 0.75), torch.rand(2, 3) + 0.5, torch.rand(1, 3, 4, 4)
    t, linear = torch.tensor(1.25), torch.nn.Linear(4, 1).requires_grad_(False)
    c, pool = torch.tensor(1.7), torch.nn.functional.max_pool2d

    def branch(x):
        return (x * 2).squeeze().exp() + x

    yield "squeeze at the end", lambda x: (x * 2).squeeze(), (one,), True
    yield "squeeze and sigmoid", lambda x: linear(x).squeeze().sigmoid(), (torch.rand(1, 4),), True
    yield "quantile", lambda x: torch.quantile(x, 0.5), (many,), True
    yield "product of rows", lambda x: (x[:1] @ x[:1].T).squeeze() + 1, (many,), True
    yield "mean of a pixel", lambda x: x[None, None].mean((2, 3)).squeeze() * 2, (many,), True
    yield "reshape to nothing", lambda x: (x[0, :1] * 2).reshape(()), (many,), True
    yield "view to nothing", lambda x: (x + 1).view(()) * (x * 3), (one,), True
    yield "dot", lambda x: torch.dot(x, x) * x, (many[0],), True
    yield "mean of all", lambda x: (x * 2).mean() - x, (many,), True
    yield "largest of all", lambda x: (x * 2).amax() / x, (many,), True
    yield "one by one", lambda x: (x * 2).unbind(0), (many[0],), True
    yield "functions", lambda t: (t.sqrt(), t.clamp(0, 1), t.clone(), t.half(), t * t), (t,), False
    of = torch.nn.functional
    more = lambda t: (of.hardswish(t), of.leaky_relu(t), of.elu(t), of.gelu(t), t**2)  # noqa: E731
    yield "activations", more, (t,), False
    yield "a branch", lambda x: torch.cond(x.sum() > 0, branch, torch.abs, (x,)), (one,), True
    yield "permute", lambda t: t.permute(()).abs(), (t,), False
    yield "sum with a constant", lambda t: t + c, (t,), False
    yield "beside a constant", lambda x: c - x.abs(), (many,), True
    for op in (torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum):
        both = lambda x, t, op=op: (op(x, t), op(t, x))  # noqa: E731
        yield f"beside others, {op.__name__}", both, (many, t), True
    yield "beside halves", lambda x, t: x * t, (many.half(), t.half()), True
    yield "beside an image", lambda x, t: pool(x, 2) * t, (image, t), True
    yield "given a dimension", lambda t: t.unsqueeze(0).exp() + t.view(1, 1), (t,), True
    yield "repeated", lambda t: t.expand(3).exp(), (t,), True
    yield "stacked", lambda t: torch.stack([t, t]).exp(), (t,), True


def eight_bits():
    """Quantized numbers with quantized tensors."""
    import torch

    def quantized(x):
        of = torch.ops.quantized_decomposed
        grid = (0.02, 3, -128, 127, torch.int8)
        return of.dequantize_per_tensor(of.quantize_per_tensor(x, *grid), *grid)

    def twice(x):
        number = quantized(c)
        return quantized(quantized(x) * number) + number

    many, t, c = torch.rand(2, 3) + 0.5, torch.tensor(1.25), torch.tensor(1.7)
    yield "8 bits, a number", lambda x, t: quantized(quantized(x) + quantized(t)), (many, t), True
    yield "8 bits, a constant", lambda x: quantized(quantized(x) * quantized(c)), (many,), True
    both = lambda x, t: (quantized(t), quantized(quantized(x) - quantized(t)))  # noqa: E731
    yield "8 bits, a number that is read", both, (many, t), True
    yield "8 bits, squeezed", lambda x: quantized(quantized(x[:1, :1]).squeeze()), (many,), True
    yield "8 bits, a constant that is read", twice, (many,), True


def halves():
    """Products of which both sides are computed, in half precision."""
    import torch

    bias = torch.randn(4)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, y, b = torch.randn(4, 6).to(dtype), torch.randn(6, 4).to(dtype), bias.to(dtype)
        of = torch.nn.functional.linear
        for name, fn, inputs in (
            ("x @ x.T", lambda x: x @ x.T, (x,)),
            ("mm", torch.mm, (x, y)),
            ("linear", lambda x: of(x, x), (x,)),
            ("linear, relu", lambda x, y: of(x, y.T).relu(), (x, y)),
            ("linear, a bias", lambda x, b: of(x, x, b), (x, b)),
            ("addmm", torch.addmm, (b, x, y)),
            ("addmm, a parameter", lambda x, y, b=b: torch.addmm(b, x, y), (x, y)),
            ("bmm", lambda x, y: x[None] @ y[None], (x, y)),
        ):
            # In bfloat16 XNNPACK multiplies by constants only.
            yield f"{name}, {str(dtype)[6:]}", fn, inputs, dtype != torch.bfloat16


def small_programs():
    import torch

    for family in (numbers, eight_bits, halves):
        torch.manual_seed(0)
        yield from family()


# --- The cases -----------------------------------------------------------------------------------

# Nothing in these is for XNNPACK: doubles, and integers.
WITHOUT_DELEGATE = {"linear_fp64", "masks"}


def judge_lowered(name, folder):
    pte, cases = folder / "delegated.pte", list(cases_of(name))
    calls = [("forward", inputs) for inputs, _ in cases]
    methods = lower({"forward": runtimes.MODELS / f"{name}.pt2"}, pte)
    is_delegated = any(method["delegates"] for method in methods)
    assert is_delegated or name in WITHOUT_DELEGATE, "nothing was delegated"
    check_calls(run_here(folder, pte, calls), cases, "this runtime", quanta_of(name))
    program = runtimes.load(pte)
    method = program.load_method("forward")
    official = [method.execute(inputs) for inputs, _ in cases]
    check_calls(official, cases, "official runtime", quanta_of(name))
    return check_outside([name], methods)


ENCDEC = ("encode", "decode", "forward")


def judge_official(name, folder):
    """A file of the official exporter in our runtime."""
    methods = {m: f"encdec.{m}" for m in ENCDEC} if name == "encdec" else {"forward": name}
    known = OFFICIAL if (OFFICIAL / f"{name}.ref.json").exists() else runtimes.MODELS
    cases = [(m, *case) for m, stem in methods.items() for case in cases_of(stem, known)]
    calls = [(method, inputs) for method, inputs, _ in cases]
    mine = run_here(folder, OFFICIAL / f"{name}.pte", calls)
    check_calls(mine, [case[1:] for case in cases], "this runtime")


def judge_methods(folder):
    """Three methods that share weights, inside the file and outside."""
    methods = {m: runtimes.MODELS / f"encdec.{m}.pt2" for m in ENCDEC}
    cases = {m: list(cases_of(f"encdec.{m}")) for m in methods}
    calls = [(m, inputs) for m in methods for inputs, _ in cases[m]]
    told = []
    for external in (False, True):
        pte = folder / f"encdec{external:d}.pte"
        lowered = lower(methods, pte, *["--external-constants"][: int(external)])
        ptds = sorted(folder.glob(f"{pte.stem}*.ptd"))
        assert bool(ptds) == external, ptds
        outputs = run_here(folder, pte, calls, ptds)
        program = runtimes.load(pte, *ptds)
        for m in methods:
            mine, outputs = outputs[: len(cases[m])], outputs[len(cases[m]) :]
            check_calls(mine, cases[m], f"this runtime, {m}")
            method = program.load_method(m)
            official = [method.execute(inputs) for inputs, _ in cases[m]]
            check_calls(official, cases[m], f"official runtime, {m}")
        told.append(check_outside([f"encdec.{m}" for m in methods], lowered))
        told.append(f"file {pte.stat().st_size}")
    return ", ".join(told)


def judge_external(folder):
    pte, cases = folder / "mlp.pte", list(cases_of("mlp"))
    lower({"forward": runtimes.MODELS / "mlp.pt2"}, pte, "--external-constants")
    ptds = [folder / "mlp.ptd"]
    calls = [("forward", inputs) for inputs, _ in cases]
    check_calls(run_here(folder, pte, calls, ptds), cases, "this runtime")
    program = runtimes.load(pte, *ptds)
    method = program.load_method("forward")
    official = [method.execute(inputs) for inputs, _ in cases]
    check_calls(official, cases, "official runtime")


# The official exporter's program of both methods, 256 as a constant method and shared state.
OFFICIAL_STORY_BYTES = 1_488_768


def judge_story(folder):
    """Prefill and decode with one cache and one set of weights: the golden story on both sides."""
    import torch

    golden = json.loads((runtimes.SAMPLES / "stories260k.golden.json").read_text())["tokens"]
    pte = folder / "story.pte"
    methods = {m: runtimes.SAMPLES / f"stories260k.{m}.pt2" for m in ("prefill", "decode")}
    half = len(golden) // 2
    steps = [
        ("decode", [torch.tensor([[token]]), torch.tensor([at])]) for at, token in enumerate(golden)
    ]
    # The cache that prefill fills is the one that decode reads.
    again = ("prefill", [torch.tensor([golden[:half]]), torch.arange(half)])
    calls = [*steps[:-1], again, steps[half]]
    flags = ("--share-state", "--constant", "get_max_seq_len=256")
    lowered = lower(methods, pte, *flags)
    told = [*golden[1:], golden[half], golden[half + 1]]
    mine = [int(outputs[0].argmax()) for outputs in run_here(folder, pte, calls)]
    assert mine == told, "this runtime"
    program = runtimes.load(pte)
    loaded = {method: program.load_method(method) for method in methods}
    official = [int(loaded[m].execute(list(inputs))[0].argmax()) for m, inputs in calls]
    assert official == told, "official runtime"
    size = pte.stat().st_size
    assert size < OFFICIAL_STORY_BYTES, f"{size} bytes, officially {OFFICIAL_STORY_BYTES}"
    # Weights of both are there once: the second method adds instructions and payloads.
    alone = folder / "decode.pte"
    lower({"decode": methods["decode"]}, alone, *flags)
    weights = (runtimes.SAMPLES / "stories260k.decode.pt2").stat().st_size
    added = size - alone.stat().st_size
    assert 4 * added < weights, f"the second method adds {added} bytes to {size - added}"
    outside = check_outside([f"stories260k.{m}" for m in methods], lowered)
    return f"{outside}, file {size} of {OFFICIAL_STORY_BYTES}, {added} of the second method"


def judge_face(folder):
    """The detector's numbers, as the undelegated program has them: it is compared elsewhere."""
    import torch

    torch.manual_seed(0)
    image, source = torch.randn(1, 3, 240, 320), runtimes.SAMPLES / "face-rfb320.pt2"
    with torch.no_grad():
        expected = torch.export.load(source).module()(image)
    cases, pte = [([image], list(expected))], folder / "face.pte"
    methods = lower({"forward": source}, pte)
    mine = run_here(folder, pte, [("forward", [image])])
    check_calls(mine, cases, "this runtime")
    program = runtimes.load(pte)
    method = program.load_method("forward")
    check_calls([method.execute([image])], cases, "official runtime")
    return check_outside(["face-rfb320"], methods)


def cases():
    for name in runtimes.SINGLE:
        yield f"xnnpack, {name}: numbers and delegates", judge_lowered, (name,)
    for path in sorted(OFFICIAL.glob("*.pte")):
        yield f"xnnpack, {path.stem}: official file", judge_official, (path.stem,)
    for name, *case in small_programs():
        yield f"xnnpack, {name}: both runtimes", judge_small, tuple(case)
    yield "xnnpack, encdec: three methods", judge_methods, ()
    yield "xnnpack, mlp: external weights", judge_external, ()
    yield "xnnpack, stories260k: the golden story", judge_story, ()
    yield "xnnpack, face-rfb320: numbers", judge_face, ()
