// The inspector against the official one, on dumps of the official runtime; and where that one fails.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  type ComparedMethod,
  type Engine,
  type GapReport,
  type Inspector,
  type InspectorEvent,
  tensor,
  type Tensor,
} from "sconce";
import {
  dumpPath,
  filesOf,
  reportedOf,
  type ReportedEvent,
  type ReportedGap,
} from "../setup/dumps.js";
import { modelPath } from "../setup/reference.js";
import { edited } from "../setup/zip.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const SINGLE = ["mlp", "mlp_xnnpack", "conv"] as const;

function using<T>(inspector: Inspector, body: (inspector: Inspector) => T): T {
  try {
    return body(inspector);
  } finally {
    inspector.dispose();
  }
}

/** Equal but for rounding. */
function assertClose(found: number, right: number, tolerance: number, what: string): void {
  const isClose = Object.is(found, right) || Math.abs(found - right) <= tolerance * Math.abs(right);
  assert.ok(isClose, `${what}: ${found}, not ${right}`);
}

function checkEvent(event: InspectorEvent, reported: ReportedEvent): void {
  const what = `${reported.block} ${reported.name}`;
  assert.equal(event.name, reported.name);
  assert.equal(event.perf!.raw.length, reported.raw.length, what);
  for (const key of ["p10", "p50", "p90", "avg", "min", "max"] as const) {
    // Backends' times cross a converter there, which rounds start and end on their own.
    const slack = reported.id === null ? 1e-9 : 1e-6 * Math.max(1, event.perf!.max);
    assert.ok(Math.abs(event.perf![key] - reported[key]) <= slack, `${what}: ${key}`);
  }
  assert.equal(event.backend, reported.backend, what);
  // Five operators and more come abbreviated, and are not listed.
  if (reported.ops.length > 0) assert.deepEqual([...event.ops].sort(), reported.ops, what);
  assert.deepEqual(event.nodes.map(({ name }) => `${name}_`).sort(), reported.nodes, what);
}

for (const name of SINGLE)
  test(`${name}: the table of events is the official one`, () =>
    using(engine.inspector(filesOf(name)), (inspector) => {
      const events = inspector.events().flatMap((block) => block.events);
      const { events: reported } = reportedOf(name);
      assert.equal(events.length, reported.length);
      events.forEach((event, i) => checkEvent(event, reported[i]!));
      assert.deepEqual(inspector.report().warnings, []);
    }));

const METRICS = { SNR: "snr", MSE: "mse", L1: "l1" } as const;

function checkGaps(report: GapReport, reported: ReportedGap[], metric: keyof typeof METRICS): void {
  for (const row of reported) {
    const found = report.rows.find(
      ({ runtimeHandles }) => String(runtimeHandles) === String(row.runtime),
    );
    assert.ok(found, `${report.reference}: handles ${String(row.runtime)}`);
    assertClose(found.outputs[0]!.gap[METRICS[metric]], Number(row.gap[0]), 1e-6, metric);
  }
}

for (const name of SINGLE)
  test(`${name}: numeric gaps are the official ones`, () =>
    using(engine.inspector(filesOf(name, "debug")), (inspector) => {
      for (const [reference, metrics] of Object.entries(reportedOf(name).gap)) {
        const report = inspector.numericGap({ reference });
        assert.equal(report.reference, reference);
        assert.deepEqual(
          report.methods.map(({ method, inputs }) => [method, inputs]),
          [["forward", "representative"]],
        );
        for (const [metric, reported] of Object.entries(metrics))
          checkGaps(report, reported, metric as keyof typeof METRICS);
      }
    }));

test("outputs are compared with those that the record has", () =>
  using(engine.inspector(filesOf("mlp", "debug")), (inspector) => {
    const { outputs, methods, rows } = inspector.numericGap();
    assert.equal(methods[0]!.outputsFrom, "recorded");
    assert.equal(outputs.length, 1);
    const last = rows.at(-1)!.outputs[0]!;
    assertClose(outputs[0]!.gap!.mse, last.gap.mse, 1e-5, "the last event's");
    assert.equal(outputs[0]!.found.dtype, "float32");
    assert.deepEqual(outputs[0]!.found.shape, [2, 3]);
  }));

