"""Read the literals of a JavaScript or TypeScript file without running it.

Computed values are None, but a name has the value of the literal that it was declared with, a call such as
`path.resolve(__dirname, '../docs')` its last string, and an imported file the value that the caller reads from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from rag.ingest.data_values import unicode_text
from rag.ingest.sites.config_files import listed, mapping

if TYPE_CHECKING:
    from tree_sitter import Node

DEPTH: Final = 40  # nested objects and arrays; deeper ones are None
LONGEST: Final = 200_000  # characters of a file that is read
VALUES: Final = 50_000  # of one file; the value of a name counts wherever it is used, since names multiply
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)


def js_objects(text: str, imported: Callable[[str], Any] = lambda _: None) -> dict[str, Any]:
    """The values of the names that a file declares, and of its export, `default`. `imported` reads other files."""
    import tree_sitter_typescript
    from tree_sitter import Language, Parser

    parser = Parser(Language(tree_sitter_typescript.language_tsx()))
    values = _Values(imported)
    for statement in parser.parse(text[:LONGEST].encode("utf-8", "replace")).root_node.named_children:
        values.read(statement)
    return values.names


class _Values:
    def __init__(self, imported: Callable[[str], Any]) -> None:
        self._imported = imported
        self._left = VALUES
        self.names: dict[str, Any] = {}

    def read(self, statement: Node) -> None:
        """Enter the names that a statement declares, imports or exports."""
        kind, parts = statement.type, statement.named_children
        if kind == "import_statement" and parts[0].type == "import_clause":
            self.names[_text(parts[0])] = self._file(statement.child_by_field_name("source"))
        elif kind == "export_statement":
            self.names["default"] = self._value(statement.child_by_field_name("value"))
        elif kind == "expression_statement" and _text(parts[0].child_by_field_name("left")) == "module.exports":
            self.names["default"] = self._value(parts[0].child_by_field_name("right"))
        elif kind in ("lexical_declaration", "variable_declaration"):
            for one in parts:
                self.names[_text(one.child_by_field_name("name"))] = self._value(one.child_by_field_name("value"))

    def _value(self, node: Node | None, depth: int = 0) -> Any:
        parts = node.named_children if node is not None and depth <= DEPTH else []
        match node.type if node is not None and depth <= DEPTH else "":
            case "as_expression" | "satisfies_expression" | "parenthesized_expression":  # the value has comments beside
                return next((self._value(one, depth) for one in parts if one.type != "comment"), None)
            case "true" | "false" as word:
                return word == "true"
            case "string" | "template_string":
                return _string(node)
            case "identifier":
                return self._used(self.names.get(_text(node)))
            case "object":
                return self._object(parts, depth + 1)
            case "array":
                return self._array(parts, depth + 1)
            case "call_expression":
                return self._call(parts)
        return None

    def _object(self, parts: Sequence[Node], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for one in parts:
            if one.type == "spread_element":
                found |= mapping(self._value(one.named_children[0], depth))
            elif one.type == "shorthand_property_identifier":
                found[_text(one)] = self._used(self.names.get(_text(one)))
            elif (key := one.child_by_field_name("key")) is not None:
                found[_string(key) or _text(key)] = self._value(one.child_by_field_name("value"), depth)
        return found

    def _array(self, parts: Sequence[Node], depth: int) -> list[Any]:
        found: list[Any] = []
        for one in parts:
            if one.type == "spread_element":
                found += listed(self._value(one.named_children[0], depth))
            elif one.type != "comment":
                found.append(self._value(one, depth))
        return found

    def _call(self, parts: Sequence[Node]) -> Any:
        """The last string of a call, or the value of the file that it requires."""
        texts = [one for one in parts[-1].named_children if one.type == "string"]
        if _text(parts[0]) == "require" and texts:
            return self._file(texts[0])
        return _string(texts[-1]) if texts else None

    def _file(self, literal: Node | None) -> Any:
        """The value of another file that is named by a string; None for a package."""
        name = _string(literal) or ""
        return self._used(self._imported(name)) if name.startswith(".") else None

    def _used(self, value: Any) -> Any:
        """A value that a name or a file stands for; None once a file would have more than `VALUES`."""
        waiting = [value]
        while waiting and self._left > 0:
            one = waiting.pop()
            self._left -= 1
            waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        return value if self._left > 0 else None


def _text(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def _string(node: Node | None) -> str | None:
    """The text of a literal; None for what is none, and for a template that computes something."""
    is_literal = node is not None and node.type in ("string", "template_string")
    if node is None or not is_literal or any(one.type == "template_substitution" for one in node.named_children):
        return None
    return unicode_text(_ESCAPE.sub(r"\1", _text(node)[1:-1]))
