// sconce export: recipes by name, calibration from files, what is written, and what is refused.
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createEngine, RecipeRegistry, type Engine, type QuantizationReport } from "sconce";
import { folder, sconce, type Result } from "../setup/command.js";
import { difference, modelPath, readCases } from "../setup/reference.js";
import { withoutExamples } from "../setup/zip.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const mlp = modelPath("mlp.pt2");
const encode = `encode=${modelPath("encdec.encode.pt2")}`;
const decode = `decode=${modelPath("encdec.decode.pt2")}`;
const STATIC = "xnnpack_pt2e_int8_static_per_channel";
const at = (name: string): string => join(folder, name);
const read = (name: string): Uint8Array => new Uint8Array(readFileSync(at(name)));

/** A .npy of zeros. */
function writeArray(name: string, descr: string, shape: readonly number[], bytes: number): string {
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`;
  const head = Buffer.alloc(10);
  head.write("\x93NUMPY\x01\x00", "latin1");
  const text = header.padEnd(117) + "\n";
  head.writeUInt16LE(text.length, 8);
  const elements = Buffer.alloc(shape.reduce((product, size) => product * size, bytes));
  writeFileSync(at(name), Buffer.concat([head, Buffer.from(text), elements]));
  return name;
}

function refused({ status, stdout, stderr }: Result, code: number, text: RegExp): void {
  assert.match(stderr, text);
  assert.deepEqual([status, stdout], [code, ""]);
}

/** Writes a quantized program; lets go of the file. */
function quantizes({ status, stdout, stderr }: Result): void {
  assert.match(stdout, /[a-z]+: [1-9]\d* of \d+ nodes quantized/, stderr);
  assert.equal(status, 0);
  rmSync(at("made.pte"));
}

test("a program is written as the recipe says", () => {
  const { status, stdout, stderr } = sconce(
    "export",
    mlp,
    "--recipe",
    "xnnpack_fp32",
    "-o",
    "x.pte",
  );
  assert.deepEqual([status, stderr], [0, ""]);
  assert.match(stdout, /^x\.pte: \S+ KB, methods forward, exported in \S+ ms\n/);
  assert.match(stdout, /forward: 1 delegate \(XnnpackBackend\), 6 of 6 nodes/);
  const lowered = engine.lower({ path: mlp }, { partitioner: ["xnnpack"] });
  assert.deepEqual(read("x.pte"), lowered.buffer);
  lowered.dispose();
});

test("several methods, a report, a record, and options of lowering", () => {
  const { status, stdout, stderr } = sconce(
    ...["export", "--method", encode, "--method", decode, "--recipe", "portable"],
    ...["--constant", "get_n=3", "--memory-planning", "greedy", "--external-constants"],
    ...["--report", "both.json", "--etrecord", "records/", "--etrecord-per-method", "each"],
    ...["-o", "both.pte"],
  );
  assert.equal(status, 0);
  assert.match(
    stderr,
    /^note: .* the official inspector opens records whose only method is forward/,
  );
  assert.match(stdout, /both\.pte: .*, both\.ptd: .*, methods encode, decode, get_n, exported/);
  const program = engine.load(read("both.pte"), { dataFiles: [read("both.ptd")] });
  assert.deepEqual(program.run("get_n", []), [3]);
  for (const method of ["encode", "decode"]) {
    const { inputs, outputs } = readCases(`encdec.${method}`)[0]!;
    assert.equal(difference(program.run(method, inputs)[0], outputs[0]!), "");
  }
  const report = JSON.parse(readFileSync(at("both.json"), "utf8")) as {
    recipe: string;
    stages: { stage: string; durationMs: number }[];
    methods: object;
  };
  assert.equal(report.recipe, "portable");
  assert.deepEqual(
    report.stages.map(({ stage }) => stage),
    ["to_edge_transform_and_lower", "to_executorch"],
  );
  assert.deepEqual(Object.keys(report.methods), ["encode", "decode"]);
  const record = engine.parseEtrecord(read("records/both.etrecord"));
  assert.deepEqual(record.inspect().methods, ["encode", "decode"]);
  const one = engine.parseEtrecord(read("each/decode.etrecord"));
  assert.deepEqual(one.inspect().methods, ["forward"]);
});

test("--list-recipes tells all of them, and what they do", () => {
  const { status, stdout } = sconce("export", "--list-recipes");
  assert.equal(status, 0);
  const lines = stdout.trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => line.split(" ")[0]),
    RecipeRegistry.shared.getSupportedRecipes(),
  );
  const [portable] = lines;
  assert.match(portable!, / {2}nothing is quantized; for the portable kernels$/);
  assert.match(stdout, /static_per_tensor +8 bits, a scale per tensor, calibrated; for xnnpack$/m);
  assert.match(stdout, /int4w_per_tensor +weights .* in each run, a scale per 32; for xnnpack$/m);
});

test("a recipe that quantizes nothing of a method says so, and what else there is", () => {
  const cnn = [modelPath("cnn.pt2"), "--recipe", "sconce_int8_weight_only", "--skip", "fc"];
  const { status, stderr } = sconce("export", ...cnn, "-o", "floats.pte");
  assert.equal(status, 0);
  assert.match(stderr, /no node of method 'forward' is quantized: .* \(method forward/);
  assert.match(
    stderr,
    /For convolutions take sconce_fp16_weights.* The report has each node's reason\./,
  );
});

test("help tells every flag", () => {
  const { status, stdout } = sconce("export", "--help");
  assert.equal(status, 0);
  for (const flag of ["output", "recipe", "list-recipes", "method", "calibrate", "skip"])
    assert.match(stdout, new RegExp(`--${flag}\\b`));
  for (const flag of ["group-size", "constant", "report", "etrecord", "max-size"])
    assert.match(stdout, new RegExp(`--${flag}\\b`));
});

test("wrong usage says what is right", () => {
  const to = ["-o", "no.pte"];
  const fp32 = ["--recipe", "xnnpack_fp32"];
  for (const [args, text] of [
    [[mlp, ...to], /name a recipe: --recipe NAME, or --recipe FILE\n.*--list-recipes/],
    [[mlp, ...fp32], /say where the \.pte goes/],
    [[mlp, ...fp32, "-o", "-", "--report", "-"], /two of the files .* to the standard output/],
    [[mlp, ...fp32, "-o", "folder/"], /-o is a folder, but one program is written/],
    [[...fp32, ...to], /name one \.pt2 file to export/],
    [[mlp, mlp, ...fp32, ...to], /name one .*\n.*--method NAME=FILE/],
    [[mlp, "--method", encode, ...fp32, ...to], /not both/],
    [
      [mlp, ...to, "--recipe", "coreml_fp32"],
      /no recipe 'coreml_fp32'\n.*portable, xnnpack_fp32, /,
    ],
    [[mlp, ...fp32, ...to, "--group-size", "64"], /--group-size is for recipes with groups, and/],
    [
      [mlp, ...fp32, ...to, "--group-size", "33"],
      /takes a multiple of 32 up to 1048576, or 0 for a scale per channel, not '33'/,
    ],
    [[mlp, ...fp32, ...to, "--skip", "fc1"], /--skip is for recipes that quantize/],
    [[mlp, ...fp32, ...to, "--calibrate", "zeros"], /--calibrate is for recipes that calibrate/],
    [[mlp, ...fp32, ...to, "--report", ""], /say which file the report goes to/],
    [[mlp, ...fp32, ...to, "--report", "folder/"], /the report needs the name of a file/],
    [[mlp, ...fp32, ...to, "--report", "."], /the report needs the name of a file/],
    [[mlp, ...fp32, ...to, "--report", "no.pte"], /two of the files would be written to no\.pte/],
    [[mlp, ...fp32, "-o", mlp], /would be overwritten/],
    [[mlp, ...fp32, ...to, "--constant", "x"], /--constant takes NAME=VALUE/],
    [[mlp, ...fp32, ...to, "--nonsense"], /nonsense/],
  ] as const)
    refused(sconce("export", ...args), 2, text);
  assert.ok(!existsSync(at("no.pte")));
});

test("recipes are combined, groups are those of the recipe that has them", () => {
  const former = modelPath("tinyformer.pt2");
  const flags = [mlp, "--recipe", "sconce_int4_weight_only", "--recipe", "xnnpack_fp32"];
  quantizes(
    sconce(
      "export",
      former,
      ...flags.slice(1),
      "--group-size",
      "64",
      "--skip",
      "fc1",
      "-o",
      "made.pte",
    ),
  );
  refused(
    sconce("export", ...flags, "--group-size", "64", "-o", "no.pte"),
    1,
    /argument: groups of 64 do not divide the 16 inputs of this layer.*\(method forward.*\n.*skip/s,
  );
  const conflict = ["--recipe", STATIC, "--recipe", "xnnpack_pt2e_int8_dynamic_per_channel"];
  const two = sconce("export", mlp, ...conflict, "--calibrate", "zeros", "-o", "made.pte");
  assert.match(two.stderr, /^note: method forward: quantization 2 of 2 has no layer left/);
  quantizes(two);
});

// --- Calibration -----------------------------------------------------------------------------------

test("calibration comes from files, values and fillers", () => {
  const x = writeArray("x.npy", "<f4", [4, 16], 4);
  const calls = ["--calibrate", x, "--calibrate", "random:3", "--calibrate", `forward:${x}`];
  quantizes(sconce("export", mlp, "--recipe", STATIC, ...calls, "-o", "made.pte"));
  const open = writeArray("open.npy", "<f4", [3, 16], 4);
  const dynamic = [modelPath("mlp_dyn.pt2"), "--recipe", STATIC, "--calibrate"];
  quantizes(sconce("export", ...dynamic, open, "-o", "made.pte"));
  const filler = sconce("export", ...dynamic, "zeros", "-o", "no.pte");
  refused(filler, 1, /input: zeros has no sizes, and input 'x' has dynamic ones/);
});

test("files and methods may have commas and colons in their names", () => {
  const strange = writeArray("a,b:c.npy", "<f4", [4, 16], 4);
  const named = ["--method", `a:b=${mlp}`, "--method", `a=${mlp}`, "--recipe", STATIC];
  const calls = ["--calibrate", `a:b:${strange}`, "--calibrate", `a:${strange}`];
  const result = sconce("export", ...named, ...calls, "-o", "made.pte");
  assert.doesNotMatch(result.stderr, /no --calibrate/);
  quantizes(result);
  const one = ["--recipe", STATIC, "--calibrate", strange];
  quantizes(sconce("export", mlp, ...one, "-o", "made.pte"));
  refused(sconce("export", mlp, ...one, "-o", strange), 2, /a,b:c\.npy would be overwritten/);
});

test("without it the example inputs of the file serve, and that is told", () => {
  const note = /^note: method forward: no --calibrate, so ranges come from the example inputs/;
  const result = sconce("export", mlp, "--recipe", STATIC, "-o", "made.pte");
  assert.match(result.stderr, note);
  quantizes(result);
  writeFileSync(at("none.pt2"), withoutExamples("mlp"));
  const withoutCalls = sconce("export", "none.pt2", "--recipe", STATIC, "-o", "no.pte");
  refused(
    withoutCalls,
    1,
    /input: the example inputs of method 'forward' are missing.*\n.*--calibrate/,
  );
  const dynamic = ["--recipe", "xnnpack_pt2e_int8_dynamic_per_channel", "-o", "no.pte"];
  assert.doesNotMatch(sconce("export", "none.pt2", ...dynamic).stderr, /^note/);
  rmSync(at("no.pte"));
});

test("calls of several methods say which one is theirs", () => {
  const both = ["--method", encode, "--method", decode, "--recipe", STATIC, "-o", "made.pte"];
  const which = sconce("export", ...both, "--calibrate", "random:1");
  refused(which, 2, /does not say which method it is a call of\n.*encode, decode/);
  const one = sconce("export", ...both, "--calibrate", "encode:random:1");
  assert.match(one.stderr, /^note: method decode: no --calibrate/);
  quantizes(one);
});

test("a call that does not fit is told before anything is exported", () => {
  const wide = writeArray("wide.npy", "<f4", [4, 17], 4);
  const double = writeArray("double.npy", "<f8", [4, 16], 8);
  writeFileSync(at("bad.npy"), "no array");
  const call = (text: string): Result =>
    sconce(
      "export",
      mlp,
      "--recipe",
      STATIC,
      "--calibrate",
      "zeros",
      "--calibrate",
      text,
      "-o",
      "no.pte",
    );
  for (const [text, why] of [
    ["zeros,zeros", /--calibrate zeros,zeros has 2 values, and method 'forward' takes 1/],
    [
      wide,
      /input 0 \('x'\) of --calibrate wide\.npy is a float32 tensor \[4, 17\], not a .*\[4, 16\]/,
    ],
    [double, /of --calibrate double\.npy is a float64 tensor \[4, 16\], not a float32 tensor/],
    ["bad.npy", /bad\.npy/],
    ["gone.npy", /cannot read gone\.npy/],
    ["3", /a number cannot be the float32 tensor \[4, 16\]/],
    [
      "encode:zeros",
      /--calibrate encode:zeros names an unknown method 'encode'.*\n.*one of: forward/,
    ],
    ["encode:x.npy", /names an unknown method 'encode'/],
    ["random:x", /'random:x' is neither a value nor a file/],
    ["gone,x.npy", /gone,x\.npy has 2 values, and .* takes 1 .*\n.*A comma parts two inputs/],
  ] as const) {
    const { status, stdout, stderr } = call(text);
    assert.match(stderr, why);
    assert.deepEqual([status, stdout], [1, ""]);
  }
  assert.ok(!existsSync(at("no.pte")));
});

test("the report says of every node and tensor what became of it", () => {
  const calls = ["--calibrate", "random:1", "--calibrate", "random:2", "--skip", "fc2"];
  const flags = ["--recipe", STATIC, ...calls, "--report", "q.json", "-o", "made.pte"];
  const result = sconce("export", mlp, ...flags);
  assert.equal(result.stderr, "");
  quantizes(result);
  assert.match(result.stdout, /calibrated on 2 calls; farthest off is \w+, at \d+\.\d dB$/m);
  const report = JSON.parse(readFileSync(at("q.json"), "utf8")) as Pick<
    QuantizationReport,
    "qparams"
  > & {
    quantization: QuantizationReport["methods"];
    methods: Record<string, { outside: object[] }>;
  };
  const { nodes, ranges, outputs, notes, bytesBefore, bytesAfter, calibrationBatches } =
    report.quantization["forward"]!;
  assert.deepEqual([calibrationBatches, notes, outputs.length], [2, [], 1]);
  assert.ok(bytesAfter < bytesBefore);
  for (const row of nodes) {
    const { node, isQuantized, reason, snr } = row;
    const { delegated, scale, zeroPoint, low, high } = row as typeof row & Record<string, unknown>;
    assert.equal(delegated, true, node);
    // A node that a relu follows at once has no observer of its own.
    if (isQuantized && node.startsWith("relu"))
      assert.ok([scale, zeroPoint, low, high].every(Number.isFinite), node);
    assert.equal(reason, node === "linear_1" ? "`skip` leaves it out" : reason);
    assert.equal(isQuantized, reason === undefined);
    assert.ok(snr === null || Number.isFinite(snr), node);
  }
  for (const { tensors, low, high, scale, zeroPoint } of ranges) {
    assert.ok(tensors.length > 0 && low! <= high!);
    assert.equal([scale].flat().length, [zeroPoint].flat().length);
  }
  assert.deepEqual(
    report.qparams.map(({ of }) => of),
    ranges.flatMap(({ tensors }) => tensors),
  );
  assert.deepEqual(report.methods["forward"]!.outside, []);
});

test("what --skip names and is not there is a note, unless another method has it", () => {
  const both = ["--method", encode, "--method", decode, "--recipe", STATIC, "-o", "made.pte"];
  const { status, stderr } = sconce("export", ...both, "--skip", "linear", "--skip", "nothing");
  assert.equal(status, 0, stderr);
  const notes = stderr.split("\n").filter((line) => line.includes("--skip"));
  assert.deepEqual(notes, ["note: --skip: 'nothing' matches no node, module or operator"]);
  rmSync(at("made.pte"));
});

test("calibration on what is no number names method and node", () => {
  const nan = writeArray("nan.npy", "<f4", [4, 16], 4);
  const bytes = readFileSync(at(nan));
  bytes.writeFloatLE(NaN, bytes.length - 4);
  writeFileSync(at(nan), bytes);
  const flags = ["--recipe", STATIC, "--calibrate", nan, "-o", "no.pte"];
  const result = sconce("export", mlp, ...flags);
  refused(
    result,
    1,
    /numeric: call 0: 'x' was NaN .*; NaN is in input 0 of the call \(method forward, node linear.*\n.*skip/s,
  );
});

test("a call that fails says which one it is", () => {
  const flags = ["--recipe", STATIC, "-o", "no.pte"];
  const calls = ["random:1", "nan.npy", "random:3"].flatMap((call) => ["--calibrate", call]);
  const result = sconce("export", mlp, ...flags, ...calls);
  refused(result, 1, /numeric: call 1: 'x' was NaN .*\(method forward, node linear/);
});

test("numbers that no model means are told", () => {
  const wide = writeArray("max.npy", "<f4", [4, 16], 4);
  const bytes = readFileSync(at(wide));
  bytes.writeFloatLE(3.4e38, bytes.length - 4);
  writeFileSync(at(wide), bytes);
  const result = sconce("export", mlp, "--recipe", STATIC, "--calibrate", wide, "-o", "made.pte");
  assert.match(result.stderr, /^note: method forward: 'x' was from 0 to 3\.4e\+38 in calibration/);
  quantizes(result);
});

test("what stays as it is has no scale, even where others read it quantized", () => {
  const flags = ["--recipe", STATIC, "--skip", "c1", "--report", "q.json", "-o", "made.pte"];
  quantizes(sconce("export", modelPath("cnn.pt2"), ...flags, "--calibrate", "random:1"));
  const { quantization } = JSON.parse(readFileSync(at("q.json"), "utf8")) as {
    quantization: QuantizationReport["methods"];
  };
  const { nodes, ranges } = quantization["forward"]!;
  assert.ok(ranges.some(({ tensors }) => tensors.includes("max_pool2d")));
  const floats = nodes.filter(({ isQuantized }) => !isQuantized);
  assert.ok(floats.some(({ node }) => node === "max_pool2d"));
  for (const row of floats) assert.ok(!("scale" in row) && !("low" in row), row.node);
});

test("without calls to compare on that is told", () => {
  writeFileSync(at("none.pt2"), withoutExamples("mlp"));
  const dynamic = ["--recipe", "xnnpack_pt2e_int8_dynamic_per_channel", "--report", "q.json"];
  const result = sconce("export", "none.pt2", ...dynamic, "-o", "made.pte");
  assert.match(result.stderr, /^note: method forward: there are no example inputs, so .* compared/);
  quantizes(result);
});

test("dynamic recipes take calls where a weight is computed, and say where they have no use for them", () => {
  const recipe = ["--recipe", "xnnpack_pt2e_int8_dynamic_per_channel", "-o", "made.pte"];
  const call = ["--calibrate", "random:1,random:2"];
  const computed = sconce("export", modelPath("../quant/weights.pt2"), ...recipe, ...call);
  assert.deepEqual([computed.status, computed.stderr], [0, ""]);
  assert.match(computed.stdout, /nodes quantized, calibrated on 1 call$/m);
  const plain = sconce("export", mlp, ...recipe, "--calibrate", "random:1");
  const note = "note: method forward: no quantizer needed calibration, so --calibrate is unused\n";
  assert.deepEqual([plain.status, plain.stderr], [0, note]);
});

test("a weight that is computed has its scales with the node that makes it", () => {
  const weights = modelPath("../quant/weights.pt2");
  const flags = ["--recipe", STATIC, "-o", "made.pte", "--report", "weights.json"];
  assert.equal(sconce("export", weights, ...flags).status, 0);
  const { quantization } = JSON.parse(readFileSync(at("weights.json"), "utf8")) as {
    quantization: QuantizationReport["methods"];
  };
  const { nodes, ranges } = quantization["forward"]!;
  const made = ranges.filter(({ isWeight, bytesBefore }) => isWeight && !bytesBefore);
  const names = made.flatMap(({ tensors }) => tensors);
  const rows = nodes.filter(({ node }) => names.includes(node)) as ((typeof nodes)[number] & {
    scale?: unknown;
  })[];
  assert.ok(rows.length > 0);
  for (const { node, scale } of rows)
    assert.deepEqual(scale, made.find(({ tensors }) => tensors.includes(node))!.scale, node);
});

test("what is exported never replaces what it is calibrated on", () => {
  const x = writeArray("keep.npy", "<f4", [4, 16], 4);
  const flags = ["--recipe", STATIC, "--calibrate", x, "-o", "no.pte", "--report", x];
  refused(sconce("export", mlp, ...flags), 2, /keep\.npy would be overwritten/);
});
