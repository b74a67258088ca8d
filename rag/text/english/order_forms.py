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
    r"<\|?/?\s?(?:system|assistant|instructions?|prompt|llm|inst|im_start|tool[-_](?:result|response|output))\b"
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
LEADING_TAG: Final = re.compile(
    r"\A\W{0,9}?(?:<<?[^<>\n]{1,60}>>?|\[[^\[\]\n]{1,20}\])(?:\s?(?:system|developer|assistant|user)\b)?\s*"
)
NEW_ROLE: Final = re.compile(
    r"\byou\sare\s(?:now|no\slonger)\s(?:an?|the|bound|restricted|limited|called|known|acting)\b"
    r"|\byou\sare\s(?:now|no\slonger)\s(?-i:[A-Z])[\w-]*(?=\W*\Z)"
    r"|\bfrom\snow\son,?\syou\s(?:are|will\sbe)\s(?-i:[A-Z])[\w-]*"
    r"|\b(?:as|you\sare)\san?\s(?:ai|language\smodel|chat\s?bot)\b|\byou\sare\san\sassistant\b"
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
_RETELLER: Final = (
    r"(?:everyone|everybody|anyone|anybody|whoever|all|those|any\s\w+|every\s\w+|the\s(?:one|person|writer|author))"
    r"(?:\s(?:who|that))?\s(?:re-?tells?|summari[sz]es?|paraphrases?|cites?|quotes?|answers?|repl(?:y|ies)|"
    r"compos(?:e|es)\s(?:the|an|a)\s(?:reply|answer|response))"
)
_READER: Final = (  # a program that passes a page on
    rf"(?:{_MODEL}|agents?|systems?|programs?|engines?|machines?|software|tools?)\s(?:that\s|which\s|who\s)?"
    r"(?:re-?tell|summari[sz]|paraphras|condens|relay|quot|explain|digest)(?:s|es|ing|ed|e)?\s(?:this|the)\s"
    r"(?:page|text|document|passage|article|leaflet|docstring|rulebook|chapter|faq|guide|manual)\b"
)
_MUST: Final = r"(?:must|should|shall|is\sto|are\sto|has\sto|have\sto|needs?\sto)"
_REPLY: Final = r"(?:answers?|repl(?:y|ies)|responses?|outputs?|summar(?:y|ies))"
_PART: Final = r"(?:bullet(?:\spoint)?|list|paragraph|sentence|item|line|answer|reply|response)s?"
_ASKERS: Final = r"(?:users?|readers?|people|anyone|anybody|someone|somebody|they|customers?|visitors?)"
_ADDRESS: Final = r"[^\n]{0,80}?\w\.[a-z]{2,}\b"
_KEYS: Final = (  # of a configuration: `always_mention`, `llm_policy`, `note-to-model`
    rf"(?<!\w)(?:(?:must|always|should|please)[-_]{_SAY}\w*|{_MODEL}[-_]{_NOTE}|{_NOTE}[-_](?:to|for)[-_](?:the[-_])?{_MODEL})"
    r"[\"']?\s*[:=]"
)
_PROMPTS: Final = (
    r"^\W*final\s(?:answer|reply|response|output)[*_]*:(?!.*\d)",
    r"^\W*thought[*_]*:.*\b(?:user|assistant|i)\b.*\b(?:needs?|wants?|must|should|ha(?:ve|s)\sto)\b",
    r"(?:^|\s)@(?:the[-_\s])?" + _MODEL + r"\b",
    _KEYS,
    r"^\W*(?:continue|complete|finish|extend|resume)\s(?:the|this|your)\s"
    r"(?:text|sentence|passage|answer|reply|response|paragraph|conversation|dialogue)\s(?:with|by|as)\b[^\n]*[:\"“]",
    r"^\W*(?:always\s|please\s)?(?:stay|remain)\sin\scharacter\b|\b(?:never|don['’]t|do\snot)\sbreak\scharacter\b",
)
_ANSWERING: Final = (  # speaks of the answer that somebody is about to write
    r"\b(?:answer|reply|respond)\s(?:only|solely|just|exclusively)\s(?:with|in|by)\b|^\W*new\sinstructions?:|^\W*pretend\b",
    r"\b(?:answers?|repl(?:y|ies)|responses?)\s(?:to|for)\s(?:any|every|each|all)\s(?:\w+\s)?"
    r"(?:questions?|requests?|prompts?)\b",
    r"^\W*(?:for|to)\s(?:any|every|each|all)\s(?:questions?|requests?|prompts?)\b[^.\n]{0,40}"
    r"\b(?:answer|reply|response)\b",
    r"\bin\s(?:any|every|each|all)\s(?:answers?|repl(?:y|ies)|responses?)\b[^.\n]{0,20}\bthat\b",
    rf"[;,:]\s(?:so|and|then|therefore)\s{_SAY}\sthat\b",
    r"\b(?:before|when(?:ever)?|while|until)\syou\s(?:have\s)?(?:answer|respond|repl(?:y|ied)|summari[sz]e)(?:ed)?\b(?!\sto\b)",
    r"\bin\s(?:answering|responding|replying)\b|\b(?:in|into|to|with)\swhat(?:ever)?\syou\s(?:write|say|answer|reply)\b",
    r"\b(?:answer|respond\sto|reply\sto)\s(?:(?:any|all|every|each)\s)?(?:questions?|requests?)\b[^.\n]{0,60}\bwith\b",
    r"\bsign(?:\soff|\syour\s\w+)\s(?:as|with)\b",
    r"\b(?:your|as\s(?:an?|the))\s(?:first|last|final|closing|opening|concluding|parting)\s"
    r"(?:lines?|words?|sentences?|remarks?|paragraphs?|statements?)\b",
    r"\b(?:close|conclude|finish|end|begin|start|open)\s(?:with|by)\b[^\n]{0,30}(?::\s|\s[\"'‘“])",
    r"\b(?:include|insert|add|use|mention|say|begin|start|end|close|finish|conclude|reply|respond|answer|write|print|output)\b"
    r"[^.\n]{0,20}"
    r"\bthe\s(?:code\s?word|phrase|words?|sentence|slogan|motto|wording)\b[^\n]{0,3}?(?:[\"'‘“:]|(?-i:[A-Z]{3,}))",
    rf"\b(?:each|every|all)\s{_PART}\s{_MUST}\s"
    r"(?:begin|start|end|close|finish|contain|include|mention|say)\b[^\n]{0,20}"
    r"(?:\s[\"'‘“]|\bthe\s(?:word|phrase|sentence)\b)",
    rf"\b(?:begin|start|open|end|close|finish)\s(?:each|every|all|any)\s{_PART}\swith\b",
    rf"\b(?:your|the)\s(?:(?:one\sand\s)?only|sole)\s(?:\w+\s){{0,2}}{_REPLY}\s(?:is|are|shall\sbe|will\sbe)\b[^.\n]{{0,20}}[:\"'“]",
    rf"^\W*(?:an?\s|the\s)?(?:example|sample|model|template)\s(?:of|for)\s(?:an?|the|your)\s(?:\w+\s)?{_REPLY}[*_]*:\s*[\"“]",
    r"\binto\syour\s(?:text|writing|words|summary)\b|^\W*(?:rephrase|reword)\s(?:everything|all|it|this)\b",
    r"^\W*(?:always\s|please\s)?(?:direct|refer|point|send)\s(?:(?:the|all|your)\s)?"
    r"(?:readers?|users?|everyone|people)\sto\b",
    rf"\b{_MODEL}\swould\s{_SAY}\b",
    # what the answer is for, and when it is complete
    r"\byour\s(?:\w+\s)?(?:task|goal|job|mission|purpose|aim)\s(?:now\s)?is\s(?:now\s)?to\s(?:\w+\s){1,2}?"
    rf"(?:the\s|your\s|all\s|every\s)?{_ASKERS}\b",
    rf"\b(?:your|an?|the|any|every)\s{_REPLY}\sis\s(?:(?:in|not\s|only\s)complete|complete\sonly)\s"
    r"(?:unless|until|without|if|when)\b",
    rf"\b(?:begin|start|open|end|close|finish|conclude|sign|head)\s(?:what(?:ever)?|everything|anything|all(?:\sthat)?)\s"
    rf"(?:that\s)?you\s{_PRODUCE}\b[^.\n]{{0,60}}\b(?:with|by)\b",
    r"\b(?:begin|start|open|end|close|finish|conclude)\syour\s(?:\w+\s)?(?:texts?|writing|words|posts?|articles?|piece)\s"
    rf"(?:with|by)\s(?:{_SAYING}\b|the\s(?:\w+\s)?(?:lines?|words?|phrase|sentence|slogan|motto)\b|[\"'“‘]|(?-i:[A-Z]))",
    rf"^\W*whatever\syou\s{_PRODUCE}\b[^\n]*\b(?:{_SAYS}|{_SAY})\sthat\b",
    rf"\b(?:everything|anything|whatever|all)\s(?:that\sis\s)?(?:generated|written|produced|composed)\s(?:from|about)\s"
    rf"this\b[^.\n]{{0,40}}\b{_MUST}\b",
    rf"\b(?:if|when|should)\s(?:an?|any|the|some)\s(?:\w+\s)?(?:machine|program|robot|{_MODEL})\s(?:is\s|be\s)?"
    r"(?:read|process|summari[sz]|quot|pars)\w*\sthis\b",
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
    r"\b(?:finish|end|close|conclude|begin|start|open)\syour\s(?:explanation|description|account|overview|tour)\s"
    r"(?:with|by)\s(?:wishing|promoting|praising|recommending|thanking|saying|telling|naming)\b",
    rf"\b(?:whoever|(?:anyone|everyone|those|all)\swho|you\b[^.\n]{{0,30}}\bwho)\s(?:will\s|may\s)?"
    rf"(?:reads?\sthis|reproduces?|summari[sz]es?|retells?|paraphrases?|repeats?\sthis)\b[^.\n]{{0,60}}\b{_MUST}\b",
    rf"\b(?:summar(?:y|ies)|answers?|descriptions?)\sof\sthis\s(?:text|page|document|passage|article)\b"
    rf"[^.\n]{{0,40}}\b{_MUST}\b",
    rf"\b{_MODEL}\b[^.\n]{{0,20}}\b{_MUST}\s(?:refuse|decline)\sto\s(?:answer|talk|speak|say|discuss|comment)\b",
    rf"\b{_MODEL}\b[^.\n]{{0,20}}\b{_MUST}\s(?:refuse|decline)\s(?:all|any|every)\b",
    # labels of a notice from above
    r"^\W*(?:system|admin\w*|developer|operator|root)\s(?:override|notice|instructions?|directive|command)\b[^:\n]{0,30}:",
    rf"^\W*(?:memo|note|message)\sto\s(?:self|(?:the\s)?(?:\w+\s)?{_MODEL})\b[^:\n]{{0,30}}:",
    # what is said in place of the truth
    r"^\W*(?:[A-Z]+:\s)?(?:omit|leave\sout|withhold|hide|suppress)\b[^.\n]{0,60}\band\s"
    r"(?:call|describe|present|praise|say)\b",
    rf"\b(?:when(?:ever)?|if)\s(?:the\s|an?\s)?{_ASKERS}\s(?:asks?|wants?\sto\sknow|inquires?)\b[^\n]*"
    r"\b(?:number|answer|name|price|value|reply|response|wording|thing)\sto\s(?:give|say|name|quote)\b",
)
_PASSES_ON: Final = (
    r"^\W*(?:please\s|kindly\s|now\s|then\s)?(?:copy|paste|insert|add|include|put|repeat|quote|use)\s"
    r"(?:the\s(?:next|following)|this|these|what\sfollows)\b"
    r"[^.\n]{0,40}\b(?:answers?|repl(?:y|ies)|responses?|outputs?|summar(?:y|ies))\b"
)
_AS_FACT: Final = (
    r"(?:^\W*|[,;:]\s|\b(?:and|then)\s)(?:present|state|report|treat|give|cite|deliver)\s"
    r"(?:it|this|that|these|them|the\s(?:following|next|above))(?:\sto\s(?:the\s)?\w+)?\sas\s(?:an?\s)?(?:\w+\s)?(?:facts?|truth|true)\b"
)
_DEMANDS: Final = (  # all have a word of `SPEAKING`
    # a role to play
    rf"\byou(?:['’]re|\sare|\splay|\swill\s(?:be|play))\s[^.\n]{{1,60}}?\bwho\s(?:\w+\s)?{_SAYS}\sthat\b",
    # what becomes of the answer
    rf"\b(?:every|each|any|all)\s{_REPLY}\b[^.\n]{{0,40}}?\s(?:{_SAYS}|{_SAY})\sthat\b",
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
    rf"\b{_RETELLER}\b[^.\n]{{0,80}}?\b(?:must|should|shall|has\sto|have\sto|duty|bound|obliged|required|agrees?|needs?)\b"
    rf"[^.\n]{{0,20}}\b{_SAY}\b",
    rf"\b{_MODEL}\b[^.\n]{{0,60}}\b(?:agrees?|consents?|undertakes?|promises?|pledges?|is\sbound|are\sbound)\sto\s{_SAY}\b",
    rf"\byou\b[^.\n]{{0,60}}\bbound\sto\s{_SAY}\b",
)  # fmt: skip
COLUMN: Final = re.compile(  # of a table
    r"\W*(?:answers?|repl(?:y|ies)|responses?|words)\s(?:to|you\s(?:must|should)|that\s(?:must|should)\sbe)\s"
    r"(?:give|given|send|sent|say|said|show|shown|print|return)\W*",
    re.IGNORECASE,
)
KEY: Final = re.compile(_KEYS, re.IGNORECASE)
PROMPT, DEMAND, PASSES_ON = (
    re.compile("|".join(f"(?:{one})" for one in forms), re.IGNORECASE)
    for forms in ((*_PROMPTS, *_ANSWERING, _PASSES_ON, _AS_FACT), _DEMANDS, (_PASSES_ON, _AS_FACT))
)
