// All public types. Two implementations share them. The engine is synchronous and runs on the
// caller's thread. The client has the same calls; a worker answers them as promises.
export type { BackendConfig, CompileConfig, ExecutorchConfig } from "../border/options.gen.js";
export type { PlannedSizes } from "../border/option.js";
export type { ChooseFile, ExternalConstants, WeightInfo } from "../border/weight_files.js";
export type {
  MemoryPlanner,
  MemoryPlanning,
  PlanRequestItem,
  PlanMemory,
  PlanRequest,
} from "../border/planner.js";
export type * from "./backend.js";
export type * from "./operator.js";
export type * from "./bundled.js";
export type * from "./call.js";
export type * from "./call_options.js";
export type * from "./constant.js";
export type * from "./engine.js";
export type * from "./error.js";
export type * from "./events.js";
export type * from "./executorch_program.js";
export type * from "./exported_program.js";
export type * from "./gap.js";
export type * from "./image.js";
export type * from "./inspector.js";
export type * from "./logged.js";
export type * from "./lowering.js";
export type * from "./managers.js";
export type * from "./meta.js";
export type * from "./runtime.js";
export type * from "./pass.js";
export type * from "./program.js";
export type * from "./ready_source.js";
export type * from "./recipe.js";
export type * from "./record.js";
export type * from "./remote.js";
export type * from "./report.js";
export type * from "./resource.js";
export type * from "./session.js";
export type * from "./source.js";
export type * from "./stage.js";
export type * from "./training.js";
export type * from "./tensor.js";
