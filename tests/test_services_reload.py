"""Profiles are read again when their files change, so that LangGraph Studio need not be restarted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rag.errors import UsageError
from rag.services import open_services
from rag.settings import Settings


async def test_a_profile_that_was_edited_counts_from_the_next_turn_on(tmp_path: Path, tiny_book: Path) -> None:
    home = tmp_path / "home"
    mine = home / "profiles" / "mine.toml"
    mine.parent.mkdir(parents=True)
    text = 'extends = "default"\ndescription = "Mine."\n[retrieval]\nscore_threshold = 0.{}\n'
    mine.write_text(text.format(3))
    async with open_services(Settings(home=home), profile="mine", collection="book") as services:
        first = services.parts("mine")
        assert (first.profile.retrieval.score_threshold, services.parts("mine") is first) == (0.3, True)
        mine.write_text(text.format(7))
        os.utime(mine, ns=(1, 1))
        assert services.parts("mine").profile.retrieval.score_threshold == 0.7
        assert services.parts("default").profile.retrieval.score_threshold == 0.2
        status = mine.stat()
        mine.rename(mine.with_suffix(".old"))
        mine.write_text(text.format(5))  # another file of the same size and time
        os.utime(mine, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert services.parts("mine").profile.retrieval.score_threshold == 0.5
        mine.write_text("top_k = [")
        with pytest.raises(UsageError, match=r"mine\.toml"):
            services.parts("mine")
        mine.write_text(text.format(4))
        assert services.parts("mine").profile.retrieval.score_threshold == 0.4
