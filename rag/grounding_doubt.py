"""When a fact or a turn of the sentence is in doubt: its fit to the passages, its rival's, and how the rest fits.

The weights are those of a logistic regression over half of the conversations of MTRAG's ClapNQ, true sentences against
the same with one thing changed; `bench.grounding_fit` gives them. Above zero it is likelier changed than not.
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


NAME: Final = Weights(-1.63, -4.74, 4.84, 3.58, -1.51, 4.81, -0.79)
NUMBER: Final = Weights(-1.48, -5.34, 3.55, 3.29, -0.2, 4.3, 0.0)
TURN: Final = Weights(0.4, -3.25, 2.54, 3.9, -0.77, 1.92, 0.0)
DENIAL: Final = Weights(2.55, -6.09, 0.0, 0.0, 0.77, 5.45, 0.0)


def doubt(standing: Standing, weights: Weights) -> float:
    """The log odds that it was changed."""
    weighed = zip(standing.features(), astuple(weights), strict=True)
    return float(sum(feature * weight for feature, weight in weighed))
