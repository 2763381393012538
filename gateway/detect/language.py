"""Which languages is a text in? By script, and by everyday words; no model, a few microseconds.

The answer steers policy: a language in which this site accepts the finding of names may leave, any other stays
on-prem. So the guess errs on one side only: "can't be told" (`und`) is an answer, and a paragraph in another language
or a word in another script is never outvoted by the rest.

    languages("Please confirm the transfer")          # {"en"}
    languages("Bitte bestätigen Sie die Überweisung")   # {"de"}
    languages("4111 1111")                              # {"zxx"}: nothing linguistic
"""

from __future__ import annotations

import re

UNKNOWN = "und"  # ISO 639-2: undetermined
NONE = "zxx"  # ISO 639-2: no linguistic content

# Everyday words. English also has those of business letters, so that a short order to a machine is recognized.
_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": (
            "the of and to in is that it for was on are as with his they be at this have from or had by but what some "
            "we can out other were all there when up use your how said an each she which do their if will way about "
            "many then them would like so these her him has two more could see than first been who its now find long "
            "down day did get made may part i a my me you he our us no not yes please thank thanks hello hi dear ok okay "
            "write read send sent tell say give show make let new name number address account bank card payment pay paid "
            "transfer invoice contract customer client loan credit balance amount date month year today tomorrow "
            "yesterday phone call mail email e-mail letter reply answer question help need want should must shall confirm "
            "check summarize summary translate explain list repeat following below above here where why because before "
            "after again also any because both between during every few just know last most much never next only over "
            "own same such take through too under until very while work well does doing done don being into off once "
            "regards best kind sincerely mr mrs ms meeting report status open closed due risk branch manager order "
            "delivery refund complaint request information details attached document file data user password key value "
            "text message system assistant following using without within against iban swift code id contact customer's "
            "good morning evening afternoon great sure right left back still even think going good time people one not "
            "sorry update change remove add review draft compare calculate policy claim insurance patient doctor ticket"
        ),
        "de": (
            "der die das und ist nicht ich sie es ein eine einen einem einer zu mit auf für von dem den des im am als "
            "auch bei aus nach wie wird werden wurde hat haben sind war bitte danke herr frau ihre ihr unser mein meine "
            "dass oder wenn kann noch nur über um bis zur zum vor durch sehr geehrte geehrter damen herren grüße hallo"
        ),
        "fr": (
            "le la les un une des et est pas je vous il elle nous ils que qui dans pour sur avec au aux ce cette ces mon "
            "ma mes votre vos notre de du en ne se sont été était bonjour merci monsieur madame s'il plaît être avoir "
            "par plus mais ou où si leur tout"
        ),
        "es": (
            "el la los las un una y es no yo usted que en de del por para con su sus mi se lo al como más pero este esta "
            "está son fue ha hola gracias señor señora estimado favor muy ser hay cuando también nuestro"
        ),
        "it": (
            "il lo la gli le un una e è non che di del della dei in per con su mi si sono come più ma questo questa anche "
            "al alla dal nel nella grazie buongiorno gentile signor signora favore ha ho essere stato nostro"
        ),
        "pt": (
            "o a os as um uma e é não que de do da dos das em no na por para com seu sua se mais mas este esta como ao "
            "foi são obrigado olá senhor senhora favor você meu minha nosso está também"
        ),
        "nl": (
            "de het een en is niet ik u je dat die in van op te voor met zijn aan er om als ook bij uit naar heeft hebben "
            "wordt was maar door over nog graag bedankt geachte heer mevrouw mijn uw ons deze dit"
        ),
        "pl": (
            "i w na z do nie się to że jest o jak po co tak za od przez dla są był była oraz czy już tylko jego jej pan "
            "pani proszę dziękuję szanowny mój moja numer ale lub przy"
        ),
        "id": (
            "yang dan di ini itu dengan untuk tidak dari dalam akan pada ke juga saya anda kami kita adalah ada bisa oleh "
            "atau sudah telah bapak ibu tolong terima kasih mohon nomor rekening"
        ),
        "tr": (
            "ve bir bu da de için ile çok ne daha var olarak gibi ben sen o biz siz değil kadar olan mi lütfen teşekkür "
            "merhaba sayın bey hanım ama en her"
        ),
        "sv": (
            "och att det som en är på för av med inte jag den till har de om ett var han hon vi du kan ska från men så "
            "tack hej vänligen min din"
        ),
        "ro": "și în la cu de pe este nu un o care din pentru mai sunt ca să ce au fost dar vă mulțumesc domnul doamna",
        "cs": "a v se na je že to s z do o pro jsem není které ale jako by po jsou prosím děkuji pan paní váš",
    }.items()
}

