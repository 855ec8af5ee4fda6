// Export sessions: what they take, what they keep of a run, and what they say before there is any.
// The numbered names are behaviours that the official session has tests of its own for.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, test } from "node:test";
import {
  createEngine,
  tensor,
  type EdgeProgramManager,
  type Engine,
  type ExportOptions,
  type ExportSession,
  type InputTuple,
  type Programs,
  type Tensor,
} from "sconce";
import { failure, file } from "../setup/failure.js";
import { difference, modelPath, readCases } from "../setup/reference.js";
import { rejected } from "../setup/rejected.js";
import { readZip, withoutExamples, writeZip } from "../setup/zip.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

const both = (): Record<string, { path: string }> => ({
  encode: file("encdec.encode"),
  decode: file("encdec.decode"),
});
const portable: ExportOptions = { recipe: "portable" };
const inputs = (name = "mlp"): InputTuple => readCases(name)[0]!.inputs;

// --- 32: pipelines ---------------------------------------------------------------------------------

test("32: the default pipeline lowers as lower() does", async () => {
  for (const [recipe, options] of [
    ["portable", {}],
    ["xnnpack_fp32", { partitioner: ["xnnpack"] }],
  ] as const) {
    const session = await engine.export(file("cnn"), { recipe });
    assert.deepEqual(session.pipelineStages, ["to_edge_transform_and_lower", "to_executorch"]);
    const lowered = engine.lower(file("cnn"), options);
    assert.deepEqual(session.getPteBuffer(), lowered.buffer);
    assert.deepEqual(
      session.stages().map(({ stage }) => stage),
      session.pipelineStages,
    );
    assert.ok(session.stages().every(({ durationMs }) => durationMs >= 0));
    const [output] = session.runMethod();
    assert.equal(difference(output, readCases("cnn")[0]!.outputs[0]!), "");
    session.dispose();
    lowered.dispose();
  }
});

test("32: a recipe that quantizes begins with that", () => {
  const stages = (recipe: ExportOptions["recipe"]): readonly string[] =>
    engine.createExportSession(file("mlp"), { recipe }).pipelineStages;
  const quantized = ["quantize", "to_edge_transform_and_lower", "to_executorch"];
  assert.deepEqual(stages("xnnpack_pt2e_int8_static_per_channel"), quantized);
  assert.deepEqual(stages({ quantizationRecipe: { forward: {} } }), quantized);
  assert.deepEqual(stages({ quantizationRecipe: { forward: null } }), quantized.slice(1));
});

test("32: several recipes are one", async () => {
  const session = await engine.export(file("mlp"), {
    recipe: [
      "xnnpack_fp32",
      { name: "greedy", executorchBackendConfig: { memoryPlanning: "greedy" } },
    ],
  });
  const { exportRecipe } = session.getStageArtifacts()["to_executorch"]!.context;
  assert.equal(exportRecipe.name, "xnnpack_fp32_greedy");
  assert.equal(session.getExecutorchProgramManager().inspect().plans[0]!.algorithm, "greedy");
  session.dispose();
});

test("32: constant methods, sizes and configurations reach their stages", async () => {
  const session = await engine.export(file("mlp_dyn"), {
    recipe: { executorchBackendConfig: { externalConstants: true } },
    constantMethods: { get_n: 7 },
    dynamicShapes: {},
  });
  assert.deepEqual(session.getExecutorchProgramManager().configMethods, ["get_n"]);
  assert.equal(session.getExecutorchProgramManager().dataFiles.length, 1);
  const program = engine.load(session.getPteBuffer(), {
    dataFiles: [session.getExecutorchProgramManager().dataFile("_default_external_constant.ptd")],
  });
  assert.deepEqual(program.run("get_n", []), [7]);
  session.dispose();
});

test("sizes that recipe and session give must be the same", () => {
  const recipe = { loweringRecipe: { edgeCompileConfig: { dynamicShapes: { s0: { max: 8 } } } } };
  const make = (max: number): ExportSession =>
    engine.createExportSession(file("mlp_dyn"), { recipe, dynamicShapes: { s0: { max } } });
  make(8);
  const { code, message } = failure(() => make(9));
  assert.equal(code, "argument");
  assert.equal(message, "dynamicShapes: 's0' has the maximum 9, and 8 in the recipe");
});

// --- 34: programs and inputs -----------------------------------------------------------------------

