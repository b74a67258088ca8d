"""An ingestion that is killed leaves the old book or the new one, and the next run ends as a clean one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ingest_kill import trial


@pytest.mark.parametrize("moment", [0.0, 0.1, 0.3, 0.5, 0.8])
async def test_an_ingestion_that_is_killed_ends_as_a_clean_one_when_it_is_run_again(
    tmp_path: Path, moment: float
) -> None:
    step, is_good = await trial(tmp_path, moment)
    assert is_good, f"killed in the step {step}"
