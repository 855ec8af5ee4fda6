// JSON schemas as languages: the texts of JSON that fit a schema, with their properties in its order. A
// keyword that would be ignored is an error.
import { isObject, jsonFor } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { anyOf, between, byte, choice, literal, optional, repeat, sequence } from "./grammar.js";
import type { Language } from "./language.js";

/** Keywords that say nothing about the texts, or that any text of the language fits. */
const ANNOTATIONS = new Set([
  ...["title", "description", "default", "examples", "format", "deprecated", "readOnly"],
  ...["$schema", "$id", "$comment", "$defs", "definitions", "strict", "writeOnly"],
]);
/** Keywords that are read, by the type that they belong to. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ["minLength", "maxLength"],
  object: ["properties", "required", "additionalProperties"],
  array: ["items", "prefixItems", "minItems", "maxItems"],
  number: [],
  integer: [],
  boolean: [],
  null: [],
};
const COMMON = ["type", "enum", "const", "anyOf", "oneOf", "$ref"];
const TYPES = Object.keys(KEYWORDS);
/** Counts beyond this are lists without an end. */
const COUNT_MAX = 10_000;

function refused(place: string, message: string): SconceError {
  return new SconceError(
    "unsupported",
    `the schema at ${place || "its root"} ${message}`,
    "docs/language-models.md lists the keywords of schemas that can be kept.",
  );
}

// --- Texts of JSON -----------------------------------------------------------------------------------

/** A space, or a new line with its indentation: models write one or the other. */
const GAP = /* @__PURE__ */ optional(
  /* @__PURE__ */ choice(
    /* @__PURE__ */ literal(" "),
    /* @__PURE__ */ sequence(
      /* @__PURE__ */ literal("\n"),
      /* @__PURE__ */ repeat(/* @__PURE__ */ literal(" "), 0, 24),
    ),
  ),
);

const HEX = "0123456789abcdefABCDEF";

const TAIL = /* @__PURE__ */ between(0x80, 0xbf);

/** A character beyond ASCII, in well-formed UTF-8. */
const WIDE = /* @__PURE__ */ choice(
  /* @__PURE__ */ sequence(/* @__PURE__ */ between(0xc2, 0xdf), TAIL),
  /* @__PURE__ */ sequence(
    /* @__PURE__ */ between(0xe0, 0xe0),
    /* @__PURE__ */ between(0xa0, 0xbf),
    TAIL,
  ),
  /* @__PURE__ */ sequence(
    /* @__PURE__ */ byte((one) => one >= 0xe1 && one <= 0xef && one !== 0xed),
    TAIL,
    TAIL,
  ),
  /* @__PURE__ */ sequence(
    /* @__PURE__ */ between(0xed, 0xed),
    /* @__PURE__ */ between(0x80, 0x9f),
    TAIL,
  ),
  /* @__PURE__ */ sequence(
    /* @__PURE__ */ between(0xf0, 0xf0),
    /* @__PURE__ */ between(0x90, 0xbf),
    TAIL,
    TAIL,
  ),
  /* @__PURE__ */ sequence(/* @__PURE__ */ between(0xf1, 0xf3), TAIL, TAIL, TAIL),
  /* @__PURE__ */ sequence(
    /* @__PURE__ */ between(0xf4, 0xf4),
    /* @__PURE__ */ between(0x80, 0x8f),
    TAIL,
    TAIL,
  ),
);

/** A character of a string, which may be escaped. */
const CHARACTER = /* @__PURE__ */ choice(
  byte((one) => one >= 0x20 && one < 0x80 && one !== 0x22 && one !== 0x5c),
  WIDE,
  /* @__PURE__ */ sequence(
    /* @__PURE__ */ literal("\\"),
    /* @__PURE__ */ choice(
      /* @__PURE__ */ anyOf('"\\/bfnrt'),
      /* @__PURE__ */ sequence(
        /* @__PURE__ */ literal("u"),
        /* @__PURE__ */ repeat(/* @__PURE__ */ anyOf(HEX), 4, 4),
      ),
    ),
  ),
);

const stringOf = (min: number, max: number): Language =>
  sequence(literal('"'), repeat(CHARACTER, min, max), literal('"'));

const DIGIT = /* @__PURE__ */ anyOf("0123456789");
const INTEGER = /* @__PURE__ */ sequence(
  /* @__PURE__ */ optional(/* @__PURE__ */ literal("-")),
  /* @__PURE__ */ choice(
    /* @__PURE__ */ literal("0"),
    /* @__PURE__ */ sequence(
      /* @__PURE__ */ anyOf("123456789"),
      /* @__PURE__ */ repeat(DIGIT, 0, 14),
    ),
  ),
);
const NUMBER = /* @__PURE__ */ sequence(
  INTEGER,
  /* @__PURE__ */ optional(
    /* @__PURE__ */ sequence(/* @__PURE__ */ literal("."), /* @__PURE__ */ repeat(DIGIT, 1, 15)),
  ),
  /* @__PURE__ */ optional(
    /* @__PURE__ */ sequence(
      /* @__PURE__ */ anyOf("eE"),
      /* @__PURE__ */ optional(/* @__PURE__ */ anyOf("+-")),
      /* @__PURE__ */ repeat(DIGIT, 1, 2),
    ),
  ),
);

