// Files of a tokenizer, as Hugging Face writes them: bytes, some merges, and the tokens of a chat.

/** The characters that stand for bytes in such files. */
function byteCharacters(): string[] {
  const isShown = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(isShown(byte) ? byte : next++),
  );
}

const SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const MERGES = ["h e", "l l", "he ll", "hell o"];

/** The object of tokenizer.json. */
export function tokenizerJson(): Record<string, unknown> {
  const tokens = [...SPECIAL, ...byteCharacters(), ...MERGES.map((pair) => pair.replace(" ", ""))];
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true };
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: SPECIAL.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: { ...byteLevel, use_regex: true },
    post_processor: null,
    decoder: { ...byteLevel, use_regex: true },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: MERGES,
    },
  };
}

/** The template of ChatML, with a system message of its own. */
export const CHATML =
  "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/** The object of tokenizer_config.json. */
export const TOKENIZER_CONFIG = {
  bos_token: "<|im_start|>",
  eos_token: { content: "<|im_end|>", special: true },
  chat_template: CHATML,
};
