// An edge function (workerd and its kin): POST a .pt2, get back what its forward method answers to
// ones. The module is imported, because such hosts never compile from bytes.
import { createEngine, isTensor, SconceError, tensor, toNumbers } from "sconce";
import wasm from "sconce/sconce.wasm";

const engine = await createEngine({ wasm });

export default {
  /** @param {Request} request */
  async fetch(request) {
    try {
      const file = new Uint8Array(await request.arrayBuffer());
      // Where it comes from a zip tool it may be compressed, and no zlib is here to see to that.
      const lowered = engine.lower(await engine.inflate(file));
      const program = engine.load(lowered);
      const { shape = [] } = program.inspect().methods[0].inputs[0];
      const count = shape.reduce((product, size) => product * size, 1);
      const [output] = program.run("forward", [tensor(new Float32Array(count).fill(1), shape)]);
      if (!isTensor(output)) throw new TypeError("the first output is no tensor");
      const answer = { size: lowered.size, shape: output.shape, data: toNumbers(output) };
      program.dispose();
      lowered.dispose();
      return Response.json(answer);
    } catch (error) {
      if (!(error instanceof SconceError)) throw error;
      const { code, message, hint } = error;
      return Response.json({ code, message, hint }, { status: 400 });
    }
  },
};
