// sconce completion: a script for a shell, made of the tables of the commands.
import { defineCommand, notOneOf, type Command, type ValuesOf } from "./shell/command.js";
import type { Flag } from "./shell/flag.js";
import { EXIT, UsageError } from "./usage.js";
import { printJson } from "./print/json.js";
import { isJson } from "./print/terminal.js";

/** The kinds of words that may follow a flag, or stand in the place of a file. */
type Follows =
  | { readonly is: "empty" | "text" | "file" | "folder" }
  | { readonly is: "words"; readonly words: readonly string[] }
  /** NAME= and a file. */
  | { readonly is: "pair" };

const FILES = /FILE|PATH|CALL/;
const FOLDERS = /FOLDER|DIR/;

function followsOf({ type, value = "", words, suggests }: Flag): Follows {
  if (type === "boolean") return { is: "empty" };
  if (words) return { is: "words", words };
  if (suggests) return { is: "words", words: suggests() };
  if (value === "NAME=FILE") return { is: "pair" };
  if (FOLDERS.test(value)) return { is: "folder" };
  return { is: FILES.test(value) ? "file" : "text" };
}

interface Row {
  readonly name: string;
  readonly short: string | undefined;
  readonly text: string;
  readonly follows: Follows;
}

const rowsOf = ({ flags }: Command): Row[] =>
  Object.entries(flags).map(([name, flag]) => ({
    name,
    short: flag.short,
    text: firstWords(flag.text),
    follows: followsOf(flag),
  }));

/** A description short enough for a list. */
function firstWords(text: string): string {
  const sentence = text.split(/[;:.(]\s?/)[0]!.trim();
  return sentence.length > 60 ? `${sentence.slice(0, 59)}…` : sentence;
}

/** Text in single quotes, which all three shells read alike. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const dashed = ({ name, short }: Row): string[] => [`--${name}`, ...(short ? [`-${short}`] : [])];
/** The words that may stand in the place of files. */
function placesOf({ files, words }: Command): Follows {
  if (words) return { is: "words", words };
  return { is: files.includes("FILE") ? "file" : "empty" };
}

const wordsFor = (commands: readonly Command[]): string[] => [
  ...commands.map(({ name }) => name),
  "help",
  "version",
];

// --- Bash ------------------------------------------------------------------------------------------

function bashCase(row: Row): string {
  const { follows } = row;
  const pattern = dashed(row).join("|");
  switch (follows.is) {
    case "empty":
      return "";
    case "words":
      return `      ${pattern}) _sconce_words ${quoted(follows.words.join(" "))}; return ;;\n`;
    case "file":
      return `      ${pattern}) _sconce_files; return ;;\n`;
    case "folder":
      return `      ${pattern}) _sconce_folders; return ;;\n`;
    case "pair":
      return `      ${pattern}) _sconce_pair; return ;;\n`;
    case "text":
      return `      ${pattern}) return ;;\n`;
  }
}

function bashCommand(command: Command): string {
  const rows = rowsOf(command);
  const flags = rows.flatMap(dashed).join(" ");
  const places = placesOf(command);
  const words =
    places.is === "words" ? `_sconce_words ${quoted(places.words.join(" "))}` : "return";
  const rest = places.is === "file" ? "_sconce_files" : words;
  return (
    `  ${command.name})\n    case $previous in\n${rows.map(bashCase).join("")}    esac\n` +
    `    if [[ $current == -* ]]; then _sconce_words ${quoted(flags)}; else ${rest}; fi ;;\n`
  );
}

const bash = (commands: readonly Command[]): string => `# Completion of sconce for bash:
#   source <(sconce completion bash)
_sconce_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }
_sconce_files() { compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); }
_sconce_folders() { compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current"); }
# NAME=FILE, which bash may have split at the "=".
_sconce_pair() {
  if [[ $current == *=* ]]; then
    local name=\${current%%=*}= file
    while IFS= read -r file; do COMPREPLY+=("$name$file"); done < <(compgen -f -- "\${current#*=}")
  fi
}
_sconce() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  # The "=" of --flag=value and of NAME=FILE is a word of its own.
  if [[ $current == "=" ]]; then current=; fi
  if [[ $previous == "=" ]]; then
    previous=\${COMP_WORDS[COMP_CWORD-2]}
    if [[ $previous != -* ]]; then _sconce_files; return; fi
  fi
  if ((COMP_CWORD == 1)); then _sconce_words ${quoted([...wordsFor(commands), "--help", "--version"].join(" "))}; return; fi
  case \${COMP_WORDS[1]} in
  help) if ((COMP_CWORD == 2)); then _sconce_words ${quoted(commands.map(({ name }) => name).join(" "))}; fi ;;
${commands.map(bashCommand).join("")}  esac
}
complete -F _sconce sconce
`;

// --- Zsh --------------------------------------------------------------------------------------------

/** Text in an argument of _arguments, where brackets and colons mean something. */
const plainZsh = (text: string): string => text.replace(/[[\]:\\]/g, "\\$&");

function zshAction(follows: Follows): string {
  switch (follows.is) {
    case "empty":
      return "";
    case "words":
      return `:value:(${follows.words.join(" ")})`;
    case "file":
      return ":file:_files";
    case "folder":
      return ":folder:_files -/";
    case "pair":
      return ":name=file:_sconce_pair";
    case "text":
      return ":value: ";
  }
}

function zshSpec(row: Row): string[] {
  return dashed(row).map((flag) =>
    quoted(`*${flag}[${plainZsh(row.text)}]${zshAction(row.follows)}`),
  );
}

function zshCommand(command: Command): string {
  const specs = rowsOf(command).flatMap(zshSpec);
  const places = placesOf(command);
  const rest = places.is === "empty" ? [] : [quoted(`*${zshAction(places)}`)];
  const list = [...specs, ...rest].map((spec) => `        ${spec}`).join(" \\\n");
  return `      ${command.name}) _arguments \\\n${list} ;;\n`;
}

const zsh = (commands: readonly Command[]): string => `#compdef sconce
# Completion of sconce for zsh:
#   source <(sconce completion zsh)
_sconce_pair() { if compset -P '*='; then _files; else _message 'NAME=FILE'; fi }
_sconce() {
  local -a commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${plainZsh(summary)}`)}`).join("\n")}
    'help:all about a command'
    'version:the version of sconce'
  )
  if ((CURRENT == 2)); then _describe command commands; return; fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
      help) ((CURRENT == 2)) && _describe command commands ;;
${commands.map(zshCommand).join("")}  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _sconce "$@"; else compdef _sconce sconce; fi
`;

