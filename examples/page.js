// The smallest page: a picked .pt2 is lowered in a worker and handed back as a .pte.
import { createClient } from "./sconce/index.js";

const input = /** @type {HTMLInputElement} */ (document.getElementById("file"));
const result = /** @type {HTMLOutputElement} */ (document.getElementById("result"));
const starting = createClient();

const lower = async () => {
  try {
    const client = await starting;
    const lowered = await client.lower(input.files[0], {
      onProgress: ({ phase }) => (result.value = phase),
    });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await lowered.buffer]));
    link.download = "model.pte";
    link.textContent = `Save ${lowered.size} bytes of .pte`;
    result.replaceChildren(link);
    await lowered.dispose();
  } catch (error) {
    result.value = `${error.message} ${error.hint}`;
  }
};

// The file may have been picked while this script was loading.
input.onchange = lower;
if (input.files.length > 0) lower();