_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _known in _WORDS.items():
    for _word in _known:
        _LANGUAGES_OF.setdefault(_word, []).append(_language)

# First code point of a block, last one, and the language its letters most often mean. Any of them keeps a text from
# passing as English; which of the languages that share a script it is makes no difference here.
_SCRIPTS: tuple[tuple[str, str], ...] = (
    ("ru", "\u0400-\u052f"),
    ("el", "\u0370-\u03ff\u1f00-\u1fff"),
    ("he", "\u0590-\u05ff"),
    ("ar", "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc"),
    ("hi", "\u0900-\u0dff"),
    ("th", "\u0e00-\u0eff"),
    ("ka", "\u10a0-\u10ff"),
    ("am", "\u1200-\u139f"),
    ("ja", "\u3040-\u30ff"),
    ("zh", "\u3400-\u9fff\uf900-\ufaff"),
    ("ko", "\u1100-\u11ff\uac00-\ud7af"),
)
_SCRIPT_LETTERS = tuple((language, re.compile(f"[{ranges}]")) for language, ranges in _SCRIPTS)
# A letter of no Latin block and of none of the scripts above: something we know nothing about.
_STRANGE = re.compile(f"[^\\W\\d_a-zA-Z\u00aa-\u024f\u1e00-\u1eff{''.join(ranges for _, ranges in _SCRIPTS)}]")

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=[^\W\d_])")

_SHARE = 0.25  # of a text's words must be everyday words of its language; measured on English letters: 0.45 to 0.75
_FOREIGN_HITS = 3  # everyday words of another language, and more than English has, mark a paragraph as foreign


def languages(text: str) -> frozenset[str]:
    """The languages of `text` as ISO 639-1 codes, `und` when it can't be told, `zxx` when there are no words."""
    found: set[str] = set()
    if not text.isascii():
        found.update(language for language, letters in _SCRIPT_LETTERS if letters.search(text))
        if _STRANGE.search(text):
            found.add(UNKNOWN)
    whole = _guess(_words(text))
    if whole != NONE or not found:
        found.add(whole)
    if whole not in (NONE, UNKNOWN) and "\n" in text:
        for paragraph in _PARAGRAPH.split(text):
            other, hits = _best(_words(paragraph))
            if other not in (whole, NONE) and hits >= _FOREIGN_HITS:
                found.add(other)
    return frozenset(found)


def _words(text: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]


def _guess(words: list[str]) -> str:
    latin = [word for word in words if word[0] < "\u0250" or "\u1e00" <= word[0] <= "\u1eff"]
    if not latin:
        return NONE
    language, hits = _best(latin)
    return language if hits >= _SHARE * len(latin) and hits else UNKNOWN


def _best(words: list[str]) -> tuple[str, int]:
    """The language that most of `words` are everyday words of, and how many; the first in the table on a tie."""
    hits = dict.fromkeys(_WORDS, 0)
    for word in words:
        for language in _LANGUAGES_OF.get(word, ()):
            hits[language] += 1
    best = max(hits, key=hits.__getitem__)
    return (best, hits[best]) if hits[best] else (NONE, 0)
