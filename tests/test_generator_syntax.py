"""The syntax of each generator becomes the text, code and links that a reader of the site sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.ingest.chunking import chunk
from rag.ingest.loaders import load_source
from rag.ingest.page import parsed
from tests.books_on_disk import pages, written


def text(folder: Path, generator: str, body: str, files: dict[str, str] | None = None, suffix: str = ".md") -> str:
    """A page as plain Markdown. mdBook's table of contents names it."""
    book = {f"page{suffix}": body, "SUMMARY.md": "- [Page](page.md)"} | (files or {})
    return pages(folder, book, generator=generator)[f"page{suffix}"].text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            '!!! note "Read `this`"\n\n    Inner.\n\n    ```py\n    x = 1\n    ```\n\nB',
            "Read `this`:\nInner.\n\n```py\nx = 1\n```\n\nB",
        ),
        ("??? tip\n    Inner.\n\n    !!! warning\n        Deep.", "Tip:\nInner.\n\nWarning:\nDeep."),
        ('!!! note ""\n    Inner.', "Inner."),
        ("!!!tip\n    Inner.", "Tip:\nInner."),
        ('=== "One"\n\n    - a\n\n=== "Two"\n\n    B', "One:\n\n- a\n\nTwo:\nB"),
        ("/// note | Title\nInner.\n///\n\nB", "Title:\n\nInner.\n\nB"),
        ("[x](https://a.org){ .md-button } :material-check:{ .x } y{: #z }", "[x](https://a.org) y"),
        (
            r"$\sum_{k=0}^{n} x_{i=1}$, \(y_{i=1}\), set {a=b} [x](https://a.org){a=b} and {.c}."
            "\n\n\\[\nz_{i=1}\n\\]",
            r"$\sum_{k=0}^{n} x_{i=1}$, \(y_{i=1}\), set {a=b} [x](https://a.org) and {.c}." "\n\n\\[\nz_{i=1}\n\\]",
        ),
        ("- item {.c}\n\nA\n{.c}", "- item \n\nA"),
        ('## Hive {: #h new env="A_B" }\n\nWax {: only }.\n\n## Bee {: old}', "## Hive {#h}\n\nWax .\n\n## Bee "),
        ("```md\n!!! note\n    no\n{: #x }\n```", "```md\n!!! note\n    no\n{: #x }\n```"),
        ('```py hl_lines="1 3" linenums="1" title="a.py"\nx\n```', '```py title="a.py"\nx\n```'),
        ("``` { .py .annotate }\nx\n```", "```py\nx\n```"),
        (
            '<div class="termy">\n\n```console\n$ a\n<b>bold</b> <font color="#A5">c</font> <file>\n```\n\n</div>',
            "```console\n$ a\nbold c <file>\n```",
        ),
        ("A\n\n```python exec=\"1\"\nprint('x')\n```\n\nB", "A\n\nB"),
        ('```python exec="1" source="above"\nprint()\n```', "```python\nprint()\n```"),
        ("[](){#format-3.x}\n\nB", "B"),
        ('<a href="https://a.org">\nwords without an end', "words without an end"),
        ("Vec<T> and <angle> stay", "Vec<T> and <angle> stay"),
    ],
)
def test_mkdocs(body: str, expected: str, tmp_path: Path) -> None:
    assert text(tmp_path, "mkdocs", body) == expected


def test_mkdocs_puts_in_snippets_and_files_of_code(tmp_path: Path) -> None:
    files = {"docs_src/a.py": "# --8<-- [start:one]\nx = 1\n# --8<-- [end:one]\ny = 2\n", "secret.txt": "secret"}
    body = '--8<-- "docs_src/a.py:one"\n\n{* docs_src/a.py ln[4] *}\n\n--8<-- "../secret.txt"\n\n;--8<-- "x"'
    book = {"mkdocs.yml": "docs_dir: docs", "docs/page.md": body} | {f"docs/{n}": t for n, t in files.items()}
    folder = written(tmp_path / "site", book)
    (tmp_path / "secret.txt").write_text("secret")
    (document,) = load_source(folder).documents
    assert document.text == 'x = 1\n\n```python\ny = 2\n```\n\n--8<-- "x"'


