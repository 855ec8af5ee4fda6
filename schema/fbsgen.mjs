// Turns a FlatBuffers schema into C: `node schema/fbsgen.mjs schema/program.fbs OUTDIR` writes
// OUTDIR/program_fbs.h (enums, slots, accessors, setters) and program_fbs.c (descriptors).
//
// Takes the part of the language that our schemas use: tables, enums, unions of tables, under their
// own names or others, vectors, strings, includes; `force_align`, `required` and `deprecated`.
// Structs, nested vectors and other attributes are refused, so nothing is ever generated wrong in
// silence. Output depends on nothing but the input. Names: the prefix is the file extension that the schema declares (pte), else its
// file name; SC_PTE_<Enum>_<member>, SC_PTE_<Table>_<field>, sc_pte_<Table>_<field>().
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

// name in .fbs -> [descriptor, C type, accessor suffix, bytes]
const SCALARS = {
  bool: ["BOOL", "bool", "bool", 1],
  byte: ["I8", "int8_t", "i8", 1],
  int8: ["I8", "int8_t", "i8", 1],
  ubyte: ["U8", "uint8_t", "u8", 1],
  uint8: ["U8", "uint8_t", "u8", 1],
  short: ["I16", "int16_t", "i16", 2],
  int16: ["I16", "int16_t", "i16", 2],
  ushort: ["U16", "uint16_t", "u16", 2],
  uint16: ["U16", "uint16_t", "u16", 2],
  int: ["I32", "int32_t", "i32", 4],
  int32: ["I32", "int32_t", "i32", 4],
  uint: ["U32", "uint32_t", "u32", 4],
  uint32: ["U32", "uint32_t", "u32", 4],
  long: ["I64", "int64_t", "i64", 8],
  int64: ["I64", "int64_t", "i64", 8],
  ulong: ["U64", "uint64_t", "u64", 8],
  uint64: ["U64", "uint64_t", "u64", 8],
  float: ["F32", "float", "f32", 4],
  float32: ["F32", "float", "f32", 4],
  double: ["F64", "double", "f64", 8],
  float64: ["F64", "double", "f64", 8],
};

// --- Parsing -------------------------------------------------------------------------------------

