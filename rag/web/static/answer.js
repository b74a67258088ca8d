// One turn on the page: the question, and the answer with its citations, marks, sources and what else was found.

import { element, render } from "./markdown.js";

const UNEXPLAINED = "The check could not confirm this sentence. Read the cited passage to decide.";

export class TurnView {
  // `show(citation)` opens a passage; `act(name)` runs "retry" or "undo".
  constructor(question, show, act) {
    this.show = show;
    this.act = act;
    this.question = question;
    this.answer = null; // the last one that `finish` was given
    this.text = "";
    this.body = element("div", { className: "body" });
    this.tail = element("div", { className: "tail" });
    const asked = element("h2", { className: "asked" }, question);
    this.node = element("article", { className: "turn" }, asked, this.body, this.tail);
  }

  add(sentence) {
    this.text += sentence;
    this.body.replaceChildren(render(this.text, this.hooks({ citations: [] })));
  }

  retract() {
    this.text = "";
    this.body.replaceChildren();
  }

  // `answer` is a response, or a turn of a stored conversation, which has no grounding.
  finish(answer) {
    this.answer = answer;
    this.node.classList.toggle("failed", Boolean(answer.error));
    this.node.classList.toggle("refused", answer.status === "fallback");
    if (answer.error) {
      this.fail(answer.error.user_message, [answer.error.message, answer.error.hint]);
      return;
    }
    const text = answer.plain_content ?? answer.content;
    this.body.replaceChildren(render(text, this.hooks(answer)));
    this.tail.replaceChildren(...this.notices(answer), ...this.sources(answer), ...this.unused(answer), this.actions());
  }

  fail(sentence, details) {
    this.node.classList.add("failed");
    const lines = details.filter(Boolean).map((line) => element("p", { className: "detail" }, line));
    this.body.replaceChildren(element("p", { className: "problem", role: "alert" }, sentence), ...lines);
    this.tail.replaceChildren(this.actions());
  }

  stopped() {
    const kept = this.text ? "Stopped. Only the question is stored; a reload will not show this text." : "Stopped. The question has no answer yet.";
    this.tail.replaceChildren(element("p", { className: "notice" }, kept), this.actions());
  }

  hooks(answer) {
    const shown = (answer.grounding?.checked || []).filter((sentence) =>
      sentence.standing === "unconfirmed" || (answer.grounding.mode === "flag" && sentence.standing === "contradicted"));
    return {
      citation: (number) => this.citation(number, answer),
      mark: (index) => this.mark(shown[index]?.reasons || []),
    };
  }

  citation(number, answer) {
    const record = (answer.citations || []).find((citation) => citation.marker === number);
    if (!record && answer.citations?.length) return null;
    if (!record) return element("span", { className: "citation" }, String(number));
    const button = element("button", { className: "citation", type: "button" }, String(number));
    button.setAttribute("aria-label", `Source ${number}: ${record.breadcrumb || record.title}`);
    button.title = record.breadcrumb || record.title;
    button.addEventListener("click", () => this.show(record, button));
    return button;
  }

  mark(reasons) {
    const reason = reasons.length ? `Not confirmed: ${reasons.join("; ")}.` : UNEXPLAINED;
    const hint = element("span", { className: "hint", role: "tooltip" }, reason);
    const button = element("button", { className: "mark", type: "button" }, "?", hint);
    button.setAttribute("aria-label", reason);
    return button;
  }

  notices(answer) {
    return (answer.notices || []).map((text) => element("p", { className: "notice" }, ...text.split(/(\[\?\])/).map((part) =>
      (part === "[?]" ? element("span", { className: "mark sign" }, "?") : part))));
  }

  sources(answer) {
    const citations = answer.citations || [];
    if (!citations.length) return [];
    const items = citations.map((citation) => element("li", { value: citation.marker }, this.source(citation)));
    return [element("section", { className: "sources" }, element("h3", {}, "Sources"), element("ol", {}, ...items))];
  }

  source(record) {
    const button = element("button", { className: "source", type: "button" }, record.breadcrumb || record.heading || record.title);
    button.addEventListener("click", () => this.show(record, button));
    return button;
  }

  unused(answer) {
    const cited = new Set((answer.citations || []).map((citation) => citation.chunk_id));
    const rest = (answer.retrieved_chunks || []).filter((chunk) => !cited.has(chunk.chunk_id));
    if (!rest.length) return [];
    const items = rest.map((chunk) => element("li", {}, this.source(chunk), ` ${chunk.score.toFixed(2)}`));
    const summary = element("summary", {}, `Found but not used: ${rest.length}`);
    return [element("details", { className: "unused" }, summary, element("ul", {}, ...items))];
  }

  actions() {
    const action = (name, label) => {
      const button = element("button", { className: "action", type: "button" }, label);
      button.addEventListener("click", () => this.act(name));
      return button;
    };
    return element("div", { className: "actions" }, action("retry", "Ask again"), action("undo", "Take back"));
  }
}