/** Items with commas between them, within brackets. */
function listOf(open: string, close: string, items: Language): Language {
  return sequence(literal(open), GAP, items, GAP, literal(close));
}

const COMMA = /* @__PURE__ */ sequence(/* @__PURE__ */ literal(","), GAP);

/** So many of one item, with commas. */
function itemsOf(item: Language, min: number, max: number): Language {
  if (max === 0) return sequence();
  const rest = repeat(sequence(COMMA, item), Math.max(0, min - 1), max - 1);
  const some = sequence(item, rest);
  return min > 0 ? some : optional(some);
}

const member = (key: Language, value: Language): Language =>
  sequence(key, literal(":"), GAP, value);

/** Every value of JSON. */
const VALUE: Language = /* @__PURE__ */ choice(
  /* @__PURE__ */ stringOf(0, Infinity),
  NUMBER,
  /* @__PURE__ */ literal("true"),
  /* @__PURE__ */ literal("false"),
  /* @__PURE__ */ literal("null"),
  { kind: "later", get: () => OBJECT },
  { kind: "later", get: () => ARRAY },
);
const OBJECT = /* @__PURE__ */ listOf(
  "{",
  "}",
  /* @__PURE__ */ itemsOf(
    /* @__PURE__ */ member(/* @__PURE__ */ stringOf(0, Infinity), VALUE),
    0,
    Infinity,
  ),
);
const ARRAY = /* @__PURE__ */ listOf("[", "]", /* @__PURE__ */ itemsOf(VALUE, 0, Infinity));

// --- Schemas -----------------------------------------------------------------------------------------

type Schema = Readonly<Record<string, unknown>>;

/** Deeper schemas would exhaust the stack of their readers. */
const DEPTH_MAX = 100;

function checkDepth(schema: unknown): void {
  let level: unknown[] = [schema];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) throw refused("", `is nested deeper than ${DEPTH_MAX} levels`);
    level = level.flatMap((one) => (isObject(one) ? Object.values(one) : []));
  }
}

class Reader {
  private readonly references = new Map<string, Language>();

  constructor(private readonly root: unknown) {}

  /** The language of a schema; `place` is its path for messages. */
  read(schema: unknown, place: string): Language {
    if (schema === true) return VALUE;
    if (schema === false) return choice();
    if (!isObject(schema) || Array.isArray(schema)) throw refused(place, "is not an object");
    const types = this.typesOf(schema, place);
    this.checkKeywords(schema, types, place);
    if ("$ref" in schema) return this.reference(schema["$ref"], place);
    if ("const" in schema) return literal(jsonFor("the schema", schema["const"]));
    if ("enum" in schema) {
      const values = this.list(schema["enum"], `${place}/enum`);
      return choice(...values.map((value) => literal(jsonFor("the schema", value))));
    }
    for (const keyword of ["anyOf", "oneOf"])
      if (keyword in schema) {
        const options = this.list(schema[keyword], `${place}/${keyword}`);
        return choice(...options.map((one, i) => this.read(one, `${place}/${keyword}/${i}`)));
      }
    if (types.length === TYPES.length) return VALUE;
    return choice(...types.map((type) => this.ofType(type, schema, place)));
  }

  private typesOf(schema: Schema, place: string): readonly string[] {
    const { type } = schema as { type?: unknown };
    const types = type === undefined ? this.impliedTypes(schema) : [type].flat();
    const unknown = types.find((one) => !TYPES.includes(one as string));
    if (unknown !== undefined) throw refused(place, `has the type ${jsonFor("it", unknown)}`);
    return types as string[];
  }

  /** A schema without a type is often that of an object or an array. */
  private impliedTypes(schema: Schema): readonly string[] {
    if ("properties" in schema) return ["object"];
    return "items" in schema || "prefixItems" in schema ? ["array"] : TYPES;
  }

  private checkKeywords(schema: Schema, types: readonly string[], place: string): void {
    const known = new Set([...COMMON, ...types.flatMap((type) => KEYWORDS[type]!)]);
    const unknown = Object.keys(schema).find((key) => !known.has(key) && !ANNOTATIONS.has(key));
    if (unknown !== undefined) throw refused(place, `has the keyword '${unknown.slice(0, 40)}'`);
    const deciding = ["$ref", "const", "enum", "anyOf", "oneOf"].filter((key) => key in schema);
    const others = Object.keys(schema).filter(
      (key) => !ANNOTATIONS.has(key) && key !== "type" && !deciding.includes(key),
    );
    if (deciding.length > 1 || (deciding.length === 1 && others.length > 0))
      throw refused(place, `has '${deciding[0]}' together with '${deciding[1] ?? others[0]}'`);
  }

