// Names and codes of dtypes, as the core numbers them.
import { SconceError } from "../base/errors.js";
import type { Job } from "../module/job.js";
import type { DType, Meta } from "../types/index.js";

/** dtype names and codes, as the core reports them. */
export interface DTypeTable {
  code(name: DType): number;
  name(code: number): DType;
}

function dtypeTable({ dtypes }: Pick<Meta, "dtypes">): DTypeTable {
  return {
    code: (name) => {
      const row = dtypes.find((d) => d.name === name);
      if (row) return row.code;
      throw new SconceError(
        "dtype",
        `there is no dtype '${name}'`,
        `Use one of: ${dtypes.map((d) => d.name).join(", ")}.`,
      );
    },
    name: (code) => dtypes.find((d) => d.code === code)!.name,
  };
}

/** Names and codes of dtypes, as the core of the job has them. */
export function dtypesOf(job: Job): DTypeTable {
  return dtypeTable(JSON.parse(job.textOf((raw, s) => raw.tables(s))) as Pick<Meta, "dtypes">);
}
