// Pictures of a page as tensors: each kind gives the numbers that its pixels give, and what the
// browser keeps from the page is a typed error.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { inRoot, startBrowser } from "./browser.js";

type Library = typeof import("sconce");

let browser: Browser;
let page: Page;
before(async () => {
  browser = await startBrowser();
  page = await browser.newPage();
  // The library as it is built, on an origin that is allowed what secure pages are.
  await page.route("http://localhost/**", (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === "/")
      return route.fulfill({ contentType: "text/html", body: "<title></title>" });
    if (!pathname.endsWith(".js")) return route.fulfill({ status: 404, body: "none" });
    const body = readFileSync(inRoot(`dist${pathname}`));
    return route.fulfill({ contentType: "text/javascript", body });
  });
  await page.goto("http://localhost/");
  await page.evaluate(async () => {
    const script = "/index.js";
    const canvas = new OffscreenCanvas(40, 30);
    const context = canvas.getContext("2d")!;
    const pixels = new ImageData(40, 30);
    pixels.data.forEach((_, i) => (pixels.data[i] = i % 4 === 3 ? 255 : (i * 37) & 255));
    context.putImageData(pixels, 0, 0);
    const library = (await import(script)) as Library;
    Object.assign(globalThis, { library, canvas, pixels });
  });
});
after(() => browser.close());

declare const library: Library;
declare const canvas: OffscreenCanvas;
declare const pixels: ImageData;

test("every kind of picture gives the numbers of its pixels", async () => {
  const same = await page.evaluate(async () => {
    const file = await canvas.convertToBlob();
    const image = new Image();
    image.src = URL.createObjectURL(file);
    // Shown smaller than it is: its own size counts.
    image.width = 4;
    const element = Object.assign(document.createElement("canvas"), { width: 40, height: 30 });
    element.getContext("2d")!.putImageData(pixels, 0, 0);
    const bitmap = await createImageBitmap(pixels);
    const frame = new VideoFrame(canvas, { timestamp: 0 });
    const options = { size: [17, 23], fit: "cover", mean: 0.5 } as const;
    const right = await library.tensor.fromImage(pixels, options);
    const results: Record<string, boolean> = {};
    const kinds = { file, image, canvas, element, bitmap, frame };
    for (const [name, picture] of Object.entries(kinds)) {
      const { shape, data } = await library.tensor.fromImage(picture, options);
      results[name] = shape.join() === "1,3,17,23" && data.every((x, i) => x === right.data[i]);
    }
    frame.close();
    return results;
  });
  const kinds = ["file", "image", "canvas", "element", "bitmap", "frame"];
  assert.deepEqual(same, Object.fromEntries(kinds.map((kind) => [kind, true])));
});

test("pictures from frames of another realm", async () => {
  const shape = await page.evaluate(async () => {
    const frame = document.body.appendChild(document.createElement("iframe"));
    const { OffscreenCanvas: Foreign } = frame.contentWindow as unknown as typeof globalThis;
    const foreign = new Foreign(3, 2);
    foreign.getContext("2d");
    return (await library.tensor.fromImage(foreign)).shape;
  });
  assert.deepEqual(shape, [1, 3, 2, 3]);
});

test("what is no picture, not loaded, or of another site is a typed error", async () => {
  const bytes = await page.evaluate(async () => {
    const buffer = await (await canvas.convertToBlob()).arrayBuffer();
    return [...new Uint8Array(buffer)];
  });
  await page.route("http://127.0.0.1/picture.png", (route) =>
    route.fulfill({ contentType: "image/png", body: Buffer.from(bytes) }),
  );
  const found = await page.evaluate(async () => {
    const other = new Image();
    other.src = "http://127.0.0.1/picture.png";
    const missing = new Image();
    missing.src = "http://localhost/missing.png";
    const closed = await createImageBitmap(pixels);
    closed.close();
    const wrong = { text: new Blob(["no picture"]), missing, closed, other };
    const codes: Record<string, string> = {};
    for (const [name, picture] of Object.entries(wrong)) {
      const error: unknown = await library.tensor.fromImage(picture).catch((e: unknown) => e);
      const { code, hint } = error as InstanceType<Library["SconceError"]>;
      codes[name] = `${code}: ${hint}`;
    }
    return codes;
  });
  assert.match(found["text"]!, /^format: Pass a PNG/);
  assert.match(found["missing"]!, /^format: /);
  assert.match(found["closed"]!, /^input: Wait until it is loaded/);
  assert.match(found["other"]!, /^io: .*crossOrigin/);
});
