"""Reads the institution's list from a CSV file, whose columns are found by their headers or named by the operator.

    with open("customers.csv", newline="", encoding="utf-8-sig") as file:
        table = Table(file, columns={"surname": "Nachname"})
        for line, fields in table: ...        # {"surname": "Rübenack", "given_name": "Matthias", ...}

The report of an invalid row contains its line number and the problem, and no value of the row.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import TextIO

from sovctl.support.errors import InputError

# Field -> headers under which it is found, in lower case, one space between words.
FIELDS: dict[str, tuple[str, ...]] = {
    "id": (
        "id",
        "customer id",
        "client id",
        "employee id",
        "kundennummer",
        "numer klienta",
        "номер клиента",
        "id nasabah",
    ),
    "kind": ("kind", "type", "art", "typ", "тип"),
    "given_name": (
        *(
            "given name",
            "given names",
            "first name",
            "forename",
            "vorname",
            "prénom",
            "nombre",
            "imię",
            "имя",
            "nama depan",
        ),
        *("الاسم الأول", "ad", "nome", "voornaam", "аты"),
    ),
    "middle_name": (
        "middle name",
        "middle names",
        "patronymic",
        "отчество",
        "drugie imię",
        "segundo nombre",
        "әкесінің аты",
    ),
    "surname": (
        *(
            "surname",
            "last name",
            "family name",
            "nachname",
            "familienname",
            "nom",
            "nom de famille",
            "apellido",
            "apellidos",
        ),
        *(
            "nazwisko",
            "фамилия",
            "nama belakang",
            "اسم العائلة",
            "soyadı",
            "cognome",
            "achternaam",
            "sobrenome",
            "тегі",
        ),
    ),
    "full_name": (
        *(
            "name",
            "full name",
            "customer name",
            "vollständiger name",
            "nom complet",
            "nombre completo",
            "imię i nazwisko",
        ),
        *(
            "фио",
            "полное имя",
            "nama",
            "nama lengkap",
            "الاسم",
            "الاسم الكامل",
            "ad soyad",
            "nome completo",
            "аты-жөні",
        ),
    ),
    "company": (
        *(
            "company",
            "company name",
            "organisation",
            "organization",
            "firma",
            "unternehmen",
            "société",
            "empresa",
            "spółka",
        ),
        *("компания", "организация", "наименование", "perusahaan", "الشركة", "şirket", "azienda", "bedrijf"),
    ),
    "birth_date": (
        *("birth date", "date of birth", "dob", "birthday", "geburtsdatum", "date de naissance", "fecha de nacimiento"),
        *("data urodzenia", "дата рождения", "tanggal lahir", "تاريخ الميلاد", "doğum tarihi"),
    ),
    "account": (
        "account",
        "account number",
        "iban",
        "konto",
        "kontonummer",
        "compte",
        "cuenta",
        "numer konta",
        "счёт",
        "счет",
        "rekening",
    ),
    "phone": ("phone", "telephone", "mobile", "telefon", "téléphone", "teléfono", "телефон", "telepon", "الهاتف"),
    "email": ("email", "e-mail", "mail", "correo", "почта", "البريد الإلكتروني"),
    "address": ("address", "street", "adresse", "anschrift", "dirección", "adres", "адрес", "alamat", "العنوان"),
}
KINDS = ("person", "company", "employee")

_LONGEST_FIELD = 1000  # characters; a name or an address is far shorter, a lost quotation mark far longer
_ISO_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ].*)?")
_DAY_FIRST = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})")


class Table:
    """The rows of a CSV file as fields.

    Args:
        columns: field -> header, for headers that are not found by themselves.
        delimiter: found from the first line when empty.

    Raises:
        InputError: no header, a column that is not there, or none that holds a name.
    """

    def __init__(self, file: TextIO, *, where: str, columns: Mapping[str, str], delimiter: str = "") -> None:
        first = file.readline()
        if not first.strip():
            raise InputError("expected a line of column headers, got an empty file", where=where)
        delimiter = delimiter or max(",;\t|", key=first.count)
        headers = [each.strip() for each in next(csv.reader([first], delimiter=delimiter))]
        self.bad: list[tuple[int, str]] = []
        """Lines that could not be used, and why."""
        self._rows = csv.reader(file, delimiter=delimiter)
        self._width = len(headers)
        self._places = _places(headers, columns, where)

    def __iter__(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Line and fields of every row that can be used; the others are in `bad`."""
        line = 1
        while True:
            start = line + 1
            try:
                row = next(self._rows)
            except StopIteration:
                return
            except csv.Error:
                line = 1 + self._rows.line_num
                self.bad.append((start, "not CSV"))
                continue
            line = 1 + self._rows.line_num
            if not any(map(str.strip, row)):
                continue
            if len(row) != self._width:
                self.bad.append((start, f"expected {self._width} columns, got {len(row)}"))
                continue
            fields = {field: row[place].strip() for field, place in self._places.items() if row[place].strip()}
            if long := [field for field, value in fields.items() if len(value) > _LONGEST_FIELD]:
                self.bad.append((start, f"{long[0]}: expected at most {_LONGEST_FIELD} characters"))
            elif fields.get("kind", "person").lower() not in KINDS:
                self.bad.append((start, f"kind: expected one of {', '.join(KINDS)}"))
            elif "birth_date" in fields and date_of(fields["birth_date"]) is None:
                self.bad.append((start, "birth_date: expected YYYY-MM-DD or DD.MM.YYYY"))
            else:
                yield start, fields


def _places(headers: list[str], columns: Mapping[str, str], where: str) -> dict[str, int]:
    if unknown := sorted(set(columns) - set(FIELDS)):
        raise InputError(f"expected a field of {', '.join(FIELDS)}, got {', '.join(unknown)}", where="--column")
    if absent := sorted(header for header in columns.values() if header not in headers):
        raise InputError(
            f"expected a column {', '.join(absent)}, got {len(headers)} others",
            where=where,
            hint="headers are compared as they are written; is the delimiter right?",
        )
    places = {field: headers.index(header) for field, header in columns.items()}
    plain = [" ".join(re.split(r"[\s_]+", header.lower())) for header in headers]
    for field, known in FIELDS.items():
        place = next((plain.index(name) for name in known if name in plain), None)
        if field not in places and place is not None and place not in places.values():
            places[field] = place
    if not {"surname", "full_name", "company"} & set(places):
        raise InputError(
            "expected a column with surnames, full names or companies, got none",
            where=where,
            hint="name it: --column surname=HEADER",
        )
    return places


def date_of(text: str) -> str | None:
    """Return a date as YYYY-MM-DD; None if the text is not a date. Day before month, unlike in the United States."""
    if match := _ISO_DATE.fullmatch(text):
        year, month, day = map(int, match.groups())
    elif match := _DAY_FIRST.fullmatch(text):
        day, month, year = map(int, match.groups())
        if month > 12:
            day, month = month, day
    else:
        return None
    return f"{year:04}-{month:02}-{day:02}" if 1 <= month <= 12 and 1 <= day <= 31 else None
