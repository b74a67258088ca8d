"""Cleaning keeps what a reader would see and drops what only a site generator needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.ingest.sites.docusaurus import Docusaurus
from rag.ingest.sites.mdbook import MdBook
from rag.ingest.sites.site_rules import PageFile


def cleaned(text: str, *, mdx: bool = True, root: Path = Path("/nonexistent")) -> str:
    """The page as plain Markdown, by the rules of Docusaurus or, without MDX, of mdBook."""
    rules = (Docusaurus if mdx else MdBook)(root, config=None, reason="")
    page = PageFile(text, "markdown", path="page.md", file=root / "page.md")
    rules.enter([page], None)
    return rules.convert(page).text


def test_import_statements_go_also_over_several_lines_and_several_on_one() -> None:
    text = (
        "import Tabs from '@theme/Tabs'; import TabItem from '@theme/TabItem';\n\n"
        "import {\n  a,\n  b,\n} from '@site/x';\nimport './style.css'\nimport type {X} from \"y\";\n\nText."
    )
    assert cleaned(text) == "Text."


def test_prose_that_begins_with_import_or_export_stays() -> None:
    text = "import the package before use.\n\nexport your data from the menu."
    assert cleaned(text) == text


def test_an_export_goes_to_the_end_of_its_brackets() -> None:
    text = "export const rows = [\n  {name: 'a',\n\n   value: '}'},\n];\n\nText."
    assert cleaned(text) == "Text."


def test_component_tags_go_and_their_text_stays() -> None:
    assert cleaned('See <Link to="/x" on={() => a > b}>the page</Link> now.') == "See the page now."


def test_a_tab_leaves_its_label_as_a_line() -> None:
    text = '<Tabs>\n<TabItem value="java" label="Java">\n\nUse Maven.\n\n</TabItem>\n</Tabs>'
    assert cleaned(text) == "Java:\n\nUse Maven."


def test_the_text_of_a_component_is_as_far_from_the_margin_as_its_tag() -> None:
    text = (
        '- a\n\n  <Tabs>\n    <TabItem value="b">\n\n      C:\n\n      ```sh\n      d\n        e\n    f\n      ```\n\n'
        "      - g\n        h\n\n    </TabItem>\n  </Tabs>\n\n    i"
    )
    expected = "- a\n\nb:\n\n  C:\n\n  ```sh\n  d\n    e\nf\n  ```\n\n  - g\n    h\n\n    i"
    assert cleaned(text) == expected


def test_a_tab_takes_its_label_from_the_tabs_values() -> None:
    text = "<Tabs values={[{label: 'iOS (Swift)', value: 'ios'}]}>\n<TabItem value=\"ios\">\nX.\n</TabItem>\n</Tabs>"
    assert cleaned(text) == "iOS (Swift):\n\nX."


@pytest.mark.parametrize("mdx", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "A Vec<T> of Option<Box<dyn Fn(i32) -> T>> in prose.",
        "Write <angle> or <your name> here, and a < b > c.",
        "`<Tabs>` and ``a ` <View /> {/* x */}`` in code.",
        "<https://example.org/a?b=<c>>",
        "The sum $\\frac{a}{b}$ and a set {x}.",
    ],
)
def test_what_only_looks_like_a_tag_stays(text: str, mdx: bool) -> None:
    assert cleaned(text, mdx=mdx) == text


@pytest.mark.parametrize(
    "code",
    [
        "```jsx\nimport A from '@theme/A';\n<A>x</A> {/* c */} <!-- d -->\n\n\n:::note\n```",
        "~~~\n```\n<B/>\n```\n~~~",
        "- item\n\n  ```html\n  <div>\n\n\n  </div>\n  ```",
        "````md\n```js\n<X />\n```\n````",
    ],
)
def test_fenced_code_is_never_touched(code: str) -> None:
    assert cleaned(f"A <B>b</B>.\n\n{code}\n\nC.") == f"A b.\n\n{code}\n\nC."


@pytest.mark.parametrize("comment", ["// {}", "# {}", "/* {} */", "{{/* {} */}}", "<!-- {} -->"])
@pytest.mark.parametrize("suffix", ["md", "mdx"])
def test_comments_that_only_mark_lines_to_highlight_go(comment: str, suffix: str, tmp_path: Path) -> None:
    (tmp_path / "docusaurus.config.js").write_text("export default {markdown: {format: 'detect'}}", encoding="utf-8")
    rules = Docusaurus(tmp_path, config=tmp_path / "docusaurus.config.js", reason="")
    marks = [comment.format(f"highlight-{name}") for name in ("start", "end", "next-line")]
    code = "```js\n{}a()\n  {}b() // highlight-end of it\n{}c()\n```"
    marked = code.format(*(f"{mark}\n" for mark in marks))
    file = tmp_path / f"page.{suffix}"
    page = PageFile(marked, "mdx" if suffix == "mdx" else "markdown", path=file.name, file=file)
    assert rules.convert(page).text == code.format("", "", "").replace("  b()", "b()")


def test_a_fence_directly_after_a_tag_is_code() -> None:
    assert cleaned('<TabItem value="a">\n```js\n<X />\n```\n</TabItem>') == "a:\n\n```js\n<X />\n```"


def test_indented_code_is_code_in_plain_markdown() -> None:
    text = "Text:\n\n    <div>{/* x */}</div>\n\n    <p>"
    assert cleaned(text, mdx=False) == text


def test_an_admonition_becomes_its_title_and_its_text() -> None:
    assert cleaned(":::note\nRead this.\n:::\n\nB") == "Note:\nRead this.\n\nB"
    assert cleaned(":::warning Old API\n\nRead this.\n\n:::") == "Old API:\nRead this."
    assert cleaned("::::tip[Did you know?]{.x}\nYes.\n::::") == "Did you know?\nYes."


def test_a_code_block_component_becomes_a_fence() -> None:
    text = '<CodeBlock language="bash" title="shell">\n  {`npx init --version ${v()}`}\n</CodeBlock>'
    assert cleaned(text) == "```bash\nnpx init --version ${v()}\n```"


def test_tables_lose_their_padding() -> None:
    assert (
        cleaned("| A      | B |\n| ------ | :-------: |\n| x      |   y |") == "| A | B |\n| --- | :---: |\n| x | y |"
    )


def test_a_partial_is_put_where_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "_part.md").write_text("---\nx: 1\n---\nimport A from '@theme/A';\n\nShared <A>text</A>.")
    text = "import Part from './\\_part.md';\n\nBefore.\n\n<Part />\n\nAfter."
    assert cleaned(text, root=tmp_path) == "Before.\n\nShared text.\n\nAfter."


@pytest.mark.parametrize("clause", ["Part, {toc}", "Part, {toc as partToc}", "Part,{toc}"])
def test_a_partial_is_also_imported_with_names(clause: str, tmp_path: Path) -> None:
    (tmp_path / "_part.md").write_text("Shared.")
    text = f"import {clause} from './_part.md'\nimport {{useState}} from 'react'\n\nBefore.\n\n<Part />"
    assert cleaned(text, root=tmp_path) == "Before.\n\nShared."


def test_a_partial_shows_the_values_that_it_is_used_with(tmp_path: Path) -> None:
    (tmp_path / "_part.mdx").write_text("{props.name} from {props.version} on{props.more}, {props.count} times.")
    text = "import Part from './_part.mdx'\n\n<Part name=\"Elk\" version='2.1' count={3} more={f()} />"
    assert cleaned(text, root=tmp_path) == "Elk from 2.1 on, 3 times."


def test_constants_are_written_out_and_computed_values_left_out() -> None:
    text = (
        "import config from './config.js';\n\nexport const size = 12;\nexport const name: string = 'Elk';\n"
        "export const now = new Date();\n\n"
        "{name} has {size} rows{now}{config.rows}.\n\n{['a', 'b'].map(x => (\n  <li key={x}>{x}</li>\n))}\n\nEnd."
    )
    assert cleaned(text) == "Elk has 12 rows.\n\nEnd."


@pytest.mark.parametrize("text", ["A {set} of {a, b}.", "$\\frac{size}{size} + x_{size}$", "\\{size\\}"])
def test_braces_that_are_no_value_of_the_page_stay(text: str) -> None:
    assert cleaned(f"export const size = 12;\n\n{text}") == text


def test_a_code_block_shows_the_file_that_it_imports(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print(1)\n")
    text = "import Src from '!!raw-loader!./a.py';\n\n<CodeBlock language=\"python\">{Src}</CodeBlock>\n\nEnd."
    assert cleaned(text, root=tmp_path) == "```python\nprint(1)\n```\n\nEnd."


def test_a_partial_that_includes_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "_part.md").write_text("import P from './_part.md'\n\nAgain.\n\n<P />")
    assert cleaned("import P from './_part.md'\n\n<P />", root=tmp_path).count("Again.") <= 5


def test_included_files_and_their_anchors_are_put_in_place(tmp_path: Path) -> None:
    (tmp_path / "a.rs").write_text("use x;\n// ANCHOR: here\nfn a() {}\n// ANCHOR_END: here\nfn b() {}\n")
    text = "```rust\n{{#rustdoc_include a.rs:here}}\n```\n\n```rust\n{{#include a.rs:5}}\n```"
    assert cleaned(text, mdx=False, root=tmp_path) == "```rust\nfn a() {}\n```\n\n```rust\nfn b() {}\n```"


def test_an_include_that_is_missing_goes_with_the_fence_it_leaves_empty() -> None:
    text = (
        "A\n\n```rust\n{{#include nowhere.rs}}\n```\n\nB {{#include gone.md}}\n\n```rust\n{{#include gone.rs}}\nx\n```"
    )
    assert cleaned(text, mdx=False) == "A\n\nB \n\n```rust\nx\n```"
