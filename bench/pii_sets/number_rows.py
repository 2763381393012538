"""Texts with many numbers that are not identifiers: tables, logs, series, matrices, ledgers, dumps.

    for document in number_rows("de", documents=120, seed=7): ...      # {"text", "language", "spans": []}

Each is made of one sort of `_SORTS`, with the words of the language over its columns and numbers as they are written
there. No value is a telephone number, a card or an identity on purpose; some pass a check digit by chance, as they do
in the tables that people paste.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

# Decimal sign, sign between thousands; then what a table is introduced with, and what its columns are called.
_WRITTEN: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...]]] = {
    "ar": (
        *(".", ","),
        ("النتائج حسب السنة:", "القيم المقاسة"),
        ("السنة", "العدد", "المبلغ", "المجموع", "النسبة", "الكمية"),
    ),
    "de": (
        *(",", "."),
        ("Ergebnisse je Quartal:", "Messwerte der Anlage"),
        ("Jahr", "Anzahl", "Betrag", "Summe", "Anteil", "Menge"),
    ),
    "en": (
        *(".", ","),
        ("Results by quarter:", "Readings of the sensor"),
        ("year", "count", "amount", "total", "share", "qty"),
    ),
    "es": (
        *(",", "."),
        ("Resultados por trimestre:", "Valores medidos"),
        ("año", "cantidad", "importe", "total", "cuota", "uds"),
    ),
    "fr": (
        *(",", " "),
        ("Résultats par trimestre :", "Valeurs mesurées"),
        ("année", "nombre", "montant", "total", "part", "qté"),
    ),
    "id": (
        *(",", "."),
        ("Hasil per triwulan:", "Nilai terukur"),
        ("tahun", "jumlah", "nilai", "total", "bagian", "stok"),
    ),
    "it": (
        *(",", "."),
        ("Risultati per trimestre:", "Valori misurati"),
        ("anno", "numero", "importo", "totale", "quota", "pezzi"),
    ),
    "kk": (
        *(",", " "),
        ("Тоқсан нәтижелері:", "Өлшенген мәндер"),
        ("жыл", "саны", "сома", "барлығы", "үлесі", "көлемі"),
    ),
    "nl": (
        *(",", "."),
        ("Resultaten per kwartaal:", "Gemeten waarden"),
        ("jaar", "aantal", "bedrag", "totaal", "aandeel", "stuks"),
    ),
    "pl": (
        *(",", " "),
        ("Wyniki w kwartałach:", "Zmierzone wartości"),
        ("rok", "liczba", "kwota", "suma", "udział", "ilość"),
    ),
    "pt": (
        *(",", "."),
        ("Resultados por trimestre:", "Valores medidos"),
        ("ano", "quantidade", "valor", "total", "quota", "peças"),
    ),
    "ru": (
        *(",", " "),
        ("Итоги по кварталам:", "Измеренные значения"),
        ("год", "число", "сумма", "итого", "доля", "кол-во"),
    ),
    "tr": (
        *(",", "."),
        ("Çeyrek sonuçları:", "Ölçülen değerler"),
        ("yıl", "adet", "tutar", "toplam", "pay", "miktar"),
    ),
}
LANGUAGES = tuple(sorted(_WRITTEN))

_Row = list[str]


class _Writer:
    """Numbers as a language writes them.

    Args:
        dice: everything is drawn from.
    """

    def __init__(self, language: str, dice: Random) -> None:
        self.decimal, self.thousands, titles, self.heads = _WRITTEN[language]
        self.dice = dice
        self.title = dice.choice(titles)

    def whole(self, digits: int) -> str:
        """A number of at most so many digits, plain."""
        return str(self.dice.randrange(10 ** self.dice.randint(1, digits)))

    def grouped(self, most: int) -> str:
        """A number with signs between its thousands."""
        return f"{self.dice.randrange(most):,}".replace(",", self.thousands)

    def amount(self, most: int) -> str:
        """The same with two decimals."""
        whole, _, cents = f"{self.dice.uniform(0, most):,.2f}".partition(".")
        return whole.replace(",", self.thousands) + self.decimal + cents

    def decimals(self, most: float, places: int) -> str:
        """A number with a decimal point, as machines write it."""
        return f"{self.dice.uniform(-most if self.dice.random() < 0.2 else 0, most):.{places}f}"

    def rows(self, cells: list[Callable[[], str]], fewest: int = 4, most: int = 12) -> list[_Row]:
        """Rows with one cell of each."""
        return [[cell() for cell in cells] for _ in range(self.dice.randint(fewest, most))]

    def columns(self, fewest: int = 3, most: int = 7) -> list[Callable[[], str]]:
        """What columns of a statistic hold: a year or a count first, then whatever."""
        kinds: list[Callable[[], str]] = [
            lambda: self.whole(2),
            lambda: self.whole(4),
            lambda: self.whole(6),
            lambda: self.whole(9),
            lambda: self.grouped(10**7),
            lambda: self.amount(10**5),
            lambda: self.decimals(100, self.dice.randint(1, 3)),
        ]
        chosen = [self.dice.choice(kinds) for _ in range(self.dice.randint(fewest, most))]
        return [lambda: str(self.dice.randint(1990, 2030)), *chosen]

    def header(self, count: int) -> _Row:
        """Words over so many columns."""
        return [self.heads[0], *(self.dice.choice(self.heads[1:]) for _ in range(count - 1))]


def _joined(rows: list[_Row], by: str) -> str:
    return "\n".join(by.join(row) for row in rows)


def _aligned(rows: list[_Row], gap: int) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        (" " * gap).join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def _statistic(write: _Writer, by: str) -> str:
    rows = write.rows(write.columns())
    return f"{write.title}\n{_joined([write.header(len(rows[0])), *rows], by)}"


def _markdown(write: _Writer) -> str:
    rows = write.rows(write.columns())
    head = write.header(len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---:"] * len(head), *rows])


def _space_aligned(write: _Writer) -> str:
    rows = write.rows(write.columns())
    return f"{write.title}\n{_aligned([write.header(len(rows[0])), *rows], write.dice.choice((1, 2, 3)))}"


def _sql(write: _Writer) -> str:
    rows = [[str(index), *row] for index, row in enumerate(write.rows(write.columns(2, 5)), write.dice.randrange(9**6))]
    head = ["id", *write.header(len(rows[0]) - 1)]
    body = "\n".join(" " + " | ".join(row) for row in [head, ["-" * 8] * len(head), *rows])
    return f"{body}\n({len(rows)} rows)"


def _plain(write: _Writer) -> str:
    numbers = [write.whole(write.dice.choice((2, 4, 6, 8))) for _ in range(write.dice.randint(20, 80))]
    return f"{write.title} " * write.dice.randrange(2) + " ".join(numbers)


def _lines(write: _Writer) -> str:
    digits = write.dice.randint(2, 9)
    return _joined(write.rows([lambda: write.whole(digits)] * write.dice.randint(2, 9), 4, 15), " ")


def _equal(write: _Writer) -> str:
    digits, by = write.dice.randint(2, 6), write.dice.choice((" ", " ", "  ", "\t", "\n"))
    return by.join(f"{write.dice.randrange(10**digits):0{digits}}" for _ in range(write.dice.randint(12, 90)))


def _vmstat(write: _Writer) -> str:
    sizes = (2, 1, 5, 7, 6, 8, 1, 1, 3, 4, 4, 5, 2, 2, 3, 1, 1)
    rows = write.rows([lambda size=size: write.whole(size) for size in sizes], 5, 10)  # type: ignore[misc]
    head = ["r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs", "us", "sy", "id", "wa", "st"]
    return _aligned([head, *rows], 1)


def _iostat(write: _Writer) -> str:
    cells = [lambda: write.decimals(500, 2)] * 6 + [lambda: write.whole(9)] * 2
    rows = [[f"sd{'abcdef'[index % 6]}", *row] for index, row in enumerate(write.rows(cells, 3, 6))]
    return "Device r/s w/s rkB/s wkB/s await util kB_read kB_wrtn\n" + _aligned(rows, 4)


def _top(write: _Writer) -> str:
    cells = [
        lambda: write.whole(6),
        lambda: "20",
        lambda: "0",
        lambda: write.whole(8),
        lambda: write.whole(6),
        lambda: write.whole(5),
        lambda: write.decimals(50, 1),
        lambda: write.decimals(20, 1),
    ]
    return "PID PR NI VIRT RES SHR %CPU %MEM\n" + _aligned(write.rows(cells), 1)


def _sensor(write: _Writer) -> str:
    by, start = write.dice.choice((",", ";", "\t")), write.dice.randint(1_600_000_000, 1_790_000_000)
    cells = [
        lambda: write.decimals(40, 2),
        lambda: write.decimals(100, 1),
        lambda: write.whole(5),
        lambda: write.whole(7),
    ]
    rows = [[str(start + 60 * index), *row] for index, row in enumerate(write.rows(cells))]
    return _joined([["time", "temp", "humidity", "lux", "counter"], *rows], by)


def _ledger(write: _Writer) -> str:
    cells = [
        lambda: f"{write.dice.randint(1, 28):02}.{write.dice.randint(1, 12):02}.{write.dice.randint(2015, 2026)}",
        lambda: str(write.dice.randint(1000, 9999)),
        lambda: write.amount(10**6),
        lambda: write.amount(10**6),
        lambda: write.amount(10**7),
    ]
    return f"{write.title}\n{_joined(write.rows(cells), write.dice.choice((' ', '  ', chr(9), ' | ')))}"


def _invoice(write: _Writer) -> str:
    cells = [
        lambda: write.whole(2),
        lambda: str(write.dice.randrange(10**4, 10**7)),
        lambda: write.whole(3),
        lambda: write.amount(1000),
        lambda: write.amount(10**5),
    ]
    return f"{write.title}\n{_joined(write.rows(cells), write.dice.choice((' ', ' x ', chr(9))))}"


def _laboratory(write: _Writer) -> str:
    tests = ("Na", "K", "Ca", "Hb", "MCV", "PLT", "WBC", "CRP", "TSH", "LDL")
    cells = [lambda: write.decimals(300, 1), lambda: f"{write.whole(2)}-{write.whole(3)}", lambda: write.whole(3)]
    rows = write.rows(cells, 4, 10)
    return _joined([[test, *row] for test, row in zip(tests, rows, strict=False)], " ")


def _league(write: _Writer) -> str:
    cells = [lambda: write.whole(2)] * 4 + [lambda: f"{write.whole(2)}:{write.whole(2)}", lambda: write.whole(2)]
    return _joined([[f"{index}.", *row] for index, row in enumerate(write.rows(cells, 6, 18), 1)], " ")


def _times(write: _Writer) -> str:
    cells = [lambda: f"{write.dice.randrange(24):02}{write.dice.choice((':', '.'))}{write.dice.randrange(60):02}"] * 6
    return _joined(
        [[str(write.dice.randint(1, 999)), *row] for row in write.rows(cells)], write.dice.choice((" ", "\t"))
    )


def _json(write: _Writer) -> str:
    digits = write.dice.randint(2, 9)
    return str([[write.dice.randrange(10**digits) for _ in range(write.dice.randint(3, 9))] for _ in range(6)])


def _array(write: _Writer) -> str:
    digits = write.dice.randint(2, 10)
    numbers = ", ".join(write.whole(digits) for _ in range(write.dice.randint(10, 40)))
    return f"static const uint32_t table[] = {{ {numbers} }};"


def _lottery(write: _Writer) -> str:
    draws = [sorted(write.dice.sample(range(1, 50), 6)) for _ in range(write.dice.randint(2, 10))]
    return "\n".join(" ".join(map(str, draw)) for draw in draws)


def _versions(write: _Writer) -> str:
    return " ".join(".".join(write.whole(2) for _ in range(write.dice.randint(2, 3))) for _ in range(20))


def _coordinates(write: _Writer) -> str:
    places = write.dice.randint(3, 7)
    cells = [lambda: write.decimals(90, places), lambda: write.decimals(180, places)]
    return _joined(write.rows(cells), write.dice.choice((" ", ", ", "\t")))


def _matrix(write: _Writer) -> str:
    size, places = write.dice.randint(3, 9), write.dice.randint(0, 6)
    return _joined(
        [[write.decimals(10, places) for _ in range(size)] for _ in range(size)], write.dice.choice((" ", "  "))
    )


def _dump(write: _Writer) -> str:
    lines = range(write.dice.randint(4, 12))
    return "\n".join(
        f"{16 * line:08x}  " + write.dice.randbytes(16).hex(" ", write.dice.choice((1, 2))) for line in lines
    )


def _octal(write: _Writer) -> str:
    return "\n".join(
        f"{16 * line:07o} " + " ".join(f"{write.dice.randrange(2**16):06o}" for _ in range(8)) for line in range(8)
    )


def _sudoku(write: _Writer) -> str:
    return "\n".join(" ".join(str(write.dice.randrange(10)) for _ in range(9)) for _ in range(9))


def _series(write: _Writer) -> str:
    step, start = write.dice.randint(1, 5000), write.dice.randrange(10**6)
    return write.dice.choice((" ", " ", "\n", ", ")).join(str(start + step * index) for index in range(40))


def _counters(write: _Writer) -> str:
    names = ("rx", "tx", "errs", "drop", "fifo", "frame", "hits", "miss")
    return "\n".join(f"{name}: {' '.join(write.whole(10) for _ in range(8))}" for name in names)


_SORTS: tuple[Callable[[_Writer], str], ...] = (
    lambda write: _statistic(write, "\t"),
    lambda write: _statistic(write, " "),
    lambda write: _statistic(write, ";"),
    *(_markdown, _space_aligned, _sql, _plain, _lines, _equal, _vmstat, _iostat, _top, _sensor, _ledger, _invoice),
    *(_laboratory, _league, _times, _json, _array, _lottery, _versions, _coordinates, _matrix, _dump, _octal, _sudoku),
    *(_series, _counters),
)


def number_rows(language: str, *, documents: int, seed: int) -> Iterator[dict[str, Any]]:
    """So many texts of numbers, one of each sort in turn."""
    dice = Random(f"{seed} numbers {language}")
    for index in range(documents):
        write = _Writer(language, dice)
        yield {"text": _SORTS[index % len(_SORTS)](write), "language": language, "spans": []}
