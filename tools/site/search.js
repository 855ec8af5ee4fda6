// The search of the documentation site. sections.js gives one row for each heading: the page, its
// title, the heading's anchor, the heading, and the text below it.
(() => {
  const input = document.getElementById("search");
  const list = document.getElementById("found");
  const RESULTS_MAX = 12;
  const AROUND = 60;

  const rows = window.SECTIONS.map(([page, title, id, heading, text]) => ({
    page,
    title,
    id,
    heading,
    text,
    names: `${title} ${heading}`.toLowerCase(),
    all: `${title} ${heading} ${text}`.toLowerCase(),
  }));

  /** Sections that have all words, those that have them in a heading first. */
  function find(words) {
    const score = ({ names, heading }) =>
      words.filter((word) => names.includes(word)).length * 2 +
      (words.includes(heading.toLowerCase()) ? 3 : 0);
    return rows
      .filter(({ all }) => words.every((word) => all.includes(word)))
      .map((row) => ({ row, points: score(row) }))
      .sort((a, b) => b.points - a.points)
      .slice(0, RESULTS_MAX)
      .map(({ row }) => row);
  }

  function excerpt(text, word) {
    const at = Math.max(0, text.toLowerCase().indexOf(word) - AROUND);
    return `${at > 0 ? "…" : ""}${text.slice(at, at + 3 * AROUND)}`;
  }

  function item({ page, title, id, heading, text }, word) {
    const link = document.createElement("a");
    link.href = `${page}#${id}`;
    const name = document.createElement("b");
    name.textContent = heading === title ? title : `${title}: ${heading}`;
    const words = document.createElement("span");
    words.textContent = excerpt(text, word);
    link.append(name, words);
    const element = document.createElement("li");
    element.append(link);
    return element;
  }

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length ? find(words) : [];
    list.replaceChildren(...found.map((row) => item(row, words[0])));
    list.hidden = words.length === 0;
    if (words.length && !found.length) {
      const nothing = document.createElement("li");
      nothing.textContent = "No page has these words.";
      list.append(nothing);
    }
  }

  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") list.querySelector("a")?.click();
    if (event.key !== "Escape") return;
    input.value = "";
    show();
  });
  list.addEventListener("click", () => (list.hidden = true));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target === input) return;
    event.preventDefault();
    input.focus();
  });
})();