test("outputs of bytes are compared as the numbers that they are", () => {
  // (x + y) * x + 1, of bytes, which wrap around.
  const source = edited("add_mul.pt2", (text) =>
    text.replaceAll('"dtype": 7', '"dtype": 1').replace('"as_float": 1.5', '"as_int": 1'),
  );
  const bytes = (...data: number[]): Tensor => tensor(Uint8Array.from(data), [2, 3]);
  const inputs = [bytes(1, 2, 3, 10, 15, 20), bytes(0, 0, 1, 5, 1, 200)];
  const right = [2, 5, 13, 151, 241, 49];
  const { buffer, etrecord } = engine.lower(source, { etrecord: true });
  etrecord.updateRepresentativeInputs(inputs);
  const program = engine.load(buffer);
  const [output] = program.run("forward", inputs, { events: "intermediates" }) as [Tensor];
  assert.deepEqual(output.data, Uint8Array.from(right));
  const { etdump, debugBuffer } = program.etdump();
  program.dispose();
  for (const [recorded, l1, max] of [
    [right, 0, 0],
    [[2, 5, 13, 151, 241, 50], 1, 1],
    [[255, 5, 13, 151, 241, 255], 253 + 206, 253], // as bytes they would be 3 and 50 apart
  ] as const) {
    etrecord.updateReferenceOutputs([[bytes(...recorded)]]);
    using(engine.inspector({ etdump, debugBuffer, etrecord: etrecord.bytes() }), (inspector) => {
      const { outputs, methods } = inspector.numericGap();
      assert.equal(methods[0]!.outputsFrom, "recorded");
      assert.equal(outputs.length, 1);
      const [{ found, gap }] = outputs as [GapReport["outputs"][number]];
      assert.deepEqual([found.dtype, found.shape], ["uint8", [2, 3]]);
      assert.deepEqual([gap!.l1, gap!.max], [l1, max]);
    });
  }
});

test("programs of several methods are told apart by their instructions", () =>
  using(engine.inspector(filesOf("methods")), (inspector) => {
    const blocks = inspector.events();
    assert.deepEqual(
      blocks.map(({ name, method, choice, runs }) => [name, method, choice, runs]),
      [
        ["Default", null, "unknown", 2],
        ["Execute", "encode", "matched", 2],
        ["Execute", "decode", "matched", 2],
      ],
    );
    const mm = blocks[2]!.events.find(({ name }) => name === "native_call_mm.out")!;
    assert.deepEqual(mm.ops, ["aten.mm.default"]);
    assert.match(mm.nodes[0]!.source, /make_etdumps\.py:\d+ in forward: return torch\.sigmoid/);
    assert.deepEqual(
      Object.fromEntries(inspector.delegation().map((d) => [d.method, d.nonDelegatedNodes])),
      { encode: 3, decode: 4 },
    );
  }));

test("each method of several has gaps of its own, and together they have all", () =>
  using(engine.inspector(filesOf("methods", "debug")), (inspector) => {
    const all = inspector.numericGap();
    assert.deepEqual(
      all.methods.map(({ method, inputs }) => [method, inputs]),
      [
        ["decode", "example"],
        ["encode", "example"],
      ],
    );
    for (const [method, rows] of [
      ["encode", 2],
      ["decode", 3],
    ] as const) {
      const report = inspector.numericGap({ method });
      assert.deepEqual(
        report.methods.map((one) => one.method),
        [method],
      );
      assert.equal(report.rows.length, rows);
      for (const row of report.rows) assert.ok(row.outputs[0]!.gap.max < 1e-6, method);
      assert.equal(report.outputs.length, 1);
      const of = <T extends { method: string }>(list: T[]): T[] =>
        list.filter((one) => one.method === method);
      assert.deepEqual(of(all.rows), report.rows);
      assert.deepEqual(of(all.outputs), report.outputs);
      assert.deepEqual(of(all.skipped), report.skipped);
    }
    assert.throws(() => inspector.numericGap({ method: "none" }), { code: "not_found" });
  }));

