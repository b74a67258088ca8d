"""A MkDocs site: addresses of its blog, appended and hidden snippets, marks of its extensions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.books_on_disk import addresses, pages

POST = "---\ndate: 2024-05-02\n---\n\n# Hatch v1.10.0\n\nWords.\n"


@pytest.mark.parametrize(
    ("options", "path", "text", "expected"),
    [
        ("", "blog/posts/one.md", POST, "/blog/2024/05/02/hatch-v1100/"),
        ("", "blog/posts/2024/one.md", POST.replace("date:", "slug: short\ndate:"), "/blog/2024/05/02/short/"),
        ("", "blog/posts/one.md", POST.replace("date: ", "date:\n  created: "), "/blog/2024/05/02/hatch-v1100/"),
        ("", "blog/index.md", "# Blog\n\nWords.", "/blog/"),
    ],
)
def test_a_post_of_the_blog_has_the_address_that_the_plugin_makes(
    options: str, path: str, text: str, expected: str, tmp_path: Path
) -> None:
    config = f"site_name: x\nplugins:\n  - blog: {options or '{}'}\n"
    files = {"mkdocs.yml": config, f"docs/{path}": text}
    assert addresses(tmp_path, files) == {f"docs/{path}": expected}


SNIPPETS = """
site_name: x
markdown_extensions:
  - pymdownx.snippets:
      base_path: [FOLDER]
      auto_append: [links.txt, abbreviations.txt]
"""


def test_raised_and_lowered_letters_have_no_marks(tmp_path: Path) -> None:
    files = {
        "mkdocs.yml": "site_name: x\nmarkdown_extensions: [pymdownx.caret, pymdownx.tilde, pymdownx.inlinehilite]\n",
        "docs/index.md": "Rules with ^P^ and H~2~O; 2^3 and 4^5, ~/one and ~/two, ~~gone~~, `a^b^c`.\n"
        "10^6^, A^T^A, x^2+y^2, 1^st^ and `:::js var x`.\n",
    }
    expected = "Rules with P and H2O; 2^3 and 4^5, ~/one and ~/two, ~~gone~~, `a^b^c`.\n"
    expected += "10^6, A^TA, x^2+y^2, 1st and `var x`."
    assert pages(tmp_path, files)["docs/index.md"].text == expected


def test_a_title_of_the_menu_that_names_no_page_gives_way_to_that_of_the_page(tmp_path: Path) -> None:
    nav = "nav:\n  - home: index.md\n  - Rules:\n    - index: rules/index.md\n    - Arms: rules/arms.md\n"
    files = {"index.md": "# Pumps\n\nA.", "rules/index.md": "# All rules\n\nB.", "rules/arms.md": "# Of arms\n\nC."}
    found = pages(tmp_path, {"mkdocs.yml": f"site_name: x\n{nav}", **{f"docs/{p}": t for p, t in files.items()}})
    assert {path: page.title for path, page in found.items()} == {
        "docs/index.md": "Pumps",
        "docs/rules/index.md": "All rules",
        "docs/rules/arms.md": "Arms",
    }


INCLUDED = {
    "README.md": "# Bees\n\n<!-- begin -->\nThey fly.\n<!-- end -->\n\nMore.\n",
    "docs/parts/a.yml": "bees: 9\n",
    "docs/parts/b.md": 'They dance.\n\n{% include "./c.md" %}\n',
    "docs/parts/c.md": "In circles.",
}


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ('{%\n  include-markdown "../README.md"\n  start="<!-- begin -->"\n  end="<!-- end -->"\n%}', "They fly."),
        ('```yaml\n{% include "parts/a.yml" %}\n```', "```yaml\nbees: 9\n```"),
        ('{% include-markdown "parts/b.md" %}', "They dance.\n\nIn circles."),
        ('!!! note "So"\n    {% include "parts/c.md" %}', "So:\nIn circles."),
        ('{% include "parts/none.md" %}', ""),
    ],
)
def test_a_page_holds_what_the_plugin_include_markdown_puts_in(tag: str, expected: str, tmp_path: Path) -> None:
    page = {"docs/x.md": f"# X\n\n{tag}\n\nEnd.\n"}
    config = "site_name: x\nplugins: [include-markdown]\n"
    body = pages(tmp_path, {"mkdocs.yml": config, **INCLUDED, **page})["docs/x.md"].text
    assert body.removeprefix("# X\n\n").removesuffix("End.").strip() == expected
