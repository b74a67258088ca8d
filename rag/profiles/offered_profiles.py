"""The profiles that remote users may choose: those in ASKBOOK_PROFILES, or all."""

from __future__ import annotations

from typing import NamedTuple

from rag.errors import UsageError
from rag.profiles.profile import profile_folders, profile_names
from rag.settings import Settings


class Offer(NamedTuple):
    """The names on offer in the order of ASKBOOK_PROFILES, and the default (`usual`)."""

    names: tuple[str, ...]
    usual: str

    def choose(self, name: str | None) -> str:
        """The profile for a request; None means the default. Raises `UsageError` for one that is not on offer."""
        if name is not None and name not in self.names:  # the same message as for a profile that does not exist
            hint = f"Profiles: {', '.join(self.names)}."
            raise UsageError(f'There is no profile "{name[:64]}".', code="unknown_profile", hint=hint)
        return name or self.usual


def offer_of(settings: Settings) -> Offer:
    """The profiles in ASKBOOK_PROFILES, or all profiles if it is not set.

    The default is ASKBOOK_PROFILE, else `default`, else the first of the list. Raises `UsageError` if the list is
    empty, names an unknown profile, or lacks the profile that ASKBOOK_PROFILE names.
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
        raise UsageError(
            f"ASKBOOK_PROFILES lists {unknown[:64]!r}, but there is no such profile.", code="settings", hint=hint
        )
    if settings.profile in names:
        return Offer(names, settings.profile)
    if "profile" in settings.model_fields_set:
        raise UsageError(
            f"ASKBOOK_PROFILE is {settings.profile[:64]!r}, which ASKBOOK_PROFILES does not list.",
            code="settings",
            hint="Add it to the list, or unset ASKBOOK_PROFILE to use the first of the list.",
        )
    return Offer(names, names[0])
