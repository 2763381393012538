"""Functions of the check `pool.tool-calls`: 20 JSON schemas, each with a task for the model that names all arguments.

    CASES[0].name, CASES[0].parameters, CASES[0].task

The schemas have only keywords of vLLM's structured outputs (xgrammar). All tasks are invented and name no person.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}


def _one_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def _whole(low: int, high: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high}


def _list_of(items: Schema, *, least: int = 1) -> Schema:
    return {"type": "array", "items": items, "minItems": least}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class ToolCase:
    """A function, and a task that needs one call of it.

    Args:
        parameters: JSON schema of the arguments.
    """

    name: str
    parameters: Schema
    task: str


CASES = (
    ToolCase("get_time", _object(city=TEXT), "Get the time in Lisbon."),
    ToolCase("add_numbers", _object(a=NUMBER, b=NUMBER), "Add 12.5 and 30."),
    ToolCase("set_light", _object(room=TEXT, on=FLAG), "Switch on the light in the archive."),
    ToolCase("convert", _object(amount=NUMBER, unit=_one_of("EUR", "USD", "CHF")), "Convert an amount of 250 to CHF."),
    ToolCase("set_volume", _object(percent=_whole(0, 100)), "Set the volume to 40 percent."),
    ToolCase("sort_words", _object(words=_list_of(TEXT)), "Sort the words pear, apple and fig."),
    ToolCase("sum_values", _object(values=_list_of(NUMBER, least=2)), "Sum the values 3, 4.5 and 9."),
    ToolCase("draw_point", _object(point=_object(x=NUMBER, y=NUMBER)), "Draw the point x = 2, y = -7."),
    ToolCase(
        "open_ticket",
        _object(title=TEXT, priority=_one_of("low", "normal", "high"), tags=_list_of(TEXT)),
        "Open a ticket of priority high with the title Printer and the tags office and paper.",
    ),
    ToolCase(
        "find_branch",
        {
            "type": "object",
            "properties": {"town": TEXT, "radius_km": _whole(1, 50)},
            "required": ["town"],
            "additionalProperties": False,
        },
        "Find a branch in Ghent within 5 km.",
    ),
    ToolCase(
        "send_report",
        _object(account=_one_of("open", "closed"), urgent=FLAG),
        "Send the report of open accounts. It is urgent.",
    ),
    ToolCase("count_pages", _object(file=_object(name=TEXT, kind=_one_of("pdf", "docx"))), "Count the pages of a.pdf."),
    ToolCase(
        "book_rooms",
        _object(rooms=_list_of(_object(name=TEXT, seats=_whole(1, 200)))),
        "Book the rooms North with 8 seats and South with 20 seats.",
    ),
    ToolCase("convert_length", _object(länge=NUMBER, einheit=_one_of("cm", "m", "km")), "Rechne die Länge 12 m um."),
    ToolCase("mark_done", _object(id=_whole(1, 99999), note={"type": ["string", "null"]}), "Mark 4711 done, no note."),
    ToolCase("set_timer", _object(hours=_whole(0, 23), minutes=_whole(0, 59)), "Set a timer of 1 hour 30 minutes."),
    ToolCase("quote_text", _object(text=TEXT), 'Quote this text: He said "no" \\ and left.'),
    ToolCase(
        "plan_route",
        _object(start=TEXT, stops=_list_of(TEXT), by=_one_of("train", "car", "foot")),
        "Plan a route by train that starts in Bern and stops in Basel and Mainz.",
    ),
    ToolCase("set_matrix", _object(rows=_list_of(_list_of(NUMBER))), "Set the matrix with rows 1, 2 and 3, 4."),
    ToolCase(
        "update_terms",
        _object(terms=_object(rate=_object(value=NUMBER, fixed=FLAG), years=_whole(1, 40))),
        "Update the terms: a fixed rate of 3.2 for 10 years.",
    ),
)
"""Flat and nested objects, lists, enumerations, ranges, optional and empty values, names and texts with umlauts."""


def _is_bounded(schema: Schema) -> bool:
    if schema["type"] == "object":
        return all(map(_is_bounded, schema["properties"].values()))
    return "enum" in schema or schema["type"] == "boolean" or {"minimum", "maximum"} <= schema.keys()


BOUNDED_CASES = tuple(each for each in CASES if _is_bounded(each.parameters))
"""Functions without texts, lists and free numbers, which a model that only repeats its input may continue forever."""
