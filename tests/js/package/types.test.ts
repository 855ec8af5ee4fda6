// The types of the package, as projects see them: packed, installed, and compiled by two TypeScripts
// with the strictest settings. So are all examples, and all that the documents show.
import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as library from "sconce";
import * as languageModels from "sconce/llm";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
let folder = "";
let tarball = "";

const COMPILERS = ["typescript", "typescript-5.9"];

before(() => {
  folder = mkdtempSync(join(tmpdir(), "sconce-types-"));
  const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder];
  execFileSync("npm", pack, { cwd: root });
  tarball = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith(".tgz"))!,
  );
  const target = join(folder, "node_modules/sconce");
  mkdirSync(target, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "-C", target, "--strip-components=1"]);
  mkdirSync(join(folder, "node_modules/@types"));
  symlinkSync(join(root, "node_modules/@types/node"), join(folder, "node_modules/@types/node"));
  write("package.json", '{ "type": "module" }\n');
});
after(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}

const STRICT = {
  target: "ES2022",
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  noEmit: true,
};
const NODE_NEXT = { module: "NodeNext", moduleResolution: "NodeNext" };
const BUNDLER = { module: "ESNext", moduleResolution: "Bundler" };

/** The complaints of a compiler about the project in the folder. */
async function said(compiler: string): Promise<string> {
  const tsc = join(root, "node_modules", compiler, "bin/tsc");
  const run = promisify(execFile)(process.execPath, [tsc, "-p", folder]);
  return run.then(
    () => "",
    ({ stdout }: { stdout: string }) => `${compiler}: ${stdout}`,
  );
}

/** The complaints of both compilers about files in the folder. */
async function complaints(options: object, files: readonly string[]): Promise<string> {
  const compilerOptions = { ...STRICT, ...options };
  write("tsconfig.json", JSON.stringify({ compilerOptions, files }));
  return (await Promise.all(COMPILERS.map(said))).join("");
}

/** A tool for packages, on the tarball. */
function judged(path: string, ...args: string[]): { status: number | null; stdout: string } {
  const tool = [join(root, "node_modules", path), ...args, tarball];
  return spawnSync(process.execPath, tool, { encoding: "utf8" });
}

test("arethetypeswrong finds nothing, for a package of modules", () => {
  const { status, stdout } = judged(
    "@arethetypeswrong/cli/dist/index.js",
    ...["--profile", "esm-only", "--format", "ascii"],
  );
  assert.equal(status, 0, stdout);
});

test("publint finds nothing", () => {
  const { status, stdout } = judged("publint/src/cli.js", "--strict");
  assert.equal(status, 0, stdout);
  assert.match(stdout, /All good/);
});

test("the declarations need neither the DOM library nor @types/node", async () => {
  write(
    "bare.ts",
    `import { createClient, createEngine, tensor } from "sconce";
     import { openLanguageModel } from "sconce/llm";
     import "sconce/worker";
     import wasm from "sconce/sconce.wasm";
     export const engine = createEngine({ wasm });
     export const client = createClient();
     export const lm = engine.then((one) => openLanguageModel({ program: one.load(""), tokenizer: "" }));
     export const numbers: Float32Array = tensor([1]).data;`,
  );
  for (const types of [[], ["node"]])
    assert.equal(await complaints({ ...NODE_NEXT, lib: ["ES2022"], types }, ["bare.ts"]), "");
});

test("no type that is exported has the name of a standard one", () => {
  const names = exportedTypes();
  assert.ok(names.length > 100, `${names.length} types`);
  const standard = ["es5", "dom", "webworker", "esnext.disposable", "esnext.float16"].flatMap(
    (name) => {
      const text = readFileSync(
        join(root, `node_modules/typescript-5.9/lib/lib.${name}.d.ts`),
        "utf8",
      );
      return [...text.matchAll(/^(?:declare )?(?:interface|type|var|class) (\w+)/gm)].map(
        (m) => m[1]!,
      );
    },
  );
  assert.ok(standard.includes("Element") && standard.includes("Disposable"));
  assert.deepEqual(
    names.filter((name) => standard.includes(name)),
    [],
  );
});

/** The names of the types that "sconce" exports, by its declarations. */
function exportedTypes(): string[] {
  const dist = join(folder, "node_modules/sconce/dist/types");
  const files = readdirSync(dist).filter((name) => name.endsWith(".d.ts") && name !== "host.d.ts");
  return files.flatMap((name) =>
    [...readFileSync(join(dist, name), "utf8").matchAll(/^export (?:interface|type) (\w+)/gm)].map(
      (match) => match[1]!,
    ),
  );
}

/** The examples of doc comments, which import everything. */
const REFERENCE = "docs/api.md";
const IMPORTS =
  `import { ${Object.keys(library).join(", ")}, type TensorOf } from "sconce";\n` +
  `import { ${Object.keys(languageModels).join(", ")} } from "sconce/llm";\n`;

/** Every block of JavaScript or TypeScript in the documents, as a module of its own. */
function blocks(): string[] {
  const docs = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  return ["README.md", ...docs.map((name) => `docs/${name}`)].flatMap((path) => {
    const text = readFileSync(join(root, path), "utf8");
    return [
      ...text.matchAll(/^ *```(?:js|ts|mjs|javascript|typescript)\b.*\n([\s\S]*?)^ *```$/gm),
    ].map(({ 1: code, index }) => {
      const line = text.slice(0, index).split("\n").length;
      const name = `blocks/${path.replace(/\W/g, "_")}_line_${line}.ts`;
      write(name, `${path === REFERENCE ? IMPORTS : ""}${code}export {};\n`);
      return name;
    });
  });
}

const LIB = { lib: ["ES2023", "DOM", "DOM.Iterable"], types: ["node"] };

test("every block of code in the documents compiles", async () => {
  copyFileSync(join(root, "tests/types/context.d.ts"), join(folder, "context.d.ts"));
  const files = [...blocks(), "context.d.ts"];
  assert.ok(files.length > 8, `${files.length - 1} blocks`);
  for (const modules of [NODE_NEXT, BUNDLER])
    assert.equal(await complaints({ ...modules, ...LIB }, files), "");
});

test("every example compiles, and so do types as people use them", async () => {
  const names = readdirSync(join(root, "examples")).filter((name) => /\.m?js$/.test(name));
  assert.ok(names.length >= 7);
  for (const name of names)
    write(`examples/${name}`, readFileSync(join(root, "examples", name), "utf8"));
  // A page has the library in its folder.
  write("examples/sconce/index.js", 'export * from "sconce";\n');
  copyFileSync(join(root, "tests/types/uses.ts"), join(folder, "uses.ts"));
  const files = ["uses.ts", ...names.map((name) => `examples/${name}`)];
  for (const modules of [NODE_NEXT, BUNDLER])
    assert.equal(await complaints({ ...modules, ...LIB, allowJs: true, checkJs: true }, files), "");
});
