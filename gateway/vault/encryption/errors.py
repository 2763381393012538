"""Errors of the vault."""

from __future__ import annotations

from ...storage.errors import StorageFailed


class VaultFailed(StorageFailed):
    """The vault could not complete an operation. Do not send tokens that it does not contain."""


class Superseded(VaultFailed):
    """The conversation was erased after its tokens were issued; issue them again under `generation`.

    Args:
        generation: current generation of the conversation.
    """

    def __init__(self, generation: int) -> None:
        super().__init__(f"the conversation was erased; its generation is now {generation}", hint="tokenize again")
        self.generation = generation


class WrappingKeyRetired(VaultFailed):
    """New rows need another wrapping key. Handled inside the vault."""

    def __init__(self) -> None:
        super().__init__("the wrapping key is no longer the current one")


class WrappingKeyGone(VaultFailed):
    """A rotation destroyed the wrapping key of a row: read the row again. Handled inside the vault."""

    def __init__(self) -> None:
        super().__init__("the vault does not contain this wrapping key")


class TenantFull(VaultFailed):
    """The tenant has used up its rows; other tenants are served."""
