// The messages between the core and backends of callers (src/backends/host/question.def): questions as
// they come, the answer while it is put together, and the error of who answers.
import type { Pointer, RawExports } from "../border/abi.gen.js";
import { SconceError } from "../base/errors.js";
import type { Memory } from "../base/memory.js";
import type { BackendNode, DType, Part, SymbolRange, TensorInfo } from "../types/index.js";

/** Bytes in the module's memory; in an answer, bytes behind its JSON. */
export type Range = readonly [address: number, bytes: number];

/** A compile spec as the core sends it. */
export interface RawSpec {
  key: string;
  value: Range;
}
/** A part of a method as the core sends it. */
export interface RawPart {
  name: string;
  signature: Part["signature"];
  ranges: ({ symbol: string } & SymbolRange)[];
  inputs: TensorInfo[];
  outputs: TensorInfo[];
  constants: { value: string; target: string; size: number; of: TensorInfo; result?: string }[];
  specs: RawSpec[];
  nodes: BackendNode[];
}
/** The question which nodes of a method a backend takes. */
export interface RawSurvey {
  method: string;
  nodes: BackendNode[];
  specs: RawSpec[];
  /** Buffers that the method writes, by their names in the model. */
  states: string[];
}
/** The parts of one method as the core sends them. */
export interface RawMethod {
  method: string;
  parts: RawPart[];
}
/** The start of a part when a program is loaded. */
export interface RawStart {
  method: string;
  specs: RawSpec[];
  /** A number that all parts of the program have, for as long as it is open. */
  program: number;
  processed: Range;
}
/** An operand of a part as the core sends it. */
export type RawValue =
  | { kind: "tensor"; dtype: DType; shape: number[]; bytes: Range }
  | { kind: "int" | "double" | "bool"; value: string };

/** The alignment of bytes in an answer, and of named data by default. */
export const ALIGNMENT = 16;
const encoder = new TextEncoder();

/** An answer while it is put together: JSON, whose ranges mean the bytes behind it. */
export class Answer {
  private readonly blobs: Uint8Array[] = [];
  private size = 0;

  constructor(
    private readonly raw: RawExports,
    private readonly memory: Memory,
    private readonly ask: Pointer,
  ) {}

  add(bytes: Uint8Array): Range {
    const offset = this.size;
    this.blobs.push(bytes);
    this.size = Math.ceil((offset + bytes.length) / ALIGNMENT) * ALIGNMENT;
    return [offset, bytes.length];
  }

  send(json: unknown): void {
    this.put(JSON.stringify(json), true);
  }

  /** Why there is no answer. */
  fail(message: string): void {
    this.blobs.length = this.size = 0;
    this.put(message, false);
  }

  private put(text: string, isPadded: boolean): void {
    const bytes = encoder.encode(text);
    const length = isPadded ? Math.ceil(bytes.length / ALIGNMENT) * ALIGNMENT : bytes.length;
    const address = this.memory.alloc(length + this.size + 1);
    const all = this.memory.bytes(address, length + this.size);
    all.fill(0x20, bytes.length, length);
    all.set(bytes);
    let at = length;
    for (const blob of this.blobs) {
      all.set(blob, at);
      at += Math.ceil(blob.length / ALIGNMENT) * ALIGNMENT;
    }
    this.raw.backend_answer(this.ask, address, length, this.size);
  }
}

/** The error of a backend that threw, or returned what it must not; `hint` says what to do instead. */
export const fault = (message: string, method: string, hint: string): SconceError =>
  new SconceError("delegate", message, hint).ofMethod(method);
