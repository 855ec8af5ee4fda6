"""The official stack judges our files: every program is lowered by the command line, loaded by the
official runtime and compared with the numbers that PyTorch recorded; and no plan or file of ours
may be larger than what the official exporter makes of the same program.

Each program runs in a process of its own, because the runtime aborts on some bad inputs.
Usage: run.py [NAME...]      closing line: N passed, N failed
"""

import itertools
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MODELS = ROOT / "tests" / "models"
SAMPLES = ROOT / "models"
CLI = ["node", str(ROOT / "dist" / "cli.js")]

SINGLE = [
    "add_mul",
    "linear",
    "mlp",
    "mlp_dyn",
    "cnn",
    "cnn_dyn",
    "cnn_dynbatch",
    "counter_buffer",
    "input_mutation",
    "kv_cache_index_copy_frozen",
    "tinyformer",
    "weight_layouts",
    "linear_bf16",
    "linear_fp16",
    "linear_fp64",
    "pytree_io",
    "channels_last_input",
    "lstm",
    "cond",
    "masks",
    "token_map",
    "constant_cache",
    "running_stats",
    "quantized_cnn",
    "quantized_mlp",
    "quantized_layers",
    "encdec.encode",
    "encdec.decode",
    "encdec.forward",
]

# The official exporter, not its runtime, refuses masked_select, constants that are written to,
# batch norm in training mode, and torchao's operators.
OFFICIALLY_REFUSED = {"masks", "constant_cache", "running_stats", "quantized_layers"}

# Most that one case may take; the longest takes about a hundred on an idle machine.
SECONDS = 600

TOLERANCES = json.loads((MODELS / "tolerance.json").read_text())


