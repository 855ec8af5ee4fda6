// How much of the machine's peak each convolution and product of a run reaches, and what the rest of
// the run takes. Work is counted by shapes (work.mjs), times are the least of many runs with events.
// The peak is measured in the same process: a linear layer of 192 rows, 384 inputs and 384 outputs,
// delegated, in floats and in 8 bits. Its packed panels and rows stay in the first-level cache, so it
// runs at the pace of the best tile. Convolutions of single channels cannot reach it: they load a
// number for each that they multiply.
import { createEngine, tensor } from "sconce";
import { int64 } from "../../examples/stories.mjs";
import { MODELS, sines } from "./compare.mjs";
import { FILES } from "./inference.mjs";
import { alternate, pace, round, some } from "./measure.mjs";
import { STORY, STORY_OPTIONS, cached, prepareModels } from "./prepare.mjs";
import { workOfNodes, workOfPart } from "./work.mjs";

const RUNS = 40;
const SLOW = 0.6; // of the peak
const WORTH = 0.01; // of the program's time
const LARGEST = 10;
const EDGE = "edge_dialect_exported_program";
const RECIPE = "xnnpack_pt2e_int8_static_per_channel";

const tokens = (count, at) => [
  int64(
    Array.from({ length: count }, (_, i) => 1 + ((i * 7) % 500)),
    [1, count],
  ),
  int64(
    Array.from({ length: count }, (_, i) => at + i),
    [count],
  ),
];
const plain = (name, input = MODELS[name].input) => ({
  programs: { path: FILES[name]?.pt2 ?? cached(`${name}.pt2`) },
  calls: { forward: [input] },
});
const PICTURE = sines([1, 3, 224, 224]);
const PROGRAMS = {
  mobilenet_v2: plain("mobilenet_v2"),
  "face-rfb320": plain("face-rfb320"),
  mobilenet_v2_int8: plain("mobilenet_v2_int8"),
  "face-rfb320_int8": { ...plain("face-rfb320"), recipe: RECIPE },
  resnet18: plain("resnet18", PICTURE),
  vit_tiny: plain("vit_tiny", PICTURE),
  minilm: plain("minilm"),
  stories260k: {
    programs: STORY,
    options: STORY_OPTIONS,
    calls: { prefill: tokens(256, 0), decode: tokens(1, 128) },
  },
};

const asTensor = ({ dtype, data, shape }) => tensor(data, shape, dtype);

/** The .pte of a program and its record; by a recipe, calibrated on the call, if it has one. */
async function exported(engine, { programs, options, calls, recipe }, partitioner) {
  if (recipe) {
    const exampleInputs = [calls.forward.map(asTensor)];
    const about = { recipe, exampleInputs, generateEtrecord: true };
    const session = await engine.export(programs, about);
    const etrecord = session.getEtrecord().bytes({ light: true });
    return { pte: session.getPteBuffer(), etrecord };
  }
  const lowered = engine.lower(programs, { ...options, partitioner, etrecord: true });
  return { pte: lowered.buffer, etrecord: lowered.etrecord.bytes({ light: true }) };
}

// --- The peak ------------------------------------------------------------------------------------

/** Operations a millisecond that the best tile does, by bits. */
async function peaks(quick) {
  const programs = { path: cached("linear_384.pt2") };
  const input = sines([192, 384]);
  const engine = await createEngine({ threads: 1 });
  const calls = { forward: [input] };
  const found = {};
  for (const [bits, recipe] of [
    [32, undefined],
    [8, RECIPE],
  ]) {
    const { pte } = await exported(engine, { programs, calls, recipe }, "xnnpack");
    const program = engine.load(pte);
    const blocks = await timed(engine, program, calls, {}, pace(quick, 5 * RUNS, 5));
    const block = blocks.find(({ name }) => name === "Execute");
    const [only] = workOfPart(program.partText("forward", 0)).values();
    const { perf } = block.events.find(({ name }) => name.startsWith(only.op));
    found[bits] = only.operations / perf.min;
  }
  engine.dispose();
  return found;
}

// --- A program -----------------------------------------------------------------------------------

/** The blocks of the inspector, one for each method. */
async function timed(engine, program, calls, files, rounds) {
  for (const [method, list] of Object.entries(calls)) {
    const inputs = list.map(asTensor);
    await alternate([() => program.run(method, inputs, { events: true })], ...rounds);
  }
  const { etdump } = program.etdump();
  return engine.inspector({ etdump, ...files }).events();
}

/** True if loading merged two instructions: both have the same share of the time in every run. */
const isMerged = (a, b) =>
  !a.isDelegated &&
  !b.isDelegated &&
  a.perf.raw.every((ms, i) => Math.abs(ms - b.perf.raw[i]) < 5e-6);

