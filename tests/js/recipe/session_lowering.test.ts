// Sessions lower by method: the places of parts, and the resulting files.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createEngine, type Engine, type ExportSession, type Partitioners } from "sconce";
import { failure, file } from "../setup/failure.js";
import { difference, readCases } from "../setup/reference.js";
import { rejected } from "../setup/rejected.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const both = (): Record<string, { path: string }> => ({
  encode: file("encdec.encode"),
  decode: file("encdec.decode"),
});
const lowerTo = (partitioners: Partitioners, pipelineStages?: string[]): Promise<ExportSession> =>
  engine.export(both(), {
    recipe: { loweringRecipe: { partitioners }, ...(pipelineStages && { pipelineStages }) },
  });

function checkResults(session: ExportSession): void {
  for (const method of ["encode", "decode"]) {
    const { outputs } = readCases(`encdec.${method}`)[0]!;
    assert.equal(difference(session.runMethod(method)[0], outputs[0]!), "");
  }
}

const LOWER = ["to_edge_transform_and_lower", "to_executorch"];
const APART = ["to_edge", "to_backend", "to_executorch"];

for (const stages of [LOWER, APART])
  test(`37b: partitioners by method, several methods without forward, by ${stages.join()}`, async () => {
    const all = await lowerTo(["xnnpack"], stages);
    const one = await lowerTo({ decode: ["xnnpack"] }, stages);
    const parts = (session: ExportSession): boolean[] =>
      ["encode", "decode"].map((name) => session.delegationInfo(name).numDelegatedSubgraphs > 0);
    assert.deepEqual(parts(all), [true, true]);
    assert.deepEqual(parts(one), [false, true]);
    assert.ok(one.delegationInfo("encode").numTotalNodes > 0);
    for (const session of [all, one]) {
      checkResults(session);
      session.dispose();
    }
    const plain = await lowerTo([], stages);
    assert.deepEqual(parts(plain), [false, false]);
    plain.dispose();
  });

test("37b: rounds of partitioners, each method its own", async () => {
  const session = await lowerTo({ encode: ["xnnpack", "null"], decode: "null" }, APART);
  const delegation = session.getEdgeProgramManager().delegation();
  const backends = (method: string): string[] => [
    ...new Set(delegation[method]!.delegates.map(({ backend }) => backend)),
  ];
  assert.deepEqual(backends("encode").sort(), ["NullBackend", "XnnpackBackend"]);
  assert.deepEqual(backends("decode"), ["NullBackend"]);
  checkResults(session);
  session.dispose();
});

test("37b: a partitioner of a method that there is not is refused", async () => {
  for (const stages of [LOWER, APART]) {
    const { code, message, hint } = await rejected(() => lowerTo({ forward: "xnnpack" }, stages));
    assert.equal(code, "not_found");
    assert.equal(message, "'partitioners' names an unknown method 'forward'");
    assert.equal(hint, "Use one of: encode, decode.");
  }
});

test("methods that a recipe names are looked for before any stage runs", async () => {
  const partitioners = { absent: "xnnpack" };
  const pipelineStages = ["quantize", ...LOWER];
  const session = engine.createExportSession(both(), {
    recipe: { pipelineStages, loweringRecipe: { partitioners } },
  });
  let runs = 0;
  session.registerStage("quantize", {
    ...session.getRegisteredStage("quantize")!,
    run: (artifact) => {
      runs++;
      return artifact;
    },
  });
  assert.equal((await rejected(() => session.run())).code, "not_found");
  assert.equal(runs, 0);
  session.dispose();
});

// --- Delegation ------------------------------------------------------------------------------------

