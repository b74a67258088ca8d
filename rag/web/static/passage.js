// The passage beside the answer: the stored chunk, with the cited quotes marked and the link into the book.

import { getJson, inBook } from "./api.js";
import { element } from "./markdown.js";

const panel = document.getElementById("passage");
const title = document.getElementById("passage-title");
const place = document.getElementById("passage-place");
const body = document.getElementById("passage-text");
let opener = null;

// `book` is the one that the answer is about; without it, the usual one.
export async function openPassage(record, from, book) {
  opener = from;
  panel.hidden = false;
  document.body.classList.add("reading");
  title.textContent = record.breadcrumb || record.heading || record.title;
  place.replaceChildren(...link(record));
  body.replaceChildren(element("p", { className: "notice" }, "Loading…"));
  title.focus();
  try {
    const passage = await getJson(`/api/passages/${encodeURIComponent(record.chunk_id)}${inBook(book)}`);
    const spans = [record, ...(record.occurrences || [])].filter((span) => Number.isInteger(span.start));
    const changed = record.chunk_sha256 && record.chunk_sha256 !== passage.sha256;
    const notice = changed ? [element("p", { className: "notice" }, "The book has changed since this answer.")] : [];
    body.replaceChildren(...notice, element("p", { className: "stored" }, ...quoted(passage.text, changed ? [] : spans)));
    body.querySelector("mark")?.scrollIntoView({ block: "center" });
  } catch (failure) {
    body.replaceChildren(element("p", { className: "problem" }, failure.message));
  }
}

export function closePassage() {
  if (panel.hidden) return;
  panel.hidden = true;
  document.body.classList.remove("reading");
  opener?.focus();
}

function link(record) {
  const url = record.url || "";
  if (/^https?:/i.test(url)) {
    return [element("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, "Open it in the book")];
  }
  return [record.source_file_path || url];
}

// Offsets count code points; a JavaScript string counts UTF-16 units.
function quoted(text, spans) {
  const points = Array.from(text);
  const nodes = [];
  let from = 0;
  for (const { start, end } of spans.sort((a, b) => a.start - b.start)) {
    if (start < from || end > points.length) continue;
    nodes.push(points.slice(from, start).join(""), element("mark", {}, points.slice(start, end).join("")));
    from = end;
  }
  return [...nodes, points.slice(from).join("")].filter((node) => node !== "");
}

document.getElementById("close-passage").addEventListener("click", closePassage);
