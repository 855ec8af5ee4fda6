// How long a program is quantized, with eight batches to calibrate on, until its .pte is there: by
// the official recipe for 8 bits, static and by channel. It runs in turns with the float program,
// delegated, so that time is given in runs of that one, too: a busy machine slows down both. The goal
// is 8 runs and 300 ms, in a heap of 48 MB and three times what the float program's activations
// take.
import { createEngine, tensor } from "sconce";
import { MODELS } from "./compare.mjs";
import { peakBytes } from "./lowering.mjs";
import { alternate, median, minimum, onCpu, pace, round, some } from "./measure.mjs";
import { cached, prepareModels, sample } from "./prepare.mjs";

const RECIPE = "xnnpack_pt2e_int8_static_per_channel";
const BATCHES = 8;
const GOAL = { ms: 300, heap: 48e6, arenas: 3 };

const FILES = {
  mobilenet_v2: cached("mobilenet_v2.pt2"),
  "face-rfb320": sample("face-rfb320.pt2"),
};

/** Each batch reaches further than those before, so that every range grows. */
const batchesOf = ({ shape, data }) =>
  Array.from({ length: BATCHES }, (_, k) => [
    tensor(
      data.map((x, i) => Math.sin(i * 0.37 + k) * (1 + k / BATCHES)),
      shape,
    ),
  ]);

/** A float program: what runs it once, and what its activations take where no backend has them. */
async function floatProgram(path, input) {
  const engine = await createEngine();
  const [portable, delegated] = [{}, { partitioner: "xnnpack" }].map((options) =>
    engine.lower({ path }, options),
  );
  const [{ plannedBytes }] = portable.inspect().plans;
  const program = engine.load(delegated.buffer);
  portable.dispose();
  delegated.dispose();
  return { run: () => program.run("forward", input), arena: plannedBytes, engine };
}

async function row(name, path, quick) {
  const batches = batchesOf(MODELS[name].input);
  const float = await floatProgram(path, batches[0]);
  const quantize = async (engine) => {
    const session = await engine.export({ path }, { recipe: RECIPE, exampleInputs: batches });
    const pte = session.getPteBuffer();
    session.dispose();
    return pte;
  };
  const fresh = await createEngine();
  const pte = await quantize(fresh);
  const heap = peakBytes(fresh);
  const integers = fresh.load(pte);
  const engine = await createEngine();
  // As many runs as there are batches, so that both take their share of each lull.
  const [task, cpu] = onCpu(() => quantize(engine));
  const [runs, eightCpu] = onCpu(() => batches.forEach(float.run));
  const [int8Runs, int8Cpu] = onCpu(() => batches.forEach((b) => integers.run("forward", b)));
  const [times, eight] = await alternate([task, runs, int8Runs], ...pace(quick, 12, 6));
  fresh.dispose();
  engine.dispose();
  float.engine.dispose();
  return {
    ms: round(minimum(times)),
    median_ms: round(median(times)),
    float_ms: round(minimum(eight) / BATCHES),
    median_float_ms: round(median(eight) / BATCHES),
    runs: round((minimum(times) * BATCHES) / minimum(eight)),
    goal_ms: round(minimum(eight) + GOAL.ms),
    of_goal: round(minimum(times) / (minimum(eight) + GOAL.ms)),
    median_of_goal: round(median(times) / (median(eight) + GOAL.ms)),
    cpu_ms: round(median(cpu)),
    float_cpu_ms: round(median(eightCpu) / BATCHES),
    cpu_of_goal: round(median(cpu) / (median(eightCpu) + GOAL.ms)),
    int8_cpu_ms: round(median(int8Cpu) / BATCHES),
    int8_speed: round(median(eightCpu) / median(int8Cpu)),
    int8_best_speed: round(minimum(eightCpu) / minimum(int8Cpu)),
    heap_mb: round(heap / 1e6),
    arena_mb: round(float.arena / 1e6),
    heap_goal_mb: round((GOAL.arenas * float.arena + GOAL.heap) / 1e6),
  };
}

export async function quantize({ quick }) {
  if (!quick) prepareModels("mobilenet_v2.pt2");
  const files = some(quick, FILES, "face-rfb320");
  const rows = {};
  for (const [name, path] of Object.entries(files)) rows[name] = await row(name, path, quick);
  return rows;
}
