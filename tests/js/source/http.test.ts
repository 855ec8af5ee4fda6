// Files at addresses: all of a file comes, or an error with the address in it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  fetchSource,
  openUrl,
  SconceError,
  type Client,
  type Engine,
  type Source,
} from "sconce";
import { startFileServer, type FileServer } from "../setup/file_server.js";
import { modelPath } from "../setup/reference.js";
import { rejected } from "../setup/rejected.js";

const bytes = new Uint8Array(readFileSync(modelPath("mlp.pt2")));
let server: FileServer;
let client: Client;
let engine: Engine;
before(async () => {
  server = await startFileServer();
  client = await createClient();
  engine = await createEngine();
});
after(() => {
  server.close();
  client.terminate();
  engine.dispose();
});

const at = (how: string): string => `${server.url}/${how}/mlp.pt2`;
const bytesOf = async (source: Source): Promise<Uint8Array> =>
  (await fetchSource(source)) as Uint8Array;

test("a file is whole, however it is sent", async () => {
  for (const how of ["whole", "chunked", "gzip", "moved"]) {
    const url = at(how);
    for (const source of [url, new URL(url), { url }, { url: new URL(url) }, fetch(url)])
      assert.deepEqual(await bytesOf(source), bytes, how);
    assert.deepEqual(await bytesOf((await fetch(url)).body!), bytes, how);
    assert.deepEqual(await openUrl(url), bytes);
  }
});

test("the client takes addresses wherever it takes files", async () => {
  const url = at("chunked");
  const expected = engine.lower(bytes).buffer;
  for (const programs of [url, { forward: new URL(url) }, { forward: { url } }, fetch(url)]) {
    const lowered = await client.lower(programs);
    assert.deepEqual(await lowered.buffer, expected);
    await lowered.dispose();
  }
  assert.equal(await client.detect(url), "pt2");
  assert.equal((await client.inspect(url)).stages[0]!.methods[0]!.name, "forward");
  const opened = await client.open(new Response(bytes));
  assert.deepEqual([...opened.methods], ["forward"]);
  const session = await client.export({ forward: url }, { recipe: "portable" });
  assert.deepEqual(await session.getPteBuffer(), expected);
});

test("an engine's session waits for its programs, and can run again", async () => {
  const session = engine.createExportSession(new Response(bytes) as Source, {
    recipe: "portable",
  });
  await session.run();
  const first = session.getPteBuffer();
  await session.run();
  assert.deepEqual(session.getPteBuffer(), first);
  session.dispose();
});

test("progress of a download is told in bytes, and then that of the call", async () => {
  const reported: { phase: string; done: number; total: number }[] = [];
  const options = {
    onProgress: (progress: (typeof reported)[number]) => void reported.push(progress),
  };
  const lowered = await client.lower({ forward: at("whole"), other: at("whole") }, options);
  await lowered.dispose();
  const downloads = reported.filter(({ phase }) => phase === "download");
  assert.ok(downloads.length > 0 && downloads.length < reported.length);
  assert.deepEqual(downloads.at(-1), {
    phase: "download",
    done: 2 * bytes.length,
    total: 2 * bytes.length,
  });
  assert.ok(downloads.every(({ done }, i) => i === 0 || done >= downloads[i - 1]!.done));
  reported.length = 0;
  await fetchSource(at("chunked"), options);
  assert.ok(reported.length > 0 && reported.every(({ total }) => total === 0));
});

test("what a listener throws fails the call", async () => {
  const thrown = new Error("enough");
  const onProgress = (): never => {
    throw thrown;
  };
  await assert.rejects(fetchSource(at("whole"), { onProgress }), thrown);
  await assert.rejects(client.lower(at("whole"), { onProgress }), thrown);
});

test("headers go with the request", async () => {
  const url = at("private");
  const headers = { authorization: "Bearer secret" };
  for (const given of [
    headers,
    new Headers(headers),
    Object.entries(headers) as [string, string][],
  ])
    assert.deepEqual(await bytesOf({ url, headers: given }), bytes);
  assert.deepEqual(await fetchSource(url, { headers }), bytes);
  const lowered = await client.lower({ url, headers, credentials: "omit" });
  await lowered.dispose();
  const error = await rejected(() => client.lower(url));
  assert.deepEqual([error.code, error.message], ["io", `${url} answered 401`]);
  assert.match(error.hint, /headers/);
});

test("an answer that is no file is an error with the address", async () => {
  for (const [how, code, why] of [
    ["missing", "io", /answered 404$/],
    ["html", "format", /is an HTML page/],
    ["part", "io", /is only a part of the file/],
    ["broken", "io", /broke off after 4096 of \d+ bytes/],
    ["short", "io", /broke off after 4096 bytes/],
    ["other", "io", /answered 500$/],
  ] as const) {
    for (const source of [at(how), { url: at(how) }, async () => fetch(at(how))])
      for (const call of [fetchSource, client.lower]) {
        const given = typeof source === "function" ? source() : source;
        const error = await rejected(() => call(given as Source) as Promise<unknown>);
        assert.equal(error.code, code, how);
        assert.ok(error.message.startsWith(`${server.url}/${how}/`), error.message);
        assert.match(error.message, why);
        assert.match(error.hint, /^[A-Z]/);
      }
  }
  const nobody = await rejected(() => fetchSource("http://127.0.0.1:1/x.pt2"));
  assert.equal(nobody.code, "io");
  assert.match(nobody.message, /^http:\/\/127\.0\.0\.1:1\/x\.pt2 cannot be loaded/);
});

