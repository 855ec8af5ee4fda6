// Shared by the tests of records.
import { tensor, type ETRecord, type Programs, type Tensor } from "sconce";
import { file } from "../setup/failure.js";
import { readZip } from "../setup/zip.js";

/** Two methods. */
export const both = (): Programs => ({
  encode: file("encdec.encode"),
  decode: file("encdec.decode"),
});

/** All that a record says, without its inputs and outputs. */
export const seen = (record: ETRecord): object => {
  const { diagnostics: _, ...report } = record.inspect();
  const texts = report.programs.map(({ stage, method }) => record.program(stage, method).text());
  return { report, texts, maps: record.maps() };
};

/** Each graph of a record, by its stage and its method. */
export function stages(record: ETRecord): string[] {
  return record.inspect().programs.map(({ stage, method }) => `${stage}/${method}`);
}

/** The entries of a file. */
export const names = (bytes: Uint8Array): string[] =>
  readZip(Buffer.from(bytes)).map(({ name }) => name.toString());

export const ramp = (count: number): Tensor =>
  tensor(Float32Array.from({ length: count }, (_, i) => i));
