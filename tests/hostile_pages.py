"""Pages that made reading slower than linear: each is a text that repeats what a pattern looks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Made = Callable[[int], str]


def _repeated(unit: str) -> Made:
    return lambda size: unit * (size // len(unit))


HOSTILE: Final[dict[str, Made]] = {
    "spaces in a line": lambda size: f"a{' ' * size}b",
    "spaces before a heading's end": lambda size: f"# a{' ' * size}b",
    "spaces after an admonition": lambda size: f":::note{' ' * size}[",
    "spaces after a table's edge": lambda size: f"a|b\n{' ' * size}x",
    "spaces after an import": lambda size: f"import {' ' * size}x",
    "spaces after a brace": lambda size: f"{{{' ' * size}x",
    "spaces in a tag": lambda size: f"<a{' ' * size}",
    "blank lines of an import": lambda size: "import" + "\n" * size + "x",
    "tables": _repeated("a|b\n-|-\n"),
    "comments of MDX": _repeated("{/*"),
    "comments of HTML": _repeated("<!--"),
    "headings of HTML": _repeated("<h1>\n"),
    "open headings of HTML": _repeated("<h1 \n"),
    "preformatted texts": _repeated("<pre>"),
    "open preformatted texts": _repeated("<pre "),
    "scripts": _repeated("<script>"),
    "open scripts": _repeated("<script "),
    "code blocks": _repeated("<CodeBlock \n"),
    "includes": _repeated("{{#include "),
    "includes with a target": _repeated("{{#include a b"),
    "one long include": lambda size: "{{#include " + "a" * size,
    "imports of a line": _repeated("import 'a';"),
    "exports": _repeated("export const a = (\n\n"),
    "components of a line": _repeated("<A/>"),
    "tags that stay open": _repeated("<a b='"),
    "attributes": lambda size: "<A " + "b " * (size // 2),
    "brackets": _repeated("["),
    "links": _repeated("[a]("),
    "quotes": _repeated("> "),
    "lists": _repeated("- a\n"),
    "backticks": lambda size: " ".join("`" * n for n in range(1, int((2 * size) ** 0.5))),
    "ticks": _repeated("`a ``b "),
    "brackets in front matter": lambda size: f"---\na: {'[' * (size // 2)}{']' * (size // 2)}\n---\n",
    "anchors in front matter": lambda size: "---\n" + "".join(f"a{n}: &a{n} b\n" for n in range(size // 14)) + "---\n",
    "aliases in front matter": lambda size: f"---\na: &a 1\nb: [{'*a,' * (size // 3)}]\n---\n",
    "rules of a table": lambda size: "a|" * (size // 4) + "\n" + "-|" * (size // 4),
    "rules in lists": _repeated("* * a\n"),
    "headings": _repeated("a\n=\n"),
    "fences": _repeated("```\n"),
    "fences of every length": lambda size: "".join("`" * n + "\n" for n in range(3, int((2 * size) ** 0.5))),
    "anchors of an include": lambda size: "{{#include a.rs:" + "1:" * (size // 2) + "}}",
    "front matter": lambda size: "---\n" + "a: b\n" * (size // 5),
    "emphasis": _repeated("*a **b "),
    "stops": _repeated("a. "),
    "long word": _repeated("a"),
    "tabs of a site": _repeated("<Tabs values={[{label: 'a', value: "),
    "titles of headings": _repeated("# a {#b\n"),
    "labels of admonitions": _repeated(":::note[a\n"),
}
