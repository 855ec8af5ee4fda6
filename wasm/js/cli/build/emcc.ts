// Calls of Emscripten's compiler.
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { messageOf, SconceError } from "../../base/errors.js";

const VERSION_MIN = 4;
const OUTPUT_MAX = 16 << 20;
const SHOWN_MAX = 2000;

/** A call of the compiler: the folder in which it runs, and its arguments. */
export interface Call {
  readonly cwd: string;
  readonly args: readonly string[];
}

interface Failed {
  readonly code?: number | string;
  readonly stderr?: string;
}

async function call(emcc: string, { cwd, args }: Call): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(emcc, args, { cwd, maxBuffer: OUTPUT_MAX });
    return stdout;
  } catch (error) {
    const { code, stderr } = error as Failed;
    if (code === "ENOENT" || code === "EACCES")
      throw new SconceError(
        "unsupported",
        `building needs Emscripten, and there is no '${emcc}'`,
        "Install the Emscripten SDK (emscripten.org) and put emcc on the PATH, or pass --emcc.",
      );
    const said = (stderr ?? "").trim().slice(0, SHOWN_MAX);
    throw new SconceError(
      "unsupported",
      `${emcc} failed: ${said || messageOf(error)}`,
      "Check that this Emscripten works: compile a small program with it.",
    );
  }
}

/** Throws unless the compiler is there and young enough. */
export async function checkVersion(emcc: string, cwd: string): Promise<void> {
  const said = await call(emcc, { cwd, args: ["--version"] });
  const [, major] = /(\d+)\.\d+\.\d+/.exec(said) ?? [];
  if (Number(major) >= VERSION_MIN) return;
  throw new SconceError(
    "unsupported",
    `building needs Emscripten ${VERSION_MIN} or newer; this is ${said.split("\n")[0]}`,
    "Install a current Emscripten SDK: emscripten.org.",
  );
}

/** Makes calls, as many side by side as the machine has threads. The first failure ends all. */
export async function callAll(emcc: string, calls: readonly Call[]): Promise<void> {
  const left = [...calls];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift())
      await call(emcc, next).catch((error: unknown) => {
        left.length = 0;
        throw error;
      });
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
}
