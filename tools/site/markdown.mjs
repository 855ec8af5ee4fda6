// Markdown to HTML, as the site has it: headings with the anchors that GitHub gives them, highlighted
// code, links to pages of the site, and no HTML of the page's own.
import { posix } from "node:path";
import hljs from "highlight.js/lib/core.js";
import bash from "highlight.js/lib/languages/bash.js";
import json from "highlight.js/lib/languages/json.js";
import python from "highlight.js/lib/languages/python.js";
import typescript from "highlight.js/lib/languages/typescript.js";
import xml from "highlight.js/lib/languages/xml.js";
import { Marked } from "marked";
import { siteName } from "./pages.mjs";

for (const [name, language] of Object.entries({ bash, json, python, typescript, xml }))
  hljs.registerLanguage(name, language);
const LANGUAGES = {
  sh: "bash",
  json: "json",
  python: "python",
  html: "xml",
  js: "typescript",
  mjs: "typescript",
  ts: "typescript",
  dts: "typescript",
};

export const escapeHtml = (text) =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

const unescapeHtml = (text) =>
  text.replace(
    /&(amp|lt|gt|quot|#39);/g,
    (_, name) => ({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name],
  );

export function codeBlock(code, word) {
  const language = LANGUAGES[word];
  const body = language ? hljs.highlight(code, { language }).value : escapeHtml(code);
  return `<pre><code>${body}\n</code></pre>\n`;
}

/** The anchor of a heading. */
export const anchorOf = (title) =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/ /g, "-");

const textOf = (html) => unescapeHtml(html.replace(/<[^>]*>/g, ""));
const wordsOf = (html) => textOf(html.replace(/<(br|\/?(p|li|td|th|pre))\b/g, " $&"));

/**
 * A page as { html, title, headings, links }. `links` are files of the checkout that it leads to;
 * pictures are among them, and lie in the folder of the pages under their own names.
 */
export function render(page, markdown) {
  const headings = [];
  const links = [];
  const seen = new Map();
  const leadTo = (href, isPicture) => {
    if (/^(https?:|#)/.test(href)) return href;
    const [path, anchor] = href.split("#");
    const target = posix.join(posix.dirname(page), path);
    links.push({ target, anchor, isPicture });
    const name = isPicture ? posix.basename(target) : siteName(target);
    return anchor === undefined ? name : `${name}#${anchor}`;
  };
  const renderer = {
    html: (text) => escapeHtml(text),
    code: (code, word) => codeBlock(code, word),
    heading(html, depth) {
      const text = textOf(html);
      const name = anchorOf(text);
      const count = seen.get(name) ?? 0;
      seen.set(name, count + 1);
      const id = count ? `${name}-${count}` : name;
      headings.push({ id, depth, text });
      if (depth === 1) return `<h1 id="${id}">${html}</h1>\n`;
      const link = `<a class="anchor" href="#${id}" aria-label="Link to this heading">#</a>`;
      return `<h${depth} id="${id}">${html} ${link}</h${depth}>\n`;
    },
    link: (href, title, text) => `<a href="${escapeHtml(leadTo(href, false))}">${text}</a>`,
    image: (href, title, text) =>
      `<img src="${escapeHtml(leadTo(href, true))}" alt="${escapeHtml(text)}">`,
    table: (head, body) =>
      `<div class="table"><table><thead>${head}</thead><tbody>${body}</tbody></table></div>\n`,
  };
  const html = new Marked({ renderer }).parse(markdown.replace(/<!--[^]*?-->\n?/g, ""));
  const title = headings.find(({ depth }) => depth === 1)?.text ?? page;
  return { html, title, headings, links };
}

/** The sections of a page for the search: { id, title, text }, one for each heading. */
export function sectionsOf(html) {
  const parts = html.split(/(?=<h[1-3] id=")/).filter((part) => /^<h[1-3] id="/.test(part));
  return parts.map((part) => {
    const [, id, heading] = /^<h[1-3] id="([^"]*)">([^]*?)<\/h[1-3]>/.exec(part);
    const title = textOf(heading.replace(/<a class="anchor"[^]*?<\/a>/, "")).trim();
    const text = wordsOf(part.replace(/^[^]*?<\/h[1-3]>/, "")).replace(/\s+/g, " ");
    return { id, title, text: text.trim() };
  });
}
