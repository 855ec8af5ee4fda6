// The demonstration backend in an engine: registered with changes, lowered to, and checked.
import assert from "node:assert/strict";
import type { Backend, Engine, Program } from "sconce";
import demo from "../setup/demo_backend.js";
import { file } from "../setup/failure.js";
import { difference, readCases } from "../setup/reference.js";

/** Registers it with these members instead, under an id of its own, which it gives. */
export function registered(engine: Engine, change: Partial<Backend>): string {
  const id = `Backend${Math.random()}`;
  engine.registerBackend({ ...(demo as Backend), ...change, id });
  return id;
}

/** The program of a model, lowered to the backend. */
export function loaded(engine: Engine, name: string, backend: string, method = ""): Program {
  const edge = engine.toEdge(method === "" ? file(name) : { [method]: file(name) });
  const delegated = edge.toBackend(backend);
  const lowered = delegated.toExecutorch();
  const program = engine.load(lowered.buffer);
  for (const owner of [edge, delegated, lowered]) owner.dispose();
  return program;
}

/** That the program of a model gives PyTorch's numbers. */
export function check(program: Program, name: string, method = "forward"): void {
  readCases(name).forEach(({ inputs, outputs }) => {
    const all = program.run(method, inputs);
    outputs.forEach((expected, k) =>
      assert.equal(difference(all[all.length - outputs.length + k], expected), "", name),
    );
  });
}

/** That the engine does its work after something else has failed. */
export function works(engine: Engine): void {
  const program = loaded(engine, "mlp", registered(engine, {}));
  check(program, "mlp");
  program.dispose();
}
