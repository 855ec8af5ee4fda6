// An emitted program as data, and as text.
import type { ExecutorchProgram, ExecutionPlan, Instruction, PlanValue } from "../types/index.js";

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Integers beyond 2^53 stand between the strings of the core's JSON: they become bigints. */
export function parseProgram(json: string): ExecutorchProgram {
  const tagged = json.replace(TOKEN, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token))
      ? `{"$int":"${token}"}`
      : token,
  );
  return JSON.parse(tagged, (_, value: unknown) => {
    const { $int } = (value ?? {}) as { $int?: string };
    return $int === undefined ? value : BigInt($int);
  }) as ExecutorchProgram;
}

/** "f32[2, 3]", or the value of what is no tensor. */
function valueText({ val_type: kind, val }: PlanValue, isVerbose: boolean): string {
  if (kind !== "Tensor") {
    const items = Object.values(val ?? {}).map((item) =>
      Array.isArray(item) ? `[${item.join(", ")}]` : String(item),
    );
    return `${kind ?? "Null"}${items.length > 0 ? ` ${items.join(", ")}` : ""}`;
  }
  const tensor = val as Record<string, unknown>;
  const sizes = (tensor["sizes"] as number[] | undefined) ?? [];
  const text = `Tensor ${String(tensor["scalar_type"] ?? "BYTE")} [${sizes.join(", ")}]`;
  if (!isVerbose) return text;
  const {
    memory_id: id,
    memory_offset_low: low = 0,
    memory_offset_high: high = 0,
  } = (tensor["allocation_info"] ?? {}) as {
    memory_id?: number;
    memory_offset_low?: number;
    memory_offset_high?: number;
  };
  const place = id === undefined ? "" : `, memory ${id} at ${high * 2 ** 32 + low}`;
  const constant = Number(tensor["data_buffer_idx"] ?? 0);
  const dynamism = tensor["shape_dynamism"];
  return `${text}${place}${constant > 0 ? `, data ${constant}` : ""}${
    dynamism === undefined || dynamism === "STATIC" ? "" : `, ${String(dynamism)}`
  }`;
}

function instructionText(
  plan: ExecutionPlan,
  { instr_args_type: kind, instr_args }: Instruction,
): string {
  const args = (instr_args ?? {}) as Record<string, unknown>;
  const list = ((args["args"] as number[] | undefined) ?? []).map((index) => `%${index}`);
  if (kind === "KernelCall") {
    const { name, overload = "" } = plan.operators![Number(args["op_index"] ?? 0)]!;
    return `${name}${overload === "" ? "" : `.${overload}`}(${list.join(", ")})`;
  }
  if (kind === "DelegateCall") {
    const { id } = plan.delegates![Number(args["delegate_index"] ?? 0)]!;
    return `delegate ${id}(${list.join(", ")})`;
  }
  const others = Object.entries(args).map(([name, value]) => `${name} ${String(value)}`);
  return `${kind ?? "None"} ${others.join(", ")}`.trimEnd();
}

function planText(plan: ExecutionPlan, isVerbose: boolean): string {
  const values = (plan.values ?? []).map((value, i) => `  %${i}: ${valueText(value, isVerbose)}`);
  const lines = (plan.chains ?? []).flatMap((chain, c) => [
    `  chain ${c}, inputs ${names(chain.inputs)}, outputs ${names(chain.outputs)}`,
    ...(chain.instructions ?? []).map((one, i) => `    ${i}: ${instructionText(plan, one)}`),
  ]);
  const sizes = (plan.non_const_buffer_sizes ?? []).slice(1).join(", ");
  const inputs = `inputs ${names(plan.inputs)}, outputs ${names(plan.outputs)}`;
  return [`plan ${plan.name}: ${inputs}, memory [${sizes}]`, ...values, ...lines, ""].join("\n");
}

const names = (list: readonly number[] | undefined): string =>
  `[${(list ?? []).map((index) => `%${index}`).join(", ")}]`;

/** Values and instructions of each method; with memory and dynamic shapes if verbose. */
export const programText = ({ execution_plan: plans = [] }: ExecutorchProgram): string =>
  plans.map((plan) => planText(plan, true)).join("\n");
