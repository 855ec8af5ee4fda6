// sconce/llm in the bundle of a page: packages that tokenizers and templates need are chunks of their own,
// which the page loads when a call needs them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

test("a bundle loads the optional packages later, and may lack them", async () => {
  const input = fileURLToPath(import.meta.resolve("sconce/llm"));
  for (const external of [[], [/^@huggingface\//]]) {
    const bundle = await rolldown({ input, platform: "browser", external });
    const { output } = await bundle.generate({ format: "esm", minify: true });
    const [entry, ...others] = output.filter((file) => file.type === "chunk");
    assert.deepEqual(entry!.imports, []);
    assert.equal(entry!.dynamicImports.length, 2);
    assert.equal(others.length, external.length === 0 ? 2 : 0);
    assert.ok(entry!.code.length < 85_000, `${entry!.code.length}`);
    assert.doesNotMatch(entry!.code, /ByteLevel|raise_exception/);
  }
});
