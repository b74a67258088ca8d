"""A process that is killed at any moment loses no finished turn, doubles none, and can be gone on with."""

from __future__ import annotations

import json
import os

import pytest

from tests.fork_server import fork_server
from tests.manual import ROOT
from tests.postgres import programs


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_nothing_is_lost_or_doubled_by_a_kill_and_the_conversation_goes_on(database: str) -> None:
    if database == "postgres" and programs() is None:
        pytest.skip("PostgreSQL is not on this machine (Debian: apt-get install postgresql)")
    options = ["--kills", "8", "--turns", "10", *(["--postgres"] if database == "postgres" else [])]
    program = ROOT / "bench" / "memory_kill.py"
    with fork_server().start(*options, program=program, cwd=ROOT, env=os.environ) as process:
        out, err = process.communicate(timeout=120)
    counts = json.loads(out or err.decode())
    assert {name: counts[name] for name in ("kills", "lost", "doubled", "out_of_order", "failed")} == {
        "kills": 8,
        "lost": 0,
        "doubled": 0,
        "out_of_order": 0,
        "failed": 0,
    }
    assert counts["turns"] >= 10
    assert process.returncode == 0
