"""Finds user names of a surname and an initial or a given name in one word: `akowalska`.

In every language some words are a letter and a surname ("please", if Mr Lease is listed). So the context must indicate
a user name: signs of addresses, paths, file names and quoted values, or words such as "login".

    user_name_at("ask a.kowalska", 6, 14, listed, index, vocabulary)     # (4, 14), where she is Anna
    is_user_place("assigned to @akowalska", 13, 22)        # True
    is_user_place("the words are akowalska", 14, 23)       # False
"""

from __future__ import annotations

import re

from ...names.cues import PARTICLES
from ..forms.keys import initial_classes
from ..index.index import Index, initial_of
from .vocabulary import Listed, Vocabulary, folded

_BEFORE = frozenset("@/\\=_#<[{`~+&?|")
_BEHIND = frozenset("@/\\=_#>]}`+&|")
_QUOTES = {'"': '"', "'": "'", "«": "»", "“": "”", "„": "“"}
_EXTENSION = re.compile(r"[.-](?=[A-Za-z0-9])")
_REACH = 32  # characters before the word in which a word for users counts
_BESIDE = 14  # characters after the word
_USERS = re.compile(
    r"""(?ix)
    \b(?:user|login|log[ -]?in|nick|handle|alias|owner|member|assignee|profile|username|screen[ ]name|uid|ldap|ssh|git
    |benutzer|anmelde|kennung|besitzer|profil|inhaber|utilisateur|identifiant|pseudo|propriétaire|usuari|perfil|dueñ
    |użytkownik|właściciel|kullanıcı|sahib|pengguna|pemilik|nama\ akun|utente|proprietario|gebruiker|eigenaar|användar
    |логин|пользовател|ник\b|владел|профил|учётн|учетн|користувач|логін|власник|пайдаланушы|المستخدم|مستخدم|دخول)
    |(?:account|konto|kontem|koncie|konta|compte|cuenta|conta|akun|hesab\w*|аккаунт\w*|акаунт\w*|حساب)[ :#]{1,2}\Z
    """
)
_LOGS_IN = re.compile(
    r"""(?ix)
    [ ](?:logged|logs|signed|is\ logged|has\ logged|joined|pushed|committed|commented|uploaded|hat\ sich|вош[её]л|вошла
    |залогин|zalogowa|s'est\ conn|se\ conect|entró|giriş|masuk|увійш)
    """
)

_LONGEST_BEFORE = 24  # characters of initials and particles
_INITIALS_BEFORE = re.compile(
    rf"(?<![^\W_])([^\W\d_](?:[._]?[^\W\d_])?)(?:[._](?:{'|'.join(sorted(PARTICLES))})){{0,3}}[._]\Z"
)
"""One or two before a surname, with its particles: `a.`, `ab_`, `j.van.der.`."""
_INITIAL_BEHIND = re.compile(r"[._]([^\W\d_])(?![^\W_])")
_SECOND_SURNAME = re.compile(r"[._-]([^\W\d_]{3,32})(?![^\W\d_])")
_SHORTEST_SURNAME = 4  # letters of one with initials


def user_name_at(
    text: str, start: int, end: int, listed: Listed, index: Index, vocabulary: Vocabulary
) -> tuple[int, int] | None:
    """Start and end of initials and surnames as user names have them, around the listed word `text[start:end]`:
    `akowalska`, `a.kowalska`, `kowalska_a`, `a.landa-ochoa`."""
    first, last = _with_initials(text, start, end, listed, index)
    if (first, last) == (start, end) and not (
        listed.is_user and text[start:end].islower() and is_user_place(text, start, end)
    ):
        return None
    while (more := _SECOND_SURNAME.match(text, last)) is not None:
        second = vocabulary.look_up(folded(more[1]))
        if not index.has_pair(listed.exact, second.exact):
            break
        last, listed = more.end(), second
    return first, last


def _with_initials(text: str, start: int, end: int, listed: Listed, index: Index) -> tuple[int, int]:
    """Return start and end of a surname including its person's initials; unchanged without such initials."""
    if listed.is_common_word or not listed.exact or end - start < _SHORTEST_SURNAME:
        return start, end
    for beside in (_initials_before(text, start), _INITIAL_BEHIND.match(text, end)):
        if beside is not None and all(
            index.has_pair(map(initial_of, initial_classes(letter)), listed.exact)
            for letter in filter(str.isalpha, beside[1])
        ):
            return min(start, beside.start()), max(end, beside.end())
    return start, end


def _initials_before(text: str, start: int) -> re.Match[str] | None:
    if text[start - 1 : start] not in (".", "_"):
        return None
    return _INITIALS_BEFORE.search(text, max(0, start - _LONGEST_BEFORE), start)


def is_user_place(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` is a user name, if a person has it."""
    before, behind = text[start - 1 : start], text[end : end + 1]
    if before in _BEFORE or behind in _BEHIND or behind.isdigit():
        return bool(before or behind)
    if _QUOTES.get(before) == behind and behind:
        return True
    if _EXTENSION.match(text, end) or (before in (".", "-") and text[start - 2 : start - 1].isalnum()):
        return True
    line = max(text.rfind("\n", 0, start) + 1, start - _REACH)
    return _USERS.search(text, line, start) is not None or _LOGS_IN.match(text, end, end + _BESIDE) is not None
