"""One kind of drift: how it is injected on a lab node, the row that must report it, and how it is restored by hand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of drift.

    Args:
        id: unique, such as `n1/mode/etc/nftables.conf`.
        node: lab node.
        inject: shell command, run as root on the node.
        row: id of the change or of the unmanaged thing that must appear; `*` matches any characters.
        key: text that the observed values of the row must contain, such as the name of a value; empty for any.
        restore: shell command that removes what apply does not correct; empty if apply corrects all of it.
        also: ids of further rows that the same change causes, such as an unmanaged file that overrides a setting.
        subject: what the command changes; a round has at most one kind of a subject.
        restarts: rows of units that the change restarts. Their causes must name the change.
        blocks_apply: apply refuses to correct it, so that `restore` runs before apply.
        is_undone_by_reload: systemd still runs an old unit; a reload would load the current one.
    """

    id: str
    node: str
    inject: str
    row: str
    key: str = ""
    restore: str = ""
    also: tuple[str, ...] = ()
    subject: str = ""
    restarts: tuple[str, ...] = ()
    blocks_apply: bool = False
    is_undone_by_reload: bool = False

    @property
    def is_last(self) -> bool:
        """Whether it is injected after the others of its round.

        No command can change a locked file, and the reload of systemd by another kind would undo this one.
        """
        return "chattr +" in self.inject or self.is_undone_by_reload

    @property
    def is_reported_only(self) -> bool:
        """Whether the row is of an unmanaged thing, which apply leaves to the operator."""
        return bool(self.restore)

    def conflicts(self, other: Kind) -> bool:
        """Return whether a round can have only one of the two kinds."""
        if self.node != other.node:
            return False
        has_same_key = not (self.key and other.key) or self.key == other.key
        return (self.row == other.row and has_same_key) or (bool(self.subject) and self.subject == other.subject)
