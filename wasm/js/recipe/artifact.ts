// What a stage makes, with what it knows.
import type { PipelineArtifact, StageContext } from "../types/index.js";

/** An artifact whose context is its own. */
export class Artifact<T> implements PipelineArtifact<T> {
  readonly context: StageContext;

  constructor(
    readonly data: T,
    context: StageContext,
  ) {
    this.context = { ...context };
  }

  addContext(key: string, value: unknown): void {
    this.context[key] = value;
  }

  getContext(key: string, fallback?: unknown): unknown {
    return Object.hasOwn(this.context, key) ? this.context[key] : fallback;
  }

  copyWithNewData<U>(data: U): Artifact<U> {
    return new Artifact(data, this.context);
  }
}
