"""Summary of `sovctl lab demo`."""

from __future__ import annotations

from .. import output
from ..demo import SENT, Demo


def show_demo(demo: Demo) -> None:
    """Print the summary."""
    changes = demo.first_plan["changes"]
    counts = demo.verify["counts"]
    output.line(output.style("\nsteps (only the hardware is simulated)", "bold"))
    rows = [
        ("plan", f"{len(changes)} changes on {len({each['node'] for each in changes})} nodes"),
        ("apply", f"{demo.times_s['apply']:.0f} s, every wave verified"),
        ("second plan", f"{len(demo.second_plan['changes'])} changes, computed in {demo.times_s['plan again']:.1f} s"),
        ("verify", " · ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)),
    ]
    for heading, text in rows:
        output.line(f"  {heading:13} {text}")
    output.line(output.style("\none chat with an IBAN and an e-mail address (OpenAI client)", "bold"))
    output.line(f"  client sent   {SENT}")
    output.line(f"  cloud got     {demo.seen_outside}")
    for model, route, is_same in demo.chats:
        output.line(f"  client got    {'its own text' if is_same else 'A DIFFERENT TEXT'}  ({model}, from {route})")
    output.line(output.style("\nsearch for the raw values", "bold"))
    for place in demo.places:
        output.line(f"  {place.hits:3} hits  {place.name} ({place.files} files, {place.bytes // 1024} KiB)")
    output.line(output.style("\nreports", "bold"))
    for report in demo.reports:
        output.line(f"  report        {report['folder']}/report.html")
        output.line(f"                {report['summary']['sentence']}")
    output.line(f"  verify        sovctl audit verify {demo.folder / '.sovctl'}")
    for problem in demo.problems:
        output.line(output.style(f"  FAILED: {problem}", "red"))
    which = "" if demo.name == "sovlab" else f" --name {demo.name}"
    output.line(f"\nthe lab is still up: cd {demo.folder}, change a node (sovctl lab shell n1{which}), and plan again")
    output.line(f"to stop it: sovctl lab down{which}")
