// A server for clients of OpenAI's chat protocol, on node:http:
//   node examples/chat-server.mjs model.pte tokenizer.json [PORT]
// tokenizer_config.json and chat_template.jinja are read from the folder of the tokenizer. A worker runs
// the model, one answer at a time. Others wait, and those who hang up are forgotten.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, dirname, join } from "node:path";
import { createClient, SconceError } from "sconce";
import { openLanguageModel } from "sconce/llm";

const BODY_BYTES_MAX = 2 ** 20;
const QUEUE_MAX = 32;

const [program, tokenizer, port = "8080"] = process.argv.slice(2);
if (program === undefined || tokenizer === undefined) {
  console.error("usage: node examples/chat-server.mjs model.pte tokenizer.json [PORT]");
  process.exit(2);
}
const [config, template] = ["tokenizer_config.json", "chat_template.jinja"].map((name) => {
  const path = join(dirname(tokenizer), name);
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
});
const client = await createClient();
const lm = await openLanguageModel({
  program: await client.load(program),
  tokenizer: readFileSync(tokenizer),
  ...(config !== undefined && { tokenizerConfig: config }),
  ...(template !== undefined && { chatTemplate: template }),
});
for (const { message } of lm.warnings) console.error(`warning: ${message}`);
const created = Math.floor(Date.now() / 1000);
const model = { id: basename(program), object: "model", created, owned_by: "sconce" };

/** An error as the protocol has it. */
class ApiError extends Error {
  /** @param {number} status @param {string} message @param {string | null} [param] */
  constructor(status, message, param = null) {
    super(message);
    this.status = status;
    this.param = param;
  }

  toJSON() {
    const type = this.status < 500 ? "invalid_request_error" : "server_error";
    return { error: { message: this.message, type, param: this.param, code: null } };
  }
}

// --- The queue -------------------------------------------------------------------------------------

let waiting = 0;
/** @type {Promise<unknown>} */
let last = Promise.resolve();

/**
 * Does some work after all that was asked for before.
 * @param {() => Promise<void>} work
 */
async function inTurn(work) {
  if (waiting >= QUEUE_MAX)
    throw new ApiError(429, "Too many requests are waiting. Try again later.");
  waiting++;
  const turn = last.then(work).finally(() => waiting--);
  last = turn.catch(() => undefined);
  return turn;
}

// --- Requests --------------------------------------------------------------------------------------

/** @param {import("node:http").IncomingMessage} request */
async function bodyOf(request) {
  /** @type {Buffer[]} */
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > BODY_BYTES_MAX)
      throw new ApiError(413, `The body is larger than ${BODY_BYTES_MAX} bytes.`);
    parts.push(part);
  }
  try {
    const body = JSON.parse(Buffer.concat(parts).toString());
    if (typeof body === "object" && body !== null) return body;
  } catch {}
  throw new ApiError(400, "The body is not an object of JSON.");
}

/** @param {any} content */
function contentOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content) || content.some((part) => part?.type !== "text"))
    throw new ApiError(400, "Each message has text as its content.", "messages");
  return content.map(({ text }) => `${text}`).join("");
}

/** @param {any} body @returns {import("sconce/llm").ChatMessage[]} */
function messagesOf({ messages }) {
  if (!Array.isArray(messages) || messages.length === 0)
    throw new ApiError(400, "'messages' is a list with at least one message.", "messages");
  return messages.map((message) => ({
    role: message?.role === "developer" ? "system" : message?.role,
    content: contentOf(message?.content),
  }));
}

/** Options that change what the model would do, and that it lacks. */
const UNKNOWN = ["tools", "functions", "logprobs", "logit_bias", "audio"];

/** @param {any} body */
function schemaOf({ response_format: format }) {
  if (format?.type === "json_object") return true;
  return format?.type === "json_schema" ? format.json_schema?.schema : undefined;
}

/** @param {any} body @returns {import("sconce/llm").GenerateOptions} */
function optionsOf(body) {
  const lacking = UNKNOWN.find((name) => body[name]);
  if (lacking !== undefined) throw new ApiError(400, `This server has no '${lacking}'.`, lacking);
  if ((body.n ?? 1) !== 1) throw new ApiError(400, "'n' is 1: there is one answer.", "n");
  const options = {
    maxNewTokens: body.max_completion_tokens ?? body.max_tokens,
    temperature: body.temperature ?? 1,
    topP: body.top_p,
    stop: body.stop,
    seed: body.seed,
    schema: schemaOf(body),
  };
  const given = Object.entries(options).filter(([, value]) => (value ?? undefined) !== undefined);
  return Object.fromEntries(given);
}

