// The smallest page: a picked .pt2 is lowered in a worker and handed back as a .pte.
import { createClient, SconceError } from "./sconce/index.js";

const input = /** @type {HTMLInputElement} */ (document.getElementById("file"));
const result = /** @type {HTMLOutputElement} */ (document.getElementById("result"));
const starting = createClient();

const lower = async () => {
  const [file] = input.files ?? [];
  if (!file) return;
  try {
    const client = await starting;
    const lowered = await client.lower(file, {
      onProgress: ({ phase }) => (result.value = phase),
    });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await lowered.buffer]));
    link.download = "model.pte";
    link.textContent = `Save ${lowered.size} bytes of .pte`;
    result.replaceChildren(link);
    await lowered.dispose();
  } catch (error) {
    result.value = error instanceof SconceError ? `${error.message} ${error.hint}` : String(error);
  }
};

// The file may have been picked while this script was loading.
input.onchange = lower;
lower();
