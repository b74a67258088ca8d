// Markdown as DOM nodes. The library only parses; text of a book or a model enters the page as text nodes alone.

import { lexer } from "./vendor/marked.js";

const MARKER = /\[(\d{1,3})\]|\[\?\]/g;
const ALONE = /^(?:\s*\[\d{1,3}\])+\s*$/; // the citations of the block above
const SAFE = /^(https?:|mailto:|#|\/(?!\/))/i;

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// `hooks.citation(n)` and `hooks.mark(i)` make the nodes of `[n]` and of the i-th `[?]`; null leaves the text as it is.
export function render(text, hooks) {
  const writer = new Writer(hooks);
  const fragment = document.createDocumentFragment();
  fragment.append(...writer.blocks(lexer(text, { gfm: true })));
  return fragment;
}

class Writer {
  constructor(hooks) {
    this.hooks = hooks;
    this.marks = 0;
  }

  blocks(tokens) {
    return tokens.flatMap((token) => this.block(token));
  }

  block(token) {
    switch (token.type) {
      case "heading":
        return [element(`h${Math.min(6, token.depth + 2)}`, {}, ...this.inlines(token.tokens))];
      case "paragraph":
        return [element("p", { className: ALONE.test(token.raw) ? "lone" : "" }, ...this.inlines(token.tokens))];
      case "text":
        return token.tokens ? this.inlines(token.tokens) : this.marked(token.text);
      case "code":
        return [element("pre", { tabIndex: 0 }, element("code", {}, token.text))];
      case "blockquote":
        return [element("blockquote", {}, ...this.blocks(token.tokens))];
      case "list":
        return [this.list(token)];
      case "table":
        return [this.table(token)];
      case "hr":
        return [element("hr")];
      case "space":
      case "def":
        return [];
      default:
        return [element("p", {}, ...this.marked(token.raw))];
    }
  }

  list(token) {
    const items = token.items.map((item) => element("li", {}, ...this.blocks(item.tokens)));
    const made = element(token.ordered ? "ol" : "ul", {}, ...items);
    if (token.ordered && token.start > 1) made.start = token.start;
    return made;
  }

  table(token) {
    const row = (cells, name) => element("tr", {}, ...cells.map((cell) => element(name, {}, ...this.inlines(cell.tokens))));
    const head = element("thead", {}, row(token.header, "th"));
    const body = element("tbody", {}, ...token.rows.map((cells) => row(cells, "td")));
    return element("div", { className: "table", tabIndex: 0 }, element("table", {}, head, body));
  }

  inlines(tokens) {
    return tokens.flatMap((token) => this.inline(token));
  }

  inline(token) {
    switch (token.type) {
      case "strong":
      case "em":
      case "del":
        return [element(token.type, {}, ...this.inlines(token.tokens))];
      case "codespan":
        return [element("code", {}, token.text)];
      case "br":
        return [element("br")];
      case "link":
        return [this.link(token)];
      case "escape":
        return [token.text];
      case "text":
        return token.tokens ? this.inlines(token.tokens) : this.marked(token.text);
      default:
        return this.marked(token.raw);
    }
  }

  link(token) {
    const children = this.inlines(token.tokens);
    if (!SAFE.test(token.href)) return element("span", {}, ...children);
    return element("a", { href: token.href, target: "_blank", rel: "noopener noreferrer" }, ...children);
  }

  marked(text) {
    const nodes = [];
    let from = 0;
    for (const found of text.matchAll(MARKER)) {
      const made = found[1] ? this.hooks.citation(Number(found[1])) : this.hooks.mark(this.marks++);
      if (!made) continue; // brackets of the book's own
      nodes.push(text.slice(from, found.index).replace(/ $/, found[1] ? "" : " "), made);
      from = found.index + found[0].length;
    }
    nodes.push(text.slice(from));
    return nodes.filter((node) => node !== "");
  }
}
