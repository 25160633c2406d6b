// The server's API. A token that it asks for is kept in this tab alone.

const KEY = "odqa-token";

// What went wrong, in words that can be shown.
export class ServerError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

let asks = null; // (refused: boolean) => Promise<token or null>
let asking = null; // several requests at once ask for it once

export const on_token = (ask) => { asks = ask; };
export const has_token = () => sessionStorage.getItem(KEY) !== null;

export async function request(path, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem(KEY);
    const headers = token === null ? options.headers : { ...options.headers, Authorization: `Bearer ${token}` };
    let reply;
    try {
      reply = await fetch(path, { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ServerError("The server cannot be reached. Is it still running?");
    }
    if (reply.status === 401) await get_token(token);
    else if (reply.ok) return reply;
    else throw await refusal(reply);
  }
}

export const json = async (path) => (await request(path)).json();

async function get_token(refused) {
  if (sessionStorage.getItem(KEY) !== refused) return; // another request has got one in the meantime
  sessionStorage.removeItem(KEY);
  asking ??= asks(refused !== null).finally(() => { asking = null; });
  const given = await asking;
  if (given === null) throw new ServerError("This server asks for a token. Reload the page to enter it.", 401);
  sessionStorage.setItem(KEY, given);
}

async function refusal(reply) {
  const text = await reply.text();
  let message = "";
  try {
    message = JSON.parse(text).error.message;
  } catch {
    message = `The server replied with status ${reply.status}.`;
  }
  const wait = reply.headers.get("retry-after");
  return new ServerError(wait ? `${message} Try again in ${wait} s.` : message, reply.status);
}

// Asks a question: calls `take` with its steps as they happen, and gives the whole record.
export async function answer(asked, signal, take) {
  const reply = await request("/v1/answers", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...asked, stream: true }),
    signal,
  });
  for await (const { name, data } of events(reply.body)) {
    if (name === "step") take(data);
    else if (name === "done") return data;
    else if (name === "error") throw new ServerError(data.error.message);
  }
  throw new ServerError("The connection broke off before the answer was there.");
}

// Server-sent events. The browser's own EventSource can neither send a question in a body nor a token.
async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = block.split(/\r?\n/).map((line) => /^(event|data): ?(.*)$/.exec(line)).filter(Boolean);
      const data = fields.filter(([, field]) => field === "data").map(([, , text]) => text).join("\n");
      const name = fields.find(([, field]) => field === "event");
      if (data) yield { name: name ? name[2] : "message", data: JSON.parse(data) };
    }
  }
}
