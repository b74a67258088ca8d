"""A formula of a page is its TeX source, or the row of its signs."""

from __future__ import annotations

import pytest

from rag.ingest.formats.html_files import page_texts

FRACTION = "<mfrac><mi>a</mi><mi>b</mi></mfrac>"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (rf"<math alttext='\frac{{a}}{{b}}'>{FRACTION}</math>", r"$\frac{a}{b}$"),
        (
            rf"<math>{FRACTION}<annotation encoding='application/x-tex'>\frac{{a}}{{b}}</annotation></math>",
            r"$\frac{a}{b}$",
        ),
        ("<math><msup><mn>10</mn><mrow><mo>-</mo><mn>6</mn></mrow></msup></math>", "10 - 6"),
    ],
)
def test_a_formula_is_its_source_or_else_the_row_of_its_signs(formula: str, text: str) -> None:
    page = f"<main><h1>T</h1><p>It is {formula}.</p></main>"
    assert page_texts(page.encode())[0].body == f"# T {{#}}\n\nIt is {text}."
