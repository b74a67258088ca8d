"""reStructuredText is read through the HTML of docutils, and Sphinx's directives and roles keep their text."""

from __future__ import annotations

import pytest

from rag.ingest.formats.rst_files import MARKS, rst_texts


def body(text: str) -> str:
    return rst_texts(f"T\n=\n\n{text}\n".encode())[0].body.removeprefix("# T {#t}\n\n")


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("Use :code:`go`, ``*lit*``, :func:`~a.b.c`, :ref:`the x <y>` and :math:`a_b`.",
         "Use `go`, `*lit*`, `c`, the x and $a_b$."),
        (".. code-block:: sh\n   :linenos:\n\n   ls -l", "```sh\nls -l\n```"),
        (">>> 1 + 1\n2", "```python\n>>> 1 + 1\n2\n```"),
        (".. math::\n\n   a_b = c", "```math\na_b = c\n```"),
        (".. note:: Mind the gap.", "Note\n\nMind the gap."),
        (".. versionadded:: 2.0\n   More *words*.", "Added in version 2.0 More *words*."),
        (".. py:function:: f(a)\n   :module: m\n\n   Does.\n\n   :param a: first",
         "`f(a)`\n\nDoes.\n\n- **param a:** first"),
        (".. tab:: Linux\n\n   Run.", "`Linux`\n\nRun."),
        (".. toctree::\n   :maxdepth: 2\n\n   a\n\nWords.", "Words."),
        (".. include:: /etc/hostname\n\nWords.", "Words."),
        (".. raw:: html\n\n   <b>x</b>\n\nWords.", "Words."),
        (".. image:: x.png\n   :alt: A heron\n\nWords.", "Image: A heron\n\nWords."),
        ("One [1]_.\n\n.. [1] The note.", "One.\n\nThe note."),
        ("term\n  Means.", "- **term**: Means."),
        ("=  =\na  b\n=  =\n1  2\n=  =", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("Sub\n---\n\nA `link <b.html>`_.", "## Sub {#sub}\n\nA [link](b.html)."),
    ],
)  # fmt: skip
def test_a_page_becomes_the_markdown_of_what_it_shows(text: str, markdown: str) -> None:
    assert body(text) == markdown.replace("Note\n", "Note:\n")


def test_fields_at_the_head_are_left_out() -> None:
    assert rst_texts(b":orphan:\n\nT\n=\n\nWords.\n")[0].body == "# T {#t}\n\nWords."


def test_a_paragraph_with_marks_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match=f"more than {MARKS:,} marks"):
        body("`a " * (MARKS + 1))
