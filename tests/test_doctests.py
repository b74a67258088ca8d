"""The examples in the docstrings of the product are true."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from tests.package import ROOT

FILES = [
    ROOT / "state.py",
    *(file for room in ("rag", "graph", "nodes", "cli") for file in (ROOT / room).rglob("*.py")),
]


def _name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("name", sorted(_name(file) for file in FILES if ">>> " in file.read_text(encoding="utf-8")))
def test_the_examples_of_a_module_give_what_they_say(name: str) -> None:
    ran = doctest.testmod(import_module(name.removesuffix(".__init__")))
    assert (ran.failed, ran.attempted > 0) == (0, True)
