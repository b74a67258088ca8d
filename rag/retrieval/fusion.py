"""Rankings of several searches made into one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

K: Final = 60  # of the paper: large enough that a first place in one ranking does not beat two good places


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], *, weights: Sequence[float] | None = None, k: int = K
) -> list[tuple[str, float]]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): score(d) = sum of w / (k + rank of d), best first.

    Ranks count from 1; an id twice in one ranking counts where it stands first. Equal scores are ordered by the place
    in the earliest ranking that tells them apart (absent counts as last), then by id: the result depends on the input
    alone. Raises `ValueError` where there are not as many weights as rankings, or a weight is negative.
    """
    factors = list(weights) if weights is not None else [1.0] * len(rankings)
    if len(factors) != len(rankings) or any(factor < 0 for factor in factors):
        raise ValueError(f"{len(rankings)} rankings need as many weights of 0 or more, not {factors}.")
    places = [ranks(ranking) for ranking in rankings]

    def score(name: str) -> float:
        # fsum rounds once, so that the order of the rankings cannot split a tie.
        return math.fsum(w / (k + p[name]) for w, p in zip(factors, places, strict=True) if name in p)

    fused = [(name, score(name)) for name in {name for place in places for name in place}]
    return sorted(fused, key=lambda item: (-item[1], [place.get(item[0], math.inf) for place in places], item[0]))


def ranks(ranking: Sequence[str]) -> dict[str, int]:
    """The rank of each id, counted from 1."""
    places: dict[str, int] = {}
    for name in ranking:
        places.setdefault(name, len(places) + 1)
    return places
