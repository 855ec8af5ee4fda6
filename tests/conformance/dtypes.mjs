// Lowers and runs the programs that a JSON file lists, each with its inputs. Prints as JSON for
// each the diagnostic that refused it, the code of its failure in the run, or its outputs.
import { readFileSync } from "node:fs";
import { dataFromBytes } from "../../dist/tensor/dtypes.js";
import { createEngine } from "../../dist/index.js";

const engine = await createEngine();

function toTensor({ dtype, shape, data }) {
  const bytes = new Uint8Array(Buffer.from(data, "hex"));
  return { dtype, shape, data: dataFromBytes(dtype, bytes) };
}

function fromTensor({ dtype, shape, data }) {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return { dtype, shape, data: bytes.toString("hex") };
}

function answerTo({ path, inputs }) {
  let lowered;
  try {
    lowered = engine.lower({ path });
  } catch (error) {
    return { refused: error.diagnostics[0] };
  }
  try {
    const outputs = engine.load(lowered.buffer).run("forward", inputs.map(toTensor));
    return { outputs: outputs.map(fromTensor) };
  } catch (error) {
    return { failed: error.code };
  } finally {
    lowered.dispose();
  }
}

const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
process.stdout.write(JSON.stringify(cases.map(answerTo)));
