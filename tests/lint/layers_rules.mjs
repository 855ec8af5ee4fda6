// The rules of tests/lint/layers.mjs over any tree: names of files, and a function that reads them.
import { dirname } from "node:path";
import { factsOf, includedBy } from "./layers_facts.mjs";

const isWithin = (row, place) => row === place || row.startsWith(`${place}/`);
const startsPath = (path, row) => path.startsWith(`${row}/`) || path.startsWith(`${row}.`);

// Names of files and of the folders around them.
function placesOf(names) {
  const places = new Set(names);
  for (const name of names)
    for (let folder = dirname(name); folder !== "." && !places.has(folder);) {
      places.add(folder);
      folder = dirname(folder);
    }
  return places;
}

// Rows of the table, and which one decides about a file.
function rowsOf({ below, outside }, places) {
  const rows = Object.keys(below).sort((a, b) => b.length - a.length);
  const folders = new Set(rows.filter((row) => places.has(`src/${row}`)));
  const found = new Map();

  // The row of a file of src/: the longest that is its path, without the suffix, or a folder above it.
  function rowOf(name) {
    const path = name.replace(/^src\//, "");
    if (!found.has(path)) {
      found.set(
        path,
        rows.find((row) => path === row || startsPath(path, row)),
      );
    }
    return found.get(path);
  }
  // The row of the folder around the file that has one of its own.
  function folderRowOf(row) {
    return folders.has(row) ? undefined : rows.find((other) => row.startsWith(`${other}/`));
  }
  // A folder's row is not that of folders below it with rows of their own.
  function matches(include, allowed) {
    if (allowed.startsWith("*_"))
      return (
        /^[a-z_]+$/.test(include.slice(0, -allowed.length + 1)) &&
        include.endsWith(allowed.slice(1))
      );
    if (include !== allowed && !startsPath(include, allowed)) return false;
    const row = rowOf(include);
    const folder = (row && folderRowOf(row)) ?? row;
    const hasOwn = below[allowed] && folder !== allowed && folders.has(folder);
    return !(hasOwn && isWithin(folder, allowed));
  }
  // The entries that a file may include; undefined if the table has no row for the file.
  function allowedFor(name) {
    if (name.startsWith("wasm/")) return outside.wasm;
    const row = rowOf(name);
    if (row === undefined || row.endsWith(".h")) return below[row];
    return [...below[row], folderRowOf(row) ? dirname(row) : row];
  }
  const allows = (include, allowed) => allowed.some((entry) => matches(include, entry));
  return { rows, rowOf, folderRowOf, allowedFor, allows };
}

// Rows and their entries name folders or files that exist, and neither form a circle nor join the halves.
function checkTable({ table, halves, error }, { rows, rowOf, folderRowOf }, places) {
  const { below, outside, meeting, publicHeader } = table;
  const complain = (text) => error("tests/lint/layers.mjs", 1, text);

  // Rows whose files the files of a row may include, and those that these may include, and so on.
  function reach(row, seen = new Set()) {
    for (const entry of below[row] ?? []) {
      const next = below[entry] ? entry : rowOf(`src/${entry}`);
      if (next === undefined || next === row || seen.has(next)) continue;
      seen.add(next);
      reach(next, seen);
    }
    return seen;
  }
  for (const row of Object.keys(below))
    if (reach(row).has(row)) complain(`the row of ${row} is in a circle`);

  // All that a row lets its files know in the end: also by the row of its folder, and by the rows of
  // files within what it lists.
  function reachOfHalves(row, seen = new Set()) {
    if (seen.has(row)) return seen;
    seen.add(row);
    for (const entry of [row, folderRowOf(row) ?? row, ...below[row]]) {
      const place = entry === publicHeader ? meeting : entry;
      const inside = below[place] ? [] : rows.filter((other) => other.startsWith(`${place}/`));
      for (const next of [rowOf(place), ...inside])
        if (next !== undefined) reachOfHalves(next, seen);
    }
    return seen;
  }
  for (const row of rows.filter((row) => row !== publicHeader && !isWithin(row, meeting))) {
    const reached = [...reachOfHalves(row)];
    const met = Object.entries(halves).map(([half, members]) => [
      half,
      reached.filter((other) => members.some((member) => isWithin(other, member))).join(", "),
    ]);
    if (met.every(([, names]) => names))
      complain(
        `the row of ${row} reaches both halves: ${met.map((half) => half.join(": ")).join("; ")}`,
      );
  }
  for (const member of Object.values(halves).flat())
    if (!below[member]) error("tests/lint/layers_halves.mjs", 1, `${member} has no row`);

  for (const [row, allowed] of Object.entries({ ...below, ...outside })) {
    for (const entry of [row, ...allowed]) {
      const found = [`src/${entry}`, `src/${entry}.c`, `wasm/${entry}`, entry];
      if (entry.startsWith("*") || found.some((place) => places.has(place))) continue;
      complain(`the row of ${row} names ${entry}, which does not exist`);
    }
  }
}

// Every #include is one that the table allows, and every header is included by someone.
function checkIncludes({ table, names, read, error }, { allowedFor, allows }, places, facts) {
  const files = [...facts.keys()];
  const scopeOf = new Map();
  for (const name of files.filter((name) => name.endsWith(".h"))) {
    const { scope } = facts.get(name);
    if (!scope) continue;
    if (!name.startsWith(`${scope}/`))
      error(name, 1, `says it is private to ${scope}, but is not in it`);
    scopeOf.set(name.replace(/^(src|wasm)\//, ""), scope);
  }

  const included = new Set();
  for (const [name, { directives }] of facts) {
    const allowed = allowedFor(name);
    if (!allowed) {
      error(name, 1, "this folder is not in the table of tests/lint/layers.mjs");
      continue;
    }
    for (const { verb, rest, line } of directives) {
      const complain = (text) => error(name, line, text);
      const [, include, library] = /^\s*(?:"([^"]+)"|<([^>]+)>)\s*$/.exec(rest) ?? [];
      if (library) {
        if (!table.system.test(library) && !table.systemOf[name]?.test(library))
          complain(`<${library}> is not part of the C library`);
      } else if (!include) {
        const isTemplate = verb === "include" && rest.trim() === "TEMPLATE";
        if (!isTemplate) complain(`#${verb}${rest} does not say which file`);
      } else {
        included.add(include);
        if (!allows(include, allowed)) complain(`may not include ${include}`);
        const scope = scopeOf.get(include);
        if (scope && !name.startsWith(`${scope}/`)) complain(`${include} is private to ${scope}`);
        const isGenerated = /_(fbs|kept)\.h$/.test(include);
        const exists = places.has(`src/${include}`) || places.has(`wasm/${include}`);
        if (!isGenerated && !exists) complain(`${include} is not a path below src/`);
      }
    }
  }

  // A header, table or template that nothing includes is dead.
  for (const name of names.filter((name) => /^tests\/.*\.(c|h|inc)$/.test(name)))
    for (const include of includedBy(read(name))) included.add(include);
  for (const name of files.filter((name) => !name.endsWith(".c"))) {
    const include = name.replace(/^(src|wasm)\//, "");
    if (!included.has(include)) error(name, 1, "nothing includes this file");
  }
}

// Every file names only what the table allows, and lists of files that call each other are complete.
function checkUses({ table, error }, { rows, allowedFor, allows }, facts) {
  const sources = [...facts.keys()].filter((name) => name.endsWith(".c"));
  // Which file defines a function or an object. Tables name theirs by macros, so they are free to
  // stand above what they list.
  const functionIn = new Map();
  const objectIn = new Map();
  for (const name of sources) {
    const { functions, objects, foreign } = facts.get(name);
    for (const word of functions) functionIn.set(word, name);
    for (const word of objects) objectIn.set(word, name);
    if (!name.startsWith("src/")) continue;
    for (const { word, line } of foreign)
      error(name, line, `${word} is neither static nor called sc_...`);
  }
  // A header that a row names by itself brings what it declares, wherever that is defined. A front may
  // declare what some rooms below its folder define.
  const declares = (header, word) =>
    header.endsWith(".h") && facts.get(`src/${header}`)?.words.has(word);
  const fronts = Object.fromEntries(
    Object.entries(table.fronts).map(([header, rooms]) => [`src/${header}`, rooms]),
  );
  const calls = new Map();
  for (const [name, { words, lineOfWord }] of facts) {
    const allowed = [
      ...(allowedFor(name) ?? []),
      ...(name === `src/${table.publicHeader}`
        ? rows.filter((row) => isWithin(row, table.meeting))
        : []),
    ];
    const free = new Map(); // whether all that a file defines may be named here
    for (const word of words) {
      const home = functionIn.get(word) ?? objectIn.get(word);
      if (!home || home === name) continue;
      if (!free.has(home)) free.set(home, allows(home.replace(/^(src|wasm)\//, ""), allowed));
      if (free.get(home) || allowed.some((entry) => declares(entry, word))) continue;
      if (fronts[name]?.some((room) => home.startsWith(`src/${room}/`))) continue;
      error(name, lineOfWord(word), `may not use ${word} of ${home}`);
    }
    const targets = [...words].map((word) => functionIn.get(word));
    if (name.endsWith(".c")) calls.set(name, new Set(targets.filter((to) => to && to !== name)));
  }
  checkCircles({ table, error }, sources, calls);
}

// Files call each other in a circle where the table says so, and nowhere else.
function checkCircles({ table, error }, sources, calls) {
  function reachedFrom(name) {
    const seen = new Set();
    const open = [name];
    while (open.length) {
      for (const next of calls.get(open.pop())) {
        if (seen.has(next)) continue;
        seen.add(next);
        open.push(next);
      }
    }
    return seen;
  }
  const reached = new Map(sources.map((name) => [name, reachedFrom(name)]));
  const circleOf = (name) =>
    [...reached.get(name)].filter((other) => reached.get(other).has(name)).sort();
  const known = table.circles.map((circle) => circle.join(" "));
  const found = new Set(sources.map((name) => circleOf(name).join(" ")).filter(Boolean));
  for (const circle of found) {
    if (known.includes(circle)) continue;
    error(circle.split(" ")[0], 1, `these files call each other in a circle: ${circle}`);
  }
  for (const circle of known.filter((circle) => !found.has(circle)))
    error("tests/lint/layers.mjs", 1, `these files no longer form a circle: ${circle}`);
}

// Rationed phrases stand only in the listed files, and exactly as often as listed.
function checkRationed({ table, error }, facts) {
  for (const rule of table.rationed) {
    const { what, advice, only, files: listed } = rule;
    const key = `${rule.pattern} ${rule.except}`;
    const asked = [...facts.keys()].filter(
      (name) => !name.startsWith("src/ops/") && (only?.test(name) ?? true),
    );
    for (const name of new Set([...asked, ...Object.keys(listed)])) {
      const found = facts.get(name)?.timesOf(rule, key) ?? 0;
      const most = listed[name] ?? 0;
      if (found > most) error(name, 1, `${what} ${found} times, not ${most}: ${advice}`);
      if (found < most)
        error(name, 1, `${what} only ${found} times: lower the ${most} in layers.mjs`);
    }
  }
}

// Tells `error` every mistake of a tree, and returns how many files of src/ and wasm/ it has.
export function checkLayers({ table, halves, names, read, error }) {
  const places = placesOf(names);
  const files = names.filter((name) => /^(src|wasm)\/.*\.(c|h|inc|def)$/.test(name));
  const facts = new Map(files.map((name) => [name, factsOf(read(name))]));
  const rows = rowsOf(table, places);
  checkIncludes({ table, names, read, error }, rows, places, facts);
  checkTable({ table, halves, error }, rows, places);
  checkUses({ table, error }, rows, facts);
  checkRationed({ table, error }, facts);
  return files.length;
}
