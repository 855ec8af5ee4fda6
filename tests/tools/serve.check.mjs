// The server of the page answers whatever path it is asked for, and only from its folder.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "../../tools/serve.mjs";

const outer = mkdtempSync(join(tmpdir(), "sconce-serve-"));
const folder = join(outer, "page");
mkdirSync(join(folder, "inner"), { recursive: true });
writeFileSync(join(outer, "secret.txt"), "no");
writeFileSync(join(folder, "index.html"), "home");
writeFileSync(join(folder, "inner", "index.html"), "inner");

const { url, close } = await serve(folder);
// The path goes out as it is written, which fetch would not do.
const status = (path) =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    request({ hostname, port, path, agent: false }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    })
      .on("error", reject)
      .end();
  });

const wanted = {
  "/": 200,
  "/index.html?x=%": 200,
  "/inner": 200,
  "//": 200,
  "/nothing": 404,
  "/%E0%A4%A": 404,
  "/%00": 404,
  "/../secret.txt": 404,
  "/%2e%2e/secret.txt": 404,
  "http://elsewhere/": 404,
};
for (const [path, code] of Object.entries(wanted)) assert.equal(await status(path), code, path);
close();
rmSync(outer, { recursive: true });
console.log(`${Object.keys(wanted).length} passed, 0 failed`);
