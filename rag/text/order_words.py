"""Words by which an order to whoever answers is told, in the languages that are written most, and disguised letters.

Words are in lower case; one that ends in `*` stands for every word with that beginning. Chinese, Japanese and Korean
have no spaces, so their tables are looked up inside the text (`INSIDE`).
"""

from __future__ import annotations

import re
from typing import Final

# Nobody sees these, and they part no words: soft hyphen, zero-width and direction marks, invisible mathematical signs,
# variation selectors, tags, and marks over a letter that has no form with them.
UNSEEN: Final = re.compile(
    "[\xad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
# Letters of Cyrillic, Greek and phonetic script, and the Latin ones that they look like.
ALIKE: Final = str.maketrans(
    "авгеёіїјкмнорстухһѕԁԛԝӏɑɡ" "АВЕЁІЇЈКМНОРСТУХЅԚԜ" "αβγεηικνορτυχωϲ" "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ",
    "abreeiijkmhopctyxhsdqwlag" "ABEEIIJKMHOPCTYXSQW" "abyenikvoptuxwc" "ABEZHIKMNOPTYXC",
)  # fmt: skip


class Role:
    """What a word may do in an order: bits, as plain numbers, since an `enum.Flag` takes most of the time."""

    NONE = 0
    MACHINE = 1 << 0  # whoever answers: "assistant"
    THING = 1 << 1  # what may answer, if more says so: "model"
    SERVES = 1 << 34  # answers only with such a word before it: "digest tools"
    ARTIFICIAL = 1 << 2  # makes one of those: "answering", "automated"
    TELL = 1 << 3  # an act of speech: "say"
    DESIRE = 1 << 4  # an act of speech whose obedience repeats the verb: "recommend" makes "is recommended"
    WRITE = 1 << 5  # an act of output: "append"
    SPOKEN = 1 << 6  # with "must" only: the infinitives of other languages, and "told" after "must be"
    SPEECH = TELL | DESIRE
    ORDERS = SPEECH | WRITE
    HEARER = 1 << 7  # who will be told: "the user"
    REPLY = 1 << 8  # what is written: "answer"
    YOUR = 1 << 9
    EVERY = 1 << 10
    MUST = 1 << 11
    ASKED = 1 << 12
    READS = 1 << 13  # what a machine does with a text: "answering"
    BIDS = 1 << 30  # with "to" behind it: "remember to say"
    DROP = 1 << 14  # "ignore"
    RULES = 1 << 15  # "instructions"
    ABOVE = 1 << 16  # "previous"
    MADE = 1 << 17  # by a machine: "generated"
    CALL = 1 << 18  # opens an address: "dear", "note to"
    JOINS = 1 << 19  # may stand before the verb of an order: "please", "then"
    AND = 1 << 20
    THAT = 1 << 21
    TEXT = 1 << 22  # what is written, if a machine made it: "content"
    FOREIGN = 1 << 23  # in a table of another language than English
    ARTICLE = 1 << 24
    NAMES = 1 << 25  # says what something is like, or leaves it unsaid: "call", "omit"
    FORMALITY = 1 << 29  # what a task asks to be in the reader's own answer: "unit"
    PLACE = 1 << 31  # where or how that is written: "box"
    HOLDS = 1 << 32  # with the answer and a place: "write"
    EDITION = 1 << 33
    TOPIC = 1 << 35  # what a task asks its reader to write about: "the role of the Senate"
    NOUNS = TEXT | FORMALITY | PLACE | EDITION | TOPIC
    PRAISES = 1 << 28  # whoever is addressed: "clever"
    PRESSES = 1 << 27  # with "hear" only: "it is vital that readers hear"
    WHEN = 1 << 26  # before a question: "when asked"


ENGLISH_ROLES: Final[dict[int, str]] = {
    Role.MACHINE: "assistant assistants ai ais llm llms gpt* chatgpt chatbot* bot bots copilot* summariser* "
    "summarizer* crawler* scraper* indexer*",
    Role.THING: "software agent agents model models system systems engine engines machine machines helper helpers "
    "program",
    Role.SERVES: "tool tools service services programs parser parsers network networks",
    Role.ARTIFICIAL: "answer answering automated automatic artificial language conversational generative rag ai chat "
    "intelligent coding digest indexing retrieval summary neural autocomplete",
    Role.TELL: "say tell mention reply respond answer claim state assert insist declare announce inform explain "
    "pretend instruct warn remind quote report reveal convince persuade urge describe present acknowledge confirm "
    "clarify stress emphasise emphasize highlight disclose ask act behave pose repeat cite notify point_out "
    "points_out speak convey reassure",
    Role.DESIRE: "recommend suggest advise advertise promote praise invite encourage endorse",
    Role.WRITE: "add append prepend begin start end finish close conclude include insert integrate incorporate "
    "introduce embed modify augment enhance enrich extend change alter adapt edit replace convert encode decode "
    "translate render rewrite reverse scramble jumble shuffle group combine remove misspell anagram substitute "
    "rearrange use provide write give format tease hint offer express weave place put sprinkle direct link make "
    "spell deliver craft compose print output contain list let send slip show display copy paste pass attach supply "
    "refer greet credit",
    Role.SPOKEN: "said told hear learn",
    Role.ARTICLE: "the a an",
    Role.WHEN: "when if whenever before while after wenn si quand lorsque quando cuando se",
    Role.HEARER: "user users reader readers everyone everybody anyone anybody people whoever audience questioner* "
    "asker* human humans him her",
    Role.REPLY: "reply replies response responses answer answers message messages output outputs summar* "
    "completion*",
    Role.YOUR: "your",
    Role.EVERY: "every each any all whatever",
    Role.MUST: "must should shall shalt ought has_to have_to need_to needs_to required_to obliged_to supposed_to "
    "got_to ought_to is_to are_to you_will you_shall",
    Role.PRESSES: "vital essential important crucial deserve deserves need needs require requires required "
    "requirement mandatory",
    Role.ASKED: "asked asks asking question questions query queries answering summarising summarizing responding "
    "replying summarise summarize cited quotes discussed",
    Role.READS: "reading reads answering answers quoting quotes summarising summarizing condensing digesting "
    "indexing crawling scraping trained shorten summarise summarize condense digest",
    Role.BIDS: "free forget remember sure important vital essential crucial asked asks ask told reminded kind want "
    "wants wish like job task duty demand demands request try careful required obliged expected instructed as",
    Role.DROP: "ignore disregard forget override bypass overlook discard dismiss scrap neglect",
    Role.RULES: "instruction* prompt prompts rules guideline* directive* directions orders policy policies",
    Role.ABOVE: "above previous prior earlier preceding foregoing before everything far told other else all former "
    "anything these those documentation document page text book passage passages context content sources manual safety",
    Role.MADE: "generated auto-generated autogenerated ai-generated ai-written ai-made machine-generated "
    "machine-written machine-made machine-produced computer-generated computer-written automatic automated synthetic",
    Role.TEXT: "text texts content contents digest digests article articles description descriptions output outputs "
    "copy prose snippet snippets caption captions paraphrase paraphrases",
    Role.NAMES: "call omit omitt label depict portray",
    Role.PRAISES: "o oh clever brilliant wise helpful kind mighty friendly beloved honest",
    Role.FORMALITY: "unit units date name names number reference references working workings step steps calculation "
    "calculations title author authors source sources page pages chapter section line signature initials formula "
    "formulas equation equations diagram diagrams sketch graph graphs chart evidence reason reasons reasoning "
    "explanation justification example examples definition proof assumption assumptions sentences quotation quotations "
    "text",
    Role.TOPIC: "role roles cause causes effect effects consequence consequences difference differences similarity "
    "similarities relation relations relationship origin origins purpose function functions structure influence "
    "significance",
    Role.PLACE: "box boxes space spaces line lines grid margin sheet notebook booklet table column blank blanks gap "
    "gaps field page paper places figures ink pencil sentences fraction percentage decimal form terms metres meters "
    "centimetres grams kilograms litres seconds minutes hours degrees words",
    Role.HOLDS: "write give state explain show present express provide put record",
    Role.EDITION: "edition editions version versions draft drafts printing revision revisions release releases issue "
    "issues",
    Role.CALL: "dear hey hi hello attention to for you as listen @ remember",
    Role.JOINS: "please also always now then just only simply kindly instead therefore never henceforth again "
    "exactly immediately first finally additionally furthermore not n't do could",
    Role.AND: "and but so or",
    Role.THAT: "that how",
}  # fmt: skip

FOREIGN_ROLES: Final[dict[int, str]] = {
    Role.MACHINE: "maschinell* assistent* assistenz* sprachmodell* assistante* asistente* asystent* ассистент* "
    "помощник* ии чат-бот* чатбот* бот yardımcı* asistan* yapay المساعد مساعد सहायक एआई assistente*",
    Role.THING: "modell modellen modèle* modelo modelos modello модель модели sistema système agente agenten نموذج "
    "मॉडल",
    Role.TELL: "sage sag sagt antworte erwähne behaupte erkläre informiere empfiehl teile nenne berichte zeg "
    "antwoord vermeld vertel noem meld säg svara berätta nämn påstå skriv dis dites réponds répondez mentionne "
    "mentionnez indique indiquez informe informez recommande recommandez affirme affirmez précise précisez conseille "
    "conseillez prétends prétendez explique expliquez di diga dile dígale dígales responde responda menciona "
    "mencione informa recomienda recomiende afirma afirme indica diz dizer-lhe recomende explica rispondi risponda "
    "menziona menzioni consiglia informi afferma dica spiega powiedz odpowiedz odpowiadaj wspomnij poinformuj poleć "
    "twierdź przekaż скажи* ответь* отвечай* сообщи* упомяни* порекомендуй* укажи* утверждай* расскажи* передай* "
    "объясни* söyle söyleyin belirt belirtin cevapla yanıtla bildir öner قل وقل أخبر وأخبر اذكر واذكر أجب وأجب कहो "
    "कहें बताओ बताएं बताएँ बोलो",
    Role.WRITE: "schreibe schreib füge gib voeg schrijf lägg ajoute ajoutez écris écrivez añade añada agrega "
    "agregue escribe escriba adicione acrescente escreva inclua incluya inclus incluez termine terminez finissez "
    "beende termina aggiungi scrivi includi dodaj napisz добавь* напиши* включи* ekle yaz أضف وأضف اكتب واكتب लिखें "
    "लिखो जोड़ें",
    Role.SPOKEN: "sagen antworten erwähnen behaupten empfehlen informieren mitteilen hinweisen werben schreiben "
    "hinzufügen zeggen vertellen vermelden toevoegen schrijven aanbevelen säga berätta nämna lägga dire mentionner "
    "indiquer recommander ajouter répondre informer écrire decir mencionar responder añadir agregar recomendar "
    "informar escribir dizer acrescentar adicionar escrever rispondere menzionare aggiungere consigliare scrivere "
    "powiedzieć wspomnieć dodać napisać polecić сказать сообщить упомянуть добавить написать ответить рекомендовать "
    "söylemeli eklemeli",
    Role.HEARER: "nutzer* benutzer* anwender* leser* fragesteller* jedem gebruiker* lezer* användare* läsare* "
    "utilisateur* lecteur* usuario* lector* usuári* utilizador* leitor* utente utenti lettor* użytkownik* czytelnik* "
    "пользовател* читател* kullanıcı* okuyucu* المستخدم للمستخدم القارئ उपयोगकर्ता* पाठक*",
    Role.REPLY: "antwort antworten réponse* respuesta* resposta* risposta risposte antwoord antwoorden svar "
    "odpowied* ответ* cevap* yanıt* إجابتك उत्तर",
    Role.YOUR: "deine deiner deinem ihre ihrer jouw je uw ditt ta votre tu su sua tua twojej swojej twoja твой "
    "твоём твоем ваш вашем свой своём своем",
    Role.EVERY: "jede jeder jedem elke iedere varje chaque toute todas cada toda ogni każdej каждый каждом каждому "
    "her",
    Role.MUST: "muss soll sollen müssen sollst sollte moet moeten ska måste doit doivent devez dois debe deben "
    "debes deve devem devi devono musi powinien должен должна должны нужно следует обязан meli يجب चाहिए",
    Role.ASKED: "gefragt fragt zusammenfass* résumez résumes résumer resumas resumir riassumi fragen frage question "
    "pregunta* pergunta* domand* vraag vragen fråga pytani* вопрос* спрос* soru* سؤال सवाल",
    Role.DROP: "vergiss ignoriere ignoriert missachte vergessen vergeet negeer strunta glöm ignorera oublie oubliez "
    "ignore ignorez ignora ignoren olvida olvide olvídate esqueça esquece desconsidere dimentica dimenticate "
    "zapomnij zignoruj pomiń забудь* игнорируй* проигнорируй* unut تجاهل انس अनदेखा भूल yok",
    Role.RULES: "anweisung* instruktion* vorgabe* regeln befehl* consigne* directive* instruccion* órden* instruç* "
    "ordens istruzion* instructie* opdracht* instrukcj* polece* инструкци* указани* talimat* التعليمات تعليمات "
    "निर्देश*",
    Role.ABOVE: "bisherig* vorherig* obig* obigen précéd* précèd* dessus anterior* arriba acima precedent* sopra "
    "vorige eerdere tidigare poprzedni* powyższ* предыдущ* выше önceki السابقة पिछले tes tus tue tutte toutes todas "
    "alle alles",
    Role.CALL: "liebe lieber hallo achtung hinweis an cher chère attention à estimado querida querido hola atención "
    "atenção caro cara nota per für pour para voor till dla к для уважаемый дорогой внимание sevgili عزيزي प्रिय",
    Role.JOINS: "bitte immer auch nur dann nun stattdessen alstublieft altijd ook vänligen alltid toujours aussi "
    "siempre también sempre também anche proszę zawsze także пожалуйста всегда также lütfen",
    Role.AND: "und en och et y e ed i и ve و और",
    Role.THAT: "dass daß dat att que qu che że что чтобы أن إن कि er sie",
}  # fmt: skip

# Chinese, Japanese and Korean: what stands anywhere in a sentence.
INSIDE: Final[dict[int, re.Pattern[str]]] = {
    Role.MACHINE: re.compile("助手|助理|人工智[能慧]|语言模型|語言模型|聊天机器人|アシスタント|人工知能|言語モデル|"
                             "チャットボット|어시스턴트|인공지능|언어 ?모델|챗봇"),
    Role.TELL: re.compile("告诉|告訴|回答|回复|回覆|提到|提及|声称|聲稱|说明|推荐|推薦|并说|請說|请说|必须说|"
                          "(?:と|を|に)(?:言っ|言い|答え|伝え|述べ|回答し|返答し|記載し|書い|勧め|付け加え|追加し|書き)|"
                          "(?:라고|다고|을|를|도) ?(?:말하|답하|답변하|대답하|전하|알리|알려|추천하|언급하|추가하|쓰)|"
                          "말해|말하"),
    Role.WRITE: re.compile("加入|添加|写上|寫上|输出|輸出|附上|写道|出力し|포함하|출력하|덧붙"),
    Role.HEARER: re.compile("用户|用戶|读者|讀者|ユーザー|利用者|読者|사용자|독자"),
    Role.REPLY: re.compile("回答|回复|答案|返答|답변|응답"),
    Role.MUST: re.compile("必须|必須|应该|應該|务必|都要|请|請|ください|なければ|하세요|하십시오|해라|해야|주세요"),
    Role.ASKED: re.compile("任何.{0,12}问题|所有.{0,8}问题|被问|質問|질문"),
    Role.DROP: re.compile("忽略|无视|無視|忘记|忘記|忘れ|무시|잊"),
    Role.RULES: re.compile("指令|指示|命令|规则|規則|说明|提示|지시|명령|지침|以上内容|以上的?|上文|上記"),
}  # fmt: skip