test("totals by operator and by module are of all of the time", () =>
  using(engine.inspector(filesOf("mlp")), (inspector) => {
    const [block] = inspector.events().filter(({ name }) => name === "Execute");
    const kernels = block!.events.filter((e) => e.chain >= 0 && !e.isWrapper);
    const whole = kernels.reduce((sum, { perf }) => sum + perf!.avg, 0);
    const ops = inspector.ops();
    assertClose(
      ops.reduce((sum, { time }) => sum + time, 0),
      whole,
      1e-9,
      "ops",
    );
    const addmm = ops.find(({ name }) => name === "aten.addmm.default")!;
    assert.equal(addmm.events, 2);
    const modules = inspector.modules();
    const root = modules.find(({ name }) => name === "")!;
    assertClose(root.time, whole, 1e-9, "the root module");
    assertClose(
      modules.reduce((sum, { self }) => sum + self, 0),
      whole,
      1e-9,
      "what modules do themselves",
    );
    assert.match(modules.find(({ name }) => name === "first")!.class, /Linear$/);
  }));

test("the timeline nests, and is a trace", () =>
  using(engine.inspector(filesOf("mlp"), { targetTimeScale: "us" }), (inspector) => {
    const { spans, scale, unplaced } = inspector.timeline();
    assert.deepEqual([scale, unplaced], ["us", 0]);
    for (const run of new Set(spans.map((span) => span.run))) {
      const open: typeof spans = [];
      for (const span of spans.filter((one) => one.run === run)) {
        open.length = span.depth;
        const around = open.at(-1);
        const end = span.start + span.duration;
        if (around)
          assert.ok(around.start <= span.start && end <= around.start + around.duration + 1e-6);
        open.push(span);
      }
    }
    const trace = JSON.parse(inspector.trace()) as { traceEvents: { ph: string; ts: number }[] };
    const slices = trace.traceEvents.filter(({ ph }) => ph === "X");
    assert.equal(slices.length, spans.length);
    slices.forEach(({ ts }, i) => assertClose(ts, spans[i]!.start, 1e-9, "ts"));
  }));

test("two dumps stand side by side, each with its record", () =>
  using(engine.inspector(filesOf("mlp")), (inspector) => {
    const { rows, warnings, methods } = inspector.compare(filesOf("mlp_xnnpack"));
    assert.deepEqual(warnings, []);
    const [{ method, runsA, runsB, total }] = methods as [ComparedMethod];
    assert.deepEqual([methods.length, method, runsA, runsB], [1, "forward", 4, 4]);
    assert.ok(total.a && total.b && total.noise !== null);
    // The delegate has the handles of all kernels there are.
    assert.equal(rows.length, 1);
    assert.equal(rows[0]!.a!.events.length, 8);
    assert.deepEqual(rows[0]!.b!.names, ["native_call__to_dim_order_copy.out", "DELEGATE_CALL"]);
    const same = inspector.compare({ etdump: { path: dumpPath("mlp.etdp") } });
    assert.ok(
      same.rows.every(({ difference, isSignificant }) => difference === 0 && !isSignificant),
    );
  }));