  private list(value: unknown, place: string): readonly unknown[] {
    if (Array.isArray(value) && value.length > 0) return value;
    throw refused(place, "is not a list with something in it");
  }

  private reference(given: unknown, place: string): Language {
    if (typeof given !== "string" || !/^#(\/|$)/.test(given))
      throw refused(place, `refers to ${jsonFor("it", given)}, which is not a place in the schema`);
    const known = this.references.get(given);
    if (known) return known;
    let target: unknown = this.root;
    for (const step of given.split("/").slice(1)) {
      const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
      target = isObject(target) && Object.hasOwn(target, key) ? target[key] : undefined;
    }
    if (target === undefined) throw refused(place, `refers to '${given}', which is not there`);
    let found: Language | undefined;
    const later: Language = { kind: "later", get: () => found! };
    this.references.set(given, later);
    found = this.read(target, given.slice(1));
    return later;
  }

  private ofType(type: string, schema: Schema, place: string): Language {
    switch (type) {
      case "string":
        return stringOf(...this.range(schema, "minLength", "maxLength", place));
      case "number":
        return NUMBER;
      case "integer":
        return INTEGER;
      case "boolean":
        return choice(literal("true"), literal("false"));
      case "null":
        return literal("null");
      case "array":
        return this.array(schema, place);
      default:
        return this.object(schema, place);
    }
  }

  private range(schema: Schema, least: string, most: string, place: string): [number, number] {
    const { [least]: min = 0, [most]: max = Infinity } = schema;
    const isCount = (value: unknown): value is number =>
      Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= COUNT_MAX;
    if (!isCount(min) || (max !== Infinity && !isCount(max)) || min > (max as number))
      throw refused(place, `has no range in ${least} and ${most} (at most ${COUNT_MAX})`);
    return [min, max as number];
  }

  private array(schema: Schema, place: string): Language {
    const { prefixItems = [], items = true } = schema;
    const [min, max] = this.range(schema, "minItems", "maxItems", place);
    if (!Array.isArray(prefixItems)) throw refused(place, "has prefixItems that are not a list");
    const first = prefixItems
      .slice(0, Math.min(max, prefixItems.length))
      .map((one, i) => this.read(one, `${place}/prefixItems/${i}`));
    const rest = items === false ? 0 : Math.max(0, max - first.length);
    const item = rest === 0 ? choice() : this.read(items, `${place}/items`);
    if (first.length === 0) return listOf("[", "]", itemsOf(item, min, rest));
    // All of the first ones, though a schema may allow to leave some out.
    const more = repeat(sequence(COMMA, item), Math.max(0, min - first.length), rest);
    const parts = first.flatMap((one, i) => (i === 0 ? [one] : [COMMA, one]));
    return listOf("[", "]", sequence(...parts, more));
  }

  /** Properties in the order of the schema. Those that are not required may be left out. */
  private object(schema: Schema, place: string): Language {
    const { properties = {}, required = [], additionalProperties = false } = schema;
    if (!isObject(properties) || !Array.isArray(required))
      throw refused(place, "has no object of properties, or no list of required ones");
    const names = Object.keys(properties);
    const missing = required.find((name) => !names.includes(name as string));
    if (missing !== undefined)
      throw refused(place, `requires ${jsonFor("it", missing)}, and has no such property`);
    if (names.length === 0) {
      if (additionalProperties === false && "properties" in schema)
        return listOf("{", "}", sequence());
      const value = this.read(additionalProperties || true, `${place}/additionalProperties`);
      return listOf("{", "}", itemsOf(member(stringOf(1, 64), value), 0, Infinity));
    }
    const members = names.map((name) => ({
      isRequired: required.includes(name),
      language: member(
        literal(jsonFor("the schema", name)),
        this.read(properties[name], `${place}/properties/${name}`),
      ),
    }));
    return listOf("{", "}", membersOf(members));
  }
}

interface Member {
  readonly isRequired: boolean;
  readonly language: Language;
}

/** The members from each place on, with a comma before them or without. */
function membersOf(members: readonly Member[]): Language {
  let withComma: Language = sequence();
  let without: Language = sequence();
  for (const { isRequired, language } of [...members].reverse()) {
    const here = sequence(COMMA, language, withComma);
    const first = sequence(language, withComma);
    withComma = isRequired ? here : choice(here, withComma);
    without = isRequired ? first : choice(first, without);
  }
  return without;
}

/** The language of the texts of JSON that fit a schema. */
export function schemaLanguage(schema: unknown): Language {
  checkDepth(schema);
  return new Reader(schema).read(schema, "");
}