// --- Fish ------------------------------------------------------------------------------------------

function fishFollows(follows: Follows): string {
  switch (follows.is) {
    case "empty":
      return "";
    case "words":
      return ` -x -a ${quoted(follows.words.join(" "))}`;
    case "folder":
      return " -x -a '(__fish_complete_directories)'";
    case "file":
    case "pair":
      return " -r -F";
    case "text":
      return " -x";
  }
}

function fishCommand(command: Command): string {
  const { name } = command;
  const seen = `-n '__fish_seen_subcommand_from ${name}'`;
  const flags = rowsOf(command).map(
    (row) =>
      `complete -c sconce ${seen} -l ${row.name}${row.short ? ` -s ${row.short}` : ""}` +
      `${fishFollows(row.follows)} -d ${quoted(row.text)}\n`,
  );
  const places = placesOf(command);
  const words =
    places.is === "words"
      ? `complete -c sconce ${seen} -a ${quoted(places.words.join(" "))}\n`
      : "";
  return flags.join("") + (places.is === "file" ? `complete -c sconce ${seen} -F\n` : words);
}

const fish = (commands: readonly Command[]): string => `# Completion of sconce for fish:
#   sconce completion fish | source
complete -c sconce -f
${[
  ...commands.map(({ name, summary }) => [name, summary] as const),
  ["help", "all about a command"] as const,
  ["version", "the version of sconce"] as const,
]
  .map(
    ([name, summary]) =>
      `complete -c sconce -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}\n`,
  )
  .join(
    "",
  )}complete -c sconce -n '__fish_seen_subcommand_from help' -a ${quoted(commands.map(({ name }) => name).join(" "))}
${commands.map(fishCommand).join("")}`;

// --- The command -----------------------------------------------------------------------------------

const SHELLS: Readonly<Record<string, (commands: readonly Command[]) => string>> = {
  bash,
  zsh,
  fish,
};
const NAMES = Object.keys(SHELLS);

function complete(all: () => readonly Command[], files: readonly string[]): number {
  const [shell] = files;
  if (shell === undefined || files.length > 1)
    throw new UsageError(`say for which shell: ${NAMES.join(", ")}`);
  if (!Object.hasOwn(SHELLS, shell)) throw notOneOf("the shell", NAMES, shell);
  const script = SHELLS[shell]!(all());
  if (isJson()) printJson({ kind: "completion", shell, script });
  else process.stdout.write(script);
  return EXIT.done;
}

/** The command that prints completion of `all` commands, of which it is one. */
export const completionOf = (all: () => readonly Command[]): Command =>
  defineCommand({
    name: "completion",
    summary: "prints a script that lets your shell complete commands, flags and files",
    examples: [
      "source <(sconce completion bash)       in ~/.bashrc",
      "source <(sconce completion zsh)        in ~/.zshrc, after compinit",
      "sconce completion fish | source        in ~/.config/fish/config.fish",
    ],
    files: "SHELL",
    words: NAMES,
    flags: {},
    run: (_: ValuesOf<Record<never, Flag>>, files) => Promise.resolve(complete(all, files)),
  });