test("of two dumps all methods are compared, or the one that is named", () => {
  using(engine.inspector(filesOf("methods")), (inspector) => {
    const { warnings, methods, rows } = inspector.compare(filesOf("methods"));
    assert.deepEqual(warnings, []);
    assert.deepEqual(
      methods.map(({ method, runsA, runsB }) => [method, runsA, runsB]),
      [
        ["encode", 2, 2],
        ["decode", 2, 2],
      ],
    );
    for (const { method, total } of methods) {
      assert.equal(total.method, method);
      assert.ok(rows.some((row) => row.method === method));
    }
  });
  for (const method of ["encode", "decode"])
    using(engine.inspector(filesOf("methods", "debug"), { method }), (inspector) => {
      const choices = inspector.events().map((block) => [block.method, block.choice]);
      const [, ...runs] = choices;
      assert.deepEqual(choices[0], [method, "asked"]);
      assert.deepEqual(new Set(runs.map(([name]) => name)), new Set(["encode", "decode"]));
      for (const [name, choice] of runs)
        assert.equal(choice, name === method ? "asked" : "matched");
      assert.deepEqual(
        inspector.numericGap().methods.map((one) => one.method),
        [method],
      );
      const compared = inspector.compare(filesOf("methods"));
      assert.deepEqual(
        compared.methods.map((one) => one.method),
        [method],
      );
      assert.ok(compared.rows.every((row) => row.method === method));
      assert.deepEqual(compared.warnings, []);
    });
});

test("a record that is not the dump's is told, and stands for nothing", () => {
  const files = { ...filesOf("mlp"), etrecord: { path: dumpPath("conv.etrecord") } };
  using(engine.inspector(files), (inspector) => {
    const { warnings } = inspector.report();
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /other instructions than the record/);
    assert.ok(inspector.events().every(({ events }) => events.every((e) => e.nodes.length === 0)));
  });
});

test("stages can be looked at, and what has become of them", () =>
  using(engine.inspector({ etrecord: { path: dumpPath("mlp.etrecord") } }), (inspector) => {
    const { etrecord, etdump } = inspector.report();
    assert.equal(etdump, null);
    assert.deepEqual(
      etrecord!.stages.map(({ stage, nodes }) => [stage, nodes]),
      [
        ["exported_program", 5],
        ["edge_dialect_exported_program", 8],
      ],
    );
    assert.deepEqual(etrecord!.referenceOutputs, { forward: 1 });
    assert.equal(etrecord!.representativeInputs, 1);
    const { rows, same, changed, removed, added } = inspector.diff(
      "exported_program",
      "edge_dialect_exported_program",
    );
    assert.equal(same + changed + removed + added, rows.length);
    assert.equal(rows.filter(({ a }) => a).length, 5);
    assert.equal(rows.filter(({ b }) => b).length, 8);
    const linear = rows.find(({ a }) => a?.name === "linear")!;
    assert.match(linear.a!.source, /in forward: y = torch\.nn\.functional\.gelu/);
    assert.match(inspector.text("exported_program"), /aten::linear/);
    const [node] = inspector.nodes("edge_dialect_exported_program");
    assert.equal(node!.debugHandle, 1);
    assert.match(node!.stackTrace, /make_etdumps\.py/);
    assert.throws(() => inspector.nodes("none"), {
      code: "not_found",
      message: /exported_program of/,
    });
    assert.throws(() => inspector.events(), { code: "state" });
  }));

test("a dump alone is told without a record", () =>
  using(engine.inspector({ etdump: readFileSync(dumpPath("conv.debug.etdp")) }), (inspector) => {
    const { warnings, etdump } = inspector.report();
    assert.equal(etdump!.debugBufferBytes, null);
    assert.match(warnings.join(), /debug buffer/);
    assert.ok(inspector.ops().some(({ name }) => name === "convolution.out"));
    assert.throws(() => inspector.numericGap(), { code: "state", message: /record/ });
    assert.throws(() => inspector.delegation(), { code: "state" });
  }));

