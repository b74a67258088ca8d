"""The image and the services: what their files promise, and the commands that they run, without a Docker engine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import compose_spec
import httpx
import pytest
import yaml

from cli.parser import build_parser
from rag.settings import Settings, variables
from tests.docker_files import build_context, sent_to_docker, services, stages
from tests.homes import copied
from tests.package import Package, install
from tests.rooms import ROOT

BUILD, IMAGE = stages((ROOT / "Dockerfile").read_text(encoding="utf-8"))
SECRETS = (".env", ".env.production", "examples/.env", "profiles/.env.local", "tls/server.key", "tls/server.pem")
OURS = ("askbook", "ingest")


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    if not listed:
        pytest.skip("this is no checkout of git")
    return listed.split("\n")[:-1]


# --- the image -------------------------------------------------------------------------------------------------------


def test_the_image_runs_the_installed_package_as_a_user_without_rights() -> None:
    assert IMAGE.last("USER").split(":")[0].isdigit()
    assert IMAGE.last("USER").split(":")[0] != "0"
    assert not [line for line in IMAGE.all("COPY") if "--from=build" not in line], "only the package is in the image"
    names = [name for name, _ in IMAGE.instructions]
    assert names.index("USER") > max(i for i, name in enumerate(names) if name in ("COPY", "RUN"))
    assert "--require-hashes" in " ".join(BUILD.all("RUN"))


def test_the_image_writes_only_to_its_volume() -> None:
    (volume,) = IMAGE.command("VOLUME")
    for name in ("HOME", "ASKBOOK_HOME"):
        assert Path(IMAGE.environment[name]).is_relative_to(volume)
    assert IMAGE.environment["PYTHONDONTWRITEBYTECODE"] == "1"


def test_the_command_of_the_image_is_one_that_askbook_has() -> None:
    assert IMAGE.command("ENTRYPOINT") == ["askbook"]
    options = build_parser().parse_args(IMAGE.command("CMD"))
    assert (options.command, options.host, options.port) == ("serve", "0.0.0.0", IMAGE.last("EXPOSE"))


def test_no_secret_is_in_the_image(tracked: list[str]) -> None:
    assert sent_to_docker([*SECRETS, ".askbook/memory.sqlite", ".git/config", "x/.askbook/book"]) == []
    assert not [name for name in IMAGE.environment | BUILD.environment if "KEY" in name or "PASSWORD" in name]
    assert not [line for line in (*IMAGE.all("ARG"), *BUILD.all("ARG"))]


def test_everything_that_the_build_copies_is_there(tracked: list[str]) -> None:
    sent = set(sent_to_docker(tracked))
    for line in BUILD.all("COPY"):
        *sources, _target = line.split()
        assert {source for source in sources if source != "."} <= sent
    needed = {
        name for name in tracked if name.split("/")[0] in ("rag", "cli", "graph", "nodes", "profiles", "build_backend")
    }
    assert needed <= sent
    assert {"pyproject.toml", "README.md", "LICENSE", "NOTICE", "run.py", "state.py", "langgraph.json"} <= sent


@pytest.mark.parametrize("name", ["hadolint"])
def test_the_linter_has_no_complaint(name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not on this machine")
    done = subprocess.run([name, "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@contextmanager
def _image_running(package: Package, folder: Path, home: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The image's entry point and command in an environment that holds only the wheel, on 127.0.0.1."""
    copied(home, folder / "home")
    moved = {
        name: value.replace("/var/lib/askbook", str(folder)).replace("/opt/askbook", str(package.python.parent.parent))
        for name, value in IMAGE.environment.items()
    }
    moved["PATH"] = moved["PATH"].replace("$PATH", os.environ["PATH"])
    arguments = [{"0.0.0.0": "127.0.0.1", "8000": "0"}.get(word, word) for word in IMAGE.command("CMD")]
    program = shutil.which(IMAGE.command("ENTRYPOINT")[0], path=moved["PATH"])
    assert program is not None
    environment = moved | {"ASKBOOK_API_KEYS": "ann:key-of-ann-1"}
    log = folder / "log"
    with (
        log.open("wb") as errors,
        subprocess.Popen([program, *arguments], env=environment, cwd=folder, stderr=errors) as process,
    ):
        try:
            end = time.monotonic() + 120
            while not (found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text())):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.05)
            yield found[0], environment
        finally:
            process.terminate()
            process.wait(60)


def _files(folder: Path) -> list[Path]:
    """Everything in a folder but compiled modules, which other tests of the package may add meanwhile."""
    return sorted(path for path in folder.rglob("*") if path.suffix != ".pyc" and path.name != "__pycache__")


def test_the_commands_of_the_image_run(package: Package, tiny_book: Path, tmp_path: Path) -> None:
    environment_folder = package.python.parent.parent
    before = _files(environment_folder)
    with _image_running(package, tmp_path, tiny_book) as (address, environment):
        answer = httpx.post(
            f"{address}/api/threads/t/turns",
            json={"question": "What is a widget?"},
            headers={"Authorization": "Bearer key-of-ann-1"},
            timeout=60,
        )
        assert answer.status_code == 200
        assert "event: response" in answer.text
        check = [part.replace("http://127.0.0.1:8000", address) for part in IMAGE.command("HEALTHCHECK")]
        healthy = subprocess.run(check, env=dict(environment), capture_output=True, text=True, check=False)
        assert (healthy.returncode, healthy.stderr) == (0, "")
        gone = [part.replace("healthz", "api/book") for part in check]  # needs a key, so it is no 200
        assert subprocess.run(gone, env=dict(environment), capture_output=True, check=False).returncode != 0
    assert _files(environment_folder) == before, "only the volume may be written to"