class Parser {
  constructor(path) {
    this.path = path;
    const text = readFileSync(path, "utf8").replace(/\/\/.*|\/\*[^]*?\*\//g, (c) =>
      c.replace(/[^\n]/g, " "),
    );
    this.tokens = [...text.matchAll(/"[^"\n]*"|[A-Za-z_][\w.]*|[-+]?[\d.][\w.+-]*|\S/g)];
    this.lineOf = (index) => text.slice(0, index).split("\n").length;
    this.at = 0;
  }
  fail(message) {
    const token = this.tokens[Math.min(this.at, this.tokens.length - 1)];
    throw new Error(`${this.path}:${this.lineOf(token?.index ?? 0)}: ${message}`);
  }
  peek() {
    return this.tokens[this.at]?.[0];
  }
  next() {
    return this.tokens[this.at++]?.[0] ?? this.fail("the file ends too early");
  }
  accept(token) {
    return this.peek() === token && !!++this.at;
  }
  expect(token) {
    if (!this.accept(token)) this.fail(`expected '${token}', not '${this.peek()}'`);
  }
  word() {
    return /^[A-Za-z_]/.test(this.peek() ?? "") ? this.next() : this.fail("expected a name");
  }
  string() {
    return /^"/.test(this.peek() ?? "") ? this.next().slice(1, -1) : this.fail("expected a string");
  }
}

function parseSchema(path, seen = new Map()) {
  const stem = basename(path, ".fbs");
  const schema = {
    stem,
    includes: [],
    namespace: "",
    types: [],
    root: null,
    identifier: "",
    extension: "",
  };
  seen.set(path, schema);
  const p = new Parser(path);
  const actions = {
    include() {
      const other = join(dirname(path), p.string());
      schema.includes.push(seen.get(other) ?? parseSchema(other, seen));
      p.expect(";");
    },
    namespace() {
      schema.namespace = p.word();
      p.expect(";");
    },
    file_identifier() {
      schema.identifier = p.string();
      p.expect(";");
    },
    file_extension() {
      schema.extension = p.string();
      p.expect(";");
    },
    root_type() {
      schema.root = p.word();
      p.expect(";");
    },
    attribute() {
      p.next();
      p.expect(";");
    },
    table() {
      schema.types.push(parseTable(p));
    },
    enum() {
      schema.types.push(parseEnum(p));
    },
    union() {
      schema.types.push(parseUnion(p));
    },
  };
  while (p.peek() !== undefined) {
    const word = p.next();
    if (!Object.hasOwn(actions, word)) p.fail(`'${word}' is not supported`);
    actions[word]();
  }
  schema.prefix = (schema.extension || stem).toLowerCase();
  for (const type of schema.types) type.schema = schema;
  return schema;
}

function parseTable(p) {
  const table = { kind: "table", name: p.word(), fields: [] };
  p.expect("{");
  while (!p.accept("}")) {
    const field = { name: p.word(), align: 0, required: false, deprecated: false };
    p.expect(":");
    field.isVector = p.accept("[");
    field.type = p.word();
    if (field.isVector) p.expect("]");
    if (p.accept("=")) field.default = p.next();
    if (p.accept("(")) parseAttributes(p, field);
    p.expect(";");
    table.fields.push(field);
  }
  return table;
}

function parseAttributes(p, field) {
  do {
    const name = p.word();
    if (name === "force_align") {
      p.expect(":");
      field.align = Number(p.next());
    } else if (name === "required") field.required = true;
    else if (name === "deprecated") field.deprecated = true;
    else p.fail(`attribute '${name}' is not supported`);
  } while (p.accept(","));
  p.expect(")");
}

function parseEnum(p) {
  const type = { kind: "enum", name: p.word(), members: [] };
  p.expect(":");
  type.base = p.word();
  if (!SCALARS[type.base]) p.fail(`'${type.base}' cannot be the type of an enum`);
  p.expect("{");
  let value = 0n;
  while (!p.accept("}")) {
    const name = p.word();
    if (p.accept("=")) value = BigInt(p.next());
    type.members.push({ name, value: value++ });
    p.accept(",");
  }
  return type;
}

function parseUnion(p) {
  const type = { kind: "union", name: p.word(), members: [{ name: "NONE", value: 0n }] };
  p.expect("{");
  while (!p.accept("}")) {
    const name = p.word();
    const table = p.accept(":") ? p.word() : name;
    type.members.push({ name, table, value: BigInt(type.members.length) });
    p.accept(",");
  }
  return type;
}

// --- Resolving -----------------------------------------------------------------------------------

// All types that the root schema can mention: its own first, then those of its includes.
function allTypes(schema, seen = new Set()) {
  if (seen.has(schema)) return [];
  seen.add(schema);
  return [...schema.types, ...schema.includes.flatMap((other) => allTypes(other, seen))];
}

function resolve(schema, types) {
  const find = (name, where) => {
    const found =
      types.find((t) => t.name === name && t.schema.namespace === schema.namespace) ??
      types.find((t) => `${t.schema.namespace}.${t.name}` === name);
    if (!found) throw new Error(`${schema.stem}.fbs: ${where}: unknown type '${name}'`);
    return found;
  };
  for (const type of types) {
    if (type.kind === "union")
      for (const member of type.members.slice(1)) member.table = find(member.table, type.name);
    if (type.kind !== "table") continue;
    let slot = 0;
    for (const field of type.fields) resolveField(field, type, find, () => slot++);
    if (slot > 64) throw new Error(`${type.name}: more than 64 slots`);
  }
  const root = schema.root === null ? null : find(schema.root, "root_type");
  return root;
}

function resolveField(field, table, find, takeSlot) {
  const where = `${table.name}.${field.name}`;
  field.scalar = SCALARS[field.type];
  if (!field.scalar && field.type !== "string") {
    field.target = find(field.type, where);
    if (field.target.kind === "enum") field.scalar = SCALARS[field.target.base];
  }
  const isUnion = field.target?.kind === "union";
  if (isUnion && field.isVector) throw new Error(`${where}: vectors of unions are not supported`);
  if (isUnion) field.typeSlot = takeSlot();
  field.slot = takeSlot();
  if (field.default !== undefined && (!field.scalar || field.isVector))
    throw new Error(`${where}: only scalars have defaults`);
  field.defaultText = defaultOf(field, where);
}

function defaultOf(field, where) {
  if (!field.scalar || field.isVector) return "0";
  const text = field.default ?? "0";
  if (field.target) {
    const member = field.target.members.find((m) => m.name === text.replace(/^.*\./, ""));
    return member ? String(member.value) : String(BigInt(text));
  }
  if (field.type === "bool") return { true: "1", false: "0", 0: "0", 1: "1" }[text];
  if (!Number.isFinite(Number(text)))
    throw new Error(`${where}: default '${text}' is not a number`);
  return text;
}

// --- Writing -------------------------------------------------------------------------------------

const banner = (schema, what) =>
  `// ${what} for schema/${schema.stem}.fbs, made by schema/fbsgen.mjs. Do not edit.\n`;

function header(schema, types, root) {
  const P = schema.prefix.toUpperCase();
  const guard = `SC_${schema.stem.toUpperCase()}_FBS_H`;
  let out = banner(schema, "Types, accessors and setters");
  out += `#ifndef ${guard}\n#define ${guard}\n\n`;
  out += '#include "format/flatbuf.h"\n';
  for (const other of schema.includes) out += `#include "${other.stem}_fbs.h"\n`;
  for (const type of schema.types.filter((t) => t.kind !== "table")) {
    const rows = type.members.map((m) => `    SC_${P}_${type.name}_${m.name} = ${m.value}`);
    out +=
      `\ntypedef enum sc_${schema.prefix}_${type.name} {\n${rows.join(",\n")}\n}` +
      ` sc_${schema.prefix}_${type.name};\n`;
  }
  for (const type of schema.types) if (type.kind === "table") out += tableHeader(schema, type);
  if (root) {
    out += `\n#define SC_${P}_IDENTIFIER "${schema.identifier}"\n`;
    out += `extern const sc_fb_schema sc_${schema.prefix}_schema;\n`;
  }
  return out + "\n#endif\n";
}

function tableHeader(schema, table) {
  const live = table.fields.filter((f) => !f.deprecated);
  if (!live.length) return `\n// ${table.name} has no fields.\n`;
  const slots = live.flatMap((f) => [
    ...(f.typeSlot === undefined
      ? []
      : [`    ${slotName(schema, table, `${f.name}_type`)} = ${f.typeSlot}`]),
    `    ${slotName(schema, table, f.name)} = ${f.slot}`,
  ]);
  return (
    `\nenum {\n${slots.join(",\n")}\n};\n` +
    live.map((f) => accessor(schema, table, f) + setter(schema, table, f)).join("")
  );
}

const slotName = (schema, table, name) => `SC_${schema.prefix.toUpperCase()}_${table.name}_${name}`;
const functionName = (schema, table, name) => `sc_${schema.prefix}_${table.name}_${name}`;

const getter = (type, suffix, name, slot, fallback = "") =>
  `static inline ${type} ${name}(sc_fb_table t) {\n` +
  `    return sc_fb_get_${suffix}(t, ${slot}${fallback});\n}\n`;

function accessor(schema, table, field) {
  const name = functionName(schema, table, field.name);
  const slot = slotName(schema, table, field.name);
  if (field.isVector) return getter("sc_fb_vec", "vec", name, slot);
  if (field.type === "string") return getter("sc_str", "str", name, slot);
  if (field.scalar) {
    const [, type, suffix] = field.scalar;
    return getter(type, suffix, name, slot, `, ${field.defaultText}`);
  }
  const value = getter("sc_fb_table", "table", name, slot);
  if (field.typeSlot === undefined) return value;
  return getter("uint8_t", "u8", `${name}_type`, `${slot}_type`, ", 0") + value;
}

function setter(schema, table, field) {
  const name = functionName(schema, table, `set_${field.name}`);
  const slot = slotName(schema, table, field.name);
  if (field.isVector || !field.scalar) return refSetter(name, slot, field);
  const [, type, , bytes] = field.scalar;
  const isFloat = type === "float" || type === "double";
  const bits = isFloat
    ? `    uint64_t bits = 0;\n    memcpy(&bits, &value, sizeof value);\n`
    : `    uint64_t bits = (uint64_t)value;\n`;
  // Floats by their bits: -0.0 is not the default 0.0.
  const test = isFloat
    ? `    ${type} fallback = ${field.defaultText};\n` +
      `    if (memcmp(&value, &fallback, sizeof value) != 0)\n`
    : `    if (value != ${field.defaultText})\n`;
  return (
    `static inline void ${name}(sc_fb_builder *b, ${type} value) {\n${bits}${test}` +
    `        sc_fb_set_scalar(b, ${slot}, bits, ${bytes});\n}\n`
  );
}

function refSetter(name, slot, field) {
  const set = `    sc_fb_set_ref(b, ${slot}, value);\n}\n`;
  if (field.typeSlot === undefined)
    return `static inline void ${name}(sc_fb_builder *b, sc_fb_ref value) {\n${set}`;
  return (
    `static inline void ${name}(sc_fb_builder *b, uint8_t type, sc_fb_ref value) {\n` +
    `    if (type != 0)\n        sc_fb_set_scalar(b, ${slot}_type, type, 1);\n${set}`
  );
}

function source(schema, types, root) {
  let out = banner(schema, "Descriptors") + `#include "${schema.stem}_fbs.h"\n`;
  if (!root) return out;
  const tables = types.filter((t) => t.kind === "table");
  const enums = types.filter((t) => t.kind !== "table");
  for (const table of tables) out += fieldRows(table, tables, enums);
  const tableRows = tables.map(
    (t) => `    {"${t.name}", ${fieldsOf(t) ? `fields_${t.name}` : "NULL"}, ${fieldsOf(t)}},\n`,
  );
  out += `\nstatic const sc_fb_table_type tables[] = {\n${tableRows.join("")}};\n`;
  for (const type of enums) {
    const rows = type.members.map(
      (m) =>
        `    {"${m.name}", ${m.value}, ${m.table ? tables.indexOf(m.table) : "SC_FB_NO_REF"}},\n`,
    );
    out += `\nstatic const sc_fb_enum_value values_${type.name}[] = {\n${rows.join("")}};\n`;
  }
  const enumRows = enums.map(
    (t) => `    {"${t.name}", values_${t.name}, ${t.members.length}, ${t.kind === "union"}},\n`,
  );
  if (enums.length) out += `\nstatic const sc_fb_enum enums[] = {\n${enumRows.join("")}};\n`;
  return (
    out +
    `\nconst sc_fb_schema sc_${schema.prefix}_schema = {\n` +
    `    "${schema.stem}", "${schema.identifier}", tables, ${enums.length ? "enums" : "NULL"},` +
    ` ${tables.length}, ${enums.length}, ${tables.indexOf(root)}\n};\n`
  );
}

const fieldsOf = (table) => table.fields.filter((f) => !f.deprecated).length;

function fieldRows(table, tables, enums) {
  if (!fieldsOf(table)) return "";
  const rows = table.fields
    .filter((f) => !f.deprecated)
    .map((f) => {
      const type = f.scalar?.[0] ?? (f.type === "string" ? "STRING" : f.target.kind.toUpperCase());
      const ref = !f.target
        ? "SC_FB_NO_REF"
        : f.target.kind === "table"
          ? tables.indexOf(f.target)
          : enums.indexOf(f.target);
      const isFloat = f.scalar && /^F/.test(f.scalar[0]) && !f.isVector;
      return (
        `    {"${f.name}", SC_FB_${type}, ${f.isVector}, ${f.required}, ${f.align}, ${f.slot},` +
        ` ${ref}, ${isFloat ? 0 : f.defaultText}, ${isFloat ? f.defaultText : 0}},\n`
      );
    });
  return `\nstatic const sc_fb_field fields_${table.name}[] = {\n${rows.join("")}};\n`;
}

const [, , input, outdir] = process.argv;
if (!input || !outdir) {
  console.error("usage: node schema/fbsgen.mjs FILE.fbs OUTDIR");
  process.exit(2);
}
const schema = parseSchema(input);
const types = allTypes(schema);
const root = resolve(schema, types);
mkdirSync(outdir, { recursive: true });
writeFileSync(join(outdir, `${schema.stem}_fbs.h`), header(schema, types, root));
writeFileSync(join(outdir, `${schema.stem}_fbs.c`), source(schema, types, root));
