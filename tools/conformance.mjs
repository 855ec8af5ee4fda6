// npm run conformance: the official torch and executorch judge our files (tests/conformance/run.py,
// as part of npm test). With "tour" first, architectures of torchvision, timm and transformers, by
// name; with "suite", the backend suite that comes inside the executorch package; with "operators",
// PyTorch's operators, called as its own tests do. Further arguments go to the scripts. The first two
// take hours, and fetch packages on their first run.
import { buildPackage } from "./build.mjs";
import { setUp } from "./setup.mjs";
import { output, run, script, StepFailed } from "./steps.mjs";

const SCRIPTS = { tour: "tour.py", suite: "backend_suite.py", operators: "op_db.py" };

await script(async ([name, ...args]) => {
  if (name === undefined) return run("node", ["tools/test.mjs", "conformance"]);
  if (!Object.hasOwn(SCRIPTS, name)) {
    throw new StepFailed(`there is no '${name}'; there are: ${Object.keys(SCRIPTS).join(", ")}`);
  }
  await setUp("wasm", "node");
  const python = output("bash", ["tools/official.sh"]).trim();
  const env = { ...process.env };
  // The packages for the operators' tests come with executorch.
  if (name !== "operators") env.PYTHONPATH = output("bash", ["tools/tour.sh", python]).trim();
  await buildPackage();
  run(python, [`tests/conformance/${SCRIPTS[name]}`, ...args], { env });
});
