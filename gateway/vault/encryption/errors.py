"""What can go wrong with the vault, named for whoever must act on it."""

from __future__ import annotations

from ...storage.errors import StorageFailed


class VaultFailed(StorageFailed):
    """The vault can't do what was asked. Tokens that are not in it must not leave."""


class Superseded(VaultFailed):
    """The conversation was erased since its tokens were made: make them anew under `generation`.

    Args:
        generation: the one that the conversation lives in now.
    """

    def __init__(self, generation: int) -> None:
        super().__init__(f"expected tokens of generation {generation}, got older ones", hint="tokenize again")
        self.generation = generation


class WrappingKeyRetired(VaultFailed):
    """New rows must be written under another wrapping key. Handled inside the vault."""

    def __init__(self) -> None:
        super().__init__("expected rows under the current wrapping key, got some under an older one")


class WrappingKeyGone(VaultFailed):
    """A row stood under a wrapping key that a rotation has destroyed since: read it again. Handled inside the vault."""

    def __init__(self) -> None:
        super().__init__("expected a wrapping key that this vault has, got another")
