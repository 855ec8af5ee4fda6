// A second opinion on our FlatBuffer reader, writer and schemas: `flatc`, where it is installed,
// must take the schemas and read the same JSON from every .pte and .ptd of the tests as our dump
// (the .json next to it) says. Called by CTest; without flatc it says so and passes.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const flatc = (...args) => {
  const result = spawnSync("flatc", args, { encoding: "utf8" });
  if (!result.error) assert.equal(result.status, 0, `flatc ${args.join(" ")}\n${result.stdout}`);
  return result;
};

// Our dump shortens vectors of bytes; whatever is there must be equal, and nothing may be missing.
function check(ours, theirs, path) {
  if (typeof ours === "string" && /^\d+ bytes$/.test(ours) && Array.isArray(theirs)) {
    assert.equal(ours, `${theirs.length} bytes`, path);
  } else if (typeof ours === "number" && !Number.isInteger(ours)) {
    assert.ok(Math.abs(ours - theirs) <= 1e-6 * Math.abs(ours), `${path}: ${ours} ${theirs}`);
  } else if (ours !== null && typeof ours === "object") {
    assert.deepEqual(Object.keys(ours).sort(), Object.keys(theirs).sort(), path);
    for (const key of Object.keys(ours)) check(ours[key], theirs[key], `${path}.${key}`);
  } else {
    assert.equal(ours, theirs, path);
  }
}

if (flatc("--version").error) {
  console.log("skipped: flatc is not installed");
  process.exit(0);
}
const temporary = mkdtempSync(join(tmpdir(), "sconce-flatc-"));
let compared = 0;
for (const schema of readdirSync(join(root, "schema")).filter((name) => name.endsWith(".fbs"))) {
  flatc("--cpp", "-o", temporary, join(root, "schema", schema));
}
for (const folder of ["tests/data/pte", "tests/emit"]) {
  if (!existsSync(join(root, folder))) continue;
  for (const name of readdirSync(join(root, folder)).filter((file) => /\.(pte|ptd)$/.test(file))) {
    const schema = name.endsWith(".pte") ? "program.fbs" : "flat_tensor.fbs";
    const file = join(root, folder, name);
    flatc(
      "--json",
      "--strict-json",
      "--raw-binary",
      "-o",
      temporary,
      join(root, "schema", schema),
      "--",
      file,
    );
    const stem = basename(name).replace(/\.\w+$/, "");
    const theirs = JSON.parse(readFileSync(join(temporary, `${stem}.json`), "utf8"));
    check(JSON.parse(readFileSync(file.replace(/\.\w+$/, ".json"), "utf8")), theirs, name);
    compared++;
  }
}
rmSync(temporary, { recursive: true });
console.log(`${compared} files read alike`);
