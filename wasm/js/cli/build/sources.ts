// The sources of a runtime, which the package has as one compressed file, and how they are compiled.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ModuleFlavour } from "../../types/index.js";
import { unpackFiles, type Files } from "../studio/archive.js";
import type { Call } from "./emcc.js";

/** The flags of wasm/emscripten.json. */
interface Flags {
  readonly compile: string[];
  /** For sources without an optimization of their own. */
  readonly unmarked: string[];
  readonly relaxed: string[];
  readonly threads: string[];
  readonly link: string[];
  readonly linkAlone: string[];
  readonly linkThreads: string[];
}

/** The purpose of a runtime. */
export interface Wanted {
  readonly flavour: ModuleFlavour;
  readonly version: string;
  /** True if a file has parts of XNNPACK. */
  readonly hasXnnpack: boolean;
}

const ARCHIVE = fileURLToPath(new URL("../../runtime.br", import.meta.url));

/** Unpacks the sources into an empty folder. */
export function unpackSources(folder: string): Files {
  const files = unpackFiles(readFileSync(ARCHIVE));
  for (const [path, bytes] of files) {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, bytes);
  }
  return files;
}

const textOf = (files: Files, path: string): string => new TextDecoder().decode(files.get(path)!);

/** The optimization that a source asks for, "// In wasm: -O3". */
function levelOf(files: Files, path: string): string | undefined {
  return /^\/\/ In wasm: (-O[s23])$/m.exec(textOf(files, path).slice(0, 2000))?.[1];
}

/** The calls that compile all sources, by folder and optimization, and the one that links them. */
export function buildCalls(
  folder: string,
  files: Files,
  { flavour, version, hasXnnpack }: Wanted,
): { compile: Call[]; link: Call; made: string } {
  const flags = JSON.parse(textOf(files, "/wasm/emscripten.json")) as Flags;
  const isRelaxed = flavour.startsWith("relaxed");
  const hasThreads = flavour.endsWith("threads");
  const common = [
    ...flags.compile,
    ...(isRelaxed ? [...flags.relaxed, "-DSC_RELAXED_SIMD=1"] : []),
    ...(hasThreads ? flags.threads : []),
    ...(hasXnnpack ? [] : ["-DSC_WITHOUT_XNNPACK=1"]),
    "-DSC_OPS_KEPT=1",
    `-DSC_VERSION="${version}"`,
    ...["src", "gen", "kept", "wasm"].map((name) => `-I${join(folder, name)}`),
  ];
  const groups = new Map<string, { cwd: string; level: string | undefined; names: string[] }>();
  for (const path of files.keys()) {
    if (!path.endsWith(".c")) continue;
    const level = levelOf(files, path);
    const key = `${dirname(path)} ${level}`;
    const group = groups.get(key) ?? { cwd: join(folder, dirname(path)), level, names: [] };
    group.names.push(basename(path));
    groups.set(key, group);
  }
  const all = [...groups.values()];
  const compile = all.map(({ cwd, level, names }) => ({
    cwd,
    args: ["-c", ...common, ...(level === undefined ? flags.unmarked : [level]), ...names],
  }));
  const objects = all.flatMap(({ cwd, names }) =>
    names.map((name) => join(cwd, name.replace(/c$/, "o"))),
  );
  // memory.c comes first: see wasm/memory.c.
  objects.sort((a, b) => Number(b.endsWith("memory.o")) - Number(a.endsWith("memory.o")));
  const made = join(folder, "runtime.wasm");
  const linked = [...flags.link, ...(hasThreads ? flags.linkThreads : flags.linkAlone)];
  return { compile, link: { cwd: folder, args: [...objects, ...linked, "-o", made] }, made };
}
