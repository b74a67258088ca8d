// "Ask this book" on a page of the book. docs/serve.md has the line that puts it there.
// Everything lives in a shadow root, so the styles of the page and of the widget do not meet.

import { events, Failure, useGivenKey } from "./api.js";
import { element, render } from "./markdown.js";

const own = document.querySelector(`script[src="${import.meta.url}"]`) || document.querySelector("script[src$='widget.js']");
const thread = crypto.randomUUID ? crypto.randomUUID() : `widget-${Date.now()}-${Math.random()}`;
let running = null;

const open = element("button", { className: "open", type: "button" }, own?.dataset.label || "Ask this book");
const answers = element("div", { className: "answers" });
const state = element("p", { className: "state", role: "status" });
const question = element("textarea", { rows: 1, maxLength: 20000, placeholder: "Your question" });
question.setAttribute("aria-label", "Your question");
const send = element("button", { type: "submit" }, "Ask");
const form = element("form", {}, question, send);
const close = element("button", { className: "close", type: "button" }, "×");
close.setAttribute("aria-label", "Close");
const panel = element("dialog", {}, close, answers, state, form);
panel.setAttribute("aria-label", "Ask this book");

function start() {
  const tags = document.querySelectorAll(`script[src="${import.meta.url}"]`).length;
  if (tags > 1) console.warn("askbook: a page has one widget. The first script tag made it, and the others do nothing.");
  useGivenKey(own?.dataset.key || "");
  const host = element("div");
  const style = element("link", { rel: "stylesheet", href: new URL("widget.css", import.meta.url).href });
  host.attachShadow({ mode: "open" }).append(style, open, panel);
  document.body.append(host);
  open.addEventListener("click", () => { panel.show(); question.focus(); });
  close.addEventListener("click", shut);
  panel.addEventListener("keydown", (event) => { if (event.key === "Escape") shut(); });
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running) running.abort();
    else if (question.value.trim()) ask(question.value);
  });
}

function shut() {
  panel.close();
  open.focus();
}

async function ask(text) {
  const body = element("div", { className: "body" });
  answers.append(element("h2", {}, text), body);
  question.value = "";
  running = new AbortController();
  send.textContent = "Stop";
  state.textContent = "Searching the book…";
  let shown = "";
  const draw = (markdown, citations) => body.replaceChildren(render(markdown, hooks(citations)));
  try {
    const path = `/api/threads/${encodeURIComponent(thread)}/turns`;
    for await (const { type, data } of events(path, { question: text, citation_style: "numbered", book: own?.dataset.book }, running.signal)) {
      if (type === "sentence") draw(shown += data.text, []);
      else if (type === "retract") draw(shown = "", []);
      else if (type === "response" && data.error) throw new Failure(0, { message: data.error.user_message });
      else if (type === "response") draw(data.plain_content, data.citations);
    }
  } catch (failure) {
    const said = failure.name === "AbortError" ? "Stopped." : failure.message;
    body.append(element("p", { className: "problem" }, said));
  } finally {
    running = null;
    send.textContent = "Ask";
    state.textContent = "";
    answers.scrollTop = answers.scrollHeight;
  }
}

function hooks(citations) {
  return {
    citation: (number) => {
      const record = citations.find((citation) => citation.marker === number);
      if (!record && citations.length) return null;
      return record ? link(record) : element("span", { className: "citation" }, String(number));
    },
    mark: () => element("span", { className: "mark", title: "Not confirmed: read the cited passage." }, "?"),
  };
}

function link(record) {
  const number = String(record.marker), label = `Source ${number}: ${record.breadcrumb}`;
  if (!/^https?:/i.test(record.url)) return element("span", { className: "citation", title: record.breadcrumb }, number);
  const anchor = element("a", { className: "citation", href: record.url, title: record.breadcrumb }, number);
  anchor.setAttribute("aria-label", label);
  anchor.addEventListener("click", (event) => { if (scrollsHere(record.url)) event.preventDefault(); });
  return anchor;
}

// Scrolls to the heading when the address is that of this page.
function scrollsHere(address) {
  const url = new URL(address);
  const path = (one) => one.pathname.replace(/(?:index)?(?:\.html)?\/?$/, "");
  if (url.host !== location.host || path(url) !== path(location)) return false;
  const heading = document.getElementById(decodeURIComponent(url.hash.slice(1)));
  (heading || document.body).scrollIntoView({ behavior: "smooth" });
  if (url.hash) history.replaceState(null, "", url.hash);
  return true;
}

start();
