// Everything that a file can be given as: what the engine takes at once, what the client takes, and
// what a call says that would have to wait.
import assert from "node:assert/strict";
import {
  createReadStream,
  mkdtempSync,
  openAsBlob,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { runInNewContext } from "node:vm";
import {
  createClient,
  createEngine,
  fetchSource,
  tensor,
  type Client,
  type Engine,
  type Source,
} from "sconce";
import { failure } from "../setup/failure.js";
import { difference, modelPath, readCases } from "../setup/reference.js";
import { rejected } from "../setup/rejected.js";

const path = modelPath("mlp.pt2");
const bytes = new Uint8Array(readFileSync(path));
let engine: Engine;
let client: Client;
let expected: Uint8Array;
let folder = "";
before(async () => {
  engine = await createEngine();
  client = await createClient();
  expected = engine.lower(bytes).buffer;
  folder = mkdtempSync(join(tmpdir(), "sconce-kinds-"));
});
after(() => {
  engine.dispose();
  client.terminate();
  rmSync(folder, { recursive: true, force: true });
});

const url = pathToFileURL(path);
/** Sources that are read in place. */
const inPlace: [string, () => Source][] = [
  ["a path", () => path],
  ["a relative path", () => relative(process.cwd(), path)],
  ["a file: string", () => url.href],
  ["a file: URL", () => url],
  ["{ path }", () => ({ path })],
  ["{ path: URL }", () => ({ path: url })],
  ["{ url } of a file", () => ({ url })],
  ["bytes", () => bytes],
  ["a Buffer", () => Buffer.from(bytes)],
  ["an ArrayBuffer", () => bytes.slice().buffer],
  ["bytes of another realm", () => runInNewContext("new Uint8Array(given)", { given: bytes })],
];

async function* generated(): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(1000);
  for (let at = 0; at < bytes.length; at += 1000) {
    const part = bytes.subarray(at, at + 1000);
    memory.set(part);
    yield memory.subarray(0, part.length);
  }
}

/** Sources that take time to be read. */
const waited: [string, RegExp, () => Source | Promise<Source>][] = [
  ["a Response", /a Response/, () => new Response(bytes)],
  ["a ReadableStream", /a stream/, () => new Response(bytes).body!],
  ["fs.ReadStream", /a stream/, () => createReadStream(path)],
  ["a stream of Node", /a stream/, () => Readable.from([bytes])],
  ["a generator that uses its memory again", /a stream/, generated],
  ["a Blob", /a Blob/, () => new Blob([bytes])],
  [
    "a picked file",
    /FileSystemFileHandle/,
    () => ({ kind: "file", getFile: async () => new Blob([bytes]) }),
  ],
];

test("the engine reads in place what it can", () => {
  for (const [name, source] of inPlace) {
    const lowered = engine.lower(source());
    assert.deepEqual(lowered.buffer, expected, name);
    lowered.dispose();
    assert.equal(engine.detect(source()), "pt2", name);
    const several = engine.open({ first: source(), second: source() });
    assert.deepEqual([...several.methods], ["first", "second"], name);
    several.dispose();
  }
});

