"""Words that turn a statement round: pairs of opposites, and the cues of negation.

General English. A pair's first side and its second are opposites; words of one side stand for one another in the check
of the direction only. A word may be of several pairs.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from rag.grounding_words import key_of

_OPPOSITES: Final = """
after following later subsequently since afterwards - before prior earlier previously until preceding previous ahead;
more greater most exceeding exceed increasingly mostly - less fewer least lesser fewest reduced limited;
over above exceeding upward - under below beneath downward underneath; up upwards - down downwards;
large larger largest big bigger biggest great greatest huge vast major substantial enormous - small smaller smallest little tiny minor minimal;
high higher highest tall taller tallest elevated - low lower lowest short shorter shortest;
long longer longest lengthy extended - short shorter shortest brief;
fast faster fastest quick quicker quickest rapid quickly rapidly - slow slower slowest slowly;
increase grow growth rise gain expand raise climb increasing rising growing greater - decrease decline fall drop reduce reduction shrink loss diminish decreasing falling declining lower lessen;
first earliest initial initially - last latest final finally;
begin start commence launch open onset beginning - end stop finish cease close conclude ending terminate;
early earlier earliest - late later latest; old older oldest ancient elderly - young younger youngest new newer newest modern recent;
new newer newest modern contemporary current recent - ancient former old outdated;
often frequently usually commonly generally always regularly - rarely seldom occasionally sometimes;
many numerous several much lots - few;
all every each entire - some;
maximum maximal most utmost upper - minimum minimal least lower; upper top - lower bottom; top peak - bottom;
majority most - minority few; best better finest superior optimal - worst worse poorest inferior;
good positive favourable beneficial - bad negative harmful; positive - negative; plus - minus;
strong stronger strongest powerful strongly robust - weak weaker weakest weakly fragile; heavy heavier heaviest - light lighter lightest;
north northern northward northerly - south southern southward southerly; east eastern eastward easterly - west western westward westerly;
left - right; front forward forwards - rear backward backwards behind; inside internal inner within interior - outside external outer exterior; near close nearby closer closest - far distant farther further;
allow permit enable let authorize authorise - forbid prohibit prevent ban disallow block deny restrict;
enable activate enabled - disable deactivate disabled; accept approve adopt agree - reject refuse decline deny disapprove;
support favor favour endorse advocate - oppose resist contest object; include contain inclusive comprise - exclude omit exclusive;
win victory defeat triumph beat - lose loss defeat; success successful succeed successfully - failure fail unsuccessful;
possible possibly feasible - impossible; legal lawful legitimate legalize - illegal unlawful criminal outlaw; necessary needed required essential - unnecessary needless optional;
likely probable - unlikely improbable; able - unable; common usual - uncommon unusual rare; safe safely secure - unsafe dangerous insecure; valid - invalid; correct right accurate true - incorrect wrong inaccurate false;
true - false; equal same identical alike similar - unequal different distinct dissimilar; similar - dissimilar different; easy easier simple simpler easily - difficult hard harder complex complicated; cheap cheaper inexpensive - expensive costly;
hot hotter hottest warm warmer warmest - cold colder coldest cool cooler coolest; wet moist humid - dry arid; wide wider broad broader - narrow narrower; deep deeper - shallow shallower; thick thicker - thin thinner; rich wealthy - poor; full - empty;
public - private; male man men boy - female woman women girl; mutable - immutable; synchronous sync - asynchronous async; static - dynamic; local - global; active - inactive passive; explicit explicitly - implicit implicitly; direct directly - indirect indirectly;
import - export; buy purchase - sell; add insert append adding - remove delete subtract drop; create build construct establish - destroy demolish abolish dissolve; open - closed shut close; enter arrive join - leave depart exit; attack offensive offence - defend defensive defence defense;
push - pull; read - write; send transmit - receive; lend - borrow; teach - learn; rise - set; love like - hate dislike; live alive survive - die dead death; birth born - death died; peace - war; before - after; ascending ascend - descending descend; horizontal - vertical; absolute - relative; single - multiple several double; odd - even; input - output; server - client; sparse - dense; smooth - rough; soft - hard; bright - dark; visible - invisible hidden; present - absent; presence - absence; advantage benefit - disadvantage drawback; profit - loss; encourage promote - discourage deter; approve - disapprove; trust - distrust; rural - urban; domestic - foreign international; natural - artificial synthetic; indoor indoors - outdoor outdoors; permanent permanently - temporary temporarily; rigid - flexible; liquid - solid; formal - informal; regular - irregular; primary main chief - secondary subsidiary; majority - minority; superior - inferior; senior - junior; guilty - innocent; voluntary - compulsory mandatory involuntary; optional - mandatory required; odd - even; attract - repel; lengthen - shorten; strengthen - weaken; widen - narrow; appear - disappear vanish; connect attach - disconnect detach separate; load - unload; lock - unlock; install - uninstall; encode - decode; encrypt - decrypt; compress - decompress; mount - unmount; upload - download; sender - receiver; caller - callee; online - offline; forward - backward; clockwise - counterclockwise; linear - nonlinear; convex - concave; positive - negative; supervised - unsupervised; safe - unsafe; sober - drunk; peaceful nonviolent - violent; expensive - cheap; popular - unpopular; important significant - unimportant insignificant trivial; complete - incomplete; dependent - independent; stable - unstable; reliable - unreliable; consistent - inconsistent; sufficient enough adequate - insufficient inadequate; clear - unclear; certain sure - uncertain; fortunate - unfortunate; fair - unfair; happy - unhappy sad; healthy - unhealthy sick ill; formerly - currently
"""
_CUES: Final = "not no never nor neither without none nobody nothing nowhere cannot non hardly scarcely barely"
CUES: Final = frozenset(_CUES.split())
_IMPLIED: Final = """
fail lack absent absence unable refuse deny reject prevent avoid prohibit forbid ban cease impossible unlikely rare rarely
seldom little few only except instead rather unlike unless despite stop lose deprive exclude abolish disallow free
unknown unclear uncertain disputed false wrong myth instead fewer loss abandon decline unsuccessful impossible insufficient
independent minus deny outside beyond neglect ignore omit exempt limit until yet
"""


def _sides() -> dict[str, dict[str, int]]:
    """For each key the pairs that it belongs to, with the side: 1 or -1."""
    table: dict[str, dict[str, int]] = {}
    for number, pair in enumerate(_OPPOSITES.split(";")):
        for side, words in zip((1, -1), pair.split(" - "), strict=True):
            for word in words.split():
                table.setdefault(key_of(word), {}).setdefault(str(number), side)
    return table


@cache
def opposites() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """For each key, the keys of its own side and those of the other."""
    table = _sides()
    members: dict[tuple[str, int], set[str]] = {}
    for key, pairs in table.items():
        for pair, side in pairs.items():
            members.setdefault((pair, side), set()).add(key)
    result = {}
    for key, pairs in table.items():
        same = set().union(*(members[pair, side] for pair, side in pairs.items()))
        other = set().union(*(members[pair, -side] for pair, side in pairs.items()))
        result[key] = (frozenset(same), frozenset(other - same))
    return result


@cache
def implied() -> frozenset[str]:
    """Keys of words that deny without a "not"."""
    return frozenset(key_of(word) for word in _IMPLIED.split())
