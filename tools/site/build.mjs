// The documentation as a site of plain files, which needs no network and no server: README, docs/ and
// the guides for those who change Sconce, each as a page, and the files that they link to.
//   node tools/site/build.mjs [FOLDER]      writes the files to a folder, build/docs by default
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { inRoot } from "../steps.mjs";
import { codeBlock, escapeHtml, render, sectionsOf } from "./markdown.mjs";
import { PAGES, SECTIONS, siteName } from "./pages.mjs";

const read = (path) => readFileSync(inRoot(path), "utf8");

function sidebar(current, titles) {
  return SECTIONS.map(({ title, pages }) => {
    const items = pages.map((page) => {
      const here = page === current ? ' aria-current="page"' : "";
      return `<li><a href="${siteName(page)}"${here}>${escapeHtml(titles.get(page))}</a></li>`;
    });
    return `<h2>${title}</h2>\n<ul>\n${items.join("\n")}\n</ul>`;
  }).join("\n");
}

/** The second level of headings, where there are enough to choose from. */
function contents(headings) {
  const rows = headings.filter(({ depth }) => depth === 2);
  if (rows.length < 2) return "";
  const items = rows.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`);
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2>
<ul>${items.join("")}</ul></nav>`;
}

function neighbours(page, titles) {
  const at = PAGES.indexOf(page);
  if (at < 0) return "";
  const link = (other, word) =>
    other
      ? `<a class="${word}" href="${siteName(other)}">${escapeHtml(titles.get(other))}</a>`
      : "<span></span>";
  return `<nav class="neighbours" aria-label="Pages before and after">
${link(PAGES[at - 1], "before")}${link(PAGES[at + 1], "after")}</nav>`;
}

const frame = ({ page, title, html, headings }, titles) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title === "Sconce" ? title : `${title} · Sconce`)}</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="style.css">
</head>
<body>
<header>
<a class="brand" href="index.html"><img src="icon.svg" alt=""> sconce</a>
<label class="search"><span>Search</span>
<input type="search" id="search" placeholder="Search ( / )" autocomplete="off"></label>
</header>
<ol id="found" hidden></ol>
<nav class="pages" aria-label="Pages">
${sidebar(page, titles)}
</nav>
${contents(headings)}
<main>
${html}
${neighbours(page, titles)}
</main>
<script src="sections.js"></script>
<script src="search.js"></script>
</body>
</html>
`;

/** The reference, with links from the types in signatures to their entries. */
function withTypeLinks({ html, headings, ...page }) {
  const ids = new Map(
    headings.filter(({ depth }) => depth === 3).map(({ text, id }) => [text, id]),
  );
  const linked = (word) => (ids.has(word) ? `<a href="#${ids.get(word)}">${word}</a>` : word);
  const code = /(?<=<li>(?:<p>)?<code>)[^<]*(?=<\/code>)/g;
  return {
    ...page,
    headings,
    html: html.replace(code, (text) => text.replace(/\b[A-Z]\w+/g, linked)),
  };
}

/** A file that is no page, such as an example, shown as it is. */
function sourcePage(path) {
  const title = basename(path);
  const code = codeBlock(read(path).trimEnd(), extname(path).slice(1));
  return {
    page: path,
    title,
    html: `<h1 id="top">${title}</h1>\n${code}`,
    headings: [],
    links: [],
  };
}

function checkLinks(pages) {
  const anchors = new Map(
    pages.map(({ page, headings }) => [page, new Set(headings.map(({ id }) => id))]),
  );
  for (const { page, links } of pages)
    for (const { target, anchor } of links)
      if (anchor !== undefined && !anchors.get(target)?.has(anchor))
        throw new Error(`${page} links to ${target}#${anchor}, which is not there`);
}

/** The files of the site by their paths, which begin with a slash. */
export function siteFiles() {
  const pages = PAGES.map((page) => ({ page, ...render(page, read(page)) }));
  const linked = (isWanted) => [
    ...new Set(pages.flatMap(({ links }) => links.filter(isWanted).map(({ target }) => target))),
  ];
  const isPage = ({ isPicture, target }) => !isPicture && !PAGES.includes(target);
  for (const { page, links } of pages)
    for (const { target } of links)
      if (!statSync(inRoot(target), { throwIfNoEntry: false })?.isFile())
        throw new Error(`${page} links to ${target}, which is no file`);
  for (const path of linked(isPage))
    pages.push(
      path.endsWith(".md") ? { page: path, ...render(path, read(path)) } : sourcePage(path),
    );
  checkLinks(pages);
  const reference = pages.findIndex(({ page }) => page === "docs/api.md");
  pages[reference] = withTypeLinks(pages[reference]);
  const titles = new Map(pages.map(({ page, title }) => [page, title]));
  const files = new Map();
  for (const one of pages) files.set(`/${siteName(one.page)}`, Buffer.from(frame(one, titles)));
  for (const path of linked(({ isPicture }) => isPicture))
    files.set(`/${basename(path)}`, readFileSync(inRoot(path)));
  const sections = pages.flatMap(({ page, title, html }) =>
    sectionsOf(html).map((section) => [
      siteName(page),
      title,
      section.id,
      section.title,
      section.text,
    ]),
  );
  files.set("/sections.js", Buffer.from(`window.SECTIONS = ${JSON.stringify(sections)};\n`));
  for (const name of ["style.css", "search.js"])
    files.set(`/${name}`, readFileSync(inRoot("tools/site", name)));
  files.set("/icon.svg", readFileSync(inRoot("web/src/icon.svg")));
  return files;
}

/** Writes the site to a folder, in the place of everything that was there. */
export function writeSite(folder, files = siteFiles()) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [path, bytes] of files) writeFileSync(join(folder, path), bytes);
}

if (process.argv[1] === inRoot("tools/site/build.mjs")) {
  const folder = process.argv[2] ?? inRoot("build/docs");
  writeSite(folder);
  console.log(`the documentation: ${join(folder, "index.html")}`);
}