test("delegation is told in numbers that add up, and as text by method", async () => {
  const session = await lowerTo({ decode: "xnnpack" });
  for (const method of ["encode", "decode"]) {
    const info = session.delegationInfo(method);
    const { delegationByOperator: rows } = info;
    const sum = (of: (row: (typeof rows)[number]) => number): number =>
      rows.reduce((total, row) => total + of(row), 0);
    assert.equal(
      sum((row) => row.occurrencesInDelegatedGraphs),
      info.numDelegatedNodes,
    );
    assert.equal(
      sum((row) => row.occurrencesInNonDelegatedGraphs),
      info.numNonDelegatedNodes,
    );
    assert.equal(info.numDelegatedNodes + info.numNonDelegatedNodes, info.numTotalNodes);
    const names = rows.map(({ opType }) => opType);
    assert.deepEqual(names, [...names].sort());
    const { context } = session.getStageArtifacts()["to_edge_transform_and_lower"]!;
    assert.deepEqual(context.delegationInfoByMethod![method], info);
  }
  const printed: string[] = [];
  session.printDelegationInfo((text) => printed.push(text));
  assert.deepEqual(printed, [session.delegationText()]);
  const heads = printed[0]!.split("\n").filter((line) => line.startsWith("Delegation info"));
  assert.deepEqual(heads, [
    "Delegation info for method 'decode':",
    "Delegation info for method 'encode':",
  ]);
  assert.match(printed[0]!, /^0 delegates, 0 of \d+ nodes delegated$/m);
  assert.match(printed[0]!, /^operator +delegated {2}not delegated$/m);
  assert.match(printed[0]!, /^aten::linear +[1-9]\d* +0$/m);
  assert.equal(failure(() => session.printDelegationInfo(3 as never)).code, "argument");
  session.dispose();
});

// --- Files -----------------------------------------------------------------------------------------

const collected = (): { bytes(): Buffer; sink(chunk: Uint8Array): void } => {
  const parts: Uint8Array[] = [];
  return { bytes: () => Buffer.concat(parts), sink: (chunk) => void parts.push(chunk) };
};

test("35: a program is saved under its name, with the ending that it lacks", async () => {
  const session = await engine.export(file("mlp"), { recipe: "portable" });
  for (const name of ["model", "model.pte", "folder/model"]) {
    const { bytes, sink } = collected();
    assert.deepEqual(await session.saveToPte(name, sink), [`${name.replace(/\.pte$/, "")}.pte`]);
    assert.deepEqual(new Uint8Array(bytes()), session.getPteBuffer());
  }
  for (const name of ["", 3, null])
    assert.equal(
      (await rejected(() => session.saveToPte(name as never, () => undefined))).code,
      "argument",
    );
  assert.equal((await rejected(() => session.saveToPte("model", 3 as never))).code, "argument");
  session.dispose();
});

test("35: weights in files of their own are saved beside it", async () => {
  const session = await engine.export(file("mlp"), {
    recipe: { executorchBackendConfig: { externalConstants: true } },
  });
  const single = await rejected(() => session.saveToPte("model", () => undefined));
  assert.equal(single.message, "the program also has a data file");
  assert.match(single.hint, /open: \(file\) => sink/);
  const files = new Map<string, ReturnType<typeof collected>>();
  const names = await session.saveToPte("model.pte", {
    open: (name) => {
      const file = collected();
      files.set(name, file);
      return Promise.resolve(file.sink);
    },
  });
  assert.deepEqual(names, ["model.pte", "model.ptd"]);
  assert.deepEqual([...files.keys()], names);
  const [pte, ptd] = [...files.values()].map((file) => new Uint8Array(file.bytes()));
  const program = engine.load(pte!, { dataFiles: [ptd!] });
  const { inputs, outputs } = readCases("mlp")[0]!;
  assert.equal(difference(program.run("forward", inputs)[0], outputs[0]!), "");
  assert.equal(difference(session.runMethod()[0], outputs[0]!), "");
  program.dispose();
  session.dispose();
});

test("state is kept from run to run, and is that of the session's own program", async () => {
  const session = await engine.export(file("counter_buffer"), { recipe: "xnnpack_fp32" });
  for (const { inputs, outputs } of readCases("counter_buffer")) {
    const results = session.runMethod("forward", inputs);
    assert.equal(difference(results[results.length - outputs.length], outputs[0]!), "");
  }
  session.dispose();
});
