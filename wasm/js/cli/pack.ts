// sconce pack: a program as Sconce has loaded it, for a quick next start.
import { importModules } from "./shell/backends.js";
import { defineCommand, type ValuesOf } from "./shell/command.js";
import { PROGRAM_FLAGS } from "./shell/program_flags.js";
import { chosenBy } from "./shell/flags.js";
import { makeEngine } from "./engine.js";
import { EXIT, UsageError } from "./usage.js";
import { checkPlace, keepInputs, writeFiles } from "./files/files.js";
import { printJson } from "./print/json.js";
import { claimInputs, claimOutputs, sourceOf } from "./files/streams.js";
import { isJson, tell } from "./print/terminal.js";

const FLAGS = {
  output: {
    type: "string",
    short: "o",
    value: "FILE",
    text: "the packed program; - is the standard output",
  },
  ...PROGRAM_FLAGS,
} as const;

async function pack(values: ValuesOf<typeof FLAGS>, files: string[]): Promise<number> {
  if (files.length !== 1) throw new UsageError("name one .pte file to pack");
  const path = files[0]!;
  const { output, data = [] } = values;
  if (!output) throw new UsageError("name the file to write: -o model.packed");
  claimInputs([path, ...data]);
  claimOutputs([output], true);
  keepInputs([path, ...data], output);
  checkPlace(output);
  const engine = await makeEngine();
  await importModules(engine, values.import ?? []);
  const program = engine.load(sourceOf(path), {
    dataFiles: data.map(sourceOf),
    ...chosenBy(values, "load"),
  });
  let bytes = 0;
  const write = (to: (chunk: Uint8Array) => Promise<void>): Promise<void> =>
    program.savePacked((chunk) => {
      bytes += chunk.length;
      return to(chunk);
    });
  await writeFiles([{ path: output, write }]);
  const { version } = engine;
  const { binary } = engine.capabilities();
  tell(`${output}: for version ${version}, flavour ${binary}`);
  if (isJson()) printJson({ kind: "pack", program: path, output, bytes, version, flavour: binary });
  return EXIT.done;
}

/** The command sconce pack. */
export const PACK = defineCommand({
  name: "pack",
  summary: "saves a program with packed weights, which this version loads at once",
  examples: ["sconce pack model.pte -o model.packed"],
  files: "FILE.pte",
  flags: FLAGS,
  options: ["load"],
  run: pack,
});
