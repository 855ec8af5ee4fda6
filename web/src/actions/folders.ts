// Folders that are dropped: the files in them that the page opens. Others belong to the model's
// author, and nobody expects them to be opened.
import { fault, note } from "./problems.js";

export type Folder = FileSystemDirectoryEntry;

const OPENED =
  /\.(pt2|pte|bpte|ptd|etrecord|etdp|npy|jinja)$|(tokenizer(_config)?|preprocessor_config)\.json$|tokenizer\.bin$/i;

/** A folder with more is no model's: a home folder, or a disk. */
const ENTRIES_MAX = 2000;
const DEPTH_MAX = 4;

/** The folder that was dropped; null for a file. */
export function folderOf(entry: FileSystemEntry | null): Folder | null {
  return entry?.isDirectory ? (entry as Folder) : null;
}

/** Entries of a folder, which come in portions until one is empty. */
async function entriesIn(folder: Folder): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return all;
    all.push(...some);
    if (all.length > ENTRIES_MAX) throw tooMany(folder);
  }
}

const tooMany = ({ name }: Folder): Error =>
  fault(
    "limit",
    `the folder ${name} has more than ${ENTRIES_MAX} files`,
    "Drop the folder of one model, or its files.",
  );

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

/** The files in a folder, and in folders in it, that the page opens. */
export async function filesIn(folder: Folder): Promise<File[]> {
  const found: FileSystemEntry[] = [];
  let seen = 0;
  const walk = async (from: Folder, depth: number): Promise<void> => {
    const entries = await entriesIn(from);
    seen += entries.length;
    if (seen > ENTRIES_MAX) throw tooMany(folder);
    found.push(...entries.filter(({ isFile, name }) => isFile && OPENED.test(name)));
    for (const inner of entries.map(folderOf))
      if (inner && depth < DEPTH_MAX) await walk(inner, depth + 1);
  };
  await walk(folder, 1);
  if (found.length < seen) note(`${folder.name}: ${found.length} of ${seen} files are opened`);
  return Promise.all(found.map((entry) => fileOf(entry as FileSystemFileEntry)));
}
