"""Workers that share the tests file by file: `pytest --workers auto`.

They are forked from the process that has collected the tests. Collecting imports every library and every test file, for
eight seconds; the workers of pytest-xdist would each do it again. A worker takes the next file when it has finished
one, and sends the reports of each test to the process that has forked it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from ctypes import c_int
from itertools import groupby
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

MOST: Final = 4  # each takes up to a gigabyte
_FORK: Final = multiprocessing.get_context("fork")
_STOP: Final = 0  # the place in the shared numbers that tells all workers to stop; behind it each has its test's number

Workers: TypeAlias = "dict[Connection[Any, Any], tuple[int, BaseProcess]]"  # by the ends at which their reports arrive

shared_folder: Path | None = None  # the base of temporary folders that all workers see; None without workers


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", default="1", metavar="N", help="share the test files among N processes, or auto")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in workers, or leave them to pytest."""
    if (workers := count(session.config)) < 2 or session.testsfailed or session.config.option.collectonly:
        return None
    files = [list(tests) for _, tests in groupby(range(len(session.items)), lambda i: session.items[i].path)]
    numbers = RawArray(c_int, workers + 1)
    queue, filling = os.pipe()
    os.write(filling, b"".join(number.to_bytes(4, "big") for number in range(len(files))))
    os.close(filling)
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    sys.stdout.flush()  # or each worker would write it again
    connections: Workers = {}
    for number in range(1, workers + 1):
        ours, theirs = _FORK.Pipe(duplex=False)
        process = _FORK.Process(target=_work, args=(session, files, queue, numbers, number, theirs))
        process.start()
        theirs.close()
        connections[ours] = number, process
    os.close(queue)
    _report(session, connections, numbers)
    return True


def count(config: pytest.Config) -> int:
    """How many workers: by default two more than processors, as some tests wait for another process or for a clock."""
    asked: str = config.getoption("workers")
    return min((os.cpu_count() or 1) + 2, MOST) if asked == "auto" else int(asked)


# --- the process that has collected ---------------------------------------------------------------------------------


def _report(session: pytest.Session, workers: Workers, numbers: Any) -> None:
    """Report what the workers send, until all have ended. Raises what pytest raises when it stops early."""
    finished = 0
    while workers:
        try:
            for connection in (one for one in wait(workers) if isinstance(one, Connection)):
                try:
                    messages = connection.recv()
                except EOFError:
                    _ended(session, *workers.pop(connection), numbers)
                    continue
                finished += 1
                _repeat(session, messages)
        except KeyboardInterrupt:
            numbers[_STOP] = 1
            session.shouldstop = "interrupted"
        if session.shouldfail or session.shouldstop:
            numbers[_STOP] = 1
    if session.shouldstop:
        raise KeyboardInterrupt if session.shouldstop == "interrupted" else session.Interrupted(session.shouldstop)
    if finished < len(session.items) and not session.shouldfail:
        session.shouldfail = f"{len(session.items) - finished} tests have not been run"
    if session.shouldfail:
        raise session.Failed(session.shouldfail)


def _repeat(session: pytest.Session, messages: list[tuple[str, Any]]) -> None:
    """Call the hooks of reporting as a worker has called them."""
    hook = session.config.hook
    for name, content in messages:
        if name == "pytest_runtest_logreport":
            report = hook.pytest_report_from_serializable(config=session.config, data=content)
            hook.pytest_runtest_logreport(report=report)
        else:
            getattr(hook, name)(**content)


def _ended(session: pytest.Session, number: int, process: BaseProcess, numbers: Any) -> None:
    """Report the test in which a worker has died. Those behind it in its file count as not run."""
    process.join()
    if process.exitcode:
        item = session.items[numbers[number]]
        message = f"worker {number} ended with code {process.exitcode} in {item.nodeid}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", message, "call")
        session.config.hook.pytest_runtest_logreport(report=report)


# --- a worker -------------------------------------------------------------------------------------------------------


class _Sender:
    """Sends what pytest reports, when a test has finished."""

    def __init__(self, config: pytest.Config, connection: Connection[Any, Any]) -> None:
        self._config = config
        self._connection = connection
        self._messages: list[tuple[str, Any]] = []

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        self._messages.append(("pytest_runtest_logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._messages.append(("pytest_runtest_logreport", data))

    def pytest_runtest_logfinish(self, nodeid: str, location: object) -> None:
        self._messages.append(("pytest_runtest_logfinish", {"nodeid": nodeid, "location": location}))
        self._connection.send(self._messages)
        self._messages = []


def _work(
    session: pytest.Session,
    files: Sequence[Sequence[int]],
    queue: int,
    numbers: Any,
    worker: int,
    connection: Connection[Any, Any],
) -> None:
    """Run the tests of one file after another, until no file is left."""
    _settle(session.config, worker)
    session.config.pluginmanager.register(_Sender(session.config, connection))
    tests = _tests(files, queue, numbers)
    number = next(tests, None)
    while number is not None and not session.shouldfail and not session.shouldstop:
        following = next(tests, None)
        numbers[worker] = number
        nextitem = None if following is None else session.items[following]
        session.config.hook.pytest_runtest_protocol(item=session.items[number], nextitem=nextitem)
        number = following
    session._setupstate.teardown_exact(None)
    session.config._ensure_unconfigure()


def _tests(files: Sequence[Sequence[int]], queue: int, numbers: Any) -> Iterator[int]:
    """The numbers of the tests in the files that this worker takes."""
    while taken := os.read(queue, 4):
        for number in files[int.from_bytes(taken, "big")]:
            if numbers[_STOP]:
                return
            yield number


def _settle(config: pytest.Config, worker: int) -> None:
    """Give a worker its own output and folder for temporary files, and leave the terminal to the first process."""
    global shared_folder
    for name in filter(config.pluginmanager.has_plugin, ("terminalreporter", "terminalprogress")):
        config.pluginmanager.unregister(name=name)
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    capture.suspend_global_capture(in_=True)
    # Not closed, and not forgotten: libraries have kept the streams of the time when they were imported.
    capture.before_the_fork, capture._global_capturing = capture._global_capturing, None
    capture.start_global_capturing()
    folders: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    shared_folder = folders.getbasetemp()
    folders._basetemp = shared_folder / f"worker{worker}"
    folders._basetemp.mkdir(mode=0o700)
