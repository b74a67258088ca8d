"""`/openapi.json` against the server that serves it: generated requests, valid and invalid, to every operation.

Whatever is sent, the answer has a status, a content type and a body that the description allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.web.openapi import description
from state import Context
from tests.openapi_values import allowed, nearly
from tests.serving import serving

PROFILES = ["default", "book-agent"]
OPERATIONS = [
    (path, method, "requestBody" in found[method])
    for path, found in description(Context, PROFILES)["paths"].items()
    for method in sorted(found)
]
# An operation that takes no body has nothing that is nearly valid.
CASES = [
    pytest.param(path, method, form, id=f"{path}-{method}-{name}")
    for path, method, takes_body in OPERATIONS
    for name, form in [("valid", allowed), ("nearly valid", nearly)][: 1 + takes_body]
]
FEW = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@pytest.fixture(scope="module")
def http(tiny_book: Path) -> Iterator[httpx.Client]:
    variables = {
        "ASKBOOK_TURNS_PER_MINUTE": "1000000",
        "ASKBOOK_CONCURRENT_TURNS": "1000",
        "ASKBOOK_PROFILES": ",".join(PROFILES),
    }
    with serving(tiny_book, variables) as address, httpx.Client(base_url=address, timeout=60) as opened:
        opened.post("/api/threads/known/turns", json={"question": "What is a widget?"})
        yield opened


@pytest.fixture(scope="module")
def described(http: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = http.get("/openapi.json").json()["paths"]
    return found


def test_the_description_is_of_this_server(described: dict[str, Any]) -> None:
    assert described == description(Context, PROFILES)["paths"]
    body = described["/api/threads/{thread_id}/turns"]["post"]["requestBody"]["content"]["application/json"]
    assert set(Context.model_fields) <= set(body["schema"]["properties"])


def parameters(operation: dict[str, Any], place: str) -> st.SearchStrategy[dict[str, str]]:
    found = {one["name"]: allowed(one["schema"]) for one in operation.get("parameters", ()) if one["in"] == place}
    if "thread_id" in found:
        found["thread_id"] = st.just("known") | found["thread_id"]
    return st.fixed_dictionaries(found)


def check(answer: httpx.Response, operation: dict[str, Any]) -> None:
    """The answer is one of those that are described."""
    assert answer.status_code < 500 or answer.status_code in (502, 503), answer.text
    found = operation["responses"].get(str(answer.status_code))
    assert found is not None, f"{answer.status_code} is not described: {answer.text[:300]}"
    if "content" not in found:
        assert answer.content == b""
        return
    kind = answer.headers["content-type"].partition(";")[0]
    assert kind in found["content"]
    if kind == "application/json":
        jsonschema.validate(answer.json(), found["content"][kind]["schema"])


@pytest.mark.parametrize(("path", "method", "form"), CASES)
def test_an_operation_answers_as_it_is_described(
    http: httpx.Client, described: dict[str, Any], path: str, method: str, form: Any
) -> None:
    operation = described[path][method]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")

    @given(parameters(operation, "path"), parameters(operation, "query"), form(body) if body else st.none())
    @FEW
    def answers(names: dict[str, str], query: dict[str, str], sent: Any) -> None:
        address = path.format(**{name: quote(value, safe="") for name, value in names.items()})
        given_body = {"json": sent} if body else {}
        answer = http.request(method.upper(), address, params=query, **given_body)
        check(answer, operation)

    answers()


@pytest.mark.parametrize("path", sorted({path for path, _, _ in OPERATIONS}))
def test_another_method_is_refused_and_told_which_there_are(
    http: httpx.Client, described: dict[str, Any], path: str
) -> None:
    address = path.format(thread_id="none", chunk_id="none", model="none")
    for method in METHODS:
        if method.lower() not in described[path]:
            answer = http.request(method, address)
            assert answer.status_code == 405
            assert {one.upper() for one in described[path]} == set(answer.headers["allow"].split(", ")) - {"HEAD"}
