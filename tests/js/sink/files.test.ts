// Programs written to files by path or handle: complete, or as they were.
import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  createClient,
  createEngine,
  type Client,
  type Engine,
  type Sink,
  type WritableFile,
} from "sconce";
import { modelPath, samplePath } from "../setup/reference.js";
import { rejected } from "../setup/rejected.js";

const model = modelPath("mlp.pt2");
let engine: Engine;
let client: Client;
let folder = "";
let expected: Uint8Array;
before(async () => {
  engine = await createEngine();
  client = await createClient();
  expected = engine.lower(model).buffer;
});
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "sconce-files-"))));
after(() => {
  engine.dispose();
  client.terminate();
});

const at = (name: string): string => join(folder, name);
const content = (name: string): Uint8Array => new Uint8Array(readFileSync(at(name)));

/** The program of the engine, and that of the client. */
async function* lowered(): AsyncGenerator<{ writeTo(sink: Sink): Promise<void> }> {
  yield engine.lower(model);
  yield await client.lower(model);
}

test("a path gets the program, whichever way it is written", async () => {
  for await (const made of lowered())
    for (const sink of [at("a.pte"), pathToFileURL(at("a.pte")), { path: at("a.pte") }]) {
      writeFileSync(at("a.pte"), "an older file");
      await made.writeTo(sink);
      assert.deepEqual(content("a.pte"), expected);
      assert.deepEqual(readdirSync(folder), ["a.pte"]);
    }
  rmSync(folder, { recursive: true });
});

test("data files and records go to paths, too", async () => {
  const made = engine.lower(model, { externalConstants: true, etrecord: true });
  const { name } = made.dataFiles[0]!;
  await made.writeTo(at("weights.ptd"), name);
  assert.deepEqual(content("weights.ptd"), made.dataFile(name));
  await made.etrecord.save(at("mlp.etrecord"));
  assert.equal(engine.detect(at("mlp.etrecord")), "etrecord");
  const session = await engine.export(model, { recipe: "portable" });
  assert.deepEqual(await session.saveToPte("mlp", at("mlp.pte")), ["mlp.pte"]);
  assert.equal(engine.detect(at("mlp.pte")), "pte");
  rmSync(folder, { recursive: true });
});

test("a FileHandle of Node gets the program where it is, and stays open", async () => {
  for await (const made of lowered()) {
    const handle = await open(at("a.pte"), "w");
    await made.writeTo(handle);
    await handle.appendFile("end");
    await handle.close();
    assert.deepEqual(
      content("a.pte"),
      new Uint8Array(Buffer.concat([expected, Buffer.from("end")])),
    );
  }
  rmSync(folder, { recursive: true });
});

/** A FileSystemFileHandle, as far as it is used. */
function pickedFile(): { file: WritableFile; parts: Uint8Array[]; ended: unknown[] } {
  const parts: Uint8Array[] = [];
  const ended: unknown[] = [];
  const file: WritableFile = {
    kind: "file",
    createWritable: async () =>
      new WritableStream<Uint8Array>({
        write: (part) => void parts.push(part),
        close: () => void ended.push("closed"),
        abort: () => void ended.push("aborted"),
      }),
  };
  return { file, parts, ended };
}

test("a picked file is closed at the end, and aborted when the call fails", async () => {
  for await (const made of lowered()) {
    const { file, parts, ended } = pickedFile();
    await made.writeTo(file);
    assert.deepEqual(new Uint8Array(Buffer.concat(parts)), expected);
    assert.deepEqual(ended, ["closed"]);
  }
  const { file, ended } = pickedFile();
  const onProgress = (): never => {
    throw new Error("enough");
  };
  await assert.rejects(engine.lower(model).writeTo(file, undefined, { onProgress }), /enough/);
  assert.deepEqual(ended, ["aborted"]);
});

test("what fails leaves the file that was there, and nothing beside it", async () => {
  writeFileSync(at("a.pte"), "an older file");
  const made = engine.lower(samplePath("face-rfb320.pt2"));
  const controller = new AbortController();
  const options = { signal: controller.signal, onProgress: () => controller.abort() };
  const error = await rejected(() => made.writeTo(at("a.pte"), undefined, options));
  assert.equal(error.code, "cancelled");
  while (readdirSync(folder).length > 1) await new Promise(setImmediate);
  assert.equal(readFileSync(at("a.pte"), "utf8"), "an older file");
  rmSync(folder, { recursive: true });
});

test("a file keeps its permissions, and a link stays one", async () => {
  writeFileSync(at("a.pte"), "an older file");
  chmodSync(at("a.pte"), 0o600);
  symlinkSync("a.pte", at("link.pte"));
  await engine.lower(model).writeTo(at("link.pte"));
  assert.deepEqual(content("a.pte"), expected);
  assert.equal(statSync(at("a.pte")).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder).sort(), ["a.pte", "link.pte"]);
  rmSync(folder, { recursive: true });
});

test("a program may be written over the file that it comes from", async () => {
  copyFileSync(model, at("a"));
  const made = engine.lower(at("a"));
  await made.writeTo(at("a"));
  assert.deepEqual(content("a"), expected);
  rmSync(folder, { recursive: true });
});

test("a place where no file can be is an error with its name", async () => {
  const made = engine.lower(model);
  for (const [sink, message] of [
    [at("none/a.pte"), /cannot write .*none\/a\.pte: ENOENT/],
    [folder, /not a regular file/],
  ] as const) {
    const error = await rejected(() => made.writeTo(sink));
    assert.equal(error.code, "io");
    assert.match(error.message, message);
  }
  const wrong = await rejected(() => made.writeTo(5 as never));
  assert.match(wrong.message, /the sink must be a path, .* not 5/);
  rmSync(folder, { recursive: true });
});