test("34: files, bytes, several methods and packages are programs", async () => {
  const bytes = readFileSync(modelPath("mlp.pt2"));
  const kinds: [Programs, string[]][] = [
    [file("mlp"), ["forward"]],
    [new Uint8Array(bytes), ["forward"]],
    [new Uint8Array(bytes).buffer, ["forward"]],
    [{ only: file("mlp") }, ["only"]],
    [both(), ["encode", "decode"]],
    [file("encdec.package"), ["encode", "decode", "forward"]],
  ];
  for (const [programs, methods] of kinds) {
    const session = await engine.export(programs, portable);
    assert.deepEqual(
      [...session.getExecutorchProgramManager().methods].sort(),
      [...methods].sort(),
    );
    session.dispose();
  }
});

test("34: a compressed archive is inflated", async () => {
  const { deflateRawSync } = await import("node:zlib");
  const entries = readZip(readFileSync(modelPath("mlp.pt2")));
  const packed = writeZip(
    entries.map((entry) => ({ ...entry, method: 8, data: deflateRawSync(entry.data) })),
  );
  const session = await engine.export({ forward: packed }, portable);
  const [output] = session.runMethod("forward", inputs());
  assert.equal(difference(output, readCases("mlp")[0]!.outputs[0]!), "");
  // Inputs are not worth inflating.
  assert.equal(failure(() => session.getExampleInput()).code, "not_found");
  session.dispose();
});

test("34: what is no program is refused", async () => {
  for (const wrong of [null, undefined, 3, [], {}, { forward: 3 }, () => 1]) {
    const make = (): unknown => engine.createExportSession(wrong as never, portable);
    assert.equal(failure(make).code, "argument", String(wrong));
    const run = (): Promise<unknown> => engine.export(wrong as never, portable);
    assert.equal((await rejected(run)).code, "argument");
  }
  const lowered = engine.lower(file("mlp"));
  const pte = await rejected(() => engine.export(lowered.buffer, portable));
  assert.equal(pte.code, "format");
});

test("34: options are checked", async () => {
  for (const [options, code] of [
    [undefined, "argument"],
    [{}, "argument"],
    [{ recipe: null }, "argument"],
    [{ recipe: [] }, "argument"],
    [{ recipe: "coreml_fp32" }, "not_found"],
    [{ recipe: "portable", exampleInput: [] }, "option"],
    [{ recipe: "portable", name: 3 }, "option"],
    [{ recipe: "portable", generateEtrecord: "yes" }, "option"],
    [{ recipe: "portable", dynamicShapes: { s0: 3 } }, "option"],
  ] as const) {
    const run = (): Promise<unknown> => engine.export(file("mlp"), options as never);
    assert.equal((await rejected(run)).code, code, JSON.stringify(options));
  }
});

test("34: example inputs may be left out, and then are the file's", async () => {
  const session = await engine.export(file("mlp"), portable);
  const [x] = session.getExampleInput() as [Tensor];
  assert.deepEqual(x.data, (inputs()[0] as Tensor).data);
  (x.data as Float32Array).fill(0);
  assert.notDeepEqual((session.getExampleInput()[0] as Tensor).data, x.data);
  session.dispose();
});

test("34: example inputs that are given come first", async () => {
  const x = tensor(new Float32Array(64).fill(1), [4, 16]);
  const y = tensor(new Float32Array(64).fill(2), [4, 16]);
  for (const exampleInputs of [[[x], [y]], { forward: [[x], [y]] }]) {
    const session = await engine.export(file("mlp"), { ...portable, exampleInputs });
    assert.deepEqual(session.getExampleInput(), [x]);
    assert.deepEqual(session.runMethod(), session.runMethod("forward", [x]));
    assert.notDeepEqual(session.runMethod(), session.runMethod("forward", [y]));
    const { context } = session.getStageArtifacts()["to_executorch"]!;
    assert.deepEqual(context.exampleInputs, { forward: [[x], [y]] });
    session.dispose();
  }
});

test("34: a method without example inputs says so when one is needed", async () => {
  const session = await engine.export(withoutExamples("mlp"), portable);
  for (const call of [() => session.getExampleInput(), () => session.runMethod()]) {
    const { code, message, method } = failure(call);
    assert.equal(code, "not_found");
    assert.equal(message, "there are no example inputs of method 'forward'");
    assert.equal(method, "forward");
  }
  assert.equal(session.runMethod("forward", inputs()).length, 1);
  session.dispose();
});

