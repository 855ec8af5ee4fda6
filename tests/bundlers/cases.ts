// The bundlers that the package is tried with, each with its default settings. docs/bundlers.md lists
// them, and is held to this table.
import {
  answerOf,
  nodeScript,
  pageOf,
  pageScript,
  runAnswerOf,
  runModule,
  workModule,
} from "./programs.js";

export interface Case {
  /** As in the table of docs/bundlers.md. */
  readonly tool: string;
  readonly title: string;
  /** npm packages with exact versions, the tool itself first. */
  readonly packages: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
  /** Shell commands that build it, in its folder. */
  readonly build?: readonly string[];
  /** Shown in a browser: a folder of static files, or a server's command for this port. */
  readonly page?: { folder: string } | { command: string; port: number };
  /** Paths of the server that answer with text of their own. */
  readonly routes?: Readonly<Record<string, string>>;
  /** A shell command that prints the answers. */
  readonly run?: string;
  /** The answers, one a line. */
  readonly answers: readonly string[];
  /** No file of the build's folder matches this. */
  readonly absent?: RegExp;
  /** Which other hosts its commands need: their binaries are in the variables NODE24 and BUN. */
  readonly hosts?: readonly ("node24" | "bun")[];
  /** One of those that every test run builds. */
  readonly quick?: boolean;
}

const BOTH = [answerOf("client"), answerOf("engine")];
const COPY = "cp node_modules/sconce/dist/worker.js node_modules/sconce/dist/sconce.wasm";
const PORT = 7391;

