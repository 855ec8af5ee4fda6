"""Recipes on real models, by the official runtime: a language model whose perplexity on the golden
text stays near that in float, with one cache for both methods, and a detector that finds the golden
face. Programs are exported by the command line.

The cases are run by run.py, which has each in a process of its own.
"""

import json

import picture
import recipes
import node_server
import runtimes

# Bounds of each recipe: perplexity against that in float, at most; what the box found and the
# golden one share, at least. None: the recipe refuses the face, which has convolutions alone.
RECIPES = {
    "portable": (1.0001, 0.9999),
    "xnnpack_fp32": (1.0001, 0.9999),
    "xnnpack_pt2e_int8_static_per_channel": (1.05, 0.9),
    "xnnpack_pt2e_int8_static_per_tensor": (1.05, 0.9),
    "xnnpack_pt2e_int8_dynamic_per_channel": (1.02, 0.98),
    "xnnpack_torchao_int8da_int4w_per_channel": (1.2, None),
    "sconce_int8_weight_only": (1.01, None),
    "sconce_int4_weight_only": (1.25, None),
    "sconce_fp16_weights": (1.001, 0.999),
}
CALIBRATED = [name for name in RECIPES if "static" in name]
FLOAT_PERPLEXITY = 1.6055
# Layers of the story teller have 172 inputs: no groups of 32.
STORY_FLAGS = {"sconce_int4_weight_only": ["--group-size", "0"]}
GOLDEN = runtimes.SAMPLES / "stories260k.golden.json"


def export(arguments, output):
    done = node_server.call("command", ["export", *arguments, "-o", output])
    assert done.returncode == 0, done.stderr


# --- The story teller ----------------------------------------------------------------------------


def decode_call(tokens, at):
    import torch

    return [torch.tensor([[tokens[at]]]), torch.tensor([at])]


def prefill_call(tokens, count):
    import torch

    return [torch.tensor([tokens[:count]]), torch.arange(count)]


def calibration(tokens, folder):
    """Flags for calls that show both methods the golden text."""
    import numpy

    def flag(method, call, name):
        paths = [folder / f"{method}.{name}.{i}.npy" for i in range(len(call))]
        for path, value in zip(paths, call, strict=True):
            numpy.save(path, value.numpy())
        return ["--calibrate", f"{method}:{','.join(map(str, paths))}"]

    calls = [flag("prefill", prefill_call(tokens, n), n) for n in (32, 96, 160)]
    calls += [flag("decode", decode_call(tokens, at), at) for at in range(100)]
    return [part for call in calls for part in call]


def perplexity(program, tokens, known, is_prefilled):
    """The perplexity of the text from token `known` on."""
    import torch

    prefill, decode = program.load_method("prefill"), program.load_method("decode")
    total = 0.0
    for at in range(known - 1 if is_prefilled else 0, len(tokens) - 1):
        if is_prefilled and at == known - 1:
            logits = prefill.execute(prefill_call(tokens, known))[0]
        else:
            logits = decode.execute(decode_call(tokens, at))[0]
        if at + 1 >= known:
            total -= float(torch.log_softmax(logits.reshape(-1), 0)[tokens[at + 1]])
    return float(torch.exp(torch.tensor(total / (len(tokens) - known))))


def judge_story(recipe, folder):
    tokens = json.loads(GOLDEN.read_text())["tokens"]
    path = folder / "story.pte"
    methods = [
        part
        for m in ("prefill", "decode")
        for part in ("--method", f"{m}={runtimes.SAMPLES / f'stories260k.{m}.pt2'}")
    ]
    calls = calibration(tokens, folder) if recipe in CALIBRATED else []
    flags = ["--recipe", recipe, *STORY_FLAGS.get(recipe, []), "--share-state", *calls]
    export([*methods, *flags], path)
    found = perplexity(runtimes.load(path), tokens, 1, False)
    ratio = found / FLOAT_PERPLEXITY
    assert 0.95 < ratio <= RECIPES[recipe][0], f"perplexity {found}"
    half = len(tokens) // 2
    alone = perplexity(runtimes.load(path), tokens, half, False)
    together = perplexity(runtimes.load(path), tokens, half, True)
    assert abs(together / alone - 1) < 0.05, f"{alone}, and with a prefill {together}"
    return f"{path.stat().st_size} bytes, perplexity {found:.4f}"


