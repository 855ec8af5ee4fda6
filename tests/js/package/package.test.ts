// The package that npm publishes: it is small, holds exactly the files that are meant to ship, and
// works where nothing else of the project is.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
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
const paths = packed.files.map(({ path }) => path);

// Two thirds of both are the eight modules, of which a page downloads one. The sources of runtimes are half a
// megabyte. Source maps and the sources that they name are a sixth: they make stack traces and debuggers show the TypeScript, and no bundler
// takes them into a page. The documentation is 0.3 MB, as pages to read in the folder and as a site.
test("the package is below 7.3 MB, and 18.5 MB installed", () => {
  assert.ok(packed.size < 7.3e6, `${packed.size} bytes`);
  assert.ok(packed.unpackedSize < 18.5e6, `${packed.unpackedSize} bytes unpacked`);
});

test("the package holds what ships and nothing else", () => {
  const ships = [
    /^(LICENSE|(README|ARCHITECTURE|CONTRIBUTING)\.md|package\.json)$/,
    /^dist\/((sconce|run|(run-)?(relaxed|threads|relaxed-threads))\.wasm(\.d\.ts)?|(studio|docs|runtime)\.br)$/,
    /^dist\/(\w+\/){0,2}[\w.-]+(?<!\.test)\.(js|js\.map|d\.ts)$/,
    /^dist\/require\.(cjs|cjs\.map|d\.cts)$/,
    /^wasm\/js\/(\w+\/){0,2}[\w.-]+(?<!\.test)\.c?ts$/,
    /^docs\/([\w-]+\.md|pipeline\.svg|studio\.png)$/,
    /^examples\/[\w-]+\.(mjs|js|html|pt2)$/,
    /^models\/README\.md$/,
  ];
  assert.deepEqual(
    paths.filter((path) => !ships.some((pattern) => pattern.test(path))),
    [],
  );
  for (const path of ["dist/cli.js", "dist/index.js", "dist/index.d.ts", "dist/worker.js"]) {
    assert.ok(paths.includes(path), path);
  }
});

test("the source map of every script names sources that are in the package", () => {
  const maps = paths.filter((path) => /^dist\/.*\.js\.map$/.test(path));
  assert.ok(maps.length > 50, `${maps.length} maps`);
  for (const path of maps) {
    const { sources, sourceRoot = "" } = JSON.parse(readFileSync(join(root, path), "utf8")) as {
      sources: string[];
      sourceRoot?: string;
    };
    for (const source of sources) {
      const named = posix.join(posix.dirname(path), sourceRoot, source);
      assert.ok(paths.includes(named), `${path} names ${named}`);
    }
  }
});

test("package.json tells who made the package, and where it lives", () => {
  const about = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    repository: { type: string; url: string };
    homepage: string;
    bugs: string;
    author: string;
    keywords: string[];
  };
  const [, address] = /^git\+(https:\/\/github\.com\/[\w-]+\/[\w-]+)\.git$/.exec(
    about.repository.url,
  )!;
  assert.equal(about.homepage, `${address}#readme`);
  assert.equal(about.bugs, `${address}/issues`);
  assert.ok(about.author && new Set(about.keywords).size === about.keywords.length);
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
    assert.match(await (await fetch(`${url}docs/`)).text(), /<title>Sconce<\/title>/);
    // The module is in the package once, and the page asks for it by a name of its own.
    const installed = join(folder, "node_modules/sconce/dist");
    const { unpackFiles } = (await import(join(installed, "cli/studio/archive.js"))) as {
      unpackFiles(archive: Uint8Array): ReadonlyMap<string, Uint8Array>;
    };
    const files = unpackFiles(readFileSync(join(installed, "studio.br")));
    const worker = [...files.keys()].find((path) => /^\/assets\/worker-.*\.js$/.test(path))!;
    const script = Buffer.from(files.get(worker)!).toString();
    assert.equal(await (await fetch(url + worker.slice(1))).text(), script);
    for (const flavour of ["sconce", "relaxed", "threads", "relaxed-threads"]) {
      const [name] = new RegExp(`\\b(?<!-)${flavour}-[\\w-]{8}\\.wasm`).exec(script)!;
      const module = Buffer.from(await (await fetch(`${url}assets/${name}`)).arrayBuffer());
      assert.deepEqual(module, readFileSync(join(installed, `${flavour}.wasm`)));
    }
    assert.ok(!existsSync(join(installed, "web")));
  } finally {
    end();
  }
});
