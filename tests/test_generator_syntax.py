"""The syntax of each generator becomes the text, code and links that a reader of the site sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.ingest.chunking import chunk
from rag.ingest.loaders import load_source
from rag.ingest.page import parsed
from tests.books_on_disk import loaded, pages, written


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
        ('## Hive {: #h new env="A_B" }\n\nWax {: only }.\n\n## Bee {: old}', "## Hive  {#h}\n\nWax .\n\n## Bee "),
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


def test_symbols_keys_and_bars_of_mkdocs_are_read_as_the_site_shows_them(tmp_path: Path) -> None:
    names = ("keys", "progressbar", "smartsymbols", "attr_list")
    config = "markdown_extensions: [" + ", ".join(f"pymdownx.{name}" for name in names) + "]"
    body = '++cmd+"&Uuml;"++, ++ctrl+page-up++ (c), `(c)`\n\n[=8% "Few"]{: .thin}\n\n[=5%]\n\n/// collapse-code\nx\n///'
    (document,) = load_source(written(tmp_path, {"mkdocs.yml": config, "docs/a.md": body})).documents
    assert document.text == "Cmd+Ü, Ctrl+Page Up ©, `(c)`\n\nFew\n\n5%\n\nx"


def test_mkdocs_puts_in_snippets_and_files_of_code(tmp_path: Path) -> None:
    files = {"docs_src/a.py": "# --8<-- [start:one]\nx = 1\n# --8<-- [end:one]\ny = 2\n", "secret.txt": "secret"}
    body = '--8<-- "docs_src/a.py:one"\n\n{* docs_src/a.py ln[4] *}\n\n--8<-- "../secret.txt"\n\n;--8<-- "x"'
    book = {"mkdocs.yml": "docs_dir: docs", "docs/page.md": body} | {f"docs/{n}": t for n, t in files.items()}
    folder = written(tmp_path / "site", book)
    (tmp_path / "secret.txt").write_text("secret")
    (document,) = load_source(folder).documents
    assert document.text == 'x = 1\n\n```python\ny = 2\n```\n\n--8<-- "x"'


def test_mkdocs_puts_in_a_file_that_its_configuration_names_for_snippets(tmp_path: Path) -> None:
    config = "markdown_extensions:\n  - pymdownx.snippets:\n      base_path: [snippets, legal/LICENSE.md]"
    book = {"mkdocs.yml": config, "docs/a.md": '--8<-- "LICENSE.md"', "legal/LICENSE.md": "You may."}
    (document,) = load_source(written(tmp_path, book)).documents
    assert document.text == "You may."


def test_mkdocs_puts_a_file_into_the_block_of_code_that_names_it(tmp_path: Path) -> None:
    body = 'A:\n\n```py hl_lines="1"\n{!> docs/one.py [ln:1-2] !}\n```\n\nB:\n\n```py\n{! docs/gone.py !}\n```\n\n# C'
    book = {"mkdocs.yml": "site_name: a", "docs/page.md": body, "docs/one.py": "x = 1\ny = 2\nz = 3\n"}
    (document,) = load_source(written(tmp_path, book)).documents
    assert document.text == "A:\n\n```py\nx = 1\ny = 2\n```\n\nB:\n\n# C"


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


@pytest.mark.parametrize("marker", [".git/config", "pyproject.toml", ""])
def test_mkdocs_reads_examples_above_its_configuration_only_in_the_repository_of_the_source(
    marker: str, tmp_path: Path
) -> None:
    body = "{* ../../docs_src/a.py *}\n\n{* ../../../docs_src/b.py *}\n\n{* ../../secret.py *}\n\nSome words."
    book = {"repo/docs/en/mkdocs.yml": "site_name: a", "repo/docs/en/docs/page.md": body}
    examples = {"repo/docs_src/a.py": "x = 1", "docs_src/b.py": "secret", "repo/secret.py": "secret"}
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


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{% highlight ruby linenos %}\nputs 1\n{% endhighlight %}", "```ruby\nputs 1\n```"),
        ("{% raw %}{{ x }}{% endraw %} {{ page.title }} {{ x | y }}", "{{ x }} T "),
        ("A `{{ \"{{\" }} b }}` {{ '{%' }} c %}", "A `{{ b }}` {% c %}"),
        ("On ${{ matrix.os }} for ${{ page.title }}", "On ${{ matrix.os }} for $T"),
        ("A {% for x in y %}{{ x }}{% endfor %}{% if z %}B{% endif %}", "A B"),
        ("{% if page.title %}A{% if x %}B{% else %}C{% endif %}{% else %}D{% endif %}E", "ABCE"),
        ('{% if page.n < 9 %}A{% elsif page.title == "T" %}B{% elsif x %}C{% else %}D{% endif %}', "B"),
        ("{% unless page.n == 10 %}A{% if x %}B{% endif %}{% elsif x %}C{% else %}D{% endunless %}E", "CDE"),
        (
            "{% raw %}{% if page.n %}{% else %}{% endraw %} {% if page.no == 1 %}A{% else %}B{% endif %}",
            "{% if page.n %}{% else %} AB",
        ),
        ("A {% unless page.n %}B", "A B"),
        ("* toc\n{:toc}\n\nA\n{: .note}", "A"),
        ('{% include note.html content="Read this." %}', "Read this."),
        ('{% include note.html title="Mind" content="Read this." %}', "Mind:\n\nRead this."),
        ("A\n\n{::comment}\nno\n\nno\n{:/comment}\n\nB {::comment}no{:/} C", "A\n\nB  C"),
    ],
)
def test_jekyll(body: str, expected: str, tmp_path: Path) -> None:
    assert text(tmp_path, "jekyll", f"---\ntitle: T\nn: 10\n---\n{body}").strip() == expected.strip()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (".. note::\n\n   Inner.\n\n.. unknown:: x\n\n   Kept.", "Note:\n\nInner.\n\n`x`\n\nKept."),
        (".. code-block:: python\n   :linenos:\n\n   x = 1", "```python\nx = 1\n```"),
        (
            '.. click:example::\n\n   @click.command()\n   def frob(w):\n       echo(f"{w}")\n\n   # two *x*',
            '```\n@click.command()\ndef frob(w):\n    echo(f"{w}")\n\n# two *x*\n```',
        ),
        (".. exec_code:: python\n\n   if x:\n       y()", "```python\nif x:\n    y()\n```"),
        (
            ".. box::\n\n   term\n      Means (this).\n\n   Call it:\n\n   x",
            "- **term**: Means (this).\n\nCall it:\n\nx",
        ),
        (
            ".. http:get:: /a\n\n   Gives *all*; see `b`.\n\n   :query n: how many",
            "`/a`\n\nGives *all*; see b.\n\n- query n: how many",
        ),
        (":class:`~a.b.C`, :strange:`text`, :func:`f`, ``x*y`` and \\*", "`C`, text, `f()`, `x*y` and *"),
        (
            ":file:`~/.config/a/b.conf`, :samp:`cp <a> {b}`, :command:`!!`, :py:class:`~a.b.C`, :confval:`http/port`",
            "`~/.config/a/b.conf`, `cp <a> {b}`, `!!`, `C`, `http/port`",
        ),
        ('.. digraph:: x\n\n   "A\\nb" -> C\n\n.. graphviz::\n   :caption: An *x*\n\n   digraph { a -> b }', "An *x*"),
        (".. blockdiag::\n   :alt: A to b\n\n   blockdiag { A -> B; }\n\nB", "Image: A to b\n\nB"),
        (".. versionadded:: 2.0 New.", "Added in version 2.0: New."),
        ("A [#n]_.\n\n.. [#n] Note.", "A  (Note.)."),
        ("term\n   Means this.", "- **term**: Means this."),
        (".. raw:: html\n\n   <script></script>\n\n.. include:: /etc/passwd\n\nB", "B"),
        (".. csv-table::\n   :file: /etc/passwd\n\nB", "B"),
        ("|sub| x\n\n.. |sub| replace:: *words*", "*words* x"),
    ],
)
def test_sphinx(body: str, expected: str, tmp_path: Path) -> None:
    assert text(tmp_path, "sphinx", body, suffix=".rst") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("```{note} Title\n:class: x\n\nInner.\n```", "Title:\n\nInner."),
        (":::{unknown}\nKept.\n:::", "Kept."),
        ("```{click:example}\ndef f(w):\n    g(w)\n```", "```\ndef f(w):\n    g(w)\n```"),
        ("```{doctest-x}\n>>> if a:\n...     b()\n```", "```\n>>> if a:\n...     b()\n```"),
        ("```{code-block} python\n:linenos:\nx = 1\n```", "```python\nx = 1\n```"),
        ("{class}`~a.C` and {term}`word`\n\n% gone", "`C` and word"),
        ("````{tab-set}\n```{tab-item} One\nA\n```\n````", "One:\n\nA"),
        ("```{eval-rst}\n.. note:: Inner.\n```", "Note:\n\nInner."),
        ("```{toctree}\nother\n```\n\nB", "B"),
    ],
)
def test_myst(body: str, expected: str, tmp_path: Path) -> None:
    assert text(tmp_path, "sphinx", body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("See [the *other*](other.md#x).", "See [the *other*](https://x.org/other#x)."),
        (
            "See [this][o] and [o].\n\n[o]: other.md 'T'",
            "See [this](https://x.org/other) and [o](https://x.org/other).",
        ),
        ("![A robot](a.png) and [![](b.png)](https://b.org)", "A robot and"),
        ("A[^1] b.\n\n[^1]: The note.", "A (The note.) b."),
        ("A[^1] b.\n\n[^1]: One.\n\n    Two!\n\nB\n\n    c!", "A b.\n\nOne.\n\nTwo!\n\nB\n\n    c!"),
        (
            "[here](#part) [w](https://a.org/x) `[c](other.md)`",
            "[here](https://x.org/page#part) [w](https://a.org/x) `[c](other.md)`",
        ),
    ],
)
def test_links_lead_to_the_addresses_of_the_book(body: str, expected: str, tmp_path: Path) -> None:
    assert text(tmp_path, "plain", body, {"other.md": "# Other"}).strip() == expected


def test_a_description_is_the_first_paragraph_unless_the_page_says_it(tmp_path: Path) -> None:
    found = pages(
        tmp_path,
        {
            "a.md": "---\ndescription: A node is a process.\n---\n# A\n\nText.",
            "b.md": "---\ndescription: A node is a process.\n---\n# B\n\nA node is a *process*. More.",
        },
    )
    assert found["a.md"].text == "# A\n\nA node is a process.\n\nText."
    assert found["b.md"].text == "# B\n\nA node is a *process*. More."


def test_a_paragraph_of_marks_is_refused_before_docutils_takes_hours(tmp_path: Path) -> None:
    result = loaded(tmp_path, {"a.rst": "`a " * 100_000, "b.rst": "B"})
    assert [document.path for document in result.documents] == ["b.rst"]
    assert "marks of reStructuredText in one paragraph; split it" in result.failures[0].reason


def test_links_of_myst_name_labels_and_pages_anywhere_in_the_book(tmp_path: Path) -> None:
    body = (
        "# B\n\nSee [how](labels/limit), [](#labels/limit), [](a.md), <project:a.md>, [own](#here) "
        "and [out](https://o.org).\n\n(here)=\n## There\n\n"
        "As [](#own-anchor), [](c.md#its_anchor) and [](https://p.org) say."
    )
    book = {
        "conf.py": "extensions = ['myst_parser']",
        "a.md": "# A\n\n(labels/limit)=\n## The limit\n\nIs 3.",
        "b.md": body,
    }
    text = pages(tmp_path, book, base_url="https://s.org")["b.md"].text
    limit = "https://s.org/a.html#labels-limit"
    assert f"See [how]({limit}), [The limit]({limit}), [A](https://s.org/a.html), [A](https://s.org/a.html)" in text
    assert "[own](https://s.org/b.html#here) and [out](https://o.org)." in text
    assert "As [own anchor](https://s.org/b.html#own-anchor), [its anchor](" in text
    assert "and <https://p.org> say." in text


def test_a_folder_of_sphinx_is_called_as_its_start_page_or_the_caption_of_its_list(tmp_path: Path) -> None:
    index = (
        "Book\n====\n\n.. toctree::\n   :caption: Bundled *extensions*\n\n   ext/file\n   HTTP <ext/http>\n\n"
        ".. toctree::\n\n   api/index\n   mixed/one\n\nText.\n\n.. toctree::\n   :caption: More\n\n   mixed/two\n"
    )
    book = {"conf.py": "project = 'x'", "index.rst": index, "api/index.rst": "API reference\n=============\n"}
    book |= {"api/core.rst": "core --- Core API\n=================\n\nOne --- two, ``a --- b``, a--b."}
    book |= {f"{name}.rst": "Title\n=====\n" for name in ("ext/file", "ext/http", "mixed/one", "mixed/two")}
    found = pages(tmp_path, book)
    above = {path: page.breadcrumb for path, page in found.items()}
    assert above["ext/http.rst"] == ("Bundled extensions",)
    assert above["api/core.rst"] == ("API reference",)
    assert above["mixed/one.rst"] == ("Mixed",)
    assert found["api/core.rst"].title == "core — Core API"
    assert found["api/core.rst"].text.endswith("One — two, `a --- b`, a--b.")


def test_a_directive_of_sphinx_that_only_marks_a_place_is_not_shown(tmp_path: Path) -> None:
    body = "A\n=\n\n.. setting:: LIMIT\n\nWords.\n\n.. option:: --all\n\n.. py:function:: f(x)\n\n.. click:: a:b\n\n"
    body += ".. towncrier-draft-entries::\n\n   main\n"
    assert text(tmp_path, "sphinx", body, suffix=".rst") == "# A {#a}\n\nWords.\n\n`--all`\n\n`f(x)`"


@pytest.mark.parametrize("role", ["any", "py:obj"])
def test_text_between_backticks_has_the_default_role(role: str, tmp_path: Path) -> None:
    body = ":orphan:\n\nA\n=\n\nOn `another page <b>`, in `b`, `Limit`, `attr.s`, `~attrs.define`.\n\n"
    book = {
        "conf.py": f"extensions = []\ndefault_role = '{role}'",
        "a.rst": body,
        "b.rst": "Title\n=====\n\n.. _limit:\n\nKept\n----\n\n3",
    }
    shown = pages(tmp_path, book, base_url="https://s.org")["a.rst"].text
    b = "https://s.org/b.html"
    named = (
        f"[another page]({b}), in [Title]({b}), [Kept]({b}#limit)"
        if role == "any"
        else "`another page`, in `b`, `Limit`"
    )
    assert shown == f"# A {{#a}}\n\nOn {named}, `attr.s`, `define`."


def test_a_numbered_id_is_not_given_on_a_page_with_docstrings(tmp_path: Path) -> None:
    body = "A\n=\n\nB\n-\n\nOne.\n\n{}B\n-\n\nTwo.\n"
    plain = text(tmp_path / "one", "sphinx", body.format(""), suffix=".rst")
    assert "## B {#id1}" in plain
    assert "## B {#}" in text(tmp_path / "two", "sphinx", body.format(".. autoclass:: a.B\n\n"), suffix=".rst")


def test_sphinx_reads_the_kinds_of_files_that_its_configuration_names(tmp_path: Path) -> None:
    book = {
        "docs/conf.py": "source_suffix = {'.txt': 'restructuredtext'}\nextensions = []",
        "docs/a.txt": "A *b*\n=====\n\n``c``",
    }
    book |= {"docs/notes.md": "# No page", "docs/b.rst": "No page"}
    result = load_source(written(tmp_path, book) / "docs", base_url="https://s.org")
    (document,) = result.documents
    assert (document.url, document.title, document.text) == ("https://s.org/a.html", "A b", "# A *b* {#a-b}\n\n`c`")
    assert result.passed_over == {".md": 1, ".rst": 1, ".py": 1}


@pytest.mark.parametrize("suffix", [".md", ".rst"])
def test_roles_of_extlinks_are_links_with_their_words(suffix: str, tmp_path: Path) -> None:
    links = "{'pr': ('https://p.org/%s', 'PR %s'), 'at': ('https://a.org/%s', None)}"
    conf = f"extensions = ['myst_parser']\nextlinks = {links}"
    roles = [("pr", "7"), ("pr", "words <8>"), ("at", "x")]
    form = ":{}:`{}`" if suffix == ".rst" else "{{{}}}`{}`"
    body = " ".join(form.format(*role) for role in roles)
    folder = written(tmp_path, {"conf.py": conf, f"a{suffix}": f"Fixed {body}."})
    (document,) = load_source(folder).documents
    assert document.text.startswith("Fixed [PR 7](https://p.org/7) [words](https://p.org/8) ")
    assert "https://a.org/x" in document.text
    assert "`" not in document.text


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("a.rst", "Fixed in :issue:`12`."),
        ("a.md", "Fixed in [#12](https://i.org/12)."),
        ("a.md", r"Fixed in [\#12](https://i.org/12)."),
        ("a.html", "<body><p>Fixed in <a href='https://i.org/12'>#12</a>.</p></body>"),
    ],
)
def test_the_number_of_an_issue_has_no_backslash(name: str, body: str, tmp_path: Path) -> None:
    conf = "project = 'x'\nextlinks = {'issue': ('https://i.org/%s', '#%s')}"
    book = {name: body} | ({"conf.py": conf} if name == "a.rst" else {})
    (document,) = load_source(written(tmp_path, book)).documents
    assert document.text == "Fixed in [#12](https://i.org/12)."


@pytest.mark.parametrize(
    ("written_so", "read_so"),
    [
        (r"Configure the \[options\] section, see (\#918).", "Configure the [options] section, see (#918)."),
        (r"Set my\_option of 2 \* 3.", "Set my_option of 2 * 3."),
        (r"Not \*emphasis\*, not `\[code\]`.", None),
        (r"No \[link\](a.md).", r"No \[link](a.md)."),
        (r"# Title \{\#id\}", None),
        (r"\# No heading", None),
        (r"A mark \[1\], a box \[ \], a formula $\[x\]$ and \(x\_i\).", None),
        (r"\[ E = x\_i \]", None),
        (r"A backslash: \\[x].", None),
    ],
)
def test_markdown_keeps_only_the_backslashes_that_it_needs(
    written_so: str, read_so: str | None, tmp_path: Path
) -> None:
    (document,) = load_source(written(tmp_path, {"a.md": written_so})).documents
    assert document.text == (read_so or written_so)


def test_doctests_and_notes_of_myst_are_read_as_the_site_shows_them(tmp_path: Path) -> None:
    body = "```{doctest} group\n>>> f()\n<F at 1>\n```\n\n:::{versionadded} 2.0 Take a `dict`.\n:::\n"
    expected = "```python\n>>> f()\n<F at 1>\n```\n\nAdded in version 2.0: Take a `dict`."
    assert text(tmp_path, "sphinx", body) == expected


def test_myst_includes_only_the_lines_that_its_options_name(tmp_path: Path) -> None:
    body = "```{include} part.inc\n:start-after: 'begin -->'\n:end-before: \"<!-- end\"\n```\n"
    files = {"part.inc": "# Head\n<!-- begin -->\nInner.\n<!-- end -->\nFoot."}
    assert text(tmp_path, "sphinx", body, files) == "Inner."


def test_a_shortcode_or_a_tag_in_restructuredtext_is_no_sign_of_a_generator(tmp_path: Path) -> None:
    book = {"a.rst": "A\n=\n\nWrite ``{{% raw %}}`` and {% include x %}.", "b.md": "# B"}
    assert load_source(written(tmp_path, book)).generator == "plain"


NOTEBOOK = """{"nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"name": "python"}}, "cells": [
{"id": "a", "cell_type": "markdown", "metadata": {}, "source": "# The Title\\n\\n## Load the Data"},
{"id": "b", "cell_type": "code", "metadata": {}, "source": "x = 1", "outputs": [], "execution_count": null}]}"""


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"mkdocs.yml": "plugins: [mkdocs-jupyter]"}, "https://s.org/a/#Load-the-Data"),
        ({"docs/conf.py": "extensions = ['myst_nb']"}, "https://s.org/a.html#load-the-data"),
        ({"docs/conf.py": "extensions = ['nbsphinx']"}, "https://s.org/a.html#Load-the-Data"),
        ({"mkdocs.yml": "plugins: [search]"}, None),
    ],
)
def test_notebooks_are_pages_where_the_site_has_a_plugin_for_them(
    config: dict[str, str], expected: str | None, tmp_path: Path
) -> None:
    folder = written(
        tmp_path, {"docs/a.ipynb": NOTEBOOK, "docs/index.md": "Words.", "docs/index.rst": "Words."} | config
    )
    found = {d.path: d for d in load_source(folder, base_url="https://s.org").documents}
    if expected is None:
        assert "docs/a.ipynb" not in found
        return
    document = found["docs/a.ipynb"]
    (only,) = chunk(document, count_tokens=len, max_tokens=400)
    assert (document.title, f"{only.url}#{only.anchor}", only.text) == ("The Title", expected, "```python\nx = 1\n```")


@pytest.mark.parametrize(
    ("file", "body"),
    [
        ("a.md", "One.\n\n![A red\nbar](a.png)\n\nAn ![icon](b.png) here.\n"),
        ("a.md", "One.\n\n<img src='a.png' alt='A red bar'/>\n\nAn <img src='b.png' alt='icon'/> here.\n"),
        (
            "a.rst",
            "One.\n\n.. image:: a.png\n   :alt: A red bar\n\nAn |i| here.\n\n.. |i| image:: b.png\n   :alt: icon\n",
        ),
        (
            "a.html",
            "<main><p>One.</p><p><img src='a.png' alt='A red bar'></p>"
            "<p>An <img src='b.png' alt='icon'> here.</p></main>",
        ),
    ],
)
def test_the_description_of_an_image_that_stands_alone_is_marked(file: str, body: str, tmp_path: Path) -> None:
    assert pages(tmp_path, {file: body})[file].text == "One.\n\nImage: A red bar\n\nAn icon here."
