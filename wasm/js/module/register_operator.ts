// Registers operators that callers write, with an engine or a runtime.
import { SconceError } from "../base/errors.js";
import { isOwnOperator } from "../base/check.js";
import { imported } from "../source/imported.js";
import type { ModuleUrl, OwnOperator } from "../types/index.js";
import type { Core } from "./core.js";
import { inJob } from "./job.js";

/** Adds an operator for as long as the core lives. */
export function registerOperator(core: Core, operator: OwnOperator): void {
  core.operators.add(operator, (number) =>
    inJob(
      core,
      (job) =>
        core.memory.withTexts(
          [operator.schema, operator.outOverload ?? ""],
          (schema, schemaBytes, overload, overloadBytes) =>
            job.call({}, (raw, s) =>
              raw.operator_register(
                s,
                schema!,
                schemaBytes!,
                overload!,
                overloadBytes!,
                number,
                operator.run ? 1 : 0,
                operator.infer ? 1 : 0,
              ),
            ),
        ),
      false,
    ),
  );
}

/** Adds the operators that a module exports. Gives their schemas. */
export async function importOperators(core: Core, module: ModuleUrl): Promise<string[]> {
  const found = Object.values(await imported("importOperators()", module)).filter(isOwnOperator);
  if (found.length === 0)
    throw new SconceError(
      "argument",
      "the module of importOperators() exports no operator",
      "Export each as an object: export const scale = { schema, infer, run }.",
    );
  for (const operator of found) registerOperator(core, operator);
  return found.map(({ schema }) => schema);
}
