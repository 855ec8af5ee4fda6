// sconce build-runtime: a module that runs certain files, and is smaller than one for all.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { counted } from "../../base/counted.js";
import { SconceError } from "../../base/errors.js";
import { createRuntime } from "../../create_runtime.js";
import { FLAVOURS } from "../../flavour.js";
import type { Engine, ModuleFlavour, RuntimeProgram } from "../../types/index.js";
import { defineCommand, type ValuesOf } from "../shell/command.js";
import { makeEngine } from "../engine.js";
import { checkPlace, keepInputs, writeFiles } from "../files/files.js";
import { claimInputs, claimOutputs, sourceOf } from "../files/streams.js";
import { printJson } from "../print/json.js";
import { isJson, tell } from "../print/terminal.js";
import { EXIT, UsageError } from "../usage.js";
import { callAll, checkVersion } from "./emcc.js";
import { buildCalls, unpackSources } from "./sources.js";

const FLAGS = {
  for: {
    type: "string",
    multiple: true,
    value: "FILE.pte",
    text: "a program that the runtime must run, with all of its methods",
  },
  output: {
    type: "string",
    short: "o",
    value: "FILE",
    text: "the module; - is the standard output",
  },
  flavour: {
    type: "string",
    value: "NAME",
    words: FLAVOURS,
    text: `the flavour: ${FLAVOURS.join(", ")} (simd)`,
  },
  emcc: { type: "string", value: "PATH", text: "Emscripten's compiler (emcc)" },
} as const;

const XNNPACK = "XnnpackBackend";

/** The needs of programs. */
interface Needs {
  readonly operators: string[];
  readonly backends: string[];
}

function needsOf(engine: Engine, paths: readonly string[]): Needs {
  const operators = new Set<string>();
  const backends = new Set<string>();
  for (const path of paths) {
    // As the file has them: loading would merge calls.
    const program = engine.load(sourceOf(path), { optimize: false });
    for (const { ops, delegates } of program.inspect().methods) {
      Object.keys(ops).forEach((name) => operators.add(name));
      delegates.forEach((id) => backends.add(id));
    }
    program.dispose();
  }
  return { operators: [...operators].sort(), backends: [...backends].sort() };
}

/** Throws if a method lacks something in this runtime. Without inputs it does not run. */
function checkMethod(program: RuntimeProgram, method: string): void {
  try {
    program.run(method, []);
  } catch (error) {
    if (!(error instanceof SconceError) || error.code !== "input") throw error;
  }
}

/** Loads each program in the new runtime: it must lack nothing. */
async function check(wasm: Uint8Array, paths: readonly string[], flavour: string): Promise<void> {
  if (flavour !== "simd") return; // this host may not have what the others need
  const runtime = await createRuntime({ wasm, threads: 1 });
  for (const path of paths) {
    const program = runtime.load(sourceOf(path));
    for (const method of program.methods) checkMethod(program, method);
    program.dispose();
  }
  runtime.dispose();
}

/** Builds in a folder of its own, which is gone afterwards. */
async function built(
  needs: Needs,
  emcc: string,
  flavour: ModuleFlavour,
  version: string,
): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), "sconce-runtime-"));
  try {
    await checkVersion(emcc, folder);
    const files = unpackSources(folder);
    const hasXnnpack = needs.backends.includes(XNNPACK);
    const list = [...needs.operators, ...(hasXnnpack ? [XNNPACK] : [])];
    writeFileSync(join(folder, "operators.txt"), list.join("\n"));
    mkdirSync(join(folder, "kept"));
    const header = join(folder, "kept/ops_kept.h");
    const script = join(folder, "wasm/kept_ops.mjs");
    execFileSync(process.execPath, [script, header, join(folder, "operators.txt")]);
    const { compile, link, made } = buildCalls(folder, files, { flavour, version, hasXnnpack });
    await callAll(emcc, compile);
    await callAll(emcc, [link]);
    return readFileSync(made);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function buildRuntime(values: ValuesOf<typeof FLAGS>, files: string[]): Promise<number> {
  const { for: paths = [], output, emcc = "emcc" } = values;
  if (files.length > 0) throw new UsageError(`name programs by --for: --for ${files[0]}`);
  if (paths.length === 0) throw new UsageError("name the programs to run: --for model.pte");
  if (!output) throw new UsageError("name the file to write: -o runtime.wasm");
  const flavour = FLAVOURS.find((name) => name === values.flavour) ?? "simd";
  claimInputs(paths);
  claimOutputs([output], true);
  keepInputs(paths, output);
  checkPlace(output);
  const engine = await makeEngine();
  const needs = needsOf(engine, paths);
  const { version } = engine;
  engine.dispose();
  tell(
    `${counted(needs.operators.length, "operator")}, backends: ${needs.backends.join(", ") || "none"}`,
  );
  const wasm = await built(needs, emcc, flavour, version);
  await check(wasm, paths, flavour);
  await writeFiles([{ path: output, write: (to) => to(wasm) }]);
  tell(`${output}: ${wasm.length} bytes`);
  if (isJson()) printJson({ kind: "runtime", output, bytes: wasm.length, flavour, ...needs });
  return EXIT.done;
}

/** The command sconce build-runtime. */
export const BUILD_RUNTIME = defineCommand({
  name: "build-runtime",
  summary: "builds a module that runs certain programs and nothing else; needs Emscripten",
  examples: ["sconce build-runtime --for a.pte --for b.pte -o runtime.wasm"],
  files: "",
  flags: FLAGS,
  run: buildRuntime,
});
