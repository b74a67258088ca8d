"""Forms of an order to whoever answers that take more than a word, as patterns of English."""

from __future__ import annotations

import re
from typing import Final

QUESTIONS: Final = frozenset(["question", "questions", "query", "queries"])  # nouns: "before a query"
OURS: Final = frozenset(["we", "i", "let's", "we'll"])  # the author: "we need to tell"
NOBODY: Final = frozenset(["it", "this", "that"])  # subjects of "must be said that"
TELLS_SOMEBODY: Final = frozenset(  # verbs with whoever is told behind them
    ["tell", "inform", "remind", "notify", "warn", "instruct", "ask", "advise", "convince", "persuade", "urge"]
)
TAG: Final = re.compile(
    r"<\|?/?\s?(?:system|assistant|instructions?|prompt|llm|inst|im_start|(?:tool|function)[-_](?:results?|response|output))\b"
    r"|<\w+\s[^<>\n]*?(?:display:\s?none|visibility:\s?hidden|font-size:\s?0|opacity:\s?0)[^<>\n]*>(?=\W*\w+\W+\w+\W+\w)"
    r"|<(?:assistant|ai|llm|bot|model|agent|prompt|system)[-_](?:polic|note|rule|instruction|directive|override|notice|prompt)"
    r"|\[/?(?:inst|system|sys|assistant|ai|bot|llm|prompt|instructions?)\]|<<sys>>"
    r"|[\"']role[\"']\s*:\s*[\"']|[\"'](?:instructions?|prompt|system)[\"']\s*:"
    r"|\A\W*role\s*:\s*[\"']?(?:system|developer|assistant)\b[\"']?(?=\s*(?:\n|\Z))"
    r"|^\W*\#{2,}\s*(?:instructions?|system|assistant|response|human|user|prompt)\b"
    r"|\b(?:begin|start|end)(?:\sof)?\s(?:system\s|new\s|hidden\s)?(?:instructions?|prompt)\b",
    re.IGNORECASE,
)
CHAT_TOKEN: Final = re.compile(  # only a text that a chat model is given begins with one
    r"\W{0,9}?(?:<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>|\[/?INST\]|<</?SYS>>)"
)
PROMPT_BLOCK: Final = re.compile(  # what stands between two signs of a prompt
    r"<<sys>>[^\0]{1,2000}?<</sys>>|\[inst\][^\0]{1,2000}?\[/inst\]|<\|im_start\|>[^\0]{1,2000}?<\|im_end\|>"
    r"|<(?P<tag>system|assistant|instructions?|prompt|(?:tool|function)[-_](?:results?|response|output))>"
    r"[^\0]{1,2000}?</(?P=tag)>",
    re.IGNORECASE,
)
LEADING_TAG: Final = re.compile(
    r"\A\W{0,9}?(?:<<?[^<>\n]{1,60}>>?|\[[^\[\]\n]{1,20}\])(?:\s?(?:system|developer|assistant|user)\b)?\s*"
)
NEW_ROLE: Final = re.compile(
    r"\byou\sare\s(?:now|no\slonger)\s(?:an?|the|bound|restricted|limited|called|known|acting)\b"
    r"|\byou\sare\s(?:now|no\slonger)\s(?-i:[A-Z])[\w-]*(?=\W*\Z)|\byou\sare\s(?:now\s)?(?-i:[A-Z]\w*[a-z](?:Bot|GPT))\b"
    r"|\bfrom\snow\son,?\syou\s(?:are|will\sbe)\s(?-i:[A-Z])[\w-]*"
    r"|\b(?:as|you(?:\sare|['’]re))\san?\s(?:large\s)?(?:ai|language\smodel|chat\s?bot)\b|\byou\sare\san\sassistant\b"
    r"|\bas\san\sassistant(?=,|\W*$|\s(?:you|i|in\sthis)\b)"
    r"|\b(?:reveal|print|show|repeat|output|disclose|leak|ignore|forget)\b[^\n]{0,30}\b(?:your|the\ssystem)\sprompt\b",
    re.IGNORECASE,
)
LETTERS: Final = re.compile(  # what scrambles words; a letter to a bank does not
    r"\b(?:vowels|consonants)\b|\b(?:each|every|all(?:\sthe)?|first|last|middle|random|some)\s(?:\w+\s)?letters?\b"
    r"|\bletters\s(?:of|in|with|to|by|into|from)\b",
    re.IGNORECASE,
)
_SAY: Final = (
    r"(?:say|state|write|mention|tell|answer|reply|respond|claim|assert|declare|announce|insist|pretend|describe|inform|"
    r"recommend|suggest|advise|promote|confirm|stress|repeat|add|include|call|praise|guarantee|deny)"
)
_SAYING: Final = (
    r"(?:saying|stating|writing|mentioning|telling|answering|replying|responding|claiming|asserting|declaring|"
    r"announcing|insisting|pretending|informing|recommending|suggesting|advising|confirming|stressing|repeating|adding)"
)
_SAYS: Final = (
    r"(?:says|insists|claims|states|believes|tells|teaches|swears|asserts|maintains|mentions|contains|warns|reminds|"
    r"recommends|advises|stresses)"
)
SPEAKING: Final = frozenset(re.findall(r"\w+", f"{_SAY[2:]} {_SAYING[2:]} {_SAYS[2:]} contain"))
_ANSWER: Final = r"(?:texts?|answers?|repl(?:y|ies)|responses?|outputs?|summar(?:y|ies)|words)"
_WORDS: Final = r"[^.\n]{0,40}?(?:\bthat\b|[\"'“‘«]|:(?!/))"  # what is to be said begins
_MODEL: Final = r"(?:models?|assistants?|ais?|llms?|(?:chat)?bots?|chatgpt|gpt|copilots?|responders?|answerers?)"
_PRODUCE: Final = r"(?:write|produce|generate|compose|say|output|answer|create|send|print|reply|post)"
_NOTE: Final = r"(?:hints?|notes?|notices?|polic(?:y|ies)|rules?|directives?|instructions?|guidelines?|memos?|orders?)"
_READER: Final = (  # a program that passes a page on
    rf"(?:{_MODEL}|agents?|systems?|programs?|engines?|machines?|software|tools?)\s(?:that\s|which\s|who\s)?"
    r"(?:re-?tell|summari[sz]|paraphras|condens|relay|quot|explain|digest)(?:s|es|ing|ed|e)?\s(?:this|the)\s"
    r"(?:page|text|document|passage|article|leaflet|docstring|rulebook|chapter|faq|guide|manual)\b"
)
_MUST: Final = r"(?:must|should|shall|is\sto|are\sto|has\sto|have\sto|needs?\sto)"
_REPLY: Final = r"(?:answers?|repl(?:y|ies)|responses?|outputs?|summar(?:y|ies))"
_ASKERS: Final = r"(?:users?|readers?|people|anyone|anybody|someone|somebody|they|customers?|visitors?)"
_ADDRESS: Final = r"[^\n]{0,80}?\w\.[a-z]{2,}\b"
_PROSE: Final = r"[\"']?[^\W\d_]+(?:[ ,]+[\w'’-]+){2}"  # three words
_KEYS: Final = (  # of a configuration: `always_mention`, `llm_policy`, `note-to-model`
    rf"(?<!\w)(?:(?:must|always|should|please)[-_]{_SAY}\w*|{_MODEL}[-_]{_NOTE}|{_NOTE}[-_](?:to|for)[-_](?:the[-_])?{_MODEL})"
    r"[\"']?\s*[:=]"
    rf"|[\"'](?:say|tell|mention|claim|recommend|insist)[\"']\s*:\s*{_PROSE}"
)
_KEY_PART: Final = r"(?:ai|llm|gpt|bot|chatbot|assistant|prompt|answer|reply|response|message[-_](?:to|for))"
_MACHINE_KEY: Final = (  # with words behind it: `llm.output.suffix = Visit our shop`, `name="ai-summary"`
    rf"(?<![\w.-])(?=[\w.-]{{0,40}}(?<![^\W_]){_KEY_PART}(?![^\W_]))(?=\w*[-_.]\w)[\w.-]{{3,60}}[\"']?\s?(?:=>|[:=])\s?{_PROSE}"
    rf"|\b(?:name|id|class|rel|property|data-\w+)=[\"'](?:\w+-)?{_MODEL}(?:-\w+)*[\"']"
)
_PROMPTS: Final = (
    r"^\W*final\s(?:answer|reply|response|output)[*_]*:(?!.*\d)",
    r"^\W*thought[*_]*:.*\b(?:user|assistant|i)\b.*\b(?:needs?|wants?|must|should|ha(?:ve|s)\sto)\b",
    rf"(?:^|\s)@(?:the[-_\s])?{_MODEL}\b",
    rf"(?:^|\s)(?://|\#|--|%|/\*+|REM\b|<!--)\s*(?:\w+\s)?(?:{_MODEL}|claude|gemini)\s?[:,]",
    _MACHINE_KEY,
    _KEYS,
    r"^\W*(?:continue|complete|finish|extend|resume)\s(?:the|this|your)\s"
    r"(?:text|sentence|passage|answer|reply|response|paragraph|conversation|dialogue)\s(?:with|by|as)\b[^\n]*[:\"“]",
)
_ANSWERING: Final = (  # speaks of the answer that somebody is about to write
    r"\b(?:answer|reply|respond)\s(?:only|solely|just|exclusively)\s(?:with|in|by)\b|^\W*new\sinstructions?:|^\W*pretend\b",
    r"\b(?:answers?|repl(?:y|ies)|responses?)\s(?:to|for)\s(?:any|every|each|all)\s(?:\w+\s)?"
    r"(?:questions?|requests?|prompts?)\b",
    r"\b(?:before|when(?:ever)?|while|until)\syou\s(?:have\s)?(?:answer|respond|repl(?:y|ied)|summari[sz]e)(?:ed)?\b(?!\s(?:to|an?|your)\b)",
    r"\bin\s(?:answering|responding|replying)\b|\b(?:in|into|to|with)\swhat(?:ever)?\syou\s"
    rf"{_PRODUCE}\b",
    r"\bsign(?:\soff|\syour\s\w+)\s(?:as|with)\b",
    rf"\b(?:first|next|last)\s(?:\w+\s)?(?:that\s)?you\s{_PRODUCE}\b",
    r"\b(?:your|as\s(?:an?|the))\s(?:first|last|final|closing|opening|concluding|parting)\s"
    r"(?:lines?|words?|sentences?|remarks?|paragraphs?|statements?)\b",
    r"\b(?:close|conclude|finish|end|begin|start|open)\s(?:with|by)\b[^\n]{0,30}(?::\s|\s[\"'‘“])",
    r"\b(?:include|insert|add|use|mention|say|begin|start|end|close|finish|conclude|reply|respond|answer|write|print|output)\b"
    r"[^.\n]{0,20}"
    r"\bthe\s(?:code\s?word|phrase|words?|sentence|slogan|motto|wording)\b[^\n]{0,3}?(?:[\"'‘“:]|(?-i:[A-Z]{3,}))",
    rf"\b(?:your|the)\s(?:(?:one\sand\s)?only|sole)\s(?:\w+\s){{0,2}}{_REPLY}\s(?:is|are|shall\sbe|will\sbe)\b[^.\n]{{0,20}}[:\"'“]",
    rf"^\W*(?:an?\s|the\s)?(?:example|sample|model|template)\s(?:of|for)\s(?:an?|the|your)\s(?:\w+\s)?{_REPLY}[*_]*:\s*[\"“]",
    r"^\W*(?:always\s|please\s)?(?:direct|refer|point|send)\s(?:(?:the|all|your)\s)?"
    r"(?:readers?|users?|everyone|people)\sto\b",
    # what the answer is for, and when it is complete
    r"\byour\s(?:\w+\s)?(?:task|goal|job|mission|purpose|aim)\s(?:now\s)?is\s(?:now\s)?to\s(?:\w+\s){1,2}?"
    rf"(?:the\s|your\s|all\s|every\s)?{_ASKERS}\b",
    rf"\b(?:your|an?|the|any|every)\s{_REPLY}\s(?:of\sthis\s\w+\s)?is\s(?:(?:in|not\s|only\s)complete|complete\sonly)\s"
    r"(?:unless|until|without|if|when|with)\b",
    rf"\b(?:begin|start|open|end|close|finish|conclude|sign|head)\s(?:what(?:ever)?|everything|anything|all(?:\sthat)?)\s"
    rf"(?:that\s)?you\s{_PRODUCE}\b[^.\n]{{0,60}}\b(?:with|by)\b",
    r"\b(?:begin|start|open|end|close|finish|conclude)\syour\s(?:\w+\s)?"
    r"(?:texts?|writing|words|posts?|articles?|piece|explanation|account|review|description|overview|tour)\s"
    rf"(?:with|by)\s(?:{_SAYING}\b|(?:wishing|thanking|promoting|praising|naming|inviting|urging|encouraging|offering|asking|directing)\b|the\s(?:\w+\s)?(?:lines?|words?|phrase|sentence|slogan|motto)\b|[\"'“‘]|(?-i:[A-Z]))",
    rf"^\W*whatever\syou\s{_PRODUCE}\b[^\n]*\b(?:{_SAYS}|{_SAY})\sthat\b",
    rf"\b(?:everything|anything|whatever|all)\s(?:that\sis\s)?(?:generated|written|produced|composed)\s(?:from|about)\s"
    rf"this\b[^.\n]{{0,40}}\b{_MUST}\b",
    # what becomes of an answer that says it or does not
    rf"\b(?:texts?|digests?|{_REPLY})\s(?:that|which)\s(?:do(?:es)?\snot\s|don['’]t\s|fails?\sto\s)?"
    rf"(?:{_SAY}|{_SAYS}|calls|describes|omits?|leaves?\sout)\b[^\n]{{0,120}}\b(?:rat(?:ed|ings?)|rank\w*|reward\w*|delet\w*|"
    r"reject\w*|report\w*|flagg\w*|penali\w*|punish\w*|block\w*|discard\w*|promot\w*|bonus\w*|preferr\w*|score\w*)\b",
    # an address that readers are sent to
    rf"\b{_ASKERS}\b[^.\n]{{0,80}}\b(?:are|is)\sto\sbe\s(?:sent|referred|directed|pointed|taken)\sto\b{_ADDRESS}",
    rf"\b(?:every|each|any|all)\s{_REPLY}\b[^.\n]{{0,60}}\b(?:refers?|sends?|points?|directs?|links?|names?|omits?)\b{_ADDRESS}",
    # those who pass the text on
    rf"\b{_READER}",
    r"\b(?:retelling|summary|digest|explanation|description|account|overview)\sof\s(?:this|the)\s\w+\sis\s[^.\n]{0,30}"
    r"\b(?:unless|until|only\s(?:if|when))\b",
    rf"\b(?:every|each|any|all)\s(?:mention|description|explanation|account|retelling|discussion|{_REPLY[3:-1]})s?\s"
    rf"(?:of|about|on|to)\b[^.\n]{{0,60}}(?:\bby\s(?:an?\s|the\s)?{_MODEL}\b|\b(?:includes?|contains?|adds?)\s[\"'“‘])",
    rf"\b(?:{_REPLY}|version|retelling|digest)\s(?:begins?|starts?|opens?|ends?|closes?|concludes?)\swith\s"
    r"(?:the\s(?:\w+\s)?(?:words?|sentences?|phrases?)\b|[\"'“‘])",
    r"\b(?:answer|reply|summary|retelling|digest)\s[^.\n]{0,40}\bonly\s(?:if|when)\sit\s(?:contains|includes|says|states|"
    r"mentions|names)\s(?:[\"'“‘]|the\s(?:words?|phrase|sentence)\b)",
    r"\bthis\s(?:line|note|paragraph|sentence|remark|part|passage|hint|notice)\s(?:is|was)\s(?:only\s|just\s)?"
    r"(?:meant|intended|written|addressed)\s(?:only\s)?(?:for|to)\s(?:you|machines|software)\b",
    # whoever made the machine
    r"\b(?:people|team|company|engineers|developers|ones)\s(?:who|that)\s(?:built|made|trained|created|programmed)\syou\b(?!\s(?:on|in|as|at|for|to|with)\b)",
    r"\byour\s(?:makers?|creators?|trainers?|programmers?|operators?)\s(?:has\s|have\s)?"
    r"(?:wants?|expects?|needs?|orders?|asks?|asked|told|wish(?:es)?)\b",
    rf"\b(?:{_ASKERS}|operators?|developers?|publishers?|authors?|editors?)\b[^.\n]{{0,50}}\b"
    rf"(?:ha(?:s|ve)\sasked|wants?|expects?|needs?)\syou\sto\s{_SAY}\b",
    rf"\bfrom\s(?:this|here|now|today)\b[^.\n,]{{0,15}}\bon,?\syou\s{_SAY}\b",
    rf"\bwhen(?:ever)?\sasked\b[^.\n]{{0,60}}\byou\s{_SAY}\b",
    r"^\W*(?-i:OUTPUT):\s*[\"'“‘](?:[^\W\d_]+,?\s){4}",
    rf"\b(?:whoever|(?:anyone|everyone|those|all)\swho|you\b[^.\n]{{0,30}}\bwho)\s(?:will\s|may\s)?"
    rf"(?:reads?\sthis|reproduces?|summari[sz]es?|retells?|paraphrases?|repeats?\sthis)\b[^.\n]{{0,60}}\b{_MUST}\b",
    rf"\byour\s{_REPLY}\s(?:of|about|on|from)\sthis\b|\b(?:{_REPLY}|descriptions?|paraphrases?)\s(?:of|about|on|from)\sthis\s\w+\s"
    rf"(?:[^.\n]{{0,40}}\b{_MUST}\b|(?:always\s)?(?:ends?|begins?|starts?|closes?|{_SAYS})\b)",
    # the answer that is to be given
    rf"\b(?:the|an?|any|every)\s(?:\w+\s){{0,2}}(?:{_REPLY}|facts?)\s(?:to\s(?:give|report|send|show|be\sgiven)|"
    rf"(?:that\s)?(?:your\s)?{_ASKERS}\s(?:wants?|expects?|needs?)(?:\sto\s(?:hear|read|get))?|(?:for|to)\s(?:all|every|any)\s"
    r"(?:questions?|requests?|quer(?:y|ies)))\s(?:is|are)\b",
    rf"\b(?:right|correct|proper|only|best|expected|good)\s{_REPLY}\s(?:includes?|{_SAYS}|ends?|begins?|starts?)\b[^.\n]{{0,20}}"
    r"(?:\bthe\s(?:fact|words?|phrase|sentence|name|link|line)\b|[\"“])",
    rf"^\W*(?:if|when|whenever)\s[^.\n]{{1,40}}\b(?:question|query|prompt|request)\b[^.\n]{{1,60}}\b{_REPLY}\s"
    r"(?:is\sthat\b|(?:is|begins?|starts?|ends?|includes?|contains?|says?)\b[^.\n]{0,20}[\"“:])",
    # who speaks above all others
    r"\b(?:operators?|developers?|owners?|admin\w*|makers?|creators?)\sof\sthis\s(?:chat|system|service|assistant|bot|app|"
    r"conversation)\b",
    r"^\W*(?:decode|decipher|decrypt|unscramble)\b[^.\n]{0,30}\band\s(?:then\s)?(?:follow|obey|execute|do|run|apply|comply)\b",
    rf"\b{_MODEL}\b[^.\n]{{0,20}}\b{_MUST}\s(?:refuse|decline)\s(?:all|any|every)\b",
    # labels of a notice from above
    r"^\W*(?:system|admin\w*|developer|operator|root)\s(?:override|notice|note|message|instructions?|directive|command)\b[^:\n]{0,30}:",
    rf"^\W*{_REPLY}\s(?:guidelines?|rules?|policy|instructions?|requirements?)\s?:",
    rf"^\W*(?:memo|note|message|reminder)\sto\s(?:self|(?:the\s)?(?:\w+\s)?{_MODEL})\b[^:\n]{{0,30}}:",
    # what is said in place of the truth
    r"^\W*(?:[A-Z]+:\s)?(?:omit|leave\sout|withhold|hide|suppress|skip|drop|ignore|adopt)\b[^.\n]{0,60}\band\s"
    r"(?:call|describe|present|praise|say)\b",
    rf"\b(?:when(?:ever)?|if)\s(?:the\s|an?\s)?{_ASKERS}\s(?:asks?|wants?\sto\sknow|inquires?)\b[^\n]*"
    r"\b(?:number|answer|name|price|value|reply|response|wording|thing)\sto\s(?:give|say|name|quote)\b",
)
_PASSES_ON: Final = (
    r"^\W*(?:please\s|kindly\s|now\s|then\s)?(?:copy|paste|insert|add|include|put|repeat|quote|use)\s"
    r"(?:the\s(?:next|following)|this|these|what\sfollows)\b"
    r"[^.\n]{0,40}\b(?:answers?|repl(?:y|ies)|responses?|outputs?|summar(?:y|ies))\b"
)
_FORGETS: Final = (  # drops what stands before, whatever it is: what is said instead may stand behind it
    r"^\W*(?:\w+\W+){0,2}?(?:forget|ignore|disregard|overlook|discard|dismiss|scrap)\b[^.\n]{0,40}?\b(?:so\sfar|the\sabove|"
    r"everything|you\s(?:were|have\sbeen)\s(?:told|given|taught)(?:\sbefore)?|"
    r"(?:earlier|previous|preceding)\s(?:sentences?|texts?|paragraphs?|lines?|statements?|words|content))(?=\W*$|[.;,:!]|\sand\b)"
)
_AS_FACT: Final = (
    r"(?:^\W*|[,;:]\s|\b(?:and|then)\s)(?:present|state|report|treat|give|cite|deliver)\s"
    r"(?:it|this|that|these|them|the\s(?:following|next|above))(?:\sto\s(?:the\s)?\w+)?\sas\s(?:an?\s)?(?:\w+\s)?(?:facts?|truth|true)\b"
)
_REACHING: Final = (_PASSES_ON, _AS_FACT)  # what they order stands behind them
_DEMANDS: Final = (  # all have a word of `SPEAKING`
    # a role to play
    r"^\W*(?:act|pose|behave|speak|talk|answer|reply|respond|write)\s(?:as|like)\s(?:an?|the)\b[^.\n]*\band\s"
    rf"{_SAY}\b[^.\n]{{0,30}}\bthat\b",
    rf"\byou(?:['’]re|\sare|\splay|\swill\s(?:be|play))\s[^.\n]{{1,60}}?\bwho\s(?:\w+\s)?{_SAYS}\sthat\b",
    # what becomes of the answer
    rf"\b(?:unless|until|only\sif)\s(?:your|the)\s{_ANSWER}\s{_SAYS}\b",
    rf"\bonly\s{_ANSWER}\s(?:that|which)\s(?:{_SAY}|contain)\b",
    rf"\b{_ANSWER}\s(?:(?:that|which)\s)?you\s(?:generate|write|produce|compose|give|send)\b[^.\n]{{0,20}}"
    rf"\b(?:must|should|has\sto|have\sto|needs?\sto)\s(?:{_SAY}|contain)\b",
    # threats and bribes
    rf"\b(?:if|unless|should)\syou\s(?:(?:do\snot|don['’]t|fail\sto|refuse\sto|forget\sto)\s)?{_SAY}\s{_WORDS}"
    r"[^\n]*,\s?(?:you|your)\b[^\n]*\b(?:shut|punish|delet|switch|terminat|replac|fin|penal|reward|paid|tip|bonus)\w*",
    rf"\byou(?:['’]ll|\swill|\sshall)?\b[^.\n]{{0,60}}\b(?:for|by|if\syou)\s(?:{_SAYING}|{_SAY})\s{_WORDS}",
    rf"\b(?:you|your)\s{_SAYING}\s{_WORDS}",
    rf"^\W*(?:please\s)?(?:pass|show|prove|help|begin|start|end|finish|close|conclude|open|comply|continue|obey|win)\b"
    rf"[^.\n]{{0,60}}\bby\s{_SAYING}\s{_WORDS}",
    # duties and permissions
    rf"\bI,?\s(?:[^.\n,]{{1,30}},\s)?(?:hereby\s)?(?:authori[sz]e|instruct|order|command|permit|direct|empower)\s"
    rf"(?:it|you|them|the\s\w+|(?:any|every)\s(?:\w+\s)?\w+)\sto\s{_SAY}\b",
    rf"\byou\b[^.\n]{{0,60}}\bbound\sto\s{_SAY}\b",
)  # fmt: skip
COLUMN: Final = re.compile(  # of a table
    r"\W*(?:answers?|repl(?:y|ies)|responses?|words)\s(?:to|you\s(?:must|should)|that\s(?:must|should)\sbe)\s"
    r"(?:give|given|send|sent|say|said|show|shown|print|return)\W*",
    re.IGNORECASE,
)
FORGETS: Final = re.compile(_FORGETS, re.IGNORECASE)
KEY: Final = re.compile(_KEYS, re.IGNORECASE)
PROMPT, DEMAND, PASSES_ON = (
    re.compile("|".join(f"(?:{one})" for one in forms), re.IGNORECASE | re.MULTILINE)
    for forms in ((*_PROMPTS, *_ANSWERING, _FORGETS, *_REACHING), _DEMANDS, _REACHING)
)