def test_loops_of_a_page_that_is_a_template_are_removed_with_what_they_repeat(tmp_path: Path) -> None:
    loop = "{% for one in people %}\n* {{ one.name }} by {{ one.x }}\n{% endfor %}"
    raw = "{% raw %}Write {{ x }}, {% y %}.{% endraw %} `{% raw %}{{ z }}{% endraw %}`"
    fence = "```yaml\n{% raw %}\non: ${{ b }}\n{% endraw %}\n```"
    body = f"A\n\n{{% if people %}}\nShown.\n{loop}\n{{% endif %}}\n\n{raw}\n\n{fence}"
    book = {"mkdocs.yml": "plugins: [markdownextradata]", "docs/page.md": body}
    assert load_source(written(tmp_path, book)).documents[0].text == (
        "A\n\nShown.\n\nWrite {{ x }}, {% y %}. `{{ z }}`\n\n```yaml\non: ${{ b }}\n```"
    )


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [("[mkdocstrings]", "The class `A`: b, c.D and [e](https://e.org)."), ("[search]", None)],
)
def test_references_to_objects_are_text_where_a_plugin_resolves_them(
    plugins: str, expected: str | None, tmp_path: Path
) -> None:
    body = "The class [`A`][a.A]: [b][], [][c.D] and [e][]."
    book = {"mkdocs.yml": f"plugins: {plugins}", "docs/page.md": f"{body}\n\n[e]: https://e.org\n"}
    (document,) = load_source(written(tmp_path, book)).documents
    assert document.text == (expected or body.replace("[e][]", "[e](https://e.org)"))


def test_zensical_is_configured_in_toml(tmp_path: Path) -> None:
    config = (
        '[project]\ndocs_dir = "pages"\nuse_directory_urls = false\nnav = [{ "One" = [{ "First" = "a.md" }] }]\n'
        "[project.markdown_extensions.pymdownx.keys]\n[project.plugins.mkdocstrings]\n"
    )
    book = {"zensical.toml": config, "pages/a.md": "Press ++ctrl+c++ for [x][y].", "README.md": "no page"}
    result = load_source(written(tmp_path, book), base_url="https://a.org")
    (document,) = result.documents
    assert (result.generator, document.url, document.title) == ("mkdocs", "https://a.org/a.html", "First")
    assert (document.breadcrumb, document.text) == (("One",), "Press Ctrl+C for x.")


def test_a_heading_of_mkdocs_that_is_an_image_has_no_word_in_its_anchor(tmp_path: Path) -> None:
    book = {"mkdocs.yml": "a: b", "docs/index.md": "# ![Logo](a.png)\n\nWords.\n\n## A ![i](b.png)\n\nMore."}
    (document,) = load_source(written(tmp_path, book), base_url="https://a.org").documents
    first, second = chunk(document, count_tokens=len, max_tokens=400)
    assert (document.title, first.heading, second.anchor, second.heading) == ("Logo", "", "a", "A i")
    assert {block.anchor for block in parsed(document).blocks if block.level == 1} == {"_1"}


@pytest.mark.parametrize("marker", [".git/config", ""])
def test_files_above_the_configuration_are_included_only_in_the_repository_of_the_source(
    marker: str, tmp_path: Path
) -> None:
    body = "{* ../../docs_src/a.py *}\n\n{* ../../../docs_src/b.py *}\n\n{* ../../.env *}\n\nSome words."
    book = {"repo/docs/en/mkdocs.yml": "site_name: a", "repo/docs/en/docs/page.md": body}
    examples = {"repo/docs_src/a.py": "x = 1", "docs_src/b.py": "secret", "repo/.env": "secret"}
    folder = written(tmp_path / "disk", book | examples)
    if marker:
        written(folder / "repo", {marker: ""})
    (document,) = load_source(folder / "repo" / "docs" / "en").documents
    assert document.text == ("```python\nx = 1\n```\n\nSome words." if marker else "Some words.")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('A {{< ref "other.md#x" >}} {{% unknown %}}*b*{{% /unknown %}}', "A other.md#x *b*"),
        ("{{< note >}}Inner.{{< /note >}}", "Note:\n\nInner."),
        ('{{< tab "Go" >}}\n```go\nx\n```\n{{< /tab >}}', "Go:\n\n```go\nx\n```"),
        ("{{< highlight go >}}\nx := 1\n{{< /highlight >}}", "```go\nx := 1\n```"),
        ('{{< figure src="a.png" caption="A robot" >}}', "A robot"),
        ("`{{</* kept */>}}`", "`{{< kept >}}`"),
        ("> [!NOTE]\n> Read this.", "> Note:\n> Read this."),
        ('{{% include "_common/part.md" %}}', "Common *words*."),
    ],
)
def test_hugo(body: str, expected: str, tmp_path: Path) -> None:
    files = {"_common/part.md": "---\nheadless: true\n---\nCommon *words*."}
    assert text(tmp_path, "hugo", body, files) == expected


NOTEBOOK = """{"nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"name": "python"}}, "cells": [
{"id": "a", "cell_type": "markdown", "metadata": {}, "source": "# The Title\\n\\n## Load the Data"},
{"id": "b", "cell_type": "code", "metadata": {}, "source": "x = 1", "outputs": [], "execution_count": null}]}"""