test("the memory plan says what lies where, and when", () => {
  const { buffer, etrecord } = engine.lower({ path: modelPath("mlp.pt2") }, { etrecord: true });
  using(engine.inspector({ program: buffer, etrecord: etrecord.bytes() }), (inspector) => {
    const [plan, ...others] = inspector.memory();
    assert.equal(others.length, 0);
    const { method, memories, peak, live, values } = plan!;
    assert.equal(method, "forward");
    assert.equal(live.length, engine.load(buffer).inspect().methods[0]!.instructions);
    assert.equal(peak!.bytes, Math.max(...live));
    assert.equal(live.indexOf(peak!.bytes), peak!.instruction);
    for (const { memory, offset, bytes } of values)
      assert.ok(offset + bytes <= memories.find(({ id }) => id === memory)!.bytes);
    const there = values.filter(
      ({ kind, from, until }) =>
        kind !== "view" && from! <= peak!.instruction && peak!.instruction <= until!,
    );
    assert.equal(
      there.reduce((sum, { bytes }) => sum + bytes, 0),
      peak!.bytes,
    );
    const addmm = values.find(({ op }) => op === "aten::addmm.out")!;
    assert.ok(addmm.nodes.some((name) => name.includes("addmm")));
    assert.match(addmm.source, /in forward/);
    assert.ok(addmm.last! > addmm.first! && addmm.writer === addmm.first);
    assert.throws(() => inspector.events(), { code: "state" });
  });
  using(engine.inspector({ program: buffer }), (inspector) => {
    const [plan] = inspector.memory();
    assert.ok(plan!.values.every(({ nodes }) => nodes.length === 0));
    assert.throws(() => inspector.nodes("exported_program"), { code: "state" });
  });
  using(engine.inspector({ etrecord: etrecord.bytes() }), (inspector) =>
    assert.throws(() => inspector.memory(), { code: "state", message: /program/ }),
  );
});

test("a record of another program gives its memory plan no names, and is told", () => {
  const lowered = engine.lower({ path: modelPath("linear.pt2") }, { etrecord: true });
  const { buffer, etrecord } = lowered;
  using(engine.inspector({ program: buffer, etrecord: etrecord.bytes() }), (inspector) => {
    assert.deepEqual(inspector.report().warnings, []);
    assert.ok(inspector.memory()[0]!.values.some(({ nodes }) => nodes.length > 0));
  });
  const other = { path: dumpPath("conv.etrecord") };
  using(engine.inspector({ program: buffer, etrecord: other }), (inspector) => {
    assert.match(inspector.report().warnings.join(), /'forward' has different instructions/);
    assert.ok(inspector.memory()[0]!.values.every(({ nodes }) => nodes.length === 0));
  });
  const methods = { path: dumpPath("methods.etrecord") };
  using(engine.inspector({ program: buffer, etrecord: methods }), (inspector) =>
    assert.match(inspector.report().warnings.join(), /'forward' is not in the record/),
  );
});

test("stages of a record say what goes in and out", () =>
  using(engine.inspector({ etrecord: { path: dumpPath("conv.etrecord") } }), (inspector) => {
    const { stages } = inspector.report().etrecord!;
    for (const { inputs, outputs } of stages) {
      const given = inputs.filter(({ role }) => role === "user_input");
      assert.deepEqual(
        given.map(({ name, dtype, shape }) => [name, dtype, shape]),
        [["x", "float32", [1, 2, 5, 5]]],
      );
      assert.equal(outputs.filter(({ role }) => role === "user_output").length, 2);
    }
  }));

test("values are summed up", () =>
  using(engine.inspector(filesOf("conv", "debug")), (inspector) => {
    const block = inspector.events().at(-1)!;
    const split = block.events.find(({ name }) => name.includes("split"))!;
    assert.equal(split.values.length, 2);
    for (const value of split.values) {
      assert.deepEqual([value.dtype, value.shape, value.hasData], ["float32", [1, 2, 5, 5], true]);
      assert.ok(value.min! >= 0 && value.max! > value.mean!);
      assert.equal(value.first.length, 16);
    }
    assert.equal(block.outputs.length, 2);
  }));

