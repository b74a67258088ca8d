"""The assistants of LangGraph Studio: one per profile, under the profile's name."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final
from uuid import NAMESPACE_URL, uuid5

import httpx

from rag.errors import UsageError
from rag.profiles.offered_profiles import offer_of
from rag.profiles.profile import profile_of
from rag.settings import Settings
from rag.text.visible import visible

GRAPH: Final = "agent"
START_SECONDS: Final = 300.0  # how long the server may take to answer before it goes without assistants
_PAUSE: Final = 0.3  # seconds between two requests to the server


def assistant_id(profile: str) -> str:
    """The id of a profile's assistant: a UUID that is the same on every machine."""
    return str(uuid5(NAMESPACE_URL, f"askbook:profile:{profile}"))


def descriptions(settings: Settings, broken: Callable[[UsageError], object]) -> dict[str, str]:
    """The description of each offered profile, by name. `broken` is called for each profile that cannot be read.

    Raises `UsageError` when no profile can be offered.
    """
    by_name = {}
    for name in offer_of(settings).names:
        try:
            by_name[name] = profile_of(settings, name).said()
        except UsageError as error:  # one broken profile must not hide the others
            broken(error)
    return by_name


def create_assistants(address: str, profiles: Mapping[str, str]) -> None:
    """Create an assistant for each profile, given its name and description. Existing assistants are not changed.

    Raises the client's exceptions when the server does not answer.
    """
    from langgraph_sdk import get_sync_client

    with get_sync_client(url=address, api_key=None) as client:
        for name, description in profiles.items():
            client.assistants.create(
                GRAPH,
                assistant_id=assistant_id(name),
                name=name,
                description=description,
                context={"profile": name},
                if_exists="do_nothing",
            )


def start_helper(address: str) -> None:
    """Start a child process that creates the assistants once the server answers. It ends by itself or with the server.

    Not a thread, since `execve` turns this process into the server. The child has no input and shares our output.
    """
    subprocess.Popen([sys.executable, "-m", __name__, address, str(os.getpid())], stdin=subprocess.DEVNULL)


def wait_for(address: str, server: int) -> bool:
    """Wait until the server answers. False when our parent process `server` ends or the time is up first."""
    deadline = time.monotonic() + START_SECONDS
    while os.getppid() == server and time.monotonic() < deadline:
        with suppress(httpx.TransportError):  # the port is not open yet
            if httpx.get(f"{address}/ok", timeout=5, trust_env=False).status_code == httpx.codes.OK:
                return True
        time.sleep(_PAUSE)
    return False


def main(arguments: Sequence[str]) -> int:
    """The child process, with arguments `ADDRESS SERVER_PID`. Exit code 1 when it created no assistants."""
    address, server = arguments
    try:
        profiles = descriptions(Settings.from_env(), lambda error: _tell("one profile", error))
        if not wait_for(address, int(server)):
            return 1
        create_assistants(address, profiles)
    except UsageError as error:
        _tell("the profiles", error)
        return 1
    except httpx.HTTPError as error:
        print(f"Studio has no assistant for the profiles: {type(error).__name__}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # Ctrl-C reaches both the server and this process
        return 130
    print(f"Studio's assistants, one for each profile: {', '.join(profiles)}", file=sys.stderr)
    return 0


def _tell(whose: str, error: UsageError) -> None:
    print(visible(f"Studio has no assistant for {whose}: {error.message} {error.hint}".rstrip()), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
