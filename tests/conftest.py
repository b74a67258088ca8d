"""What several test files share: books that are indexed once."""

from __future__ import annotations

import asyncio
import gc
import inspect
import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import certifi
import hypothesis
import portalocker
import pytest
from pydantic import SecretStr

from graph.memory import Memory, MemoryOptions, open_memory
from rag.books.book_settings import BOOK, build_embedder, collection_index, vector_cache
from rag.embedding.local import Bm25Encoder, OnnxEmbeddings
from rag.ingest.report import IngestReport
from rag.settings import Settings, variables
from tests import fakes, fork_server, made_vectors, wire
from tests.announcement import announcement
from tests.command_line import QUESTION, CommandLine, Done
from tests.homes import copied
from tests.ingesting import ingest
from tests.openai_server import OPENAI_KEY, Endpoint, openai_server
from tests.package import Package, build, install
from tests.postgres import Cluster, cluster, empty, programs

pytest_plugins = ["tests.workers"]

# Workers share the tests by files. These take longest, so they begin, and none of them is left over for the end. Those
# that mostly compute alternate with those that mostly wait for a server, a terminal or a clock.
LONGEST: Final = (
    "test_types.py",
    "test_serve_many.py",
    "test_books.py",
    "test_memory_postgres.py",
    "test_hostile_pages.py",
    "test_terminal.py",
    "test_package.py",
    "test_screens.py",
    "test_citations.py",
    "test_browser.py",
    "test_quoting_languages.py",
    "test_studio.py",
    "test_real_book.py",
    "test_memory_kill.py",
    "test_contract_profile.py",
    "test_hosted_turns.py",
    "test_injection.py",
    "test_fault_matrix_model.py",
    "test_archive.py",
    "test_server_turns.py",
    "test_contract_index.py",
    "test_ingest_kill.py",
    "test_injection_turns.py",
    "test_command_line.py",
    "test_stored_books.py",
    "test_stream_javascript.py",
    "test_web_openai.py",
    "test_workers.py",
    "test_widget.py",
)

MEMORY: Final = Path("/dev/shm")
ROOM: Final = 4_000_000_000  # bytes, several times what a run has in its folders at once
SHARED = Path(__file__).parent.parent.parent / "shared" / "data"

PAGES = {
    "widgets.md": """# Widgets

A widget is a small part that turns a shaft. Every widget has exactly four teeth.

## Mounting a widget

Mount a widget with the steel bracket, then tighten its two screws to 5 Nm:

```bash
widget mount --torque 5
```
""",
    "gadgets.md": """# Gadgets

A gadget is a machine made of twelve widgets. Gadgets are painted blue at the factory in Lund.

## Cleaning a gadget

Clean a gadget with warm water once a month. Never use alcohol on the paint.
""",
}


KETTLES = """# Kettles

A kettle boils one litre of water in three minutes. Every kettle has a lid of copper.

## Descaling a kettle

Descale a kettle with two spoons of citric acid, then boil it empty once.
"""


def pytest_configure() -> None:
    """Heed Ctrl-C in a suite that was started in the background: the programs that tests start would ignore it too.

    Temporary folders are in memory if it has room and runs programs. An index and a conversation wait for the disk at
    many of their steps, and the system works for each.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Hypothesis would fail an example, and the making of examples, by the wall clock.
    slow = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile("suite", deadline=None, suppress_health_check=slow)
    hypothesis.settings.load_profile("suite")
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK):
        place = os.statvfs(MEMORY)
        if place.f_bavail * place.f_frsize > ROOM and not place.f_flag & os.ST_NOEXEC:
            tempfile.tempdir = os.environ["TMPDIR"] = str(MEMORY)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say what a run of the whole suite takes and leaves out; pytest shows no header with -q.

    Start the fork server that all workers share; it imports while the tests are collected.
    """
    from tests import workers  # as a plugin it is imported after this file

    config = session.config
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        terminal.write_line(announcement())
    if workers.count(config) > 1:
        fork_server.fork_server()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what the collection made to no garbage collector: it stays, and looking through it takes half a second.

    What the tests make is looked through less often than Python would: of their time that took a twentieth.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, and leave the others in their order."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


async def index_book(
    source: Path,
    home: Path,
    base_url: str | None = None,
    settings: Settings | None = None,
    collection: str = BOOK,
) -> IngestReport:
    """Read a book into a collection of a home folder, or where `settings` say, as `run.py ingest` does."""
    settings = settings or Settings(ASKBOOK_HOME=home)  # type: ignore[call-arg]  # by their variables
    index = collection_index(settings, collection)
    try:
        return await ingest(
            [source],
            base_url=base_url,
            index=index,
            embedder=build_embedder(settings),
            sparse=Bm25Encoder(),
            vectors=vector_cache(settings),
        )
    finally:
        await index.aclose()


@pytest.fixture(scope="session", autouse=True)
def _one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let clients trust a single authority. None of their servers has a certificate, but a client reads those of every
    authority when it is made, a fiftieth of a second each time. A real Qdrant server may need them.
    """
    if os.environ.get("QDRANT_TEST_URL"):
        yield
        return
    end = "-----END CERTIFICATE-----\n"
    file = tmp_path_factory.mktemp("authority") / "one.pem"
    file.write_text(Path(certifi.where()).read_text(encoding="utf-8").partition(end)[0] + end, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture(scope="session")
def _data_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A path for the data of each test, where nothing is yet."""
    folder = tmp_path_factory.mktemp("data")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _nothing_is_trusted(_data_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the files that the user of this machine trusts, nor those of another test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(next(_data_folders)))


