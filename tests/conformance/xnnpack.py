"""Delegated programs, both ways: what we lower to XNNPACK runs in the official runtime, what the
official exporter lowers to it runs in ours, both with PyTorch's numbers; and we never leave more
nodes outside than the official partitioner.

The cases are run by run.py, which has each in a process of its own.
"""

import base64
import json
import subprocess

import run

COUNTS = json.loads((run.ROOT / "tests/conformance/official_outside.json").read_text())
OFFICIAL = run.MODELS / "xnnpack"

# Of the largest number of an output. XNNPACK's float32 is not bit for bit PyTorch's: as official
# tests have it, 1e-3 of each number and of 1. Their quantized ones allow one quantum more, which
# is a 255th of the range of the output: what lies halfway between two quanta may fall to either.
FLOAT, HALF, QUANTUM = 1e-3, 5e-3, 1.01 / 255


def tolerance(name, dtype):
    if "quantized" in name or "int8" in name:
        return FLOAT + QUANTUM
    return HALF if dtype in ("float16", "bfloat16") else FLOAT


def check(actual, expected, name, where):
    import torch

    if not isinstance(expected, torch.Tensor) or not expected.dtype.is_floating_point:
        run.check_value(actual, expected, where)
        return
    assert actual.dtype == expected.dtype, f"{where}: {actual.dtype} instead of {expected.dtype}"
    assert actual.shape == expected.shape, f"{where}: {actual.shape} instead of {expected.shape}"
    got, want = actual.double(), expected.double()
    same = (got == want) | (got.isnan() & want.isnan())
    largest = want[want.isfinite()].abs().amax().clamp(min=1) if want.isfinite().any() else 1
    allowed = tolerance(name, str(expected.dtype).split(".")[1]) * largest
    wrong = ~(same | ((got - want).abs() <= allowed))
    assert not wrong.any(), f"{where}: {got[wrong][0]} instead of {want[wrong][0]}"


def cases_of(name, folder=run.MODELS):
    """Inputs and outputs of each recorded call."""
    reference = json.loads((folder / f"{name}.ref.json").read_text())
    data = (folder / f"{name}.ref.bin").read_bytes()
    for case in reference["cases"]:
        items = case["args"] + [item for group in case["kwargs"].values() for item in group]
        inputs = [run.as_passed(run.recorded_value(item, data), item) for item in items]
        yield inputs, [run.recorded_value(item, data) for item in case["outputs"]]


def check_calls(calls, cases, name, who):
    for number, ((_, expected), outputs) in enumerate(zip(cases, calls, strict=True)):
        # Inputs that the program writes come back as outputs before its own.
        outputs = outputs[len(outputs) - len(expected) :]
        for k, value in enumerate(expected):
            check(outputs[k], value, name, f"{who}, case {number}, output {k}")


# --- Our side ------------------------------------------------------------------------------------


def encoded(value):
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    raw = value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    dtype = str(value.dtype).split(".")[1]
    data = base64.b64encode(raw).decode()
    return {"dtype": dtype, "shape": list(value.shape), "data": data}


def decoded(value):
    import torch

    if not isinstance(value, dict):
        return value
    raw, dtype = bytearray(base64.b64decode(value["data"])), getattr(torch, value["dtype"])
    flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
    return flat.reshape(value["shape"])


