"""A temporary place for a benchmark's conversations: a SQLite file or a PostgreSQL server."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pydantic import SecretStr

from tests.postgres import cluster, programs


@contextmanager
def temporary_place(*, postgres: bool) -> Iterator[tuple[Path, SecretStr | None]]:
    """A home folder, and the address of an empty PostgreSQL database or None for SQLite in the folder.

    Raises `SystemExit` when PostgreSQL is wanted and not installed.
    """
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        if not postgres:
            yield folder, None
            return
        if (where := programs()) is None:
            sys.exit("PostgreSQL is not on this machine (Debian: apt-get install postgresql).")
        yield folder, opened.enter_context(cluster(where)).url()