test("of several files the broken one is named, and the others end", async () => {
  const error = await rejected(() => client.lower({ good: at("whole"), bad: at("missing") }));
  assert.deepEqual([error.code, error.method], ["io", "bad"]);
  const other = await rejected(() => engine.inflate({ good: at("whole"), bad: at("missing") }));
  assert.deepEqual([other.code, other.method], ["io", "bad"]);
});

test("an answer with another length than it announced is refused", async () => {
  for (const [length, than] of [
    [bytes.length + 1, "fewer"],
    [bytes.length - 1, "more"],
  ] as const) {
    const lying = new Response(bytes, { headers: { "content-length": String(length) } });
    const error = await rejected(() => fetchSource(lying));
    assert.equal(error.code, "io");
    assert.match(error.message, new RegExp(`${than} than the ${length} bytes`));
  }
});

test("a signal ends a download at once, and its connection", async () => {
  const url = at("hangs");
  for (const call of [
    (signal: AbortSignal) => fetchSource(url, { signal }),
    (signal: AbortSignal) => fetchSource({ url, signal }),
    (signal: AbortSignal) => client.lower(url, { signal }),
    (signal: AbortSignal) => client.detect({ url, signal }),
    (signal: AbortSignal) => engine.export(url, { recipe: "portable", signal }),
  ]) {
    const controller = new AbortController();
    const waiting = rejected(() => call(controller.signal) as Promise<unknown>);
    while (!server.asked.at(-1)?.startsWith("GET /hangs")) await new Promise(setImmediate);
    server.asked.length = 0;
    controller.abort();
    assert.equal((await waiting).code, "cancelled");
  }
  await server.brokenOff();
  const early = await rejected(() => fetchSource(url, { signal: AbortSignal.abort() }));
  assert.equal(early.code, "cancelled");
  assert.deepEqual(server.asked, []);
});

test("a server of Node lowers what it is sent", async () => {
  const own = createServer((request, response) => {
    fetchSource(request, { maxBytes: 1e6 }).then(
      (source) => response.end(engine.lower(source).buffer),
      (error: SconceError) => response.writeHead(413).end(error.code),
    );
  });
  await new Promise<void>((resolve) => own.listen(0, "127.0.0.1", resolve));
  const { port } = own.address() as AddressInfo;
  const post = (body: Uint8Array<ArrayBuffer>): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/mlp.pt2`, { method: "POST", body });
  try {
    const lowered = new Uint8Array(await (await post(bytes)).arrayBuffer());
    assert.deepEqual(lowered, engine.lower(bytes).buffer);
    const large = await post(new Uint8Array(2e6)).catch(() => undefined);
    if (large) assert.equal(await large.text(), "out_of_memory");
  } finally {
    own.closeAllConnections();
    own.close();
  }
});

test("a stream without an end is bounded", async () => {
  const error = await rejected(() => fetchSource(`${server.url}/endless/`, { maxBytes: 1e6 }));
  assert.equal(error.code, "out_of_memory");
  assert.match(error.message, /larger than the 1000000 bytes/);
  const large = await rejected(() => fetchSource(at("whole"), { maxBytes: 1000 }));
  assert.equal(large.code, "out_of_memory");
  const body = new Response(bytes).body!;
  assert.equal((await rejected(() => fetchSource(body, { maxBytes: 1000 }))).code, "out_of_memory");
  assert.ok(await fetchSource(at("whole"), { maxBytes: bytes.length }));
});

test("what was read already says so", async () => {
  const used = new Response(bytes);
  await used.arrayBuffer();
  const held = new Response(bytes);
  const reader = held.body!.getReader();
  const stream = new Response(bytes).body!;
  stream.getReader();
  for (const source of [used, held, stream] as Source[])
    for (const call of [fetchSource, client.lower]) {
      const error = await rejected(() => call(source) as Promise<unknown>);
      assert.equal(error.code, "state", error.message);
      assert.match(error.hint, /nobody/);
    }
  reader.releaseLock();
  assert.deepEqual(await bytesOf(held), bytes);
});

test("a member of { url } that does not exist is named", async () => {
  for (const [wrong, message] of [
    [{ url: at("whole"), header: {} }, /has 'header'/],
    [{ url: at("whole"), cache: "always" }, /'cache'/],
    [{ url: at("whole"), credentials: "all" }, /'credentials'/],
    [{ url: at("whole"), signal: 3 }, /'signal'/],
    [{ url: at("whole"), headers: 3 }, /'headers'/],
    [{ url: "model.pt2" }, /absolute URL/],
  ] as const)
    for (const call of [fetchSource, client.lower]) {
      const error = await rejected(() => call(wrong as never) as Promise<unknown>);
      assert.equal(error.code, "argument");
      assert.match(error.message, message);
    }
  const given = new Response(bytes);
  const useless = await rejected(() => fetchSource(given, { headers: { accept: "*/*" } }));
  assert.deepEqual([useless.code, given.bodyUsed], ["argument", false]);
  assert.match(useless.message, /'headers' applies to addresses only/);
  const request = new Request(at("whole")) as never;
  for (const call of [fetchSource, client.lower])
    assert.equal((await rejected(() => call(request) as Promise<unknown>)).code, "argument");
  for (const options of [{ maxByte: 3 }, { maxBytes: 0 }, { cache: "always" }, { headers: 3 }]) {
    const option = await rejected(() => fetchSource(at("whole"), options as never));
    assert.equal(option.code, "option");
  }
});

test("where files cannot be kept, asking for it is an error", async () => {
  for (const call of [
    () => fetchSource(at("whole"), { cache: true }),
    () => client.lower({ url: at("whole"), cache: "revalidate" }),
  ]) {
    const error: SconceError = await rejected(call);
    assert.equal(error.code, "state");
    assert.match(error.hint, /^Leave out 'cache'/);
  }
});
