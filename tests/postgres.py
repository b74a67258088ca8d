"""A PostgreSQL server of the tests' own: a cluster in a folder that is thrown away, on a free port of 127.0.0.1."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
from pydantic import SecretStr

from tests.wire import free_port

PASSWORD: Final = "canary-password"
DEBIAN: Final = "/usr/lib/postgresql"


@dataclass(frozen=True)
class Cluster:
    """A running server. `stop` and `start` make it vanish and come back."""

    folder: Path
    programs: Path
    port: int

    def url(self, database: str = "postgres") -> SecretStr:
        return SecretStr(f"postgresql://askbook:{PASSWORD}@127.0.0.1:{self.port}/{database}")

    def new_database(self, name: str) -> SecretStr:
        """The address of an empty database."""
        with psycopg.connect(self.url().get_secret_value(), autocommit=True) as connection:
            connection.execute(f'create database "{name}"')
        return self.url(name)

    def start(self) -> None:
        _run(self.programs / "pg_ctl", "-D", self.folder, "-w", "-l", self.folder / "log", "start")

    def stop(self) -> None:
        _run(self.programs / "pg_ctl", "-D", self.folder, "-m", "immediate", "-w", "stop")


def empty(database: SecretStr) -> None:
    """Delete the rows of all tables but those in which LangGraph records its migrations."""
    with psycopg.connect(database.get_secret_value()) as connection:
        kept = "schemaname <> 'public' or tablename like '%migrations'"
        tables = connection.execute(f"select tablename from pg_tables where not ({kept})").fetchall()
        for (table,) in tables:
            connection.execute(f'delete from "{table}"')


def programs() -> Path | None:
    """Where the server's programs are: on the path, or where Debian puts the newest of them."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    debian = sorted(Path(DEBIAN).glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return debian[-1].parent if debian else None


@contextmanager
def cluster(where: Path) -> Iterator[Cluster]:
    """A server with the role `askbook`, until the block ends. No disk is waited for: nothing here need survive."""
    with tempfile.TemporaryDirectory(prefix="askbook-pg-") as made:
        folder = Path(made)
        _give_away(folder)
        secret = folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        data = folder / "data"
        options = ["-D", data, "-U", "askbook", "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8", "--no-sync"]
        _run(where / "initdb", *options, "--locale=C")
        port = free_port()
        settings = f"port={port}\nlisten_addresses='127.0.0.1'\nunix_socket_directories=''\nfsync=off\n"
        with (data / "postgresql.conf").open("a") as file:
            file.write(settings)
        running = Cluster(data, where, port)
        running.start()
        with _stopped_with_us(running):
            yield running


@contextmanager
def _stopped_with_us(running: Cluster) -> Iterator[None]:
    """A child that stops the server when the pipe to us closes: at the end of the block, or when we are killed."""
    command: list[Any] = [
        "sh",
        "-c",
        'cat >/dev/null; exec "$0" -D "$1" -m immediate -w stop',
        running.programs / "pg_ctl",
    ]
    nowhere: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*command, running.folder], stdin=subprocess.PIPE, cwd="/", **nowhere, **_user()) as guard:
        try:
            yield
        finally:
            if guard.stdin is not None:
                guard.stdin.close()
            guard.wait(timeout=60)


def _give_away(folder: Path) -> None:
    """The server refuses to run as root: then it runs as nobody."""
    if os.getuid() == 0:
        shutil.chown(folder, "nobody")
        folder.chmod(0o755)


def _user() -> dict[str, Any]:
    return {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}


def _run(program: Path, *arguments: Any) -> None:
    subprocess.run(
        [program, *arguments],
        check=True,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=60,
        **_user(),
    )
