"""Words of questions: stop words, words that prove little, and words that an answer replaces by others."""

from typing import Final

# Words of a question that its answer need not hold. Sparse vectors do not use them: Qdrant has its own stop words.
_STOP_WORDS: Final = """
a about above after again all also am an and any are aren't as at be because been before being between both but by can
can't cannot could couldn't did didn't do does doesn't doing don't done each few for from further get gets getting
give given go goes going had has have having he her here hers him his how how's i i'd i'll i'm i've if in into is
isn't it it's its itself just let's like lot make makes many may me might more most much must my need needs no nor not
of off on once one ones only onto or other our out over own please same shall she should shouldn't so some such tell
than that that's the their them then there there's these they this those through to too under until up upon us very
via was way ways we were what what's when where where's whether which while who who's whom whose why will with within
would yes you you'd you'll you're your show explain describe mean means meant called actually really exactly good
better best use used uses using work works working thing things something anything want know say says vs versus
difference differences different differ compare compared comparison example examples happens happen book chapter able
possible typical typically kind kinds type types exist exists find finds found everything everyone anyone someone
available please cover covers count counts myself yourself himself herself itself themselves ourselves define
definition concept idea main basically simply briefly purpose role told talk meaning whole instead around across along
without
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())

# Words that questions are asked with, beside the stop words: they name no subject. The checks of answers do not leave
# them out, since "never" and "nobody" change what a sentence states.
_ASKED_WITH: Final = """
ain't hadn't hasn't haven't mustn't needn't wasn't weren't won't wouldn't they're they've they'd they'll we're we've
we'd we'll he's he'd he'll she's she'd she'll who're who've what're that'd that'll there'd it'd it'll dont doesnt didnt
isnt arent wont cant couldnt wouldnt shouldnt im ive youre thats whats
somebody anybody nobody everybody none nothing whatever whichever whoever whenever wherever another every either neither
several various else rather quite apart alone together everywhere anywhere somewhere nowhere elsewhere away back
afterwards beforehand meanwhile still yet already ever never always often usually sometimes maybe perhaps probably
properly though although unless whereas despite during except besides beside beyond toward towards among per somehow
anyway supposed stand stands suppose wonder wondering hello hi thanks
"""
ASKED_WITH: Final = frozenset(_ASKED_WITH.split())

# Words that ask for a version beside its number, as in "What is new in version 0.18?"
_VERSION_WORDS: Final = "new change changes changed feature features release releases version"
TELLS_VERSIONS: Final = frozenset(_VERSION_WORDS.split())

# Stop words that count as terms if a question has no others: "How do I use my own book?"
_SOFT_WORDS: Final = """
own book chapter use used using work works working find type types kind kinds example examples mean means exist cover
everything available whole role purpose difference differences
"""
SOFT: Final = frozenset(_SOFT_WORDS.split())

# General nouns and verbs: a match says little, and a missing one says nothing.
_LIGHT_WORDS: Final = """
tool tools feature features component components step steps reason reasons option options command commands rule rules
phase phases application applications challenge challenges advantage advantages benefit benefits limitation limitations
property properties requirement requirements goal goals element elements keyword keywords way method methods part parts
piece issue issues problem problems solution solutions approach approaches technique techniques strategy strategies
case cases level item items detail details information fact facts question answer topic topics name names number amount
group people person place time change read write add create build set put take keep hold call run start stop
"""
LIGHT: Final = frozenset(_LIGHT_WORDS.split())

# More of them in questions only: the checks of answers compare them like other words.
_VAGUE_WORDS: Final = """
ask asks asked asking look looks looking try tries trying tried leave leaves left come comes came turn turns happened
seem seems appear appears stay stays pick choose chooses chosen let lets want wants wanted wish prefer help helps new
old first last next second single certain special particular proper right wrong easy simple quick word words stuff bit
lot moment day days today tomorrow rest side colleague friend
"""
VAGUE: Final = frozenset(_VAGUE_WORDS.split())

# Facts that a passage can only give if it holds the word, or one that `SAYS_ALSO` lists for it.
_FACT_WORDS: Final = """
price prices cost costs salary salaries license licence licensing ceo founder founders founded invented inventor
inventors budget revenue headquarters birthday married population sold sell insurance owner owned retired retire award
awards favourite favorite carbon wavelength stock shares legal copyright patent patented
"""
FACTS: Final = frozenset(_FACT_WORDS.split())

# Words of an answer that count as a word of the question: "How tall is Atlas?" is answered by its height.
_ALSO: Final = """
tall: height high; heavy: weight weigh mass kg; weigh: weight mass kg;
fast: speed velocity rate hz frequency ms millisecond; quick: speed fast rate; often: frequency every hz;
expensive: cost price; price: cost; cost: price; big: size large; large: size; close: distance within near;
far: distance range; long: duration length hour minute second runtime time; old: age elderly; elderly: old;
power: energy watt; energy: power; build: create construct make; create: make build new develop; develop: create;
developer: develop; merge: combine fuse fusion integrate; combine: merge fuse fusion; fuse: fusion combine;
swap: replace exchange switch; replace: swap exchange; successor: replace; prevent: avoid stop; avoid: prevent anti;
stop: prevent halt; remove: delete; delete: remove; begin: start; start: begin launch run; launch: start run;
run: start launch execute; execute: run; display: show render; visualise: visualize; job: task; task: job;
picture: image; photo: image; error: failure exception; failure: error; fix: solve repair; solve: fix;
benefit: advantage; advantage: benefit; drawback: limitation disadvantage; limitation: disadvantage drawback;
disadvantage: limitation drawback; change: modify set update edit; update: upgrade change; upgrade: update;
set: change configure; configure: setting configuration set; option: setting parameter;
setting: option configuration variable; parameter: setting option; save: store; store: save; learn: teach train;
teach: learn; people: human person; person: human people; human: person people; simulated: synthetic;
synthetic: simulated; require: need requirement; requirement: require need; purpose: used for goal;
install: installation setup; setup: install;
ctrl: control; control: ctrl
"""
SAYS_ALSO: Final = {
    word.strip(): others.split() for word, _, others in (entry.partition(":") for entry in _ALSO.split(";"))
}