test("the engine says what to write for what takes time, and fetchSource gives it", async () => {
  for (const [name, reported, source] of waited) {
    const given = (await source()) as Source;
    const error = failure(() => engine.lower(given));
    assert.equal(error.code, "argument", name);
    assert.match(error.message, reported);
    assert.match(error.hint, /^Pass await fetchSource\(/);
    const lowered = engine.lower(await fetchSource(given));
    assert.deepEqual(lowered.buffer, expected, name);
    lowered.dispose();
  }
  const promise = failure(() => engine.lower(Promise.resolve(bytes)));
  assert.match(promise.message, /is a promise/);
  const address = failure(() => engine.load("https://example.com/a.pte"));
  assert.match(address.message, /the address https:\/\/example\.com\/a\.pte/);
  assert.match(address.hint, /fetchSource\("https:\/\/example\.com\/a\.pte"\)/);
});

test("an object with read() is read, whatever else it has", async () => {
  const read = (offset: number, length: number): Uint8Array =>
    bytes.subarray(offset, offset + length);
  const own = { size: bytes.length, read, path: "/no/such/file", url: "http://127.0.0.1:1/" };
  const lowered = engine.lower(own);
  assert.deepEqual(lowered.buffer, expected);
  lowered.dispose();
  assert.equal(await fetchSource(own), own);
});

test("fetchSource gives back what needs no waiting", async () => {
  const file = { path };
  for (const source of [bytes, bytes.buffer, file]) assert.equal(await fetchSource(source), source);
  assert.deepEqual(await fetchSource(path), file);
  assert.deepEqual(await fetchSource(url), file);
  assert.equal(await fetchSource(Promise.resolve(file)), file);
  assert.equal((await rejected(() => fetchSource(3 as never))).code, "argument");
});

test("the client takes all of them, and promises of them", async () => {
  const sources = [...inPlace, ...waited.map(([name, , source]) => [name, source] as const)];
  for (const [name, source] of sources)
    for (const given of [source(), Promise.resolve(source())]) {
      const lowered = await client.lower(given as Source);
      assert.deepEqual(await lowered.buffer, expected, name);
      await lowered.dispose();
    }
});

test("bytes that a caller gives stay the caller's", async () => {
  const own = bytes.slice();
  for (const source of [own, own.buffer, Promise.resolve(own), { forward: own }])
    await (await client.lower(source)).dispose();
  assert.deepEqual(own, bytes);
});

test("files of an inspector and data files are sources, too", async () => {
  const lowered = engine.lower(path, { externalConstants: true, etrecord: true });
  const record = lowered.etrecord.bytes();
  const files = { etdump: undefined, etrecord: Promise.resolve(record), program: lowered };
  const inspector = await client.inspector(files as never);
  assert.ok((await inspector.memory()).length > 0);
  const parsed = await client.parseEtrecord(Promise.resolve(record));
  assert.ok((await parsed.maps()) !== undefined);
  const data = lowered.dataFiles.map(({ name }) => new Blob([lowered.dataFile(name) as BlobPart]));
  const loaded = await client.load(Promise.resolve(new Blob([lowered.buffer as BlobPart])), {
    dataFiles: data,
  });
  const { inputs, outputs } = readCases("mlp")[0]!;
  assert.equal(difference((await loaded.run("forward", inputs))[0], outputs[0]!), "");
  const wrong = await rejected(() => client.inspect(loaded as never));
  assert.equal(wrong.code, "argument");
});

test("a Blob over a file is read by engine and client", async () => {
  const blob = await openAsBlob(path);
  assert.equal(await client.detect(blob), "pt2");
  assert.equal(engine.detect(await fetchSource(blob)), "pt2");
});

test("a FileHandle is read in place while it is open", async () => {
  const handle = await open(path);
  const lowered = engine.lower(handle);
  assert.deepEqual(lowered.buffer, expected);
  const remote = await client.lower(handle);
  await handle.close();
  assert.deepEqual(await remote.buffer, expected);
  const error = failure(() => lowered.buffer);
  assert.equal(error.code, "io");
  assert.match(error.message, /was closed/);
  lowered.dispose();
});

test("a lowered program is a source, with its data files", async () => {
  const { inputs, outputs } = readCases("mlp")[0]!;
  const lowered = engine.lower(path, { externalConstants: true });
  assert.ok(lowered.dataFiles.length > 0);
  const program = engine.load(lowered);
  assert.equal(difference(program.run("forward", inputs)[0], outputs[0]!), "");
  assert.equal(engine.detect(lowered), "pte");
  const suites = [{ methodName: "forward", testCases: [{ inputs }] }];
  const plain = engine.lower(path);
  assert.deepEqual(engine.bundle(plain, suites), engine.bundle(plain.buffer, suites));

  const remote = await client.lower(path, { externalConstants: true });
  for (const given of [remote, Promise.resolve(remote)]) {
    const loaded = await client.load(given);
    assert.equal(difference((await loaded.run("forward", inputs))[0], outputs[0]!), "");
  }
  assert.equal(await client.detect(await client.lower(path)), "pte");
  // From here to there, and back.
  assert.equal(await client.detect(plain), "pte");
  assert.deepEqual(await fetchSource(await client.lower(path)), expected);
  const error = failure(() => engine.load(remote as never));
  assert.match(error.hint, /fetchSource\(program\)/);
});

test("a program of another client comes from there", async () => {
  const other = await createClient();
  try {
    const lowered = await other.lower(path);
    const loaded = await client.load(lowered);
    assert.deepEqual([...loaded.methods], ["forward"]);
  } finally {
    other.terminate();
  }
});

test("a forgotten await is named", async () => {
  const lowered = await client.lower(path);
  const program = await client.load(lowered.buffer);
  const { inputs } = readCases("mlp")[0]!;
  const later = Promise.resolve(tensor(new Float32Array(4), [4]));
  const error = await rejected(() => program.run("forward", [later as never]));
  assert.deepEqual([error.code, error.message], ["argument", "run() got a promise"]);
  assert.equal((await program.run("forward", inputs)).length, 1);
});

test("calls arrive in the order in which they were made, unless one has to wait", async () => {
  const order: string[] = [];
  const note = (name: string) => () => void order.push(name);
  await Promise.all([
    client.detect(Promise.resolve(bytes)).then(note("waited")),
    client.detect(bytes).then(note("first")),
    client.detect({ path }).then(note("second")),
  ]);
  assert.deepEqual(order, ["first", "second", "waited"]);
});

test("a stream that fails, or gives something else than bytes, fails the call", async () => {
  const failing = new ReadableStream({
    pull(controller) {
      controller.error(new Error("the disk is gone"));
    },
  });
  const error = await rejected(() => client.lower(failing));
  assert.deepEqual([error.code, (error.cause as Error).message], ["io", "the disk is gone"]);
  const text = await rejected(() => fetchSource(createReadStream(path, "latin1")));
  assert.equal(text.code, "argument");
  assert.match(text.message, /must be a Uint8Array, not the string/);
});

test("a picked file that has gone is a typed error", async () => {
  const gone = new DOMException("A requested file could not be found", "NotFoundError");
  const handle: Source = { kind: "file", getFile: () => Promise.reject(gone) };
  for (const call of [fetchSource, client.lower]) {
    const error = await rejected(() => call(handle) as Promise<unknown>);
    assert.deepEqual([error.code, error.message.includes(gone.message)], ["io", true]);
  }
  const large = await rejected(() => fetchSource(new Blob([bytes]), { maxBytes: 100 }));
  assert.equal(large.code, "out_of_memory");
});

test("a file that is none, or changes, is an error with its name", () => {
  writeFileSync(join(folder, "empty.pt2"), "");
  for (const [source, message] of [
    [join(folder, "none.pt2"), /none\.pt2: ENOENT/],
    [folder, /is not a file/],
    [new URL("file://elsewhere/share/x.pt2"), /on this machine/],
    ["", /cannot open/],
  ] as const)
    assert.match(failure(() => engine.lower(source)).message, message);
  assert.equal(engine.detect(join(folder, "empty.pt2")), "unknown");
});

test("a file that is written to while it is in use gives an error, and no wrong numbers", () => {
  const file = join(folder, "changing.pte");
  const other = Uint8Array.from(expected, (byte, i) => (i > expected.length / 2 ? 0 : byte));
  const input = [tensor(new Float32Array(64), [4, 16])];
  writeFileSync(file, expected);
  utimesSync(file, 1, 1);
  const program = engine.load(file);
  writeFileSync(file, other);
  const error = failure(() => program.run("forward", input));
  assert.equal(error.code, "io");
  assert.match(error.message, /changing\.pte was written to after it was opened/);
  assert.match(error.hint, /^Open it again/);
  // A file that is renamed over it is another one: the program keeps the one that it has.
  writeFileSync(file, expected);
  const kept = engine.load(file);
  writeFileSync(join(folder, "new.pte"), other);
  renameSync(join(folder, "new.pte"), file);
  const right = engine.load(expected).run("forward", input);
  assert.deepEqual(kept.run("forward", input), right);
});
