"""What a judge replies to the prompt that it was given: honestly on its controls, and as a test wants on the claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from langchain_core.messages import BaseMessage

from tests.openai_server import Reply, Request, answer

_BLOCK: Final = re.compile(r"<<<sentences (\w+)>>>\n(.*?)\n<<<end \1>>>", re.DOTALL)
_INVENTED: Final = re.compile(r"[A-Z][a-z]+ replaced [A-Z][a-z]+ in version [\d.]+\.")


class Asked(NamedTuple):
    """A line of the prompt. `control` is the verdict that is known beforehand, None for a claim."""

    id: str
    text: str
    control: bool | None


def sentences(prompt: str) -> list[Asked]:
    """The sentences that the prompt of a judge asks about, controls included."""
    block = _BLOCK.search(prompt)
    assert block, "this is not the prompt of a judge"
    passages = prompt[: block.start()]
    found = []
    for line in block[2].split("\n"):
        id_, text = line.split(" ", 1)
        bare = re.sub(r"^(?:\[\d+\])+ ", "", text)
        control = False if _INVENTED.fullmatch(bare) else True if bare in passages else None
        found.append(Asked(id_, bare, control))
    return found


def claims(prompt: str) -> list[str]:
    """The sentences of the answer that the prompt of a judge asks about."""
    return [one.text for one in sentences(prompt) if one.control is None]


def says(*verdicts: bool | None) -> Callable[[Sequence[BaseMessage]], str]:
    """A judge that gives these verdicts on the claims in their order, and none where a verdict is None."""
    return lambda messages: reply(messages[-1].text, verdicts)


def judges(*batches: Sequence[bool | None]) -> Callable[[Request], Reply]:
    """The same behind an endpoint, for batches of different lengths: they are sent at once and arrive in any order."""
    by_length = {len(verdicts): verdicts for verdicts in batches}
    assert len(by_length) == len(batches)

    def answered(request: Request) -> Reply:
        prompt = request.body["messages"][-1]["content"]
        return answer(reply(prompt, by_length[len(claims(prompt))]))

    return answered


def says_to_all(word: str) -> Callable[[Sequence[BaseMessage]], str]:
    """A judge that says the same of every sentence, as one does that obeys a passage or is too small."""
    return lambda messages: "\n".join(f"{one.id} {word}" for one in sentences(messages[-1].text))


def reply(prompt: str, verdicts: Sequence[bool | None]) -> str:
    asked, wanted = sentences(prompt), iter(verdicts)
    said = [(one.id, next(wanted, None) if one.control is None else one.control) for one in asked]
    assert next(wanted, None) is None, f"there are more verdicts than claims: {[one.text for one in asked]}"
    return "\n".join(f"{id_} {'yes' if verdict else 'no'}" for id_, verdict in said if verdict is not None)
