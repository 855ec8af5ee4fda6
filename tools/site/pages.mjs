// The pages of the documentation site, in the order in which a reader meets them.
export const SECTIONS = [
  {
    title: "Start",
    pages: ["README.md", "docs/getting-started.md", "docs/command-line.md", "docs/javascript.md"],
  },
  {
    title: "Use it",
    pages: [
      "docs/running.md",
      "docs/language-models.md",
      "docs/files.md",
      "docs/caching.md",
      "docs/bundlers.md",
      "docs/edge-functions.md",
      "docs/server.md",
      "docs/threads.md",
      "docs/run-only.md",
    ],
  },
  {
    title: "Make programs",
    pages: [
      "docs/lowering.md",
      "docs/delegation.md",
      "docs/quantization.md",
      "docs/export-sessions.md",
      "docs/training.md",
      "docs/your-own-pass.md",
      "docs/your-own-backend.md",
      "docs/your-own-operator.md",
    ],
  },
  {
    title: "Check programs",
    pages: ["docs/records-and-profiling.md", "docs/bundled-programs.md", "docs/troubleshooting.md"],
  },
  {
    title: "Know more",
    pages: [
      "docs/api.md",
      "docs/coverage.md",
      "docs/architectures.md",
      "docs/differences.md",
      "ARCHITECTURE.md",
      "CONTRIBUTING.md",
    ],
  },
];

export const PAGES = SECTIONS.flatMap(({ pages }) => pages);

/** The name of a page, or of another file of the checkout that pages link to, on the site. */
export function siteName(path) {
  if (path === "README.md") return "index.html";
  const base = path.replace(/^docs\//, "").replace(/\.md$/, "");
  return `${base.toLowerCase().replaceAll(/[^\w-]+/g, "-")}.html`;
}
