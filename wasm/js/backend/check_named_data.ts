// Checks of the named data that a backend gives with a part: names, files, alignments, and tensors.
import { isObject, isText, KINDS, TEXT } from "../base/check.js";
import { messageOf, SconceError } from "../base/errors.js";
import { isBytes } from "../base/tags.js";
import { bytesOf, isTensorLike } from "../tensor/bytes.js";
import { DTYPES, elementBytes, isDType } from "../tensor/dtypes.js";
import { countOf, isShape, SHAPE } from "../tensor/shape.js";
import { ALIGNMENT, fault } from "./answer.js";
import type { NamedBytes, TensorLayout } from "../types/index.js";

const ALIGNMENT_MAX = 2 ** 24;
/** Data files hold sizes of 32 bits, and programs no more dims than this. */
const SIZE_MAX = 2 ** 31 - 1;
const RANK_MAX = 16;

/** The error of a value in a result, by its name there. */
export type Wrong = (of: string, accepts: string, value: unknown) => SconceError;

/** The result that the data is in, for messages. */
export interface Where {
  readonly what: string;
  readonly method: string;
  readonly wrong: Wrong;
  /** Throws where an object has a member that is not known. */
  readonly onlyHas: (of: string, value: object, known: readonly string[]) => void;
}

interface RawLayout {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly order: readonly number[];
}

/** An entry as the core takes it, but for its bytes. */
export interface CheckedNamed {
  readonly key: string;
  readonly tag: string;
  readonly align: number;
  readonly bytes: Uint8Array;
  readonly layout: RawLayout | null;
}

/** True if the file stays in the folder that it is written to. */
const isFileName = (tag: string): boolean => isText(tag) && !/^\.{0,2}$|[\p{Cc}/\\]/u.test(tag);

function checkAlignment(key: string, alignment: unknown, { wrong }: Where): void {
  const isFit = Number.isSafeInteger(alignment) && (alignment as number) >= 1;
  if (!isFit || (alignment as number) > ALIGNMENT_MAX)
    throw wrong(`the alignment of '${key}'`, "a whole number from 1 to 2^24", alignment);
}

function checkTag(key: string, tag: unknown, { what, method, wrong }: Where): void {
  if (!KINDS.text.test(tag)) throw wrong(`the externalTag of '${key}'`, KINDS.text.accepts, tag);
  if (isFileName(tag as string)) return;
  throw fault(
    `the externalTag of '${key}' in ${what} must be the name of a file, ` +
      `without a folder or control characters, not ${JSON.stringify(tag)}`,
    method,
    "Return a plain name, such as weights.",
  );
}

const isOrder = (order: unknown, rank: number): order is readonly number[] =>
  Array.isArray(order) &&
  order.length === rank &&
  new Set(order).size === rank &&
  order.every((dim) => KINDS.index.test(dim) && (dim as number) < rank);

function layoutOf(key: string, given: unknown, bytes: Uint8Array, where: Where): RawLayout {
  const { what, method, wrong } = where;
  const of = `the tensorLayout of '${key}'`;
  if (!isObject(given)) throw wrong(of, "{ dtype, shape }", given);
  where.onlyHas(`${of} in ${what}`, given, ["dtype", "shape", "dimOrder"]);
  const { dtype, shape } = given;
  if (!isDType(dtype)) throw wrong(`the dtype in ${of}`, `one of ${DTYPES.join(", ")}`, dtype);
  if (!isShape(shape) || shape.length > RANK_MAX || shape.some((size) => size > SIZE_MAX))
    throw wrong(
      `the shape in ${of}`,
      `${SHAPE}, up to 2^31 - 1, of ${RANK_MAX} dims at most`,
      shape,
    );
  const { dimOrder = [...shape.keys()] } = given;
  if (!isOrder(dimOrder, shape.length))
    throw wrong(`the dimOrder in ${of}`, "each dim of the shape once", dimOrder);
  const wanted = countOf(shape) * elementBytes(dtype);
  if (wanted !== bytes.length)
    throw fault(
      `'${key}' in ${what} has ${bytes.length} bytes, but its tensorLayout, ${dtype} ` +
        `[${shape.join(", ")}], needs ${wanted}`,
      method,
      "Return the bytes of the whole tensor, and of nothing else.",
    );
  return { dtype, shape, order: dimOrder };
}

/** The elements of a tensor, and its layout. */
function ofTensor(key: string, tensor: unknown, where: Where): [Uint8Array, TensorLayout] {
  if (!isTensorLike(tensor)) throw where.wrong(`'${key}'`, "a Uint8Array or a tensor", tensor);
  try {
    return [bytesOf(tensor, `'${key}'`), { dtype: tensor.dtype, shape: tensor.shape }];
  } catch (error) {
    const hint = error instanceof SconceError ? error.hint : "";
    throw fault(`${messageOf(error)}, in ${where.what}`, where.method, hint);
  }
}

const isSame = (a: RawLayout, b: RawLayout): boolean =>
  a.dtype === b.dtype && `${a.shape}` === `${b.shape}` && `${a.order}` === `${b.order}`;

/** The bytes of an entry, and the tensor that they hold. */
function contentsOf(
  key: string,
  { bytes: given, tensorLayout }: Partial<NamedBytes>,
  where: Where,
): Pick<CheckedNamed, "bytes" | "layout"> {
  const [bytes, own] = isBytes(given) ? [given] : ofTensor(key, given, where);
  const said = tensorLayout === undefined ? null : layoutOf(key, tensorLayout, bytes, where);
  const layout = own ? layoutOf(key, own, bytes, where) : said;
  if (own && said && !isSame(layout!, said))
    throw where.wrong(
      `the tensorLayout of '${key}'`,
      "that of its tensor, row-major",
      tensorLayout,
    );
  return { bytes, layout };
}

/** One entry of the named data. */
export function checkNamed(key: string, entry: unknown, where: Where): CheckedNamed {
  const { what, wrong, onlyHas } = where;
  if (!isText(key)) throw wrong("a key of namedData", TEXT, key);
  if (!isObject(entry)) throw wrong(`'${key}'`, "bytes, a tensor, or { bytes }", entry);
  const isContents = isBytes(entry) || isTensorLike(entry);
  const one = (isContents ? { bytes: entry } : entry) as Partial<NamedBytes>;
  onlyHas(`'${key}' in ${what}`, one, ["bytes", "alignment", "externalTag", "tensorLayout"]);
  const { alignment = ALIGNMENT, externalTag } = one;
  checkAlignment(key, alignment, where);
  if (externalTag !== undefined) checkTag(key, externalTag, where);
  return { key, tag: externalTag ?? "", align: alignment, ...contentsOf(key, one, where) };
}
