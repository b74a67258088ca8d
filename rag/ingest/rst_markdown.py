"""Write a document that docutils has parsed as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from rag.ingest.dialects import pictured, titled, with_dashes
from rag.ingest.fences import fenced
from rag.ingest.rst_syntax import ADMONITIONS
from rag.ingest.rst_terms import entry, join_terms, last_entries

# The nodes of docutils have attributes that its types do not know.
Node = Any

DEPTH: Final = 100  # levels of nodes; what is nested more deeply is written as its text
_SILENT: Final = frozenset(
    ["comment", "substitution_definition", "target", "system_message", "pending", "raw", "meta", "decoration",
     "footnote", "caption", "legend", "colspec", "title", "subtitle", "doctest", "docinfo", "generated"]
)  # fmt: skip
_SET_IN: Final = frozenset({"table", "literal_block", "doctest_block", "definition_list"})
_LISTS: Final = frozenset({"bullet_list", "enumerated_list"})
_BLOCK_BEGIN: Final = re.compile(r"^(?=#{1,6}\s|[>+-]\s|\d{1,9}[.)]\s|```|~~~)", re.MULTILINE)
_BOLD: Final = re.compile(r"\*\*[^*]+\*\*")
_PROBLEM: Final = re.compile(r":?[\w:+.-]*:?`([^`<]*?)(?:\s*<[^`]*>)?`_{0,2}")


class RstMarkdown:
    """The Markdown of one page. `link` returns the address of a destination as the page writes it.

    Unless `numbered`, headings whose id is only a number get none: the site's numbers count sections that are not read.
    """

    def __init__(self, document: Node, link: Callable[[str], str], *, numbered: bool = True) -> None:
        join_terms(document)
        self._link = link
        self._numbered = numbered
        self._notes = {
            id_: note for note in document.findall(lambda node: _kind(node) == "footnote") for id_ in note["ids"]
        }
        self.text = self._blocks(_without_fields(document.children), 1).strip("\n")

    def _blocks(self, children: Iterable[Node], level: int, depth: int = 0) -> str:
        written = (self._block(child, level, depth + 1) for child in children)
        return "\n\n".join(text for text in written if text.strip())

    def _block(self, node: Node, level: int, depth: int) -> str:
        kind = _kind(node)
        if depth > DEPTH:
            return str(node.astext())
        if kind in _SILENT:
            return ""
        if kind == "section":
            return self._section(node, level, depth)
        if kind in ADMONITIONS:
            return f"{titled(kind.capitalize())}\n\n{self._blocks(node.children, level, depth)}"
        writer = getattr(self, f"_write_{kind}", None)
        if writer is not None:
            return str(writer(node, level, depth))
        return self._blocks(node.children, level, depth) if _holds_blocks(node) else self._inlines(node)

    def _section(self, node: Node, level: int, depth: int) -> str:
        title = _first(node, "title")
        # Sphinx prefers the id of a label to one that is only a number.
        id_ = next((one for one in node["ids"] if not re.fullmatch(r"id\d+", one)), (*node["ids"], "")[0])
        ids = f" {{#{id_ if self._numbered or not re.fullmatch(r'id[0-9]+', id_) else ''}}}"
        words = " ".join(self._inlines(title, escaped=True).split()) if title is not None else ""
        head = f"{'#' * min(level, 6)} {words}{ids}" if words else ""
        return f"{head}\n\n{self._of_section(node.children, level + 1, depth)}"

    def _of_section(self, children: list[Node], level: int, depth: int) -> str:
        """The blocks of a section. Terms with long descriptions at its end are sections of their own."""
        shown = [child for child in children if _kind(child) not in _SILENT]
        end = next((n for n, child in enumerate(shown) if _kind(child) == "section"), len(shown))
        begin, entries = last_entries(shown[:end])
        if not entries:
            return self._blocks(children, level, depth)
        written = [self._blocks(shown[:begin], level, depth)]
        for terms, bodies in entries:
            words = " ".join(", ".join(self._inlines(term, escaped=True) for term in terms).split())
            written.append(f"{'#' * min(level, 6)} {words} {{#}}\n\n{self._blocks(bodies, level + 1, depth)}")
        return "\n\n".join(filter(None, [*written, self._blocks(shown[end:], level, depth)]))

    def _write_paragraph(self, node: Node, *_: int) -> str:
        return _BLOCK_BEGIN.sub(r"\\", self._inlines(node))

    def _write_literal_block(self, node: Node, *_: int) -> str:
        classes = [name for name in node["classes"] if name not in ("code", "")]
        usual = {"doctest_block": "python", "math_block": "math"}.get(_kind(node), "")
        return fenced(node.astext(), usual or next(iter(classes), ""))

    _write_doctest_block = _write_math_block = _write_literal_block

    def _write_line_block(self, node: Node, level: int, depth: int) -> str:
        return "\n".join(self._block(child, level, depth + 1) for child in node.children)

    def _write_transition(self, *_: object) -> str:
        return "---"

    def _write_image(self, node: Node, *_: int) -> str:
        return pictured(str(node.get("alt", "")))

    def _write_figure(self, node: Node, level: int, depth: int) -> str:
        caption, legend = _first(node, "caption"), _first(node, "legend")
        written = [self._inlines(caption)] if caption is not None else []
        return "\n\n".join(written + ([self._blocks(legend.children, level, depth)] if legend is not None else []))

    def _write_admonition(self, node: Node, level: int, depth: int) -> str:
        title = self._title(node)
        return f"{titled(title)}\n\n{self._blocks(node.children, level, depth)}" if title else ""

    def _title(self, node: Node) -> str:
        title = _first(node, "title")
        return self._inlines(title) if title is not None else ""

    def _write_topic(self, node: Node, level: int, depth: int) -> str:
        return "" if "contents" in node["classes"] else self._write_admonition(node, level, depth)

    _write_sidebar = _write_topic

    def _write_rubric(self, node: Node, *_: int) -> str:
        return f"**{self._inlines(node)}**"

    def _write_block_quote(self, node: Node, level: int, depth: int) -> str:
        inner = self._blocks(node.children, level, depth)
        kinds = {_kind(child) for child in node.children} - _SILENT
        if kinds & _SET_IN or kinds <= _LISTS:  # it only sets code, a table or a list in
            return inner
        return "\n".join(f"> {line}".rstrip() for line in inner.split("\n"))

    def _write_citation(self, node: Node, level: int, depth: int) -> str:
        label, *rest = node.children
        return f"{label.astext()}: {self._blocks(rest, level, depth)}"

    # Lists

    def _write_bullet_list(self, node: Node, level: int, depth: int) -> str:
        items = []
        for n, item in enumerate(node.children, int(node.get("start", 1))):
            mark = f"{n}. " if _kind(node) == "enumerated_list" else "- "
            items.append(mark + _indented(self._blocks(item.children, level, depth), len(mark)))
        return ("\n\n" if any("\n\n" in item for item in items) else "\n").join(items)

    _write_enumerated_list = _write_bullet_list

    def _write_definition_list(self, node: Node, level: int, depth: int) -> str:
        found = []
        for item in node.children:
            terms, bodies = entry(item)
            term = ", ".join(map(self._inlines, terms))
            shown = term if _BOLD.fullmatch(term) else f"**{term}**"
            found.append(self._described(shown, bodies, level, depth))
        return "\n".join(found)

    def _write_field_list(self, node: Node, level: int, depth: int) -> str:
        fields = (field.children for field in node.children)
        return "\n".join(self._described(self._inlines(name), body.children, level, depth) for name, body in fields)

    def _write_option_list(self, node: Node, level: int, depth: int) -> str:
        items = (item.children for item in node.children)
        described = (self._described(f"`{names.astext()}`", body.children, level, depth) for names, body in items)
        return "\n".join(described)

    def _described(self, term: str, bodies: Iterable[Node], level: int, depth: int) -> str:
        inner = self._blocks(bodies, level, depth)
        joint = ":\n\n" if re.match(r"```|[-*] |\d+\. |\|", inner) else ": " if inner else ""
        return "- " + _indented(f"{term}{joint}{inner}", 2)

    # Tables

    def _write_table(self, node: Node, *_: int) -> str:
        title = self._title(node)
        rows = list(node.findall(lambda one: _kind(one) == "row"))
        cells = [[self._cell(entry) for entry in row.children] for row in rows]
        if not cells:
            return title
        width = max(map(len, cells))
        has_head = _kind(rows[0].parent) == "thead"
        head, body = (cells[0], cells[1:]) if has_head else ([""] * width, cells)
        lines = [head, ["---"] * width, *body]
        written = "\n".join("| " + " | ".join([*line, *[""] * (width - len(line))]) + " |" for line in lines)
        return f"{titled(title)}\n\n{written}" if title else written

    def _cell(self, entry: Node) -> str:
        words = " ".join(self._blocks(entry.children, 1, DEPTH // 2).split())
        return words.replace("|", "\\|")

    # Inside a paragraph

    def _inlines(self, node: Node, *, escaped: bool = False) -> str:
        return (
            "".join(self._inline(child, escaped=escaped) for child in node.children)
            if node.children
            else (node.astext() if _kind(node) == "Text" else "")
        )

    def _inline(self, node: Node, *, escaped: bool) -> str:
        kind = _kind(node)
        if kind == "Text":
            words = with_dashes(node.astext())
            return re.sub(r"([*_\[\]`<>])", r"\\\1", words) if escaped else words
        if kind == "literal":
            return _code(node.astext())
        if kind == "math":
            return f"${node.astext()}$"
        if kind == "problematic":
            return _PROBLEM.sub(r"\1", node.astext())
        if kind == "footnote_reference":
            return self._note(node)
        if kind in ("image", "raw", "system_message", "target") and not node.children:
            return str(node.get("alt", "")) if kind == "image" else ""
        inner = self._inlines(node, escaped=escaped)
        if kind == "reference":
            return self._reference(node, inner)
        mark = {"emphasis": "*", "strong": "**"}.get(kind, "")
        return f"{mark}{inner}{mark}" if inner.strip() == inner and inner else inner

    def _reference(self, node: Node, words: str) -> str:
        target = node.get("refuri") or (f"#{node['refid']}" if node.get("refid") else "")
        address = self._link(target) if target else ""
        if not address or address == words or address == f"mailto:{words}":
            return words
        return f"[{words}]({re.sub(r'[ ()<>]', lambda sign: f'%{ord(sign[0]):02X}', address)})"

    def _note(self, node: Node) -> str:
        """The text of a footnote, in parentheses at its first reference."""
        note = self._notes.pop(node.get("refid", ""), None)
        if note is None:
            return ""
        words = " ".join(self._inlines(child) for child in note.children if _kind(child) == "paragraph")
        return f" ({' '.join(words.split())})" if words else ""


def _without_fields(children: list[Node]) -> list[Node]:
    """The children of a document without the fields at its head, such as `:orphan:`."""
    first = next((n for n, child in enumerate(children) if _kind(child) not in ("comment", "target")), 0)
    if first < len(children) and children[first].__class__.__name__ == "field_list":
        return [*children[:first], *children[first + 1 :]]
    return children


def _kind(node: Node) -> str:
    return str(node.__class__.__name__)


def _first(node: Node, kind: str) -> Node | None:
    """The first child of a kind; None where there is none."""
    return next((child for child in node.children if _kind(child) == kind), None)


def _holds_blocks(node: Node) -> bool:
    from docutils import nodes

    return any(isinstance(child, (nodes.Body, nodes.Structural, nodes.Part)) for child in node.children)


def _indented(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by).replace("\n" + " " * by + "\n", "\n\n")


def _code(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    mark = "`" * (longest + 1)
    space = " " if longest or text.startswith("`") else ""
    return f"{mark}{space}{' '.join(text.split())}{space}{mark}"
