"""LangGraph's development server, started for real as `make studio` starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx

from tests.wire import free_port

ROOT: Final = Path(__file__).parent.parent
START_SECONDS: Final = 120  # it takes six on a quiet machine


@contextmanager
def studio(work: Path, home: Path, **environment: str) -> Iterator[str]:
    """The address of a server of its own over the book in `home`, with its assistants. Its files go to `work`."""
    port = free_port()
    (work / "langgraph.json").write_text((ROOT / "langgraph.json").read_text())
    given = {"PATH": os.environ["PATH"], "HOME": str(work), "PYTHONPATH": str(ROOT), "ASKBOOK_HOME": str(home)}
    with (work / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "graph.studio", "--port", str(port)],
            cwd=work,
            env=given | environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        address = f"http://127.0.0.1:{port}"
        try:
            _wait(address, process, work / "log")
            _wait_for_assistants(work / "log")
            yield address
        finally:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(f"{address}/ok").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(f"the server did not start: {log.read_text()}")


def _wait_for_assistants(log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while "Studio's assistants" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
