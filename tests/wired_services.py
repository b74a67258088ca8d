"""Services whose model is reached through the network, at an address on this machine; their search is a fake."""

from __future__ import annotations

from typing import Any, Final

from openai import Timeout
from pydantic import SecretStr

from rag.model.endpoint import build_model
from rag.ports import ChunkIndex, Parts
from rag.profiles.profile import Profile, load_profile
from rag.settings import Settings
from tests.fakes import FakeEmbedder, FakeSearcher, passage, unjudged
from tests.openai_server import answer

KEY: Final = "sk-canary-0123456789"
GOOD: Final = answer("A node is ", "a process [1", "].")


class WiredServices:
    """Services with the model that `build_model` makes of an environment, which waits so many seconds for an answer."""

    def __init__(self, address: str, seconds: float = 30.0) -> None:
        settings = environment(address)
        profile = unjudged(_waiting(load_profile("default"), seconds)).in_environment(settings)
        model, name, quotes = build_model(profile, settings, FakeEmbedder())
        client: Any = model
        client.root_async_client.timeout = Timeout(seconds, connect=30.0)  # which a busy machine may need
        self._parts = Parts(profile, model, name, quotes, FakeSearcher([passage(1), passage(2, "A topic is a bus.")]))

    @property
    def index(self) -> ChunkIndex:
        raise AssertionError("the machine searches through its searcher only")

    def parts(self, profile: str | None) -> Parts:
        return self._parts


def environment(address: str | None) -> Settings:
    return Settings(
        openai_api_key=SecretStr(KEY),
        openai_base_url=address,
        openai_model="wired-model",
    )


def _waiting(profile: Profile, seconds: float) -> Profile:
    return profile.model_copy(update={"model": profile.model.model_copy(update={"timeout_seconds": seconds})})
