// Answers the calls of Python's cases, one after the other, in one process: starting Node and
// compiling the module for each call would take most of the time of the tests.
//   node serve_node.mjs SOCKET
// A call is JSON on a connection of its own, {kind, args, folder}; so is its answer, {code, stdout,
// stderr}. A command gets the engine and the console of a process of its own.
import { createServer } from "node:net";
import { parseCommand } from "../../dist/cli/shell/command.js";
import { COMMANDS } from "../../dist/cli/commands.js";
import { printError } from "../../dist/cli/print/errors.js";
import { setMode } from "../../dist/cli/print/terminal.js";
import { runFiles } from "./run_files.mjs";

async function runCommand([name, ...rest]) {
  const command = COMMANDS.find((one) => one.name === name);
  if (!command) throw new Error(`there is no command '${name}'`);
  try {
    const { values, files } = parseCommand(command, rest);
    setMode({ json: values.json === true, quiet: values.quiet === true });
    return await command.run(values, files);
  } catch (error) {
    printError(error);
    return 1;
  }
}

const KINDS = {
  command: runCommand,
  async files([listing]) {
    process.stdout.write(await runFiles(listing));
    return 0;
  },
};

/** Runs a call and gives what it wrote. */
async function answer({ kind, args, folder }) {
  const written = { stdout: [], stderr: [] };
  const writers = Object.keys(written).map((name) => [name, process[name].write]);
  for (const [name] of writers) {
    process[name].write = (chunk, encoding, done) => {
      written[name].push(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString());
      (typeof encoding === "function" ? encoding : done)?.();
      return true;
    };
  }
  try {
    process.chdir(folder);
    const code = await KINDS[kind](args);
    const [stdout, stderr] = [written.stdout.join(""), written.stderr.join("")];
    return { code: code || process.exitCode || 0, stdout, stderr };
  } finally {
    process.exitCode = 0;
    for (const [name, write] of writers) process[name].write = write;
  }
}

let last = Promise.resolve();
const server = createServer({ allowHalfOpen: true }, (socket) => {
  const chunks = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("error", () => {}); // a case that was given up
  socket.on("end", () => {
    const call = JSON.parse(Buffer.concat(chunks).toString());
    last = last.then(async () => socket.end(JSON.stringify(await answer(call))));
  });
});
server.listen(process.argv[2], () => console.log("ready"));
// The parent holds the other end of the standard input, and is gone when it closes.
process.stdin.on("end", () => process.exit(0)).resume();