export function casesOf(root: string): Case[] {
  const client = workModule(root, "client");
  const engine = workModule(root, "engine");
  const modules = { "client.js": client, "engine.js": engine };
  const page = {
    ...modules,
    "main.js": pageScript("./client.js", "./engine.js"),
    "index.html": pageOf("/main.js"),
  };

  const vite = (version: string, quick = false): Case[] => {
    const tool = `Vite ${version.split(".")[0]}`;
    const packages = { vite: version };
    return [
      {
        tool,
        title: `${tool}, build`,
        packages,
        files: page,
        build: ["npx vite build"],
        page: { folder: "dist" },
        answers: BOTH,
        quick,
      },
      {
        tool,
        title: `${tool}, dev`,
        packages,
        files: page,
        page: { command: `npx vite --port ${PORT} --strictPort`, port: PORT },
        answers: BOTH,
        quick,
      },
    ];
  };

  const engineAlone: Case = {
    tool: "Vite 8",
    title: "Vite 8, an engine without a worker",
    packages: { vite: "8.3.8" },
    files: { ...page, "main.js": pageScript("./engine.js") },
    build: ["npx vite build"],
    page: { folder: "dist" },
    answers: [answerOf("engine")],
    absent: /worker/,
  };

  const RUN = [runAnswerOf("client"), runAnswerOf("engine")];
  const runOnly = {
    "client.js": runModule(root, "client"),
    "engine.js": runModule(root, "engine"),
    "main.js": pageScript("./client.js", "./engine.js"),
    "index.html": pageOf("/main.js"),
  };
  const runPage: Case = {
    tool: "Vite 8",
    title: "Vite 8, a page that only runs programs",
    packages: { vite: "8.3.8" },
    files: runOnly,
    build: ["npx vite build"],
    page: { folder: "dist" },
    answers: RUN,
    absent: /(^|\/)(sconce|relaxed|threads|worker)-/,
    quick: true,
  };
  const runNode: Case = {
    tool: "esbuild",
    title: "esbuild, a script of Node that only runs programs",
    packages: { esbuild: "0.28.2" },
    files: { ...runOnly, "main.js": nodeScript("./client.js", "./engine.js") },
    build: [
      "npx esbuild main.js --bundle --platform=node --outfile=out/main.cjs",
      "cp node_modules/sconce/dist/run-worker.js node_modules/sconce/dist/run.wasm out",
    ],
    run: "cd / && node $OLDPWD/out/main.cjs",
    answers: RUN,
    quick: true,
  };

  const esbuild = { esbuild: "0.28.2" };
  const esbuildPage: Case = {
    tool: "esbuild",
    title: "esbuild, page",
    packages: esbuild,
    files: { ...page, "dist/index.html": pageOf("main.js") },
    build: ["npx esbuild main.js --bundle --format=esm --outdir=dist", `${COPY} dist`],
    page: { folder: "dist" },
    answers: BOTH,
    quick: true,
  };
  const script = { ...modules, "main.js": nodeScript("./client.js", "./engine.js") };
  const esbuildNode: Case = {
    tool: "esbuild",
    title: "esbuild, a script of Node in one file",
    packages: esbuild,
    files: script,
    build: ["npx esbuild main.js --bundle --platform=node --outfile=out/main.cjs", `${COPY} out`],
    run: "cd / && node $OLDPWD/out/main.cjs",
    answers: BOTH,
    quick: true,
  };
  const imported = `import { createEngine, tensor } from "sconce"; import wasm from "sconce/sconce.wasm";`;
  const esbuildInlined: Case = {
    tool: "esbuild",
    title: "esbuild, a script of Node with the module in it",
    packages: esbuild,
    files: {
      "engine.js": workModule(root, "engine", { imports: imported, options: "{ wasm }" }),
      "main.js": nodeScript("./engine.js"),
    },
    build: [
      "npx esbuild main.js --bundle --platform=node --target=node20 --loader:.wasm=binary --outfile=out/main.cjs",
      "rm -r node_modules",
    ],
    run: "cd / && node $OLDPWD/out/main.cjs",
    answers: [answerOf("engine")],
  };

  const webpack: Case = {
    tool: "webpack",
    title: "webpack",
    packages: { webpack: "5.112.2", "webpack-cli": "7.3.1" },
    files: {
      "src/client.js": client,
      "src/engine.js": engine,
      "src/index.js": pageScript("./client.js", "./engine.js"),
      "dist/index.html": pageOf("main.js"),
    },
    build: ["npx webpack --mode production"],
    page: { folder: "dist" },
    answers: BOTH,
  };
  const webpackEngine: Case = {
    ...webpack,
    title: "webpack, an engine without a worker",
    files: { ...webpack.files, "src/index.js": pageScript("./engine.js") },
    answers: [answerOf("engine")],
    // webpack numbers its chunks: a worker would be one more script.
    absent: /^\d+\.js$/,
  };

  const rollup: Case = {
    tool: "Rollup",
    title: "Rollup with node-resolve",
    packages: { rollup: "4.68.8", "@rollup/plugin-node-resolve": "16.0.3" },
    files: { ...page, "dist/index.html": pageOf("main.js") },
    build: ["npx rollup main.js -p node-resolve --format es --dir dist", `${COPY} dist`],
    page: { folder: "dist" },
    answers: BOTH,
  };

  const parcel: Case = {
    tool: "Parcel",
    title: "Parcel",
    packages: { parcel: "2.16.4" },
    files: { ...page, "index.html": pageOf("./main.js") },
    build: ["npx parcel build index.html"],
    page: { folder: "dist" },
    answers: BOTH,
  };

  const next = (bundler: "turbopack" | "webpack"): Case => ({
    tool: "Next.js 16",
    title: `Next.js 16, ${bundler}: client component, route handlers`,
    packages: { next: "16.4.6", react: "19.3.1", "react-dom": "19.3.1" },
    files: {
      "lib/client.js": client,
      "lib/engine.js": engine,
      "app/layout.js": `export default function Layout({ children }) { return <html><body>{children}</body></html>; }`,
      "app/page.js": `"use client";
import { useEffect, useState } from "react";
import { work as client } from "../lib/client.js";
import { work as engine } from "../lib/engine.js";
export default function Page() {
  const [text, setText] = useState("");
  useEffect(() => {
    (async () => {
      setText((await client()) + "; " + (await engine()));
      document.title = "done";
    })();
  }, []);
  return <p>{text}</p>;
}`,
      "app/node/route.js": routeOf("engine"),
      "app/worker/route.js": routeOf("client"),
      // With webpack, this release builds no edge route at all, not even an empty one.
      ...(bundler === "turbopack" && {
        "lib/edge.js": workModule(root, "engine", {
          imports: imported.replace("sconce.wasm", "sconce.wasm?module"),
          options: "{ wasm }",
        }),
        "app/edge/route.js": `export const runtime = "edge";\n${routeOf("edge")}`,
      }),
    },
    build: [`npx next build --${bundler}`],
    page: { command: `npx next start -p ${PORT}`, port: PORT },
    routes: {
      node: answerOf("engine"),
      worker: answerOf("client"),
      ...(bundler === "turbopack" && { edge: answerOf("engine") }),
    },
    answers: BOTH,
  });

  const astro: Case = {
    tool: "Astro 6",
    title: "Astro 6",
    packages: { astro: "6.0.5" },
    files: {
      "src/client.js": client,
      "src/engine.js": engine,
      "src/main.js": pageScript("./client.js", "./engine.js"),
      "src/pages/index.astro": `<html><head><link rel="icon" href="data:," /></head><body><script>import "../main.js";</script></body></html>`,
    },
    build: [`"$NODE24" node_modules/astro/bin/astro.mjs build`],
    page: { folder: "dist" },
    answers: BOTH,
    hosts: ["node24"],
  };

  const svelte: Case = {
    tool: "SvelteKit 2",
    title: "SvelteKit 2",
    packages: {
      "@sveltejs/kit": "2.70.4",
      "@sveltejs/adapter-static": "3.0.10",
      "@sveltejs/vite-plugin-svelte": "7.3.1",
      svelte: "5.57.3",
      vite: "8.3.8",
    },
    files: {
      "vite.config.js": `import { sveltekit } from "@sveltejs/kit/vite";\nexport default { plugins: [sveltekit()] };\n`,
      "svelte.config.js": `import adapter from "@sveltejs/adapter-static";\nexport default { kit: { adapter: adapter() } };\n`,
      "src/app.html": `<!doctype html><html><head><link rel="icon" href="data:," />%sveltekit.head%</head><body>%sveltekit.body%</body></html>`,
      "src/routes/+layout.js": "export const prerender = true;\n",
      "src/routes/+page.svelte": `<script>
import { onMount } from "svelte";
import { work as client } from "$lib/client.js";
import { work as engine } from "$lib/engine.js";
let text = $state("");
onMount(async () => {
  text = (await client()) + "; " + (await engine());
  document.title = "done";
});
</script>
<p>{text}</p>`,
      "src/lib/client.js": client,
      "src/lib/engine.js": engine,
    },
    build: ["npx vite build"],
    page: { folder: "build" },
    answers: BOTH,
  };

  const bunPage: Case = {
    tool: "Bun",
    title: "bun build, page",
    packages: {},
    files: { ...page, "dist/index.html": pageOf("main.js") },
    build: [`"$BUN" build main.js --target=browser --outdir dist`, `${COPY} dist`],
    page: { folder: "dist" },
    answers: BOTH,
    hosts: ["bun"],
  };
  const bunCompiled: Case = {
    tool: "Bun",
    title: "bun build --compile",
    packages: {},
    files: script,
    build: [`"$BUN" build main.js --compile --outfile out/program`, `${COPY} out`],
    run: "cd / && $OLDPWD/out/program",
    answers: BOTH,
    hosts: ["bun"],
  };
  const bunEmbedded: Case = {
    tool: "Bun",
    title: "bun build --compile, the module in it",
    packages: {},
    files: {
      "engine.js": workModule(root, "engine", {
        imports: `import { readFileSync } from "node:fs";
import { createEngine, tensor } from "sconce";
import wasm from "sconce/sconce.wasm" with { type: "file" };`,
        options: "{ wasm: readFileSync(wasm) }",
      }),
      "main.js": nodeScript("./engine.js"),
    },
    build: [`"$BUN" build main.js --compile --outfile out/program`, "rm -r node_modules"],
    run: "cd / && $OLDPWD/out/program",
    answers: [answerOf("engine")],
    hosts: ["bun"],
  };

  return [
    ...vite("8.3.8", true),
    esbuildPage,
    esbuildNode,
    engineAlone,
    runPage,
    runNode,
    ...vite("7.3.8"),
    ...vite("6.4.6"),
    ...vite("5.4.21"),
    esbuildInlined,
    webpack,
    webpackEngine,
    rollup,
    parcel,
    next("turbopack"),
    next("webpack"),
    astro,
    svelte,
    bunPage,
    bunCompiled,
    bunEmbedded,
  ];
}

const routeOf = (module: string): string => `import { work } from "../../lib/${module}.js";
export const dynamic = "force-dynamic";
export async function GET() {
  return new Response(await work());
}
`;