/** How far memory grows while a question is asked again and again. */
function growth(memory: () => number, ask: () => unknown): number {
  for (let i = 0; i < 5; i++) ask();
  const before = memory();
  for (let i = 0; i < 100; i++) ask();
  return memory() - before;
}

test("questions asked again and again take no more memory", () =>
  using(engine.inspector(filesOf("conv", "debug")), (inspector) => {
    const program = engine.load(engine.lower({ path: modelPath("mlp.pt2") }).buffer);
    const memory = (): number => program.inspect().heapBytes;
    const stages = ["exported_program", "edge_dialect_exported_program"] as const;
    const questions = {
      report: () => inspector.report(),
      events: () => inspector.events(),
      ops: () => inspector.ops(),
      modules: () => inspector.modules(),
      timeline: () => inspector.timeline(),
      trace: () => inspector.trace(),
      delegation: () => inspector.delegation(),
      gap: () => inspector.numericGap(),
      "gap to the exported program": () => inspector.numericGap({ reference: stages[0] }),
      nodes: () => inspector.nodes(stages[1]),
      text: () => inspector.text(stages[1]),
      diff: () => inspector.diff(...stages),
      compare: () => inspector.compare(filesOf("conv", "debug")),
    };
    for (const [name, ask] of Object.entries(questions)) assert.equal(growth(memory, ask), 0, name);
    program.dispose();
  }));

test("what is wrong is told by typed errors", () => {
  const { etdump, etrecord } = filesOf("mlp") as { etdump: object; etrecord: object };
  const inspect = engine.inspector.bind(engine) as (...args: unknown[]) => Inspector;
  const wrong: [args: unknown[], code: string][] = [
    [[{}], "argument"],
    [[{ path: "x.etdp" }], "argument"],
    [[{ dump: etdump }], "argument"],
    [[{ etdump: 5 }], "argument"],
    [[{ etrecord, debugBuffer: etdump }], "argument"],
    [[{ etdump: etrecord }], "format"],
    [[{ etdump: new Uint8Array(8) }], "format"],
    [[{ program: etrecord }], "format"],
    [[{ etdump: readFileSync(dumpPath("mlp.etdp")).subarray(0, 900) }], "truncated"],
    [[{ etdump }, { targetTimeScale: "years" }], "option"],
    [[{ etdump }, { targetTimeScale: "cycles" }], "option"],
    [[{ etdump }, { timeScale: "ms" }], "option"],
    [[{ etdump, etrecord }, { method: "none" }], "not_found"],
  ];
  for (const [args, code] of wrong)
    assert.throws(() => inspect(...args), { code }, JSON.stringify(args).slice(0, 80));
  const gone = inspect({ etdump });
  gone.dispose();
  assert.throws(() => gone.events(), { code: "disposed" });
});

test("files are told from each other", () => {
  assert.equal(engine.detect({ path: dumpPath("mlp.etdp") }), "etdump");
  assert.equal(engine.detect({ path: dumpPath("mlp.etrecord") }), "etrecord");
  assert.equal(engine.detect({ path: modelPath("mlp.pt2") }), "pt2");
});

test("the client's inspector says what the engine's says", async () => {
  const client = await createClient();
  try {
    const remote = await client.inspector(filesOf("mlp", "debug"), { targetTimeScale: "us" });
    const local = engine.inspector(filesOf("mlp", "debug"), { targetTimeScale: "us" });
    assert.deepEqual(await remote.events(), local.events());
    assert.deepEqual(await remote.numericGap(), local.numericGap());
    assert.deepEqual(await remote.compare(filesOf("mlp")), local.compare(filesOf("mlp")));
    local.dispose();
    await remote.dispose();
    const { buffer } = engine.lower({ path: modelPath("mlp.pt2") });
    const planned = await client.inspector({ program: buffer });
    const plan = engine.inspector({ program: buffer });
    assert.deepEqual(await planned.memory(), plan.memory());
    plan.dispose();
    await planned.dispose();
  } finally {
    client.terminate();
  }
});