/** The instructions of a method with their least ms, and the work of those that convolve or multiply. */
function instructions(block, program, nodeWork) {
  const parts = new Map(); // by instruction
  for (const { name, instruction } of block.events)
    if (name === "DELEGATE_CALL")
      parts.set(instruction, workOfPart(program.partText(block.method, parts.size)));
  const rows = [];
  let last;
  for (const event of block.events) {
    const { name, chain, instruction, isDelegated, isWrapper, perf, handles } = event;
    if (chain < 0 || isWrapper || !perf || name === "DELEGATE_CALL") continue;
    const op = name.replace(/^native_call_|\.\w+$| #\d+$/g, "");
    const work = isDelegated
      ? parts.get(instruction).get(Number(/#(\d+)$/.exec(name)[1]))
      : nodeWork(op, handles);
    if (work && work.op !== op) throw new Error(`${name} is ${work.op} in its part`);
    const row = last && isMerged(last, event) ? rows.pop() : { op, ms: 0 };
    rows.push({ ...row, ...work, ms: row.ms + perf.min });
    last = event;
  }
  return rows;
}

/** The rows of each method of a program. */
async function measured(one, partitioner, quick) {
  const { calls } = one;
  const engine = await createEngine({ threads: 1 });
  const { pte, etrecord } = await exported(engine, one, partitioner);
  const program = engine.load(pte);
  const blocks = await timed(engine, program, calls, { etrecord }, pace(quick, RUNS, 5));
  const inspector = engine.inspector({ etrecord });
  const stages = inspector.report().etrecord.stages.filter(({ stage }) => stage === EDGE);
  const found = {};
  for (const block of blocks.filter(({ name }) => name === "Execute")) {
    const { method, total } = block;
    const { inputs } = stages.find((stage) => stage.method === method);
    const nodeWork = workOfNodes(
      inspector.nodes(EDGE, method),
      inputs,
      calls[method].map(({ shape }) => shape),
    );
    found[method] = { ms: total.min, rows: instructions(block, program, nodeWork) };
  }
  engine.dispose();
  return found;
}

// --- Tables --------------------------------------------------------------------------------------

const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);

/** Rows with the same words as one: how many, and their ms. */
function together(rows) {
  const found = new Map();
  for (const { op, shapes = "", ms, best = 0 } of rows) {
    const key = `${op} ${shapes}`;
    const row = found.get(key) ?? { op, shapes, count: 0, ms: 0, best: 0 };
    found.set(key, { ...row, count: row.count + 1, ms: row.ms + ms, best: row.best + best });
  }
  return [...found.values()].sort((a, b) => b.ms - b.best - (a.ms - a.best));
}

const shown = (program, { op, shapes, count, ms, best }) => ({
  program,
  op,
  shapes,
  count,
  ms: round(ms),
  share: round(best / ms),
  loss_ms: round(ms - best),
});

function summary(ms, rows) {
  const products = rows.filter(({ best }) => best);
  const rest = together(rows.filter(({ best }) => !best).map(({ op, ms }) => ({ op, ms })));
  return {
    ms: round(ms),
    products_ms: round(sum(products, "ms")),
    share: round(sum(products, "best") / sum(products, "ms")),
    rest_ms: round(sum(rest, "ms")),
    rest: rest
      .slice(0, 4)
      .map((row) => `${row.op} ${round(row.ms)}`)
      .join(", "),
  };
}

/** Tables: the peak, the programs, slow instructions of each, and the largest losses of all. */
export async function efficiency({ quick }) {
  prepareModels("linear_384.pt2");
  if (!quick) {
    prepareModels("mobilenet_v2.pt2", "mobilenet_v2_int8.pt2", "minilm.pt2");
    prepareModels("resnet18.pt2", "vit_tiny.pt2");
  }
  const peak = await peaks(quick);
  const tables = {
    peak: { "floats, GFLOP/s": round(peak[32] / 1e6), "8 bits, Gop/s": round(peak[8] / 1e6) },
    programs: {},
    slow: [],
    losses: [],
  };
  for (const [name, one] of Object.entries(some(quick, PROGRAMS, "face-rfb320")))
    for (const partitioner of one.recipe ? ["xnnpack"] : ["xnnpack", undefined])
      for (const [method, { ms, rows }] of Object.entries(
        await measured(one, partitioner, quick),
      )) {
        const title = [name, ...(method === "forward" ? [] : [method]), partitioner ?? "portable"];
        const program = title.join(", ");
        for (const row of rows) if (row.bits) row.best = row.operations / peak[row.bits];
        tables.programs[program] = summary(ms, rows);
        const all = together(rows).map((row) => shown(program, row));
        const isSlow = ({ share, loss_ms: loss }) => share > 0 && share < SLOW && loss > WORTH * ms;
        tables.slow.push(...all.filter(isSlow));
        if (partitioner) tables.losses.push(...all);
      }
  tables.losses = tables.losses.sort((a, b) => b.loss_ms - a.loss_ms).slice(0, LARGEST);
  return { tables };
}