test("34: example inputs that fit no method are refused before any stage", async () => {
  const x = tensor(new Float32Array(64), [4, 16]);
  const wide = tensor(new Float32Array(68), [4, 17]);
  const double = tensor(new Float64Array(64), [4, 16]);
  const first = "call 0 of 'exampleInputs' of method 'forward'";
  for (const [exampleInputs, code, text] of [
    [3, "argument", /'exampleInputs' must be a list of calls/],
    [[x], "argument", /'exampleInputs' of method 'forward' must be a list of calls, each a list/],
    [[[x], x], "argument", /call 1 of 'exampleInputs' of method 'forward' must be a list with/],
    [{ missing: [] }, "not_found", /'exampleInputs' names an unknown method 'missing'/],
    [[[]], "input", `${first} has 0 values, and method 'forward' takes 1`],
    [[[x, x]], "input", `${first} has 2 values, and method 'forward' takes 1`],
    [
      [[wide]],
      "input",
      /input 0 \('x'\) of call 0 .* is a float32 tensor \[4, 17\], not a float32/,
    ],
    [
      [[x], [double]],
      "input",
      /of call 1 .* float64 tensor \[4, 16\], not a float32 tensor \[4, 16\]/,
    ],
    [[[null]], "input", /is not a float32 tensor \[4, 16\]/],
    [[[{ ...x, data: [1] }]], "input", /the data of input 0/],
  ] as const) {
    const session = engine.createExportSession(file("mlp"), {
      ...portable,
      exampleInputs: exampleInputs as never,
    });
    const error = await rejected(() => session.run());
    assert.equal(error.code, code, error.message);
    if (typeof text === "string") assert.equal(error.message, text);
    else assert.match(error.message, text);
    assert.deepEqual(session.getStageArtifacts(), {});
    session.dispose();
  }
  const list = await rejected(() => engine.export(both(), { ...portable, exampleInputs: [] }));
  assert.equal(list.message, "'exampleInputs' is a list, and there are several methods");
  assert.match(list.hint, /encode, decode/);
});

test("34: dimensions that are open take any size", async () => {
  const of = (rows: number): InputTuple => [tensor(new Float32Array(rows * 16), [rows, 16])];
  const { shape } = inputs("mlp_dyn")[0] as Tensor;
  assert.equal(shape[1], 16);
  const session = await engine.export(file("mlp_dyn"), {
    ...portable,
    exampleInputs: [of(2), of(3)],
  });
  assert.equal((session.runMethod()[0] as Tensor).shape[0], 2);
  session.dispose();
});

// --- 35: getters -----------------------------------------------------------------------------------

test("35: before a run there is nothing, and every getter says so", () => {
  const session = engine.createExportSession(file("mlp"), { ...portable, name: "early" });
  assert.equal(session.name, "early");
  assert.deepEqual(session.getStageArtifacts(), {});
  assert.deepEqual(session.stages(), []);
  assert.equal(session.quantizationReport(), null);
  for (const [call, text] of [
    [() => session.getOpenedPrograms(), /no exported program yet/],
    [() => session.getExportedProgram(), /no exported program yet/],
    [() => session.getEdgeProgramManager(), /no edge program yet/],
    [() => session.getExecutorchProgramManager(), /no executorch program yet/],
    [() => session.getPteBuffer(), /no executorch program yet/],
    [() => session.getEtrecord(), /no executorch program yet/],
    [() => session.getExampleInput(), /no exported program yet/],
    [() => session.runMethod(), /no executorch program yet/],
    [() => session.delegationInfo(), /no delegation yet/],
    [() => session.delegationText(), /no delegation yet/],
    [() => session.printDelegationInfo(() => undefined), /no delegation yet/],
  ] as const) {
    const { code, message, hint } = failure(call);
    assert.equal(code, "state");
    assert.match(message, text);
    assert.match(hint, /^Call run\(\) first/);
  }
});

test("35: what a pipeline does not make is told with the stages that it has", async () => {
  const session = await engine.export(file("mlp"), { recipe: { pipelineStages: ["to_edge"] } });
  const { code, hint } = failure(() => session.getPteBuffer());
  assert.equal(code, "state");
  assert.equal(hint, "Call run() first, with to_executorch among the stages; these are to_edge.");
  assert.equal(failure(() => session.delegationInfo()).code, "state");
  assert.equal(session.getEdgeProgramManager().methods[0], "forward");
  session.dispose();
});

