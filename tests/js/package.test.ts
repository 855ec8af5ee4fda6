// What npm publishes: small, exactly what is meant to ship, and complete enough to work where nothing
// else of the project is.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sconce-package-"));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Packed {
  filename: string;
  size: number;
  unpackedSize: number;
  version: string;
  files: { path: string }[];
}

/** The built checkout as npm packs it: what `prepack` builds anew is there. */
function pack(): Packed {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const text = execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: "pipe" });
  return (JSON.parse(text) as Packed[])[0]!;
}

const packed = pack();

test("the package is below 1.2 MB", () => {
  assert.ok(packed.size < 1.2e6, `${packed.size} bytes`);
  assert.ok(packed.unpackedSize < 3.3e6, `${packed.unpackedSize} bytes unpacked`);
});

test("the package holds what ships and nothing else", () => {
  const paths = packed.files.map(({ path }) => path);
  const ships = [
    /^(LICENSE|README\.md|package\.json)$/,
    /^dist\/sconce\.wasm$/,
    /^dist\/(cli\/|source\/)?[\w.]+(?<!\.test)\.(js|d\.ts)$/,
    /^dist\/web\/(index\.html|samples\/mlp\.pt2)$/,
    /^dist\/web\/assets\/[\w.-]+-[\w-]{8}\.(js|css|svg)$/,
  ];
  assert.deepEqual(
    paths.filter((path) => !ships.some((pattern) => pattern.test(path))),
    [],
  );
  for (const path of ["dist/cli.js", "dist/index.js", "dist/index.d.ts", "dist/worker.js"]) {
    assert.ok(paths.includes(path), path);
  }
});

/** The first line that the installed command prints, while it goes on, and how to end it. */
async function studio(): Promise<{ line: string; end(): void }> {
  const child = spawn(join(folder, "node_modules/.bin/sconce"), ["studio", "--port", "0"]);
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding("utf8").once("data", resolve);
    child.stderr.setEncoding("utf8").once("data", (text: string) => reject(new Error(text)));
  });
  return { line, end: () => child.kill() };
}

test("the installed package works, and its page says what it lacks", async () => {
  const npm = (...args: string[]): string =>
    execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: "pipe" });
  npm("install", "--offline", "--no-audit", "--no-fund", `./${packed.filename}`);
  assert.equal(npm("exec", "--offline", "--", "sconce", "--version").trim(), packed.version);
  const { line, end } = await studio();
  try {
    const url = /http:\S+/.exec(line)![0];
    assert.match(await (await fetch(url)).text(), /Sconce Studio/);
    assert.equal((await fetch(`${url}samples/mlp.pt2`)).status, 200);
    assert.equal((await fetch(`${url}models/face-rfb320.pt2`)).status, 404);
    // The module is in the package once, and the page asks for it by a name of its own.
    const assets = join(folder, "node_modules/sconce/dist/web/assets");
    const worker = readdirSync(assets).find((name) => /^worker-.*\.js$/.test(name))!;
    const [name] = /sconce-[\w-]{8}\.wasm/.exec(readFileSync(join(assets, worker), "utf8"))!;
    assert.ok(!existsSync(join(assets, name)));
    const module = Buffer.from(await (await fetch(`${url}assets/${name}`)).arrayBuffer());
    assert.deepEqual(module, readFileSync(join(folder, "node_modules/sconce/dist/sconce.wasm")));
  } finally {
    end();
  }
});