# --- the services ----------------------------------------------------------------------------------------------------


def test_the_compose_file_is_one_that_compose_reads() -> None:
    parsed = compose_spec.PyCompose.from_yaml((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    parsed.validate()
    assert {"askbook", "proxy", "postgres", "qdrant"} <= set(parsed.service_names())
    if shutil.which("docker") and subprocess.run(["docker", "compose", "version"], check=False).returncode == 0:
        filled = os.environ | {"ASKBOOK_API_KEYS": "a:bcdefghij", "POSTGRES_PASSWORD": "p", "QDRANT_API_KEY": "q"}
        subprocess.run(["docker", "compose", "config", "-q"], cwd=ROOT, env=filled, check=True)


def test_two_servers_run_behind_the_proxy_and_only_the_proxy_is_reached() -> None:
    found = services()
    assert found["askbook"]["deploy"]["replicas"] == 2
    assert [name for name, service in found.items() if "ports" in service] == ["proxy"]
    assert found["proxy"]["ports"][0].startswith("127.0.0.1:")
    configs = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["configs"]
    assert f"askbook {IMAGE.last('EXPOSE')}" in configs["proxy"]["content"]


@pytest.mark.parametrize("name", OURS)
def test_a_server_can_write_nothing_but_its_volume_and_has_no_rights(name: str) -> None:
    service = services()[name]
    (volume,) = IMAGE.command("VOLUME")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert [mount.split(":")[1] for mount in service["volumes"]] == [volume]
    assert "user" not in service, "the image's own user has no rights"


@pytest.mark.parametrize("name", OURS)
def test_each_variable_of_a_server_is_a_setting_and_no_secret_stands_in_the_file(name: str) -> None:
    given = services()[name]["environment"]
    assert set(given) <= set(variables())
    for variable in ("ASKBOOK_API_KEYS", "OPENAI_API_KEY", "QDRANT_API_KEY"):
        assert re.fullmatch(r"\$\{\w+:[?-][^}]*\}", given[variable])


def test_the_databases_of_the_servers_are_the_services_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    found = services()
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    for name, value in found["askbook"]["environment"].items():
        monkeypatch.setenv(name, re.sub(r"\$\{(\w+):([?-])([^}]*)\}", _filled, value))
    settings = Settings.from_env(None)
    assert settings.database_url is not None
    assert settings.qdrant_url == "http://qdrant:6333"
    postgres = found["postgres"]["environment"]
    url = settings.database_url.get_secret_value()
    assert url == f"postgresql://{postgres['POSTGRES_USER']}:secret@postgres:5432/{postgres['POSTGRES_DB']}"
    assert found["qdrant"]["environment"]["QDRANT__SERVICE__API_KEY"].startswith("${QDRANT_API_KEY")
    grace = int(found["askbook"]["stop_grace_period"].removesuffix("s"))
    assert grace > 30, "serve lets running turns finish for 30 seconds"


def _filled(found: re.Match[str]) -> str:
    """A variable of the compose file: its default, or a value where one is required."""
    return {"?": "ann:a-secret-key" if found[1] == "ASKBOOK_API_KEYS" else "secret", "-": found[3]}[found[2]]


def test_a_server_starts_when_its_databases_answer() -> None:
    found = services()
    for name in OURS:
        for needed, condition in found[name]["depends_on"].items():
            assert condition == {"condition": "service_healthy"}
            assert "healthcheck" in found[needed]


# --- LangGraph's own image -------------------------------------------------------------------------------------------


def test_langgraph_makes_an_image_of_the_graph_without_a_secret(tracked: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "langgraph_cli", "dockerfile", str(tmp_path / "Dockerfile")]
    environment = os.environ | {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "true"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (image,) = stages((tmp_path / "Dockerfile").read_text(encoding="utf-8"))
    assert "langgraph-api" in image.image
    assert "graph.server:make_graph" in image.environment["LANGSERVE_GRAPHS"]
    assert any(line.startswith(". /deps/") for line in image.all("ADD")), "the whole checkout, less .dockerignore"
    assert any("pip install" in line and "-e ." in line for line in image.all("RUN"))
    context = build_context(tracked, tmp_path / "deps")
    installed = install(context, tmp_path / "environment", "--no-build-isolation", "-e")
    program = "from graph.server import make_graph; print(type(make_graph()).__name__)"
    own: dict[str, Any] = {"PATH": os.environ["PATH"], "ASKBOOK_HOME": str(tmp_path / "home")}
    made = subprocess.run(
        [installed.python, "-c", program], cwd=tmp_path, env=own, capture_output=True, text=True, check=False
    )
    assert (made.returncode, made.stdout.strip()) == (0, "AgentGraph"), made.stderr
