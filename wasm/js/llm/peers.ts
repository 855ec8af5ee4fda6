// Packages that are loaded only when a call needs them: those who bring their own tokenizer and
// template need neither. Bundlers see each import in a `try`, and let it be absent.
import { SconceError, withCause } from "../base/errors.js";

function missing(name: string, what: string, instead: string, cause: unknown): SconceError {
  const error = new SconceError(
    "not_found",
    `${what} needs the package ${name}, which could not be imported`,
    `Install it: npm install ${name}. Or pass ${instead}.`,
  );
  return withCause(error, cause);
}

/** The tokenizer of the package, as far as it is used here. */
export interface HuggingFaceTokenizer {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(
    ids: number[],
    options: { skip_special_tokens: boolean; clean_up_tokenization_spaces: boolean },
  ): string;
  token_to_id(text: string): number | undefined;
  id_to_token(id: number): string | undefined;
  get_vocab(withAddedTokens: boolean): ReadonlyMap<string, number>;
}

/** Makes a tokenizer of the objects of tokenizer.json and tokenizer_config.json. */
export async function huggingFaceTokenizer(
  tokenizer: object,
  config: object,
): Promise<HuggingFaceTokenizer> {
  let Tokenizer;
  try {
    ({ Tokenizer } = await import("@huggingface/tokenizers"));
  } catch (error) {
    throw missing(
      "@huggingface/tokenizers",
      "reading tokenizer.json",
      "a tokenizer of your own: { encode, decode }",
      error,
    );
  }
  return new Tokenizer(tokenizer, config);
}

/** Makes a function of a template of Jinja. */
export async function jinjaTemplate(
  template: string,
): Promise<(variables: Record<string, unknown>) => string> {
  let Template: typeof import("@huggingface/jinja").Template;
  try {
    ({ Template } = await import("@huggingface/jinja"));
  } catch (error) {
    throw missing("@huggingface/jinja", "the chat template", "a function as chatTemplate", error);
  }
  const parsed = new Template(template);
  return (variables) => parsed.render(variables);
}
