"""Terms of a page of reStructuredText, each with what describes it: definition lists, and what is meant as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from rag.ingest.rst_syntax import ADMONITIONS

_Node = Any
Entry = tuple[list[_Node], list[_Node]]  # terms, and the blocks that describe them

TERM: Final = 60  # most characters of a line that is meant as a term
LEAST: Final = 3  # such lines in a row; of lines that are nothing but code, two


def join_terms(document: _Node) -> None:
    """Make definition lists of lines above blocks that are set in: who leaves a blank line between them means one."""
    from docutils import nodes

    for parent in [document, *document.findall(nodes.section)]:
        parent.children = list(_joined(parent.children))


def entry(item: _Node) -> Entry:
    """The terms of an item of a definition list, and the blocks that describe them."""
    terms = [child for child in item.children if _kind(child) in ("term", "classifier")]
    return terms, [body for child in item.children if _kind(child) == "definition" for body in child.children]


def last_entries(children: Sequence[_Node]) -> tuple[int, list[Entry]]:
    """Where the definition lists at the end of some blocks begin, and their entries, if two or more and most are long.

    A note belongs to the term above it.
    """
    found: list[Entry] = []
    notes: list[_Node] = []
    begin = len(children)
    for place in range(len(children) - 1, -1, -1):
        last = children[place]
        if _kind(last) == "definition_list":
            entries = [entry(item) for item in last.children]
            entries[-1][1].extend(notes)
            found, notes, begin = [*entries, *found], [], place
        elif _kind(last) in ADMONITIONS:
            notes.insert(0, last)
        else:
            break
    are_long = len(found) > 1 and 2 * sum(len(bodies) > 1 for _, bodies in found) >= len(found)
    return (begin, found) if are_long else (len(children), [])


def _joined(children: Sequence[_Node]) -> Iterator[_Node]:
    from docutils import nodes

    place = 0
    while place < len(children):
        pairs, end = _pairs(children, place)
        if len(pairs) >= (2 if all(map(_is_code, (term for term, _ in pairs))) else LEAST):
            items = [
                nodes.definition_list_item("", nodes.term("", "", *term.children), nodes.definition("", *bodies))
                for term, bodies in pairs
            ]
            yield nodes.definition_list("", *items)
            place = end
        else:
            yield children[place]
            place += 1


def _pairs(children: Sequence[_Node], place: int) -> tuple[list[tuple[_Node, list[_Node]]], int]:
    """The terms from a place on, each with the blocks that are set in below it and its notes, and where they end."""
    pairs: list[tuple[_Node, list[_Node]]] = []
    notes: list[_Node] = []
    end = place
    while place < len(children):
        if pairs and _kind(children[place]) in ADMONITIONS:
            notes.append(children[place])
            place += 1
        elif _is_term(children[place]) and place + 1 < len(children) and _kind(children[place + 1]) == "block_quote":
            if pairs:
                pairs[-1][1].extend(notes)
            pairs.append((children[place], list(children[place + 1].children)))
            notes, end = [], place + 2
            place = end
        else:
            break
    return pairs, end


def _is_term(node: _Node) -> bool:
    text = node.astext() if _kind(node) == "paragraph" else ""
    return _is_code(node) or (0 < len(text) <= TERM and "\n" not in text and text[-1] not in ".,:;!?")


def _is_code(node: _Node) -> bool:
    return _kind(node) == "paragraph" and [_kind(child) for child in node.children] == ["literal"]


def _kind(node: _Node) -> str:
    return str(node.__class__.__name__)
