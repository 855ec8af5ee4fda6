// How the page is built: Preact, the library as it is published (dist/), and the sample models as
// plain files next to the page, so that any static server can serve the folder. The npm package
// leaves the folder models/ out.
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import preact from "@preact/preset-vite";
import { defineConfig, type Plugin } from "vite";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** Address under the page, and where the file lies in the checkout. */
const SAMPLES: Record<string, string> = {
  "models/stories260k.prefill.pt2": "models/stories260k.prefill.pt2",
  "models/stories260k.decode.pt2": "models/stories260k.decode.pt2",
  "models/stories260k.tokenizer.bin": "models/stories260k.tokenizer.bin",
  "models/face-rfb320.pt2": "models/face-rfb320.pt2",
  "models/face-photo.jpg": "models/face-photo.jpg",
  "samples/mlp.pt2": "examples/mlp.pt2",
};

/** The scripts of language models, which come with the first conversation. */
const LANGUAGE =
  /dist\/llm\/|src\/(actions\/(attached|compared|media|sound|speech|talk)|views\/(SpeechView|TalkView)|subtitles|talk)\.tsx?$/;

function samples(): Plugin {
  return {
    name: "samples",
    generateBundle() {
      for (const [fileName, path] of Object.entries(SAMPLES)) {
        this.emitFile({ type: "asset", fileName, source: readFileSync(join(root, path)) });
      }
    },
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const path = SAMPLES[(request.url ?? "").slice(1)];
        if (!path || !existsSync(join(root, path))) return next();
        response.setHeader("Content-Length", statSync(join(root, path)).size);
        createReadStream(join(root, path)).pipe(response);
      });
    },
  };
}

/** While developing, styles come as inline sheets, which the page's own policy forbids. */
function relaxPolicy(): Plugin {
  return {
    name: "relax-policy",
    apply: "serve",
    transformIndexHtml: (html) =>
      html.replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, ""),
  };
}

export default defineConfig({
  base: "./",
  plugins: [preact(), samples(), relaxPolicy()],
  resolve: { alias: { "@sconce": join(root, "dist") } },
  server: { fs: { allow: [root] } },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: false,
    rolldownOptions: {
      // Code that several views share comes at once: many small scripts compress badly. The first
      // group that fits takes a script, with all that it imports.
      output: {
        codeSplitting: {
          groups: [
            { name: "first", tags: ["$initial"] },
            { name: "face", test: /actions\/face\.ts$|FaceView\.tsx$|faces\.mjs$/ },
            { name: "talk", test: LANGUAGE },
            // Packages that only tokenizer.json and chat templates need.
            { name: "tokenizers", test: /@huggingface\/tokenizers/ },
            { name: "jinja", test: /@huggingface\/jinja/ },
            { name: "shared", minShareCount: 2 },
            {
              name: "views",
              test: /views\/(Cases|Changes|Numerics|Operators|Planned|Record)View\.tsx$/,
            },
          ],
        },
      },
    },
  },
});
