"""Recognizes passwords that no label joins: in a pair with a user name, in SQL, on a command line.

    "Login: anna@example.com / W!nter2024", "log in as root with Tiger_67!", "user svc / pass Tiger_67!"
    "IDENTIFIED BY 'hunter2'", "mysql -u root -phunter2", "sshpass -p 'hunter2'", "curl -u admin:hunter2"

In prose, the value must mix character classes as passwords do; SQL and options contain nothing else there.
Sources: MySQL 8.4 reference manual, 15.7.1.3 (CREATE USER) and 6.2.3 (options); Oracle Database SQL reference, CREATE
USER; sshpass(1); curl(1). Read 2026-11.
"""

from __future__ import annotations

import re

from ...domain.entities import EntityType
from ..context.surroundings import TextContext
from ..findings.finding import Finding
from ..text.scanner import Pattern
from .labelled_passwords import is_mixed

_RULE, _SCORE = "SECRET_NAMED", 0.9
_CLOSING = ".,;:?)]}"
_CUES = (
    "log[ -]?in|log[ -]?on|credentials?|creds|user(?: ?name)?|zugang|zugangsdaten|anmeldedaten|benutzer(?:name)?"
    "|identifiants?|utilisateur|acceso|usuario|credenciales|credenziali|accesso|utente|gebruiker|inloggegevens"
    "|dane logowania|użytkownik|логин|пользователь|учетные данные|giriş|kullanıcı|pengguna|utilizador|usuário"
)
_WITH = "with|using|mit|avec|con|met|z|com|с|ile|dengan"
_VALUE = r"[\"'`«“]?(?P<secret>[^\s\"'`»”]{6,128})"


class UnlabelledPasswordRecognizer:
    """Finds passwords next to a user name, in SQL and in options."""

    rules = (_RULE,)
    patterns = (
        Pattern(r"identified[ \t\n]{1,3}(?:with [0-9a-z_]{1,30} )?by[ \t\n]{1,3}(?:password )?[\"']"),
        Pattern(r"(?:mysql|mariadb|mysqldump|mysqladmin|sshpass) "),
        Pattern(r"(?:curl|wget) "),
        Pattern(r"@[0-9a-z.-]{1,40} / [!-~]{6}"),
        Pattern(
            rf"(?:{_CUES})[^0-9A-Za-z\n]{{1,3}}(?:is |are |ist |sind |est |sont )?"
            r"[0-9a-z._@-]{1,40}(?: / |:)[!-~]{6}"
        ),
        Pattern(
            r"(?:log|sign|logged|melden|anmelden)[ -]?(?:in|on)? (?:as|als) [0-9a-z._@-]{1,40} "
            rf"(?:{_WITH}) [!-~]{{6}}"
        ),
        Pattern(r"[/,;] ?(?:pass|pw|pwd) [!-~]{6}"),
    )
    _matches = (
        re.compile(
            r"identified\s{1,3}(?:with \w{1,30} )?by\s{1,3}(?:password )?([\"'])(?P<secret>[^\"'\n]{3,128})\1",
            re.IGNORECASE,
        ),
        re.compile(r"\w{5,10} (?:[^\n ]{1,64} ){0,8}?-p ?[\"']?(?P<secret>[^\s\"'-][^\s\"']{2,127})", re.IGNORECASE),
        re.compile(
            r"(?:curl|wget) (?:[^\n ]{1,256} ){0,12}?(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,64}"
            r":(?P<secret>[^\s\"']{3,128})",
            re.IGNORECASE,
        ),
        re.compile(rf"@[\w.-]{{1,40}} / {_VALUE}"),
        re.compile(
            rf"(?:{_CUES})[^\w\n]{{1,3}}(?:is |are |ist |sind |est |sont )?[\w.@-]{{1,40}}(?: / |:){_VALUE}",
            re.IGNORECASE,
        ),
        re.compile(
            rf"(?:log|sign|logged|melden|anmelden)[ -]?(?:in|on)? (?:as|als) [\w.@-]{{1,40}} (?:{_WITH}) {_VALUE}",
            re.IGNORECASE,
        ),
        re.compile(rf"[/,;] ?(?:pass|pw|pwd) {_VALUE}", re.IGNORECASE),
    )
    _OF_CODE = 3
    """The first patterns are SQL and options, where any value is a password."""

    def at(self, text: str, start: int, pattern: int, _around: TextContext) -> Finding | None:
        """Return the password of the pair, the statement or the command that begins at `start`."""
        match = self._matches[pattern].match(text, start)
        if match is None:
            return None
        first, last = match.span("secret")
        if pattern >= self._OF_CODE:
            last = first + len(match["secret"].rstrip(_CLOSING))
            if not is_mixed(text[first:last]):
                return None
        elif text[first] in "$<{":
            return None  # a variable
        return Finding(first, last, EntityType.SECRET, _SCORE, text[first:last], _RULE)
