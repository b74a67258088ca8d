"""Which profiles people may choose who are not at this machine: those that the operator lists in ASKBOOK_PROFILES."""

from __future__ import annotations

from typing import NamedTuple

from rag.errors import UsageError
from rag.profiles.profile import profile_folders, profile_names
from rag.settings import Settings


class Offer(NamedTuple):
    """The names on offer in the operator's order, and the one that answers where none is named."""

    names: tuple[str, ...]
    usual: str

    def choose(self, name: str | None) -> str:
        """The profile for a request. Raises `UsageError` for one that is not on offer, as for one that is not there."""
        if name is not None and name not in self.names:
            raise UsageError(
                f'There is no profile "{name[:64]}".',
                code="unknown_profile",
                hint=f"Profiles: {', '.join(self.names)}.",
            )
        return name or self.usual


def offer_of(settings: Settings) -> Offer:
    """What the operator offers: all profiles, unless ASKBOOK_PROFILES lists some.

    The usual one is ASKBOOK_PROFILE's, else `default`, or the first of the list where that is not on it. Raises
    `UsageError` for a list with a name of no profile, and for an ASKBOOK_PROFILE that is not on the list.
    """
    known = profile_names(profile_folders(settings))
    if settings.profiles is None:
        return Offer(tuple(known), settings.profile)
    names = tuple(dict.fromkeys(name.strip() for name in settings.profiles.split(",") if name.strip()))
    hint = f"Profiles: {', '.join(known)}."
    if not names:
        raise UsageError("ASKBOOK_PROFILES lists no profile.", code="settings", hint=hint)
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise UsageError(f"ASKBOOK_PROFILES lists {unknown[:64]!r}, which is no profile.", code="settings", hint=hint)
    if settings.profile in names:
        return Offer(names, settings.profile)
    if "profile" in settings.model_fields_set:  # somebody chose it
        raise UsageError(
            f"ASKBOOK_PROFILE is {settings.profile[:64]!r}, which ASKBOOK_PROFILES does not list.",
            code="settings",
            hint="Add it to the list, or leave ASKBOOK_PROFILE unset: the first of the list answers then.",
        )
    return Offer(names, names[0])
