"""A formula of a page keeps what it says."""

from __future__ import annotations

import pytest

from rag.ingest.formats.html_files import page_texts

FORMULAS = (
    ("<msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mfrac><mn>1</mn><mn>2</mn></mfrac>", "x^2+1/2"),
    ("<msup><mn>10</mn><mrow><mo>-</mo><mn>6</mn></mrow></msup>", "10^(-6)"),
    ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><msqrt><mi>n</mi></msqrt></mfrac>", "(a+b)/√n"),
    (
        "<msubsup><mi>σ</mi><mi>i</mi><mn>2</mn></msubsup><mo>&#8290;</mo><mroot><mi>y</mi><mn>3</mn></mroot>",
        "σ_i^2 3√y",
    ),
    ("<mtable><mtr><mtd>1</mtd><mtd>0</mtd></mtr><mtr><mtd>0</mtd><mtd>1</mtd></mtr></mtable>", "1, 0; 0, 1"),
    (
        "<munderover><mo>∑</mo><mrow><mi>k</mi><mo>=</mo><mn>0</mn></mrow><mi>n</mi></munderover><mi>k</mi>",
        "∑_(k=0)^n k",
    ),
)


@pytest.mark.parametrize(("mathml", "text"), FORMULAS)
def test_a_formula_without_its_source_is_a_line(mathml: str, text: str) -> None:
    page = f"<main><h1>T</h1><p>It is <math>\n{mathml}\n</math>.</p></main>"
    assert page_texts(page.encode())[0].body == f"# T {{#}}\n\nIt is {text}."


def test_a_formula_with_its_source_is_that() -> None:
    page = (
        r"<main><h1>T</h1><p>It is <math alttext='\frac{a}{b}'><mfrac><mi>a</mi><mi>b</mi></mfrac></math>.</p></main>"
    )
    assert page_texts(page.encode())[0].body.endswith(r"It is $\frac{a}{b}$.")
