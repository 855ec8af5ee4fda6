// Export sessions in a worker: the same calls, answered as promises.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createClient, createEngine, tensor, type Client, type Tensor } from "sconce";
import { file } from "../setup/failure.js";
import { difference, readCases } from "../setup/reference.js";

let client: Client;
before(async () => (client = await createClient()));
after(() => client.terminate());

test("a worker exports as the engine does", async () => {
  const engine = await createEngine();
  const options = { recipe: "xnnpack_fp32", generateEtrecord: true, name: "there" };
  const here = await engine.export(file("mlp"), options);
  const there = await client.export(file("mlp"), options);
  assert.deepEqual(
    [there.name, there.pipelineStages],
    ["there", ["to_edge_transform_and_lower", "to_executorch"]],
  );
  assert.deepEqual(await there.getPteBuffer(), here.getPteBuffer());
  assert.deepEqual(await there.delegationText(), here.delegationText());
  assert.deepEqual(await there.delegationInfo(), here.delegationInfo());
  assert.deepEqual(
    (await there.stages()).map(({ stage }) => stage),
    here.pipelineStages,
  );
  assert.equal(await there.quantizationReport(), null);
  const record = await there.getEtrecord();
  assert.deepEqual(await record.bytes(), here.getEtrecord().bytes());
  assert.equal(await (await there.getExportedProgram()).text(), here.getExportedProgram().text());
  assert.ok((await (await there.getOpenedPrograms()).inspect()).stages.length > 0);
  engine.dispose();
  await there.dispose();
  await assert.rejects(there.getPteBuffer(), { code: "disposed" });
});

test("what a worker's session gives can be let go of, and asked for again", async () => {
  const session = await client.export(file("mlp"), { recipe: "portable" });
  const { outputs } = readCases("mlp")[0]!;
  for (let i = 0; i < 2; i++) {
    const [x] = (await session.getExampleInput()) as [Tensor];
    assert.deepEqual(x.shape, [4, 16]);
    assert.equal(difference((await session.runMethod())[0], outputs[0]!), "");
    assert.equal(difference((await session.runMethod("forward", [x]))[0], outputs[0]!), "");
    const edge = await session.getEdgeProgramManager();
    assert.ok((await edge.inspect()).stages.length > 0);
    const program = await session.getExecutorchProgramManager();
    const parts: Uint8Array[] = [];
    await program.writeTo((chunk) => void parts.push(chunk));
    assert.deepEqual(new Uint8Array(Buffer.concat(parts)), await session.getPteBuffer());
    await Promise.all([edge.dispose(), program.dispose()]);
  }
  await session.dispose();
});

test("a worker's session runs when it is told to, with inputs from here", async () => {
  const x = tensor(new Float32Array(64).fill(1), [4, 16]);
  const phases = new Set<string>();
  const session = await client.createExportSession(file("mlp"), {
    recipe: ["portable", { mode: "release", executorchBackendConfig: { foldConstants: true } }],
    exampleInputs: [[x]],
  });
  await assert.rejects(session.getPteBuffer(), { code: "state" });
  await session.run({ onProgress: ({ phase }) => phases.add(phase) });
  assert.ok(phases.size > 0);
  assert.deepEqual(await session.getExampleInput(), [x]);
  assert.ok((await session.getPteBuffer()).length > 0);
  await session.dispose();
});

test("a worker tells of calls that calibrate, and that are compared, however quick", async () => {
  const phases = new Set<string>();
  const session = await client.export(file("mlp"), {
    recipe: "xnnpack_pt2e_int8_static_per_channel",
    exampleInputs: [1, 2].map((x) => [tensor(new Float32Array(64).fill(x), [4, 16])]),
    sensitivity: true,
    onProgress: ({ phase }) => phases.add(phase),
  });
  assert.ok(phases.has("calibrate") && phases.has("compare"), [...phases].join());
  await session.dispose();
});

