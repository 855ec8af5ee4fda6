// Names that the examples of the documents do not declare, so that a line such as
// `engine.lower(file)` is all that is read. package_types.test.ts compiles the examples with them.
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
  const runtime: import("sconce").Runtime;
  const client: Client;
  const lm: import("sconce/llm").LanguageModel;
  const conversation: import("sconce/llm").Conversation;
  const speech: import("sconce/llm").SpeechModel;
  const [tokenizer, tokenizerConfig]: [string, string];
  const lowered: ExecutorchProgramManager;
  const program: Program;
  const edge: EdgeProgramManager;

  /** A file that a page was given, and models that are several files. */
  const file: File;
  const [encodeFile, decodeFile]: [File, File];
  const bytes: Uint8Array<ArrayBuffer>;
  const url: string;
  const programs: Programs;
  const sink: Sink;
  const [pte, etrecord]: [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>];
  function showSaveFilePicker(options: {
    suggestedName: string;
  }): Promise<{ createWritable(): Promise<WritableStream> }>;

  /** The inputs of a call, those of many, and some by name. */
  const input: Tensor;
  const inputs: Value[];
  const calls: InputTuple[];
  const [tokens, state, mask, logits, output]: [Tensor, Tensor, Tensor, Tensor, Tensor];
  const [image1, image2]: [Tensor, Tensor];
  const names: string[];
  function readPhoto(name: string): Promise<Tensor>;
  const outputs: InputValue[];

  /** Bun, as far as the documents use it. */
  const Bun: { file(path: unknown): Blob };

  /** The options that a program is lowered with. */
  const partitioner: Partitioners;
  const compileSpecs: CompileSpec[];
  const run: Stage["run"];

  /** The results of a backend for a part. */
  const processedBytes: Uint8Array;
  const debugHandleMap: Record<string, number[]>;
  const namedData: Record<string, Uint8Array | NamedBytes>;
}
