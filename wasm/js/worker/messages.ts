// Calls across a worker. One generic protocol serves every object of the interface: an object that
// lives in the worker is a number here, its methods are messages, and what a method returns is
// either data (copied or transferred) or another such object. Which is which, and what becomes of
// arguments, stands in the table of call/protocol.ts. These are the messages; their ends are server.ts and
// caller.ts.
import type { PlainError } from "../base/errors.js";
import type { Pull, Pulled } from "./iterables.js";
import type { Stop } from "./stop.js";
import type { Phase } from "../border/steps.gen.js";

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

export type CallRequest = Extract<Request, { type: "call" }>;

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