def lower(arguments, output):
    done = subprocess.run(
        [*CLI, "lower", *arguments, "-o", str(output)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def load(path, data_path=None):
    """A program, read from its file: whoever hands the runtime bytes must keep them, it does not.

    It owns what its methods stand on, so it has to outlive them.
    """
    import executorch.kernels.quantized  # noqa: F401  registers its kernels
    from executorch.runtime import Runtime

    return Runtime.get().load_program(path, data_path=data_path)


def recorded_value(item, data):
    import torch

    if "py" in item:
        return item["py"]
    dtype = getattr(torch, item["dtype"])
    raw = bytearray(data[item["offset"] : item["offset"] + item["nbytes"]])
    if not raw:
        return torch.empty(item["shape"], dtype=dtype)
    return torch.frombuffer(raw, dtype=dtype).reshape(item["shape"])


def as_passed(value, item):
    """The tensor in the memory layout that the program was exported with."""
    import torch

    if not isinstance(value, torch.Tensor) or value.numel() == 0:
        return value
    strided = torch.empty_strided(item["shape"], item["strides"], dtype=value.dtype)
    return strided.copy_(value) if 0 not in item["strides"] else value


def check_value(actual, expected, where, magnitude=None):
    """`magnitude`: what each number may be off is a share of; that of itself where not told."""
    import torch

    if not isinstance(expected, torch.Tensor):
        assert actual == expected, f"{where}: {actual} instead of {expected}"
        return
    assert actual.dtype == expected.dtype, f"{where}: {actual.dtype} instead of {expected.dtype}"
    assert actual.shape == expected.shape, f"{where}: {actual.shape} instead of {expected.shape}"
    tolerance = TOLERANCES.get(str(expected.dtype).split(".")[1], 0)
    got, want = actual.double(), expected.double()
    same = (actual == expected) | (got.isnan() & want.isnan())
    share = (want if magnitude is None else magnitude.double()).abs().clamp(min=1)
    near = want.isfinite() & ((got - want).abs() <= tolerance * share)
    wrong = ~(same | near) if tolerance else ~same
    assert not wrong.any(), f"{where}: {got[wrong][0]} instead of {want[wrong][0]}"


def check_cases(method, name):
    reference = json.loads((MODELS / f"{name}.ref.json").read_text())
    data = (MODELS / f"{name}.ref.bin").read_bytes()
    for number, case in enumerate(reference["cases"]):
        items = case["args"] + [item for group in case["kwargs"].values() for item in group]
        inputs = [as_passed(recorded_value(item, data), item) for item in items]
        outputs = method.execute(inputs)
        # Inputs that the program writes come back as outputs before its own.
        outputs = outputs[len(outputs) - len(case["outputs"]) :]
        for k, item in enumerate(case["outputs"]):
            check_value(outputs[k], recorded_value(item, data), f"case {number}, output {k}")


def planned_bytes(program, method):
    """All planned buffers of a method, as the file declares them."""
    from executorch.exir._serialize._program import deserialize_pte_binary

    pte = deserialize_pte_binary(program)
    pte = getattr(pte, "program", pte)
    plan = next(p for p in pte.execution_plan if p.name == method)
    return sum(plan.non_const_buffer_sizes)


def official_program(files):
    import torch
    from executorch.exir import to_edge

    programs = {method: torch.export.load(file) for method, file in files.items()}
    return bytes(to_edge(programs).to_executorch().buffer)


def judge_program(name, folder):
    path = folder / f"{name}.pte"
    lower([str(MODELS / f"{name}.pt2")], path)
    program = load(path)
    check_cases(program.load_method("forward"), name)


def judge_sizes(files, folder, flags=()):
    path = folder / "sizes.pte"
    methods = [part for m, file in files.items() for part in ("--method", f"{m}={file}")]
    lower([*methods, *flags], path)
    ours, theirs = path.read_bytes(), official_program(files)
    told = []
    for method in files:
        planned = planned_bytes(ours, method), planned_bytes(theirs, method)
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
        for part in ("--method", f"{m}={MODELS / f'encdec.{m}.pt2'}")
    ]
    lower([*methods, *flags], path)
    program = load(path)
    for name in ("encode", "decode", "forward"):
        check_cases(program.load_method(name), f"encdec.{name}")
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
    lower(["--external-constants", str(MODELS / "mlp.pt2")], path)
    program = load(path, next(folder.glob("*.ptd")))
    check_cases(program.load_method("forward"), "mlp")


def judge_story(folder):
    import torch

    golden = json.loads((SAMPLES / "stories260k.golden.json").read_text())["tokens"]
    path = folder / "stories260k.pte"
    methods = [
        part
        for m in ("prefill", "decode")
        for part in ("--method", f"{m}={SAMPLES / f'stories260k.{m}.pt2'}")
    ]
    lower([*methods, "--constant", "get_max_seq_len=256", "--share-state"], path)
    assert path.stat().st_size <= 1.25e6, f"{path.stat().st_size} bytes"
    program = load(path)
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
    lower([str(SAMPLES / "face-rfb320.pt2")], path)
    exported = torch.export.load(SAMPLES / "face-rfb320.pt2")
    image = torch.from_numpy(
        numpy.random.default_rng(0).random((1, 3, 240, 320), dtype=numpy.float32) * 2 - 1
    )
    program = load(path)
    outputs = program.load_method("forward").execute([image])
    for k, expected in enumerate(exported.module()(image)):
        check_value(outputs[k], expected.detach(), f"output {k}")


def judge_mobilenet(folder):
    """Too large to keep: made here, and run by both runtimes."""
    import numpy
    import torch

    sys.path.insert(0, str(ROOT / "tests" / "bench"))
    from make_models import mobilenet

    torch.manual_seed(0)
    model, image = mobilenet()
    expected = model.eval()(image).detach()
    source, path = folder / "mobilenet_v2.pt2", folder / "mobilenet_v2.pte"
    torch.export.save(torch.export.export(model, (image,)), source)
    lower([str(source)], path)
    program = load(path)
    outputs = program.load_method("forward").execute([image])
    check_value(outputs[0], expected, "official runtime")
    numpy.save(folder / "image.npy", image.numpy())
    run = [*CLI, "run", path, "--input", folder / "image.npy", "--out", folder / "out"]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ours = torch.from_numpy(numpy.load(folder / "out" / "output_0.npy"))
    check_value(ours, expected, "this runtime")
    return judge_sizes({"forward": source}, folder)


def run_here(path, inputs, folder):
    """The outputs of this runtime, or what it says instead."""
    import numpy
    import torch

    flags = []
    for k, value in enumerate(inputs):
        numpy.save(folder / f"input_{k}.npy", value.numpy())
        flags += ["--input", str(folder / f"input_{k}.npy")]
    out = folder / "out"
    done = subprocess.run(
        [*CLI, "run", path, *flags, "--out", out], capture_output=True, text=True
    )
    if done.returncode != 0:
        return done.stderr
    files = sorted(out.glob("output_*.npy"), key=lambda file: int(file.stem.split("_")[1]))
    return [torch.from_numpy(numpy.load(file)) for file in files]


def judge_largest(name, folder):
    """Sizes that the export left open, bounded when lowering: as if the file had bounded them."""
    import open_sizes
    import torch

    case = open_sizes.CASES[name]
    torch.manual_seed(0)
    source, path = folder / "open.pt2", folder / "open.pte"
    torch.export.save(case.exported(None), source)
    refused = subprocess.run(
        [*CLI, "lower", source, "-o", path], capture_output=True, text=True
    )
    hinted = re.search(r"has no maximum.*--max-size \w+=N", refused.stderr, re.DOTALL)
    assert refused.returncode == 1 and hinted, refused.stderr
    lower([str(source), *case.flags], path)
    method = load(path).load_method("forward")
    for size in case.sizes:
        inputs = case.inputs(size)
        expected = case.module(*inputs)
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        for told, outputs in (
            ("official runtime", method.execute(list(inputs))),
            ("this runtime", run_here(path, inputs, folder)),
        ):
            assert isinstance(outputs, list), f"size {size}, {told}: {outputs}"
            for k, value in enumerate(expected):
                check_value(outputs[k], value.detach(), f"size {size}, {told}, output {k}")
    beyond = run_here(path, case.inputs(case.largest + 1), folder)
    assert isinstance(beyond, str) and re.search(case.refusal, beyond), beyond
    bounded, ours = folder / "bounded.pt2", path.read_bytes()
    torch.export.save(case.exported(case.largest), bounded)
    lower([str(bounded)], folder / "bounded.pte")
    told = (folder / "bounded.pte").read_bytes()
    planned = planned_bytes(ours, "forward"), planned_bytes(told, "forward")
    assert planned[0] == planned[1], f"planned {planned[0]} bytes, bounded at export {planned[1]}"
    return f"planned {planned[0]} bytes as bounded at export, file {len(ours)} of {len(told)}"


def judge_table(folder):
    """What the operator table says about the official runtime's kernels is true."""
    from executorch.extension.pybindings.portable_lib import _get_operator_names

    script = (
        "import { createEngine } from './dist/index.js';"
        "process.stdout.write(JSON.stringify((await createEngine()).meta().ops))"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    official = {name.removesuffix(".default") for name in _get_operator_names()}
    rows = [row for row in json.loads(done.stdout) if row["out"]]
    # What is always taken apart needs no kernel there, and may have one.
    runs = {"kernel": True, "mended": True, "no": False}
    told = [row for row in rows if row["official"] in runs]
    wrong = [row["out"] for row in told if runs[row["official"]] != (row["out"] in official)]
    assert len(rows) > 250 and not wrong, f"SC_UNOFFICIAL is wrong in: {', '.join(wrong)}"


def judge_list(folder):
    """The list of PyTorch's operators is that of the PyTorch that judges."""
    sys.path.insert(0, str(ROOT / "tests" / "tools"))
    import make_pytorch_ops

    wrong = make_pytorch_ops.check()
    assert not wrong, wrong


def judge_exactness(folder):
    """op_db's judge: as far off as PyTorch is fine, but one bad element of it excuses no other."""
    import op_db_judge
    import torch

    exact = torch.linspace(1, 2, 64, dtype=torch.float64)
    theirs = exact.float() + 1e-6 * torch.tensor([1.0, -1.0]).repeat(32)
    ours = exact.float() - 2e-6
    assert op_db_judge.is_as_exact(ours, theirs, exact)
    assert not op_db_judge.is_as_exact(ours + 1e-4, theirs, exact)
    for bad in (float("inf"), float("nan"), 50.0):
        theirs[7] = bad
        assert op_db_judge.is_as_exact(ours, theirs, exact), bad
        assert not op_db_judge.is_as_exact(ours + 1e-4, theirs, exact), bad
        broken = ours.clone()
        broken[9] = 3
        assert not op_db_judge.is_as_exact(broken, theirs, exact), bad


def judge_emitted(folder):
    import emit_files

    assert emit_files.main() == 0, "see above"


def judge_delegates(folder):
    import delegates

    assert delegates.main() == 0, "see above"


def judge_expanded(case, folder):
    import programs

    programs.judge(sys.modules[__name__], *case, folder)


def judge_complex(case, folder):
    import complex_numbers

    complex_numbers.judge(sys.modules[__name__], *case, folder)


def judge_dtypes(folder):
    import dtypes

    return dtypes.main(folder)


def drawn_cases():
    """Programs whose inputs are drawn: the same ones each time, whatever comes before them."""
    import complex_numbers
    import expanded
    import functorch_edges
    import functorch_levels
    import functorch_rows
    import spectra
    import torch

    for kind, family, judge in (
        ("expanded", expanded, judge_expanded),
        ("spectra", spectra, judge_expanded),
        ("functorch", functorch_levels, judge_expanded),
        ("functorch", functorch_edges, judge_expanded),
        ("functorch", functorch_rows, judge_expanded),
        ("complex", complex_numbers, judge_complex),
    ):
        torch.manual_seed(0)
        for case in family.cases():
            yield f"{kind}: {case[0]}", judge, (case,)


def cases():
    for name in SINGLE:
        yield f"{name}: numbers", judge_program, (name,)
    for name in [name for name in SINGLE if name not in OFFICIALLY_REFUSED]:
        yield f"{name}: sizes", judge_sizes, ({"forward": MODELS / f"{name}.pt2"},)
    story = {m: SAMPLES / f"stories260k.{m}.pt2" for m in ("prefill", "decode")}
    yield "stories260k: sizes", judge_story_sizes, (story,)
    yield "face-rfb320: sizes", judge_sizes, ({"forward": SAMPLES / "face-rfb320.pt2"},)
    for name in ("dim", "auto", "dynamic", "derived", "two inputs", "unbacked"):
        yield f"largest sizes: {name}", judge_largest, (name,)
    yield from drawn_cases()
    yield "operator table: official kernels", judge_table, ()
    yield "operator table: PyTorch's operators", judge_list, ()
    yield "op_db: what is as exact", judge_exactness, ()
    yield "dtypes: refused or right", judge_dtypes, ()
    yield "tests/emit: every file", judge_emitted, ()
    yield "tests/emit: delegates", judge_delegates, ()
    yield "encdec: three methods and constants", judge_package, ()
    yield "mlp: external weights", judge_external, ()
    yield "stories260k: 200 tokens", judge_story, ()
    yield "face-rfb320: numbers", judge_face, ()
    yield "mobilenet_v2: numbers and sizes", judge_mobilenet, ()
    import bundles
    import dumps
    import inspector
    import recipe_models
    import recipes
    import recipes_better
    import records
    import serde
    import xnnpack

    yield from bundles.cases()
    yield from dumps.cases()
    yield from inspector.cases()
    yield from recipe_models.cases()
    yield from records.cases()
    yield from xnnpack.cases()
    yield from serde.cases()
    yield from recipes.cases()
    yield from recipes_better.cases()


def child(function, arguments, folder, log, answer):
    import torch

    os.dup2(log.fileno(), sys.stderr.fileno())
    torch.set_num_threads(1)  # there are as many cases at once as processors
    try:
        answer.send(("passed", function(*arguments, Path(folder)) or ""))
    except BaseException:  # whatever it is, the parent wants to hear of it
        answer.send(("failed", traceback.format_exc()))


class Running:
    """A case in a process of its own.

    What the official tools write to stderr meanwhile belongs to the verdict only when it is bad.
    """

    def __init__(self, title, function, arguments):
        self.title, self.began = title, time.monotonic()
        self.folder, self.log = tempfile.TemporaryDirectory(), tempfile.TemporaryFile()
        self.answer, theirs = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(
            target=child, args=(function, arguments, self.folder.name, self.log, theirs)
        )
        self.process.start()
        theirs.close()  # ours, so that the end of the process is the end of the pipe

    def seconds_left(self):
        return max(0, self.began + SECONDS - time.monotonic())

    # Heard before the process is waited for: a long answer stays in the pipe until it is read.
    def heard(self):
        if not self.answer.poll():
            return "failed", f"no answer in {SECONDS} s"
        try:
            return self.answer.recv()
        except EOFError:
            self.process.join()
            return "failed", f"the process ended with {self.process.exitcode} and no answer"

    def ended(self):
        """The verdict and what was told."""
        verdict, text = self.heard()
        self.process.kill()
        self.process.join()
        if verdict == "failed":
            self.log.seek(0)
            text = self.log.read().decode(errors="replace") + text
        self.log.close()
        self.answer.close()
        self.folder.cleanup()
        return verdict, text


def judged(wanted, at_once):
    """Verdicts as they come. Forked off one thread: of several, one might hold a lock just then."""
    waiting = (case for case in cases() if not wanted or any(word in case[0] for word in wanted))
    running = []
    while True:
        for case in itertools.islice(waiting, at_once - len(running)):
            running.append(Running(*case))
        if not running:
            return
        left = min(case.seconds_left() for case in running)
        heard = multiprocessing.connection.wait([case.answer for case in running], left)
        for case in [c for c in running if c.answer in heard or not c.seconds_left()]:
            running.remove(case)
            yield case.title, *case.ended()


def preload():
    """Everything heavy once, before the processes of the cases are forked off this one."""
    import executorch.exir  # noqa: F401
    import executorch.kernels.quantized  # noqa: F401  registers its kernels
    import executorch.runtime  # noqa: F401
    import torch  # noqa: F401


def main(wanted):
    preload()
    passed = failed = 0
    for title, verdict, text in judged(wanted, at_once=min(4, os.cpu_count() or 1)):
        passed += verdict == "passed"
        failed += verdict != "passed"
        print(
            f"{verdict}  {title}" + (f"\n{text}" if verdict == "failed" else f"  {text}"),
            flush=True,
        )
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    sys.exit(main(sys.argv[1:]))
