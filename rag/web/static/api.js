// Requests to the server of this page: JSON, and server-sent events read from a fetch, which EventSource cannot POST.

const KEY = "askbook-key";
const SERVER = new URL("/", import.meta.url); // also where a page of another site uses this file
let given = "";

export class Failure extends Error {
  constructor(status, error, response) {
    super(error?.message || `The server answered ${status}.`);
    this.status = status;
    this.code = error?.code || "";
    this.response = response || null;
  }
}

export const useKey = (key) => sessionStorage.setItem(KEY, key);
export const hasKey = () => Boolean(sessionStorage.getItem(KEY));
export const useGivenKey = (key) => { given = key; };

function headers() {
  const key = given || sessionStorage.getItem(KEY);
  return { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
}

async function send(path, options = {}) {
  let answer;
  try {
    answer = await fetch(new URL(path, SERVER), { ...options, headers: headers() });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, { message: "The server cannot be reached.", code: "unreachable" });
  }
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => ({}));
  throw new Failure(answer.status, body.error, body.askbook);
}

// The query that names a book; empty for the usual one.
export const inBook = (book) => (book ? `?book=${encodeURIComponent(book)}` : "");

export async function getJson(path) {
  return (await send(path)).json();
}

export async function postJson(path, body) {
  return (await send(path, { method: "POST", body: JSON.stringify(body) })).json();
}

export async function remove(path) {
  await send(path, { method: "DELETE" });
}

// Yields {type, data} for each event of a turn.
export async function* events(path, body, signal) {
  const answer = await send(path, { method: "POST", body: JSON.stringify(body), signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value.replaceAll("\r\n", "\n");
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const event = parse(rest.slice(0, end));
      rest = rest.slice(end + 2);
      if (event) yield event;
    }
  }
}

function parse(block) {
  let type = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) type = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { type, data: JSON.parse(data.join("\n")) } : null;
}
