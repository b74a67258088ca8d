"""How good the configured model is as a judge: its verdicts on labelled claims, by kind.

    OPENAI_BASE_URL=... OPENAI_API_KEY=... OPENAI_MODEL=... python -m bench.judge_model ../shared/data --claims 120

Asks the model about as many true claims as fluent falsehoods of `bench.claims_data`, spread over all kinds, in the
prompts that a turn sends: some claims at a time, each with the passages that it cites. A call in which the model
errs on a control gives no verdicts, as in a turn.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.claims_data import LabelledAnswer, answers
from nodes.judge import TIMEOUT, JudgeReplySink
from nodes.model_call import ModelRequest, call_model
from rag.answer.judge import Claim, JudgePrompt
from rag.errors import AskbookError
from rag.ports import Parts
from rag.services import open_services
from rag.settings import Settings

TOGETHER: Final = 3  # claims of one call
Labelled = tuple[LabelledAnswer, list[tuple[str, Claim, bool]]]


def sample(books: Path, count: int) -> list[Labelled]:
    """About `count` claims, half of them false, by answer; the same ones in each run."""
    chosen: dict[str, list[Labelled]] = defaultdict(list)
    for name in ("natural.jsonl", "falsehoods.jsonl"):
        for answer in answers(name, books):
            rows = [
                (answer.kind, Claim(one.text, one.cites), one.true)
                for one in answer.claims
                if one.agreed and one.cites and one.true == (answer.kind == "natural")
            ]
            if rows:
                chosen[answer.kind].append((answer, rows[:TOGETHER]))
    found: list[Labelled] = []
    for kind, labelled in sorted(chosen.items()):
        random.Random(kind).shuffle(labelled)
        wanted = count // 2 if kind == "natural" else count // 2 // (len(chosen) - 1)
        while labelled and wanted > 0:
            found.append(labelled.pop())
            wanted -= len(found[-1][1])
    return found


async def ask(parts: Parts, answer: LabelledAnswer, claims: Sequence[Claim]) -> dict[int, bool] | None:
    """The model's verdicts on claims of one answer; None where the call failed, was too slow or gave none."""
    passages = {place: chunk.passage(place, 1.0) for place, chunk in enumerate(answer.chunks, 1)}
    form = JudgePrompt(claims, passages, "00")
    try:
        length = parts.profile.model.max_tokens or 0
        request = ModelRequest(form.prompt, length, False, parts.model_name)
        message = await asyncio.wait_for(call_model(parts, request, JudgeReplySink(form)), TIMEOUT)
    except (AskbookError, TimeoutError) as failure:
        print(f"{answer.id}: {str(failure) or 'no reply in time'}")
        return None
    return form.read(message.text)


async def report(books: Path, count: int) -> None:
    """Print a row for each kind, and how many calls gave no verdict."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    calls: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as home:
        async with open_services(Settings.from_env(None).model_copy(update={"home": Path(home)})) as services:
            parts = services.parts(None)
            if parts.quotes:
                raise SystemExit(f"Set {parts.key_variable} and the model's address.")
            began = time.monotonic()
            for answer, rows in sample(books, count):
                verdicts = await ask(parts, answer, [claim for _, claim, _ in rows])
                calls["no verdict" if verdicts is None else "wrong on a control" if not verdicts else "read"] += 1
                for place, (kind, _, _) in enumerate(rows):
                    verdict = (verdicts or {}).get(place)
                    counts[kind]["none" if verdict is None else "confirmed" if verdict else "rejected"] += 1
            took = (time.monotonic() - began) / max(1, calls.total())
    print(f"{parts.model_name}: {calls.total()} calls, {took:.1f} s each, {dict(calls)}")
    print(f"{'':20}{'claims':>8}{'confirmed':>11}{'rejected':>10}{'none':>6}")
    for kind, row in counts.items():
        print(f"{kind:20}{row.total():>8}{row['confirmed']:>11}{row['rejected']:>10}{row['none']:>6}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--claims", type=int, default=120)
    options = parser.parse_args()
    asyncio.run(report(options.data / "books", options.claims))


if __name__ == "__main__":
    main()