test("35: getters of several methods, and of one that there is not", async () => {
  const session = await engine.export(both(), portable);
  for (const method of ["encode", "decode"]) {
    assert.equal(session.getExportedProgram(method).method, method);
    assert.ok(session.getExportedProgram(method).nodes().length > 0);
    const { inputs: given, outputs } = readCases(`encdec.${method}`)[0]!;
    const results = session.runMethod(method);
    assert.equal(difference(results[0], outputs[0]!), "");
    assert.deepEqual(session.runMethod(method, given), results);
    assert.deepEqual(
      (session.getExampleInput(method) as Tensor[]).map(({ data }) => data),
      (given as Tensor[]).map(({ data }) => data),
    );
  }
  for (const call of [
    () => session.getExportedProgram("nothing"),
    () => session.getExampleInput("nothing"),
    () => session.runMethod("nothing"),
    () => session.delegationInfo("nothing"),
  ]) {
    const { code, hint } = failure(call);
    assert.equal(code, "not_found");
    assert.match(hint, /encode, decode/);
  }
  // There is no forward, and nothing asks for one by itself.
  assert.equal(failure(() => session.getExportedProgram()).code, "not_found");
  session.dispose();
});

test("35: the edge manager is that of the last stage that made one", async () => {
  const pipelineStages = [
    "to_edge",
    "edge_program_manager_transform",
    "to_backend",
    "to_executorch",
  ];
  const session = await engine.export(file("mlp"), {
    recipe: {
      pipelineStages,
      loweringRecipe: { partitioners: ["xnnpack"], edgeManagerTransformPasses: [() => ["noops"]] },
    },
  });
  const isDelegated = (edge: EdgeProgramManager): boolean =>
    /executorch_call_delegate/.test(edge.exportedProgram().text());
  const { to_edge: first, to_backend: last } = session.getStageArtifacts();
  assert.equal(isDelegated(first!.data as EdgeProgramManager), false);
  assert.equal(isDelegated(last!.data as EdgeProgramManager), true);
  assert.equal(isDelegated(session.getEdgeProgramManager()), true);
  session.dispose();
});

test("35: what getters give stays the session's", async () => {
  const session = await engine.export(file("mlp"), { ...portable, generateEtrecord: true });
  for (const owner of [
    session.getOpenedPrograms(),
    session.getEdgeProgramManager(),
    session.getExecutorchProgramManager(),
    session.getEtrecord(),
  ])
    owner.dispose();
  assert.ok(session.getPteBuffer().length > 0);
  assert.ok(session.getEtrecord().bytes().length > 0);
  assert.ok(session.getEdgeProgramManager().inspect().stages.length > 0);
  const record = session.getEdgeProgramManager().createEtrecord();
  record.addEdgeDialectProgram(session.getEdgeProgramManager());
  record.dispose();
  const edge = session.getEdgeProgramManager();
  const again = edge.toExecutorch({ memoryPlanning: "naive" });
  session.dispose();
  // Objects that a caller made of it belong to the caller.
  assert.ok(again.buffer.length > 0);
  again.dispose();
  assert.equal(failure(() => edge.inspect()).code, "disposed");
});

test("35: a record is kept when it is asked for", async () => {
  const session = await engine.export(both(), {
    recipe: "xnnpack_fp32",
    generateEtrecord: true,
  });
  const report = session.getEtrecord().inspect();
  assert.deepEqual(report.methods, ["encode", "decode"]);
  const parsed = engine.parseEtrecord(session.getEtrecord().bytes());
  assert.deepEqual(parsed.maps(), session.getEtrecord().maps());
  session.dispose();
  const plain = await engine.export(file("mlp"), portable);
  const error = failure(() => plain.getEtrecord());
  assert.equal(error.code, "state");
  assert.match(error.hint, /^Pass \{ generateEtrecord: true \} to export\(\)\.$/);
  plain.dispose();
});

// --- 37b: runs ----------------------------------------------------------------------------------------