const REASONS = { eos: "stop", stop: "stop", length: "length", context: "length", aborted: "stop" };

/** @param {import("sconce/llm").GenerationSummary} summary */
const usageOf = ({ promptTokens, newTokens, reusedTokens }) => ({
  prompt_tokens: promptTokens,
  completion_tokens: newTokens,
  total_tokens: promptTokens + newTokens,
  prompt_tokens_details: { cached_tokens: reusedTokens },
});

/**
 * @param {any} body
 * @param {import("node:http").ServerResponse} response
 * @param {AbortSignal} signal
 */
async function complete(body, response, signal) {
  if (signal.aborted) return;
  const generation = lm.generate(messagesOf(body), { ...optionsOf(body), signal });
  const id = `chatcmpl-${crypto.randomUUID()}`;
  const head = { id, created: Math.floor(Date.now() / 1000), model: model.id };
  const reason = () => REASONS[generation.summary?.finishReason ?? "eos"];
  if (!body.stream) {
    const message = { role: "assistant", content: await generation.text(), refusal: null };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: reason() }];
    const usage = generation.summary && usageOf(generation.summary);
    return send(response, 200, { ...head, object: "chat.completion", choices, usage });
  }
  /** @param {object} data */
  const event = (data) => response.write(`data: ${JSON.stringify(data)}\n\n`);
  /** @param {object} delta @param {string | null} finish_reason */
  const chunk = (delta, finish_reason) => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
    event({ ...head, object: "chat.completion.chunk", choices });
  };
  try {
    for await (const { text } of generation) {
      // Errors of the prompt come before the first piece, and have a status of their own.
      if (!response.headersSent) {
        response.writeHead(200, {
          "content-type": "text/event-stream",
          "cache-control": "no-cache",
        });
        chunk({ role: "assistant", content: "" }, null);
      }
      if (text !== "") chunk({ content: text }, null);
    }
  } catch (error) {
    if (!response.headersSent || signal.aborted) throw error;
    event(errorOf(error));
    return void response.end();
  }
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  chunk({}, reason());
  if (body.stream_options?.include_usage && generation.summary)
    event({
      ...head,
      object: "chat.completion.chunk",
      choices: [],
      usage: usageOf(generation.summary),
    });
  response.end("data: [DONE]\n\n");
}

// --- The server ------------------------------------------------------------------------------------

/** @param {unknown} error */
function errorOf(error) {
  if (error instanceof ApiError) return error;
  const isCaller =
    error instanceof SconceError &&
    ["argument", "option", "limit", "unsupported"].includes(error.code);
  if (!isCaller) console.error(error);
  return new ApiError(isCaller ? 400 : 500, error instanceof Error ? error.message : "failed");
}

/** @param {import("node:http").ServerResponse} response @param {number} status @param {object} body */
function send(response, status, body) {
  const headers = { "content-type": "application/json" };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

/** @param {string} url @returns {string} */
function pathOf(url) {
  const [path = ""] = url.split("?");
  try {
    return decodeURIComponent(path).replace(/^\/v1(?=\/)/, "");
  } catch {
    throw new ApiError(400, "The address is malformed.");
  }
}

const server = createServer(async (request, response) => {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  try {
    const call = `${request.method} ${pathOf(request.url ?? "")}`;
    if (call === "GET /models") return send(response, 200, { object: "list", data: [model] });
    if (call === `GET /models/${model.id}`) return send(response, 200, model);
    if (call !== "POST /chat/completions") throw new ApiError(404, `There is no ${call}.`);
    const body = await bodyOf(request);
    await inTurn(() => complete(body, response, gone.signal));
  } catch (error) {
    if (gone.signal.aborted) return;
    // The rest of a body that is too large is not read.
    if (!request.complete) response.setHeader("connection", "close");
    const answer = errorOf(error);
    send(response, answer.status, answer);
  }
});
server.requestTimeout = 60_000;

server.listen(Number(port), "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`http://127.0.0.1:${address?.port}/v1`);
});
process.once("SIGTERM", () => {
  server.close(() => client.terminate());
  server.closeAllConnections();
});