@pytest.fixture(scope="session", autouse=True)
def _no_vector_is_made_twice(pytestconfig: pytest.Config) -> Iterator[None]:
    """Run the packaged model once for the same texts, not once for each test, process and run of the suite."""
    folder = pytestconfig.cache.mkdir("askbook") if hasattr(pytestconfig, "cache") else None
    fork_server.vectors = folder / "vectors.sqlite" if folder else None
    with made_vectors.used(fork_server.vectors):
        yield


@pytest.fixture
def every_vector_is_made(_no_vector_is_made_twice: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the packaged model each time: for tests of the model itself."""
    for name in ("embed_documents", "embed_tokens"):
        monkeypatch.setattr(OnnxEmbeddings, name, inspect.unwrap(getattr(OnnxEmbeddings, name)))


@pytest.fixture(autouse=True)
def _everything_was_foreseen() -> Iterator[None]:
    """Fail the test in which a scripted model or server was asked once more than its script says.

    What they answer then is a failure of the turn to the product, and a test of a failure would be content with it.
    """
    fakes.UNFORESEEN.clear()
    wire.UNFORESEEN.clear()
    yield
    assert (fakes.UNFORESEEN, wire.UNFORESEEN) == ([], [])


def once(tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that one worker fills for all; the others wait for it. None may write to it."""
    from tests import workers

    folder = (workers.shared_folder or tmp_path_factory.getbasetemp()) / f"shared-{name}"
    with portalocker.Lock(folder.with_suffix(".lock"), timeout=600):
        done = folder.with_suffix(".done")
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # what a worker has left that failed
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


@pytest.fixture(scope="session")
def tiny_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book of two pages."""
    folder = tmp_path_factory.mktemp("tiny")
    for name, text in PAGES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="session")
def tiny_book(tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home folder with the tiny book in it. Tests that write to it use a copy: the next would find what is left."""
    home = tmp_path_factory.mktemp("home")
    asyncio.run(index_book(tiny_source, home))
    before = sorted(path.name for path in home.iterdir())
    yield home
    assert sorted(path.name for path in home.iterdir()) == before, "a test has written to the home that all share"


@pytest.fixture(scope="session")
def two_books(tiny_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with the tiny book and a second one, "kettles"."""
    home = copied(tiny_book, tmp_path_factory.mktemp("two-books"))
    source = tmp_path_factory.mktemp("kettles")
    (source / "kettles.md").write_text(KETTLES, encoding="utf-8")
    with ThreadPoolExecutor() as thread:  # Playwright keeps a loop running in the thread of its tests
        thread.submit(lambda: asyncio.run(index_book(source, home, collection="kettles"))).result()
    return home


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """The wheel in an environment of its own."""

    def make(folder: Path) -> None:
        install(build(folder / "wheel", "--wheel"), folder / "environment")

    folder = once(tmp_path_factory, "package", make)
    (wheel,) = (folder / "wheel").glob("askbook-*.whl")
    return Package(wheel, folder / "environment" / "bin" / "python")


@pytest.fixture(scope="session")
def physical_ai(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with a real textbook in it; about a minute of one core."""
    source = SHARED / "books" / "physical-ai" / "docs"
    if not source.is_dir():
        pytest.skip("the textbook is not beside this checkout (../shared/data/books/physical-ai)")
    home = tmp_path_factory.mktemp("physical-ai")
    asyncio.run(index_book(source, home, "https://book.example.org/docs"))
    return home


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A PostgreSQL server, started when a test first asks for it."""
    if (where := programs()) is None:
        pytest.skip("PostgreSQL is not on this machine (Debian: apt-get install postgresql)")
    with cluster(where) as running:
        yield running


@pytest.fixture
def database_url(postgres: Cluster, request: pytest.FixtureRequest) -> SecretStr:
    """The address of a new PostgreSQL database, which has no tables yet."""
    return postgres.new_database(f"t{abs(hash(request.node.nodeid))}")


@pytest.fixture(scope="session")
def _database(postgres: Cluster) -> SecretStr:
    return postgres.new_database("of-all")


@pytest.fixture
def emptied_url(_database: SecretStr) -> SecretStr:
    """The address of a database without conversations, which has its tables as soon as a test has used it.

    A new database takes PostgreSQL a tenth of a second of a processor, and LangGraph's migrations another.
    """
    empty(_database)
    return _database


@pytest.fixture(params=["sqlite", "postgres", "in memory"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Memory]:
    """An empty memory of each kind."""
    options = None
    if request.param == "postgres":
        options = MemoryOptions(database_url=request.getfixturevalue("emptied_url"))
    async with open_memory(tmp_path, persistent=request.param != "in memory", options=options) as opened:
        yield opened


@pytest.fixture
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without any variable of the settings."""
    for name in variables():
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """A scripted endpoint of OpenAI's wire format, in an environment that names it."""
    with openai_server() as opened:
        only_endpoint(opened, monkeypatch)
        yield opened


def only_endpoint(endpoint: Endpoint, patch: pytest.MonkeyPatch) -> None:
    """An environment that names the endpoint, its key, and nothing else.

    Its scripts hold the answers only, so no judge is asked.
    """
    for name in (*variables(), "OPENAI_ORG_ID", "OPENAI_PROXY"):
        patch.delenv(name, raising=False)
    patch.setenv("OPENAI_API_KEY", OPENAI_KEY)
    patch.setenv("OPENAI_BASE_URL", endpoint.address)
    patch.setenv("ASKBOOK_JUDGE", "none")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_book: Path) -> CommandLine:
    """A command line whose home already holds the tiny book. Tests of memory use a thread of their own."""
    return CommandLine(tmp_path_factory.mktemp("work"), tiny_book)


@pytest.fixture(scope="module")
def answered(run: CommandLine) -> Done:
    """The answer to the question about the tiny book, as JSON."""
    return run("ask", QUESTION, "--thread", "answered", "--json")
