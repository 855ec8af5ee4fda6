// npm start: sets the machine up, builds, lowers and runs the bundled story on the terminal, then
// serves the page and says where. With --once it stops before serving; --port picks the port.
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { portOf, serve } from "./serve.mjs";
import { StepFailed, inRoot, run, script } from "./steps.mjs";

await script(async (args) => {
  const { values } = parseArgs({
    args,
    options: { once: { type: "boolean" }, port: { type: "string", default: "8000" } },
  });
  const port = portOf(values.port);
  build();
  for (const part of ["dist/cli.js", "dist/web/index.html"]) {
    if (!existsSync(inRoot(part))) throw new StepFailed(`the build made no ${part}`);
  }
  run("node", ["examples/story.mjs"]);
  if (values.once) return;
  // A taken port is no reason to stop: the address is printed anyway.
  const { url } = await serve(inRoot("dist/web"), port).catch(() => serve(inRoot("dist/web"), 0));
  console.log(`\nSconce is at ${url} (Ctrl-C stops it)`);
});