# --- The face detector ---------------------------------------------------------------------------


def overlap(a, b):
    def area(r):
        return max(0, r[2] - r[0]) * max(0, r[3] - r[1])

    shared = area([max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])])
    return shared / (area(a) + area(b) - shared)


def faces(scores, boxes, limits):
    """Boxes of what is surely a face, each face once, best first."""
    found = sorted(
        ((float(s[1]), b.tolist()) for s, b in zip(scores[0], boxes[0], strict=True)),
        reverse=True,
    )
    kept = []
    for score, box in found:
        if score > limits["score_threshold"] and all(
            overlap(other, box) <= limits["nms_iou"] for _, other in kept
        ):
            kept.append((score, box))
    return kept


def judge_face(recipe, folder):
    import numpy
    import torch

    golden = json.loads((runtimes.SAMPLES / "face-photo.golden.json").read_text())
    pixels = picture.read_png(runtimes.SAMPLES / golden["image"]).astype(numpy.float32)
    image = torch.from_numpy((pixels - 127) / 128).permute(2, 0, 1).unsqueeze(0).contiguous()
    numpy.save(folder / "photo.npy", image.numpy())
    calls = ["--calibrate", folder / "photo.npy"] if recipe in CALIBRATED else []
    path = folder / "face.pte"
    export([runtimes.SAMPLES / "face-rfb320.pt2", "--recipe", recipe, *calls], path)
    found = faces(*runtimes.load(path).load_method("forward").execute([image]), golden)
    assert len(found) == 1, f"{len(found)} faces"
    (score, box), (expected,) = found[0], golden["faces"]
    shared = overlap(box, expected["box"])
    assert abs(score - expected["score"]) < 0.01, f"score {score}"
    assert shared >= RECIPES[recipe][1], f"{shared} of the box"
    return f"{path.stat().st_size} bytes, score {score:.4f}, overlap {shared:.4f}"


# --- Groups --------------------------------------------------------------------------------------

# Decibels, and bytes: those of 4 bits a weight, and scales.
GROUPED = {
    "sconce_int4_weight_only": (17, 100_000),
    "xnnpack_torchao_int8da_int4w_per_tensor": (17, 130_000),
}


def judge_groups(recipe, folder):
    """Its layers have inputs in whole groups of 32; recorded outputs are those of the floats."""
    path = folder / "tinyformer.pte"
    source = runtimes.MODELS / "tinyformer.pt2"
    export([source, "--recipe", recipe, "--group-size", "32"], path)
    case = json.loads((runtimes.MODELS / "tinyformer.ref.json").read_text())["cases"][0]
    data = (runtimes.MODELS / "tinyformer.ref.bin").read_bytes()
    inputs, outputs = (
        [runtimes.recorded_value(item, data) for item in case[key]] for key in ("args", "outputs")
    )
    (found,) = runtimes.load(path).load_method("forward").execute(inputs)
    least, most = GROUPED[recipe]
    exact = recipes.decibels([found], [outputs[0]])
    assert exact > least, exact
    assert path.stat().st_size < most, f"{path.stat().st_size} bytes"
    return f"{path.stat().st_size} bytes, {exact:.1f} dB"


def cases():
    for recipe in GROUPED:
        yield f"recipes, tinyformer: {recipe} in groups", judge_groups, (recipe,)
    for recipe in RECIPES:
        yield f"recipes, stories260k: {recipe}", judge_story, (recipe,)
        if RECIPES[recipe][1] is not None:
            yield f"recipes, face-rfb320: {recipe}", judge_face, (recipe,)