def here(folder, **job):
    """What delegated.mjs makes of one job."""
    jobs = folder / "jobs.json"
    jobs.write_text(json.dumps([job]))
    script = run.ROOT / "tests/conformance/delegated.mjs"
    done = subprocess.run(["node", script, jobs], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads(done.stdout)
    for part in answer.values():
        assert not (isinstance(part, dict) and "failed" in part), part
    return answer


def run_job(pte, calls, ptds=()):
    listed = [{"method": m, "inputs": [encoded(v) for v in inputs]} for m, inputs in calls]
    return {"pte": str(pte), "ptds": [str(p) for p in ptds], "calls": listed}


def lower_job(methods, pte, **config):
    paths = {method: str(path) for method, path in methods.items()}
    return {"methods": paths, "backend": "xnnpack", "pte": str(pte), "config": config}


def results(answer):
    return [[decoded(value) for value in call] for call in answer["outputs"]]


def left_outside(answer):
    """The rows of the nodes that no delegate took, of all methods."""
    rows = answer["lowered"]["delegation"].values()
    return [row for method in rows for row in method["nodes"] if row["delegate"] is None]


def check_outside(names, answer):
    """Where the official exporter refuses a program, there is nothing to be worse than."""
    rows = left_outside(answer)
    if all(COUNTS[name] is not None for name in names):
        most = sum(COUNTS[name] for name in names)
        told = ", ".join(f"{row['op']} ({row['reason']})" for row in rows)
        assert len(rows) <= most, f"{len(rows)} nodes outside, officially {most}: {told}"
        return f"{len(rows)} nodes outside, officially {most}"
    return f"{len(rows)} nodes outside, officially refused"


def delegates_in(answer):
    return sum(len(m["delegates"]) for m in answer["lowered"]["delegation"].values())


# --- The cases -----------------------------------------------------------------------------------

# Nothing in these is for XNNPACK: doubles, and integers.
WITHOUT_DELEGATE = {"linear_fp64", "masks"}


def judge_lowered(name, folder):
    pte, cases = folder / "delegated.pte", list(cases_of(name))
    calls = [("forward", inputs) for inputs, _ in cases]
    lower = lower_job({"forward": run.MODELS / f"{name}.pt2"}, pte)
    answer = here(folder, lower=lower, run=run_job(pte, calls))
    assert delegates_in(answer) or name in WITHOUT_DELEGATE, "nothing was delegated"
    check_calls(results(answer), cases, name, "this runtime")
    program = run.load(pte)
    method = program.load_method("forward")
    official = [method.execute(inputs) for inputs, _ in cases]
    check_calls(official, cases, name, "official runtime")
    return check_outside([name], answer)


ENCDEC = ("encode", "decode", "forward")


def judge_official(name, folder):
    """A file of the official exporter in our runtime."""
    methods = {m: f"encdec.{m}" for m in ENCDEC} if name == "encdec" else {"forward": name}
    known = OFFICIAL if (OFFICIAL / f"{name}.ref.json").exists() else run.MODELS
    cases = [(m, *case) for m, stem in methods.items() for case in cases_of(stem, known)]
    calls = [(method, inputs) for method, inputs, _ in cases]
    answer = here(folder, run=run_job(OFFICIAL / f"{name}.pte", calls))
    check_calls(results(answer), [case[1:] for case in cases], name, "this runtime")


def judge_methods(folder):
    """Three methods that share weights, inside the file and outside."""
    methods = {m: run.MODELS / f"encdec.{m}.pt2" for m in ENCDEC}
    cases = {m: list(cases_of(f"encdec.{m}")) for m in methods}
    calls = [(m, inputs) for m in methods for inputs, _ in cases[m]]
    told = []
    for external in (False, True):
        pte = folder / f"encdec{external:d}.pte"
        lower = lower_job(methods, pte, externalConstants=external)
        answer = here(folder, lower=lower)
        ptds = [folder / name for name in answer["lowered"]["ptds"]]
        assert bool(ptds) == external, ptds
        outputs = results(here(folder, run=run_job(pte, calls, ptds)))
        program = run.load(pte, *ptds)
        for m in methods:
            mine, outputs = outputs[: len(cases[m])], outputs[len(cases[m]) :]
            check_calls(mine, cases[m], "encdec", f"this runtime, {m}")
            method = program.load_method(m)
            official = [method.execute(inputs) for inputs, _ in cases[m]]
            check_calls(official, cases[m], "encdec", f"official runtime, {m}")
        told.append(check_outside([f"encdec.{m}" for m in methods], answer))
        told.append(f"file {pte.stat().st_size}")
    return ", ".join(told)


def judge_external(folder):
    pte, cases = folder / "mlp.pte", list(cases_of("mlp"))
    lower = lower_job({"forward": run.MODELS / "mlp.pt2"}, pte, externalConstants=True)
    ptds = [folder / name for name in here(folder, lower=lower)["lowered"]["ptds"]]
    calls = [("forward", inputs) for inputs, _ in cases]
    answer = here(folder, run=run_job(pte, calls, ptds))
    check_calls(results(answer), cases, "mlp", "this runtime")
    program = run.load(pte, *ptds)
    method = program.load_method("forward")
    official = [method.execute(inputs) for inputs, _ in cases]
    check_calls(official, cases, "mlp", "official runtime")


# What the official exporter makes of both methods, 256 as a constant method and shared state.
OFFICIAL_STORY_BYTES = 1_488_768


def judge_story(folder):
    """Prefill and decode with one cache and one set of weights: the golden story on both sides."""
    import torch

    golden = json.loads((run.SAMPLES / "stories260k.golden.json").read_text())["tokens"]
    pte = folder / "story.pte"
    methods = {m: run.SAMPLES / f"stories260k.{m}.pt2" for m in ("prefill", "decode")}
    constants = {"constantMethods": {"get_max_seq_len": 256}}
    half = len(golden) // 2
    steps = [
        ("decode", [torch.tensor([[token]]), torch.tensor([at])]) for at, token in enumerate(golden)
    ]
    # The cache that prefill fills is the one that decode reads.
    again = ("prefill", [torch.tensor([golden[:half]]), torch.arange(half)])
    calls = [*steps[:-1], again, steps[half]]
    lower = lower_job(methods, pte, shareMutableBuffers=True) | {"edge": constants}
    told = [*golden[1:], golden[half], golden[half + 1]]
    answer = here(folder, lower=lower, run=run_job(pte, calls))
    assert [int(outputs[0].argmax()) for outputs in results(answer)] == told, "this runtime"
    program = run.load(pte)
    loaded = {method: program.load_method(method) for method in methods}
    official = [int(loaded[m].execute(list(inputs))[0].argmax()) for m, inputs in calls]
    assert official == told, "official runtime"
    size = pte.stat().st_size
    assert size < OFFICIAL_STORY_BYTES, f"{size} bytes, officially {OFFICIAL_STORY_BYTES}"
    outside = check_outside([f"stories260k.{m}" for m in methods], answer)
    return f"{outside}, file {size} of {OFFICIAL_STORY_BYTES}"


def judge_face(folder):
    """The detector's numbers, as the undelegated program has them: it is compared elsewhere."""
    import torch

    torch.manual_seed(0)
    image, source = torch.randn(1, 3, 240, 320), run.SAMPLES / "face-rfb320.pt2"
    with torch.no_grad():
        expected = torch.export.load(source).module()(image)
    cases, pte = [([image], list(expected))], folder / "face.pte"
    job = run_job(pte, [("forward", [image])])
    answer = here(folder, lower=lower_job({"forward": source}, pte), run=job)
    check_calls(results(answer), cases, "face", "this runtime")
    program = run.load(pte)
    method = program.load_method("forward")
    check_calls([method.execute([image])], cases, "face", "official runtime")
    return check_outside(["face-rfb320"], answer)


def cases():
    for name in run.SINGLE:
        yield f"xnnpack, {name}: numbers and delegates", judge_lowered, (name,)
    for path in sorted(OFFICIAL.glob("*.pte")):
        yield f"xnnpack, {path.stem}: official file", judge_official, (path.stem,)
    yield "xnnpack, encdec: three methods", judge_methods, ()
    yield "xnnpack, mlp: external weights", judge_external, ()
    yield "xnnpack, stories260k: the golden story", judge_story, ()
    yield "xnnpack, face-rfb320: numbers", judge_face, ()
