// Calls across a worker. One protocol serves every object of the interface. An object that lives in
// the worker is a number here, and its methods are messages. A method returns data, copied or
// transferred, or another such object. Which is which, and what becomes of arguments, stands in the
// table of call/protocol.ts. These are the messages; their ends are server.ts and caller.ts.
import type { EngineOptions } from "../types/index.js";
import type { PlainError } from "../base/errors.js";
import type { Pull, Pulled } from "./iterables.js";
import type { Stop } from "./stop.js";
import type { Phase } from "../border/steps.gen.js";

/** The first message to a worker: it has the options of the engine. */
export interface Start {
  type: "start";
  options: Omit<EngineOptions, "onLog">;
}

/** A message to the worker. */
export type Request =
  | {
      type: "call";
      id: number;
      object: number;
      method: string;
      args: unknown[];
      progress: boolean;
      optionsAt: number;
      /** How the worker learns that the call was cancelled, if it can be. */
      stop?: Stop;
    }
  | { type: "cancel"; id: number }
  | { type: "dispose"; object: number }
  | Pulled;

/** The message that asks for a call. */
export type CallRequest = Extract<Request, { type: "call" }>;

/** A message from the worker. */
export type Reply =
  | { type: "starting" }
  | { type: "result"; id: number; value: unknown }
  | {
      type: "object";
      id: number;
      object: number;
      description: Description;
    }
  | { type: "error"; id: number; error: PlainError }
  | Pull
  | { type: "progress"; id: number; phase: Phase; done: number; total: number }
  | { type: "log"; severity: "note" | "warning" | "error"; text: string };

/** An object as the other end sees it: which rows of the protocol are its own, and its data. */
export interface Description {
  kind: string;
  properties: Record<string, unknown>;
}

/** The two ends that messages go through: a worker from outside, the global scope from inside. */
export interface Port {
  postMessage(message: unknown, transfer: Transferable[]): void;
}
