"""Summary of `sovctl lab demo`."""

from __future__ import annotations

from .. import output
from ..demo import SENT, Demo


def show_demo(demo: Demo) -> None:
    """The one screen."""
    changes = demo.first_plan["changes"]
    counts = demo.verify["counts"]
    output.line(output.style("\nwhat happened (simulated hardware, real everything else)", "bold"))
    rows = [
        ("plan", f"{len(changes)} changes on {len({each['node'] for each in changes})} nodes"),
        ("apply", f"{demo.times_s['apply']:.0f} s, every wave observed again"),
        ("second plan", f"{len(demo.second_plan['changes'])} changes, made in {demo.times_s['plan again']:.1f} s"),
        ("verify", " · ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)),
    ]
    for heading, text in rows:
        output.line(f"  {heading:13} {text}")
    output.line(output.style("\none chat with an IBAN and an e-mail (openai client, streamed)", "bold"))
    output.line(f"  client sent   {SENT}")
    output.line(f"  cloud saw     {demo.seen_outside}")
    for model, route, is_same in demo.chats:
        output.line(
            f"  client got    {'the same, byte for byte' if is_same else 'SOMETHING ELSE'}  ({model}, by {route})"
        )
    output.line(output.style("\nthe raw values, searched for", "bold"))
    for place in demo.places:
        output.line(f"  {place.hits:3} hits  {place.name} ({place.files} files, {place.bytes // 1024} KiB)")
    output.line(output.style("\nfor the auditor", "bold"))
    for report in demo.reports:
        output.line(f"  report        {report['folder']}/report.html")
        output.line(f"                {report['summary']['sentence']}")
    output.line(f"  check it      sovctl audit verify {demo.folder / '.sovctl'}")
    for problem in demo.problems:
        output.line(output.style(f"  NOT AS IT SHOULD BE: {problem}", "red"))
    which = "" if demo.name == "sovlab" else f" --name {demo.name}"
    output.line(f"\nthe lab is still up: cd {demo.folder}, break something (sovctl lab shell n1{which}), plan again")
    output.line(f"end it with: sovctl lab down{which}")
