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
    "blocks of MkDocs": _repeated("!!! a\n"),
    "blocks in blocks of MkDocs": lambda size: "".join(f"{'    ' * n}!!! a\n" for n in range(int((size / 2) ** 0.5))),
    "blocks of slashes": _repeated("/// a\n"),
    "tabs of MkDocs": _repeated('=== "a\n'),
    "snippets": _repeated('--8<-- "a"\n'),
    "open snippets": _repeated("--8<--\n"),
    "files of code": _repeated("{* a"),
    "attribute lists": _repeated("{#a "),
    "attributes of a list": lambda size: "{" + "a=b " * (size // 4),
    "lists of attributes": _repeated("{: a}"),
    "formulas beside attribute lists": _repeated("\\[a\\"),
    "keys": _repeated("++a"),
    "marks": _repeated("==a "),
    "shortcodes": _repeated("{{< a >}}"),
    "open shortcodes": _repeated("{{< a "),
    "comments of shortcodes": _repeated("{{</* a "),
    "one long shortcode": lambda size: "{{< " + "a " * (size // 2),
    "tags of Liquid": _repeated("{% a %}"),
    "open tags of Liquid": _repeated("{% a "),
    "one long tag of Liquid": lambda size: "{% " + "%" * size,
    "includes of Liquid": _repeated("{% include a.html b='"),
    "values of Liquid": _repeated("{{ a "),
    "raw Liquid": _repeated("{% raw %}"),
    "lines of attributes": _repeated("# a\n{: #b"),
    "extensions of kramdown": _repeated("{::comment}"),
    "directives of MyST": _repeated("```{a}\n"),
    "directives of colons": _repeated(":::{a}\n"),
    "deep directives of MyST": lambda size: "".join(f"{':' * n}{{a}}\n" for n in range(int((2 * size) ** 0.5), 2, -1)),
    "roles of MyST": _repeated("{a}`b` "),
    "labels of MyST": _repeated("(a)=\n"),
    "footnotes": _repeated("[^a] "),
    "notes": _repeated("[^a]: b\n"),
    "definitions": _repeated("[a]: b\n"),
    "open definitions": _repeated("[a"),
    "references": _repeated("[a][b]"),
    "images": _repeated("![a](b"),
    "open images": _repeated("![a"),
    "labels in labels": _repeated("[[a]"),
    "alerts": _repeated("> [!A]"),
    "lead-ins": _repeated("a:\n\n"),
    "a paragraph that leads in": lambda size: "a. " * (size // 3) + "b:",
}

# Words in the names of patterns that are one generator's own syntax. Every generator reads Markdown.
_OWN: Final = {
    "MkDocs": "mkdocs", "slashes": "mkdocs", "snippets": "mkdocs", "files of code": "mkdocs", "attribute": "mkdocs",
    "keys": "mkdocs", "marks": "mkdocs", "include": "mdbook", "shortcode": "hugo", "alerts": "hugo", "Liquid": "plain",
    "kramdown": "plain", "MyST": "plain", "directives": "plain",
}  # fmt: skip
_TURN: Final = ("plain", "mkdocs", "mdbook", "hugo")


def generators_for(name: str) -> list[str]:
    """The generators that the suite tries a pattern with: Docusaurus, whose MDX has the most syntax, the pattern's own
    one, and another in turn. `python -m bench.hostile_pages` tries all.
    """
    own = next((generator for word, generator in _OWN.items() if word in name), "docusaurus")
    other = _TURN[list(HOSTILE).index(name) % len(_TURN)]
    return list(dict.fromkeys(("docusaurus", own, other)))
