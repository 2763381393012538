"""Group of commands with a default: `sovctl size site.yaml` is `sovctl size site site.yaml`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class DefaultsToSite(TyperGroup):
    """Inserts the command `site` if the first argument names no command of the group."""

    default_command = "site"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args[:1] and (args[0] in self.commands or args[0] in ctx.help_option_names)
        parsed: list[str] = super().parse_args(ctx, args if named else [self.default_command, *args])
        return parsed
