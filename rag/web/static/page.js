// The page: asks, shows what comes, and keeps the address in step with the conversation.

import { TurnView } from "./answer.js";
import { events, getJson, hasKey, inBook, postJson, useKey } from "./api.js";
import { bookTitle, chosen, lock, offer, settle, useChoice } from "./choice.js";
import { element } from "./markdown.js";
import { closePassage, openPassage } from "./passage.js";
import { refresh, useThreads } from "./threads.js";

const at = (id) => document.getElementById(id);
const talk = at("talk");
const question = at("question");
const send = at("send");
let thread = "";
let running = null; // the AbortController of a turn in progress
let views = [];

const api = (rest = "") => `/api/threads/${encodeURIComponent(thread)}${rest}`;
const say = (text, className = "") => Object.assign(at("state"), { textContent: text, className });
// Whether the conversation does not end with the turn that was meant.
const isGone = (failure) => ["other_turn", "nothing_to_retry", "nothing_to_undo", "unknown_thread"].includes(failure?.code);

function add(text, book = chosen().book) {
  const show = (record, from) => openPassage(record, from, book);
  const view = new TurnView(text, show, (name) => (name === "retry" ? retry(view) : undo(view)));
  talk.querySelector(".welcome")?.remove();
  views.at(-1)?.node.classList.remove("last");
  view.node.classList.add("last");
  views.push(view);
  talk.append(view.node);
  return view;
}

async function ask(text) {
  if (running || !text.trim()) return;
  if (!thread) enter(crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random()}`);
  write("");
  await run(add(text));
}

const options = () => ({ citation_style: "numbered", ...chosen() });
const isAnswered = (view) => view.answer && !view.answer.error;
// The turn of a view as the server knows it: by the id of its request, or by its question if it has no answer.
const last = (view) => view.answer?.request_id || view.question;

async function retry(view) {
  if (running) return;
  view.retract();
  view.tail.replaceChildren();
  const failure = await run(view, true);
  if (!isGone(failure)) return;
  if (isAnswered(view)) await reread();
  else await run(view); // the question never reached the conversation
}

async function undo(view) {
  if (running) return;
  await guarded(async () => {
    const failure = await postJson(api("/undo"), { last: last(view) }).then(() => null, (error) => error);
    if (failure && !isGone(failure)) throw failure;
    if (failure && isAnswered(view)) {
      await reread();
      return;
    }
    drop(view);
    await refresh();
  });
}

// Another window has gone on with the conversation.
async function reread() {
  await open(thread);
  say("The conversation was changed in another window. This is how it stands.", "problem");
}

// The question goes from the page back into the box.
function drop(view) {
  view.node.remove();
  views = views.filter((other) => other !== view);
  views.at(-1)?.node.classList.add("last");
  write([view.question, question.value].filter(Boolean).join("\n"));
  question.focus();
  if (!views.length) welcome();
}

function write(text) {
  question.value = text;
  grow();
}

// Asks the question of a view, or `again` the one that the conversation ends with. Gives back the failure.
async function run(view, again = false) {
  running = new AbortController();
  lock(true);
  send.textContent = "Stop";
  send.classList.add("stop");
  say("Searching the book…");
  view.node.scrollIntoView({ block: "start", behavior: "smooth" });
  try {
    const body = { ...options(), ...(again ? { last: last(view) } : { question: view.question }) };
    const path = api(again ? "/retry" : "/turns");
    for await (const { type, data } of events(path, body, running.signal)) handle(view, type, data);
    if (views.includes(view)) say("");
    return null;
  } catch (failure) {
    if (views.includes(view)) fail(view, again, failure);
    if (failure.status === 401) await askForKey();
    return failure;
  } finally {
    running = null;
    lock(false);
    send.textContent = "Ask";
    send.classList.remove("stop");
    question.focus();
    await guarded(() => refresh(thread));
  }
}

// A question that was refused before it became a turn goes back into the box; nothing of it is stored.
function fail(view, again, failure) {
  const error = failure.response?.error;
  const isRefused = failure.status >= 400 && (!error || error.code === "thread_busy" || error.error_type === "invalid_input");
  say("");
  if (failure.name === "AbortError") view.stopped();
  else if (isRefused && !again) {
    drop(view);
    if (!views.length) enter("");
    say(failure.message, "problem");
  } else if (isRefused && view.answer) {
    view.finish(view.answer);
    say(failure.message, "problem");
  } else if (error) view.finish(failure.response);
  else view.fail(failure.message, []);
}

function handle(view, type, data) {
  switch (type) {
    case "phase":
      if (data.phase === "GENERATING") say("Writing, and checking each sentence…");
      break;
    case "retrieval":
      say(`Found ${data.results_count} ${data.results_count === 1 ? "passage" : "passages"}.`);
      break;
    case "waiting":
      say(`That failed. Trying again in ${Math.round(data.seconds)} s.`);
      break;
    case "sentence":
      view.add(data.text);
      break;
    case "retract":
      view.retract();
      break;
    case "response":
      view.finish(data);
      break;
  }
}

async function open(id) {
  running?.abort();
  enter(id);
  closePassage();
  document.body.classList.remove("listing");
  talk.replaceChildren();
  views = [];
  await guarded(async () => {
    const conversation = await getJson(api());
    const last = conversation.turns.at(-1);
    const gone = last?.collection && !settle(last.collection, last.profile);
    say(gone ? `The book “${last.collection}” is not here any more. The conversation can be read, but not continued.` : "");
    for (const turn of conversation.turns) add(turn.question, turn.collection).finish(turn);
    if (conversation.unanswered) add(conversation.unanswered).stopped();
    await refresh(id);
    talk.lastElementChild?.scrollIntoView({ block: "start" });
  });
}

function enter(id) {
  thread = id;
  const address = id ? `#${encodeURIComponent(id)}` : location.pathname;
  if (location.hash !== address) history.pushState(null, "", address);
}

