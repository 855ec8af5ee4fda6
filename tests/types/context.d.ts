// What the examples of the documents take for given, so that a line such as `engine.lower(file)` needs
// no declaration where it is read. package_types.test.ts compiles the examples with this.
import type {
  Client,
  CompileSpec,
  EdgeProgramManager,
  Engine,
  ExecutorchProgramManager,
  InputTuple,
  InputValue,
  NamedBytes,
  Partitioners,
  Program,
  Programs,
  Sink,
  Stage,
  Tensor,
  Value,
} from "sconce";

declare global {
  const engine: Engine;
  const client: Client;
  const lowered: ExecutorchProgramManager;
  const program: Program;
  const edge: EdgeProgramManager;

  /** A file that a page was given, and models that are several files. */
  const file: File;
  const [encodeFile, decodeFile]: [File, File];
  const programs: Programs;
  const sink: Sink;

  /** The inputs of a call, those of many, and some by name. */
  const inputs: Value[];
  const calls: InputTuple[];
  const [tokens, state]: [Tensor, Tensor];
  const outputs: InputValue[];

  /** What a program is lowered with. */
  const partitioner: Partitioners;
  const compileSpecs: CompileSpec[];
  const run: Stage["run"];

  /** What a backend makes of a part. */
  const processedBytes: Uint8Array;
  const debugHandleMap: Record<string, number[]>;
  const namedData: Record<string, Uint8Array | NamedBytes>;
}
