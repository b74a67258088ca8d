"""The three standings of a sentence: supported, unconfirmed, and contradicted by what stands nowhere."""

from __future__ import annotations

import pytest

from rag.grounding import check

PASSAGE = (
    "Nodes exchange messages over topics. A publisher sends messages with `ros2 topic pub`, at most 30 per second. "
    "The default middleware is Fast DDS since ROS 2 Foxy, released in 2020. RT-2 has 55B parameters."
)
KNOWN = "Chapter 5: Middleware\nmiddleware/index.md"


@pytest.mark.parametrize(
    "sentence",
    [
        "Nodes exchange messages over topics.",
        "A publisher sends at most 30 messages per second.",
        "The default middleware is Fast DDS since ROS 2 Foxy.",
    ],
)
def test_what_a_passage_says_is_supported(sentence: str) -> None:
    verdict = check(sentence, [PASSAGE], known=KNOWN)
    assert (verdict.standing, verdict.supported, verdict.reasons) == ("supported", True, ())


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("A publisher sends at most 90 messages per second.", "number"),
        ("ROS 2 Foxy was released in 2017.", "number"),
        ("The default middleware is Zenoh since ROS 2 Foxy.", "name"),
        ("A publisher sends messages with `ros2 topic echo`.", "code"),
        ("```bash\nrm -rf installation\n```", "code"),
    ],
)
def test_what_stands_nowhere_in_the_passages_contradicts(sentence: str, kind: str) -> None:
    verdict = check(sentence, [PASSAGE], known=KNOWN)
    assert (verdict.standing, verdict.supported) == ("contradicted", False)
    assert kind in verdict.kinds


@pytest.mark.parametrize(
    "sentence",
    [
        "Nodes do not exchange messages over topics.",
        "Anyone who wants to talk to another process subscribes and waits patiently for its arrival.",
        "Two things travel: messages, and nothing else.",
    ],
)
def test_what_is_said_in_other_words_or_turned_round_is_unconfirmed(sentence: str) -> None:
    verdict = check(sentence, [PASSAGE], known=KNOWN)
    assert (verdict.standing, verdict.supported) == ("unconfirmed", False)
    assert verdict.reasons


@pytest.mark.parametrize(
    "sentence",
    [
        "According to Chapter 5, nodes exchange messages over topics.",
        "Fetch the messages that nodes exchange over topics.",  # a capital at the beginning is no name
        "RT-2 has 55 billion parameters.",  # the digits stand there, in another form
        "Both kinds of DDSs are middleware.",
    ],
)
def test_what_may_be_meant_by_other_words_is_never_contradicted(sentence: str) -> None:
    assert check(sentence, [PASSAGE], known=KNOWN).standing != "contradicted"
