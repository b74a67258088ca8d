"""When a fact or a turn of the sentence is in doubt: its fit to the passages, its rival's, and how the rest fits.

The weights are those of a logistic regression over half of the conversations of MTRAG's ClapNQ, true sentences against
the same with one thing changed; `bench.grounding --fit` gives them. Above zero it is likelier changed than not.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Standing:
    """Fits of one place of the sentence, 0..1 each (`rag.grounding_slots`): `own` where the passages have the same,
    `rival` where they have another of its kind, `usual` of the words around it at their own best places. `titled`:
    a heading of the passages names it."""

    own: float
    rival: float
    usual: float
    titled: bool = False

    def features(self) -> tuple[float, ...]:
        """1, then what the weights are for, in the order of `Weights`."""
        ahead = self.rival - self.own
        return (1.0, self.own, self.rival, max(0.0, ahead), self.usual, max(0.0, self.usual - self.own), self.titled)


@dataclass(frozen=True, slots=True)
class Weights:
    constant: float
    own: float
    rival: float
    ahead: float
    usual: float
    short: float
    titled: float


NAME: Final = Weights(-1.6, -4.84, 4.1, 4.86, -1.15, 5.12, -1.02)
NUMBER: Final = Weights(-1.4, -5.14, 2.56, 2.92, -0.51, 4.86, 0.0)
TURN: Final = Weights(0.1, -2.89, 1.67, 3.97, -0.61, 2.12, 0.0)
DENIAL: Final = Weights(2.1, -6.22, 0.0, 0.0, 0.76, 5.59, 0.0)


def doubt(standing: Standing, weights: Weights) -> float:
    """The log odds that it was changed."""
    return sum(float(a) * b for a, b in zip(standing.features(), astuple(weights), strict=True))