test("37b: another run clears what the one before made", async () => {
  const session = engine.createExportSession(file("mlp"), portable);
  await session.run();
  const artifacts = session.getStageArtifacts();
  const { data } = artifacts["to_edge_transform_and_lower"]!;
  const bytes = session.getPteBuffer();
  session.runMethod();
  await session.run();
  assert.equal(session.getStageArtifacts(), artifacts);
  assert.notEqual(artifacts["to_edge_transform_and_lower"]!.data, data);
  assert.equal(failure(() => (data as EdgeProgramManager).inspect()).code, "disposed");
  assert.deepEqual(session.getPteBuffer(), bytes);
  assert.equal(session.runMethod().length, 1);
  session.dispose();
});

test("37b: a run that fails leaves none of the run before", async () => {
  const session = engine.createExportSession(file("mlp"), portable);
  await session.run();
  session.registerStage("to_executorch", {
    ...session.getRegisteredStage("to_executorch")!,
    run: () => Promise.reject(new Error("mine")),
  });
  await assert.rejects(session.run(), /mine/);
  assert.deepEqual(Object.keys(session.getStageArtifacts()), ["to_edge_transform_and_lower"]);
  assert.equal(failure(() => session.getPteBuffer()).code, "state");
  assert.equal(session.getEdgeProgramManager().methods.length, 1);
  session.dispose();
});

test("37b: a pipeline that is refused leaves the run before as it was", async () => {
  const session = engine.createExportSession(file("mlp"), portable);
  await session.run();
  const bytes = session.getPteBuffer();
  const own = session.getRegisteredStage("to_executorch")!;
  session.registerStage("to_executorch", { ...own, validPredecessors: ["to_backend"] });
  assert.equal((await rejected(() => session.run())).code, "argument");
  assert.deepEqual(session.getPteBuffer(), bytes);
  assert.deepEqual(Object.keys(session.getStageArtifacts()), [...session.pipelineStages]);
  session.dispose();
});

test("6.3: sizes of what there is not are refused, and not ignored", async () => {
  for (const dynamicShapes of [{ x: { max: 3 } }, { forward: { max: 3 } }]) {
    const { code, message } = await rejected(() =>
      engine.export(file("mlp_dyn"), { ...portable, dynamicShapes }),
    );
    assert.notEqual(code, "state");
    assert.match(message, /'(x|forward)'|(x|forward)/);
  }
});

test("a session runs once at a time, and says so", async () => {
  const session = engine.createExportSession(file("mlp"), portable);
  const first = session.run();
  assert.equal((await rejected(() => session.run())).code, "busy");
  await first;
  await session.run();
  session.dispose();
});

test("a session that was disposed is of no use, also while it runs", async () => {
  const session = engine.createExportSession(file("mlp"), portable);
  const { data } = await new Promise<{ data: unknown }>((resolve, reject) => {
    session.registerStage("to_executorch", {
      ...session.getRegisteredStage("to_executorch")!,
      run: (artifact) => {
        session.dispose();
        resolve(artifact);
        return artifact.copyWithNewData(null);
      },
    });
    session.run().then(reject, () => undefined);
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(failure(() => (data as EdgeProgramManager).inspect()).code, "disposed");
  assert.equal((await rejected(() => session.run())).code, "disposed");
  for (const call of [
    () => session.getStageArtifacts(),
    () => session.getPteBuffer(),
    () => session.runMethod(),
    () => session.registerStage("x", {} as never),
  ])
    assert.equal(failure(call).code, "disposed");
  session.dispose();
});

test("a run is cancelled between stages and inside of them, and tells how far it is", async () => {
  const phases = new Set<string>();
  const session = engine.createExportSession(file("cnn"), {
    ...portable,
    onProgress: ({ phase }) => phases.add(phase),
  });
  await session.run();
  assert.ok(phases.size > 0);
  const controller = new AbortController();
  session.registerStage("to_edge_transform_and_lower", {
    ...session.getRegisteredStage("to_edge_transform_and_lower")!,
    run: (artifact, { signal }) => {
      assert.equal(signal, controller.signal);
      controller.abort();
      return artifact;
    },
  });
  const { code } = await rejected(() => session.run({ signal: controller.signal }));
  assert.equal(code, "cancelled");
  assert.equal((await rejected(() => session.run({ signal: 3 as never }))).code, "option");
  const signal = AbortSignal.abort();
  const early = await rejected(() => engine.export(file("mlp"), { ...portable, signal }));
  assert.equal(early.code, "cancelled");
  session.dispose();
});
