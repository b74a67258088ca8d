"""Where a benchmark keeps its conversations: a file in a folder that is thrown away, or a server of its own."""

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
    """A home folder, and the address of an empty database or None for SQLite in the folder. Ends the program where
    PostgreSQL is wanted and not there.
    """
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        if not postgres:
            yield folder, None
            return
        if (where := programs()) is None:
            sys.exit("PostgreSQL is not on this machine (Debian: apt-get install postgresql).")
        yield folder, opened.enter_context(cluster(where)).url()