test("a worker's session saves to sinks of this side, and prints here", async () => {
  const session = await client.export(file("mlp"), {
    recipe: { executorchBackendConfig: { externalConstants: true } },
  });
  const files = new Map<string, Uint8Array[]>();
  const open = (name: string): ((chunk: Uint8Array) => void) => {
    const parts: Uint8Array[] = [];
    files.set(name, parts);
    return (chunk) => void parts.push(chunk);
  };
  assert.deepEqual(await session.saveToPte("model", { open }), ["model.pte", "model.ptd"]);
  const whole = (name: string): Uint8Array => new Uint8Array(Buffer.concat(files.get(name)!));
  assert.deepEqual(whole("model.pte"), await session.getPteBuffer());
  assert.ok(whole("model.ptd").length > 0);
  await assert.rejects(
    session.saveToPte("model", () => undefined),
    {
      code: "argument",
      message: "the program also has a data file",
    },
  );
  await assert.rejects(session.saveToPte("", { open }), { code: "argument" });
  const printed: string[] = [];
  await session.printDelegationInfo((text) => printed.push(text));
  assert.deepEqual(printed, [await session.delegationText()]);
  await assert.rejects(session.printDelegationInfo(3 as never), { code: "argument" });
  await session.dispose();
  await assert.rejects(session.saveToPte("model", { open }), { code: "disposed" });
});

test("a worker quantizes as the engine does", async () => {
  const options = {
    recipe: {
      quantizationRecipe: {
        quantizers: [{ kind: "xnnpack", isPerChannel: true, skip: ["fc3"] }],
        aoQuantizationConfigs: [{ aoBaseConfig: { kind: "int8_weight_only" } }],
      },
    },
    exampleInputs: readCases("mlp").map(({ inputs }) => inputs),
    sensitivity: true,
  } as const;
  const engine = await createEngine();
  const here = await engine.export(file("mlp"), options);
  const there = await client.export(file("mlp"), options);
  assert.deepEqual(await there.quantizationReport(), here.quantizationReport());
  assert.deepEqual(await there.getPteBuffer(), here.getPteBuffer());
  engine.dispose();
  await there.dispose();
});

test("errors of a worker's session keep their code, and functions do not cross", async () => {
  const run = (recipe: unknown): Promise<unknown> =>
    client.export(file("mlp"), { recipe: recipe as string });
  await assert.rejects(run("coreml_fp32"), { code: "not_found" });
  await assert.rejects(run({ pipelineStages: ["to_executorch"] }), { code: "argument" });
  await assert.rejects(run({ atenTransformPasses: [() => []] }), {
    code: "argument",
    message: /cannot reach the worker/,
  });
  await assert.rejects(client.export(file("mlp"), { recipes: "portable" } as never), {
    code: "option",
  });
});

test("a worker's session quantizes, and what it made is lowered step by step", async () => {
  const calls = [1, 2, 3].map((value) => [tensor(new Float32Array(64).fill(value), [4, 16])]);
  const recipe = {
    quantizationRecipe: { quantizers: [{ kind: "xnnpack" as const, isPerChannel: true }] },
    pipelineStages: ["quantize"],
  };
  const options = { recipe, exampleInputs: calls, sensitivity: true };
  const engine = await createEngine();
  const here = await engine.export(file("mlp"), options);
  const there = await client.export(file("mlp"), options);
  const report = await there.quantizationReport();
  assert.deepEqual(report, here.quantizationReport());
  assert.equal(report!.methods["forward"]!.calibrationBatches, 3);
  assert.ok(report!.methods["forward"]!.outputs[0]!.snr! > 20);
  const opened = await there.getOpenedPrograms();
  const { stages } = await opened.inspect();
  assert.deepEqual(
    stages.map(({ stage }) => stage),
    ["source", "source"],
  );
  const edge = await opened.toEdgeTransformAndLower({ partitioner: "xnnpack" });
  const lowered = await edge.toExecutorch();
  const expected = here.getOpenedPrograms().toEdgeTransformAndLower({ partitioner: "xnnpack" });
  assert.deepEqual(await lowered.buffer, expected.toExecutorch().buffer);
  engine.dispose();
  await there.dispose();
});
