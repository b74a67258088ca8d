// The list of conversations: search, open, delete, export.

import { getJson, remove } from "./api.js";
import { element } from "./markdown.js";

const list = document.getElementById("thread-list");
const filter = document.getElementById("filter");
let rows = [];
let hooks = null;
let current = "";

// `given.open(id)` shows a conversation; `given.gone(id)` is called after its deletion. `given.title(book)` is shown below
// its question, and empty where there is only one book.
export function useThreads(given) {
  hooks = given;
  filter.addEventListener("input", draw);
}

export async function refresh(id = current) {
  current = id;
  rows = (await getJson("/api/threads")).threads;
  draw();
}

function draw() {
  const wanted = filter.value.trim().toLowerCase();
  const text = (row) => `${row.first_question || ""} ${hooks.title(row.book)}`.toLowerCase();
  const found = rows.filter((row) => !wanted || text(row).includes(wanted));
  const empty = element("li", { className: "none" }, rows.length ? "No conversation matches." : "No conversations yet.");
  list.replaceChildren(...(found.length ? found.map(item) : [empty]));
}

function item(row) {
  const label = row.error ? "A damaged conversation" : row.first_question;
  const book = hooks.title(row.book);
  const below = book ? [element("small", {}, book)] : [];
  const open = element("button", { className: "thread", type: "button", title: label }, label, ...below);
  if (row.thread_id === current) open.setAttribute("aria-current", "page");
  open.addEventListener("click", () => hooks.open(row.thread_id));
  const save = tool("Export", "M10 3v9m-4-4 4 4 4-4M4 16h12", label, () => exportMarkdown(row.thread_id));
  const drop = tool("Delete", "M5 6h10M8 6V4h4v2M6 6l1 10h6l1-10", label, async () => {
    await remove(`/api/threads/${encodeURIComponent(row.thread_id)}`);
    hooks.gone(row.thread_id);
    await refresh();
  });
  return element("li", {}, open, ...(row.error ? [drop] : [save, drop]));
}

function tool(name, path, label, run) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  svg.append(line);
  const button = element("button", { className: "icon", type: "button", title: name }, svg);
  button.setAttribute("aria-label", `${name}: ${label}`);
  button.addEventListener("click", run);
  return button;
}

async function exportMarkdown(id) {
  const conversation = await getJson(`/api/threads/${encodeURIComponent(id)}`);
  const lines = [`# ${conversation.turns[0]?.question || id}`, ""];
  for (const turn of conversation.turns) {
    lines.push(`## ${turn.question}`, "", turn.plain_content || turn.content, "");
    for (const citation of turn.citations || []) {
      lines.push(`[${citation.marker}] ${citation.breadcrumb || citation.title}, ${citation.url}: “${citation.quote}”`, "");
    }
  }
  const url = URL.createObjectURL(new Blob([lines.join("\n")], { type: "text/markdown" }));
  element("a", { href: url, download: "conversation.md" }).click();
  URL.revokeObjectURL(url);
}