function fresh() {
  running?.abort();
  enter("");
  closePassage();
  document.body.classList.remove("listing");
  views = [];
  welcome();
  question.focus();
  guarded(() => refresh(""));
}

function welcome() {
  const title = bookTitle(chosen().book);
  const lines = [element("h2", {}, "What would you like to know?"),
    element("p", {}, `Answers come from ${title ? `“${title}”` : "the book"} alone. Each one shows the passages that prove it.`)];
  const section = element("section", { className: "welcome" }, ...lines);
  talk.replaceChildren(section);
  suggest(section, chosen().book, 4);
}

// The server looks for questions when a book is first opened, so the first answers may have none.
async function suggest(section, book, tries) {
  const { questions = [] } = await getJson(`/api/book${inBook(book)}`).catch(() => ({}));
  if (!section.isConnected) return;
  section.append(...questions.map((text) => {
    const button = element("button", { className: "suggestion", type: "button" }, text);
    button.addEventListener("click", () => ask(text));
    return button;
  }));
  if (!questions.length && tries) setTimeout(() => section.isConnected && suggest(section, book, tries - 1), 1500);
}

// A conversation stays with its book and its profile, so another choice begins another conversation.
function changed(what) {
  const began = views.length > 0;
  fresh();
  if (began) say(`A new conversation begins with ${what}. The other one stays as it was, in the list.`);
}

async function guarded(work) {
  try {
    await work();
  } catch (failure) {
    if (failure.status === 401) await askForKey();
    else say(failure.message);
  }
}

function askForKey() {
  const dialog = at("key-dialog");
  if (dialog.open) return undefined;
  at("key-reason").textContent = hasKey() ? "The server does not accept this key." : "This server needs a key.";
  at("key").value = "";
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => {
      useKey(at("key").value);
      done();
      start();
    }, { once: true });
  });
}

function grow() {
  question.style.height = "auto";
  question.style.height = `${Math.min(question.scrollHeight, 240)}px`;
}

async function start() {
  await guarded(async () => {
    const [{ profiles, default: usual }, { books }] = await Promise.all([getJson("/api/profiles"), getJson("/api/books")]);
    offer(books, profiles, usual);
    const id = named(location.hash);
    if (id) await open(id);
    else if (!views.length) fresh(); // a quick reader may have asked before the books were listed
  });
}

at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) running.abort();
  else ask(question.value);
});
question.addEventListener("input", grow);
question.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    if (!running) ask(question.value);
  }
});
at("new").addEventListener("click", fresh);
at("open-threads").addEventListener("click", () => {
  const listing = document.body.classList.toggle("listing");
  at("open-threads").setAttribute("aria-expanded", String(listing));
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (!at("passage").hidden) closePassage();
  else if (running) running.abort();
  else document.body.classList.remove("listing");
});
// The conversation that an address names; one that is no encoded text names itself.
function named(hash) {
  try { return decodeURIComponent(hash.slice(1)); } catch { return hash.slice(1); }
}

addEventListener("popstate", () => {
  const id = named(location.hash);
  if (id !== thread) (id ? open(id) : fresh());
});
useChoice(changed);
useThreads({ open, title: bookTitle, gone: (id) => { if (id === thread) fresh(); } });
start();
