"""English for the support check: words without content, irregular forms, cues of negation, opposites, units, numerals.

All of it is general English; nothing here knows a book.
"""

from __future__ import annotations

from typing import Final

_FUNCTION: Final = """
a about above across after again against ago all almost along already also although always am among an and another any
anyone anything are around as at away be because been before behind being below beneath beside besides between both but
by came can come could did do does doing done down during each either else enough etc even ever every everyone
everything far few for from further get gets getting go goes going got had has have having he hence her here hers
herself him himself his how however i if in indeed instead into is it its itself just least less let like likely
may me mere merely might mine more moreover most mostly much must my myself namely near nearly need neither never
nevertheless no nobody none nonetheless nor not nothing now of off often on once one ones only onto or other others
otherwise ought our ours ourselves out over own per perhaps quite rather really same seem seems shall she should since
so some someone something sometimes somewhat soon still such than that the their theirs them themselves then there
thereby therefore these they thing things this those though through throughout thus to together too toward towards
under unless unlike until unto up upon us usually various very via was way ways we well were what whatever when
whenever where whereas wherever whether which whichever while who whoever whole whom whose why will with within without
would yes yet you your yours yourself s t d ll re ve m st rd th
include includes included including known called named note important additionally furthermore overall specifically
example instance such respectively especially particularly generally typically commonly
"""
FUNCTION_WORDS: Final = frozenset(_FUNCTION.split())

_IRREGULAR: Final = """
be is are was were been being am; have has had having; do does did done; go went gone; say said; make made; get got
gotten; take took taken; come came; see saw seen; know knew known; give gave given; find found; think thought; tell told;
become became; leave left; feel felt; put; bring brought; begin began begun; keep kept; hold held; write wrote written;
stand stood; hear heard; mean meant; meet met; pay paid; sit sat; speak spoke spoken; lie lay lain; lead led; grow grew
grown; lose lost; fall fell fallen; send sent; build built; understand understood; draw drew drawn; break broke broken;
spend spent; rise rose risen; drive drove driven; buy bought; wear wore worn; choose chose chosen; win won; fight fought;
catch caught; teach taught; sell sold; shoot shot; show shown; sing sang sung; swim swam swum; throw threw thrown; fly
flew flown; eat ate eaten; drink drank drunk; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen;
hide hid hidden; ride rode ridden; ring rang rung; shake shook shaken; steal stole stolen; strike struck; swear swore
sworn; tear tore torn; wake woke woken; bear bore born borne; bind bound; bleed bled; breed bred; deal dealt; dig dug;
feed fed; flee fled; hang hung; lay laid; lend lent; light lit; seek sought; shine shone; shrink shrank shrunk; sink
sank sunk; sleep slept; slide slid; spin spun; spread; spring sprang sprung; stick stuck; sweep swept; weave wove woven;
arise arose arisen; bite bit bitten; blow blew blown; creep crept; forbid forbade forbidden; foresee foresaw foreseen;
overcome overcame; overthrow overthrew overthrown; undergo underwent undergone; undertake undertook undertaken;
withdraw withdrew withdrawn; oversee oversaw overseen; run ran; die dead died dies dying death; man men; woman women;
child children; person people persons; foot feet; tooth teeth; mouse mice; life lives; wife wives; wolf wolves; leaf
leaves; half halves; good better best; bad worse worst; datum data; medium media; criterion criteria; phenomenon
phenomena; analysis analyses; basis bases; crisis crises; index indices indexes; matrix matrices; vertex vertices;
choice choose; decision decide decisions; believe belief beliefs; prove proof proven; succeed success successful; high
height; deep depth; long length; wide width; strong strength; weigh weight; fly flight; sell sale sales; lose loss
losses; grow growth; see sight; arrive arrival; bury burial; defend defense defence; extend extension extent; conclude
conclusion; expand expansion; divide division; produce production; describe description; receive reception receipt;
destroy destruction; deny denial; marry marriage; apply application applications; vary variety various variation;
explode explosion; permit permission; admit admission; invade invasion; include inclusion; intend intention; respond
response; begin beginning; popular popularity; able ability; responsible responsibility; possible possibility; available
availability; north northern; south southern; east eastern; west western; perform performance; maintain maintenance;
appear appearance; exist existence; refer reference; differ difference different; absent absence; present presence;
britain british; england english; france french; spain spanish; germany german; netherlands dutch; wales welsh; scotland
scottish scots; ireland irish; greece greek greeks; poland polish; denmark danish; sweden swedish; finland finnish; norway
norwegian; turkey turkish; portugal portuguese; switzerland swiss; china chinese; japan japanese; vietnam vietnamese; europe
european; america american; africa african; asia asian; india indian; russia russian; italy italian; canada canadian;
mexico mexican; brazil brazilian; australia australian; egypt egyptian; rome roman; israel israeli; peru peruvian;
=us usa; television tv; mathematics math maths; percent percentage; photograph photo photos; advertisement ad ads
"""


def _irregular() -> dict[str, str]:
    forms: dict[str, str] = {}
    for group in _IRREGULAR.split(";"):
        words = group.split()
        for word in words[1:]:
            forms.setdefault(word, words[0])
    return forms


IRREGULAR: Final = _irregular()

# Keys that a name may also stand as.
ALIASES: Final = {
    "=us": ("america", "unit"),
    "america": ("=us",),
    "unit": ("=us", "uk", "un"),
    "state": ("=us",),
    "uk": ("britain", "unit"),
    "britain": ("uk",),
    "eu": ("europe",),
    "televis": ("tv",),
    "tv": ("televis",),
}
