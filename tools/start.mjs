// npm start: sets the machine up, builds, lowers and runs the bundled story on the terminal, then
// serves the page and says where. With --once it stops before serving; --port picks the port;
// --verbose shows all that the compilers say.
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { StepFailed, inRoot, run, script } from "./steps.mjs";

// Before there is a build, whose command reads ports as well.
function portOf(text) {
  if (/^\d+$/.test(text) && Number(text) <= 65535) return Number(text);
  throw new StepFailed(`--port takes a number from 0 to 65535, not '${text}'`);
}

await script(async (args) => {
  const { values } = parseArgs({
    args,
    options: {
      once: { type: "boolean" },
      port: { type: "string", default: "8000" },
      verbose: { type: "boolean" },
    },
  });
  const port = portOf(values.port);
  await build();
  run("node", ["examples/story.mjs"]);
  if (values.once) return;
  const { serveAt } = await import(inRoot("dist/cli/studio/serve.js"));
  const { url } = await serveAt(inRoot("dist/web"), port);
  console.log(`\nSconce Studio is at ${url} (Ctrl-C stops it)`);
});
