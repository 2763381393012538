"""A KEK in a hardware token: PKCS#11 (OASIS, version 2.40). The key does not leave the token.

The token wraps and unwraps the vault's own keys, a few times a day. AES-GCM gets a random nonce from the gateway. A
token that requires its own nonces (the FIPS 140-3 mode of several products) is used with AES-KEY-WRAP (RFC 3394)
instead.

    kek = Pkcs11Kek(settings, pin)      # the PIN from a file; not printed
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pkcs11
from pkcs11 import Attribute, GCMParams, KeyType, Mechanism, ObjectClass

from ...settings import Pkcs11Settings
from .errors import VaultFailed
from .sealing import NONCE_BYTES

_TAG_BITS = 128
_LOADED_BY: dict[
    str, int
] = {}  # module -> process that initialized it; a child must do so again after a fork (2.40, 6.6.1)
_LOCK = threading.Lock()  # a login is valid for all threads of a process
# Errors of a token while another process has its files open (SoftHSM 2.6, seen 2026-11), or during a network failure,
# and the number of attempts. A library that was initialized at such a moment finds no token or key until it is
# initialized again.
_PASSES: dict[type[pkcs11.PKCS11Error], int] = {
    pkcs11.GeneralError: 8,
    pkcs11.FunctionFailed: 8,
    pkcs11.DeviceError: 8,
    pkcs11.NoSuchToken: 2,
    pkcs11.NoSuchKey: 2,
}
_PAUSE_S = 0.25
_PASSING = {Attribute.TOKEN: False, Attribute.SENSITIVE: False, Attribute.EXTRACTABLE: True}


class Pkcs11Kek:
    """See `Kek`. Each use opens a session, so that a temporarily removed token needs no restart."""

    def __init__(self, settings: Pkcs11Settings, pin: str) -> None:
        self._settings = settings
        self._pin = pin
        name = f"pkcs11\0{settings.token_label}\0{settings.key_label}\0{settings.mechanism}"
        self.id = hashlib.sha256(name.encode()).hexdigest()[:32]

    def wrap(self, key: bytes, context: bytes) -> bytes:
        """See `Kek.wrap`."""
        if self._settings.mechanism == "aes-key-wrap":
            return self._use(lambda session, kek: _wrapped(session, kek, key))
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._use(lambda _, kek: _gcm(kek.encrypt, key, nonce, context))

    def unwrap(self, wrapped: bytes, context: bytes) -> bytes:
        """See `Kek.unwrap`. AES-KEY-WRAP has no context; using a key for another purpose is harmless there."""
        if self._settings.mechanism == "aes-key-wrap":
            return self._use(lambda _, kek: _unwrapped(kek, wrapped))
        nonce, data = wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:]
        return self._use(lambda _, kek: _gcm(kek.decrypt, data, nonce, context))

    def _use(self, use: Callable[[pkcs11.Session, pkcs11.SecretKey], bytes]) -> bytes:
        settings = self._settings
        try:
            return self._asked(use)
        except pkcs11.PKCS11Error as error:
            raise VaultFailed(
                f"key {settings.key_label} of token {settings.token_label} cannot wrap or unwrap: "
                f"{type(error).__name__}",
                where=str(settings.module),
                hint="check that the token is inserted, the PIN is correct, and the key permits both operations",
            ) from error

    def _asked(self, use: Callable[[pkcs11.Session, pkcs11.SecretKey], bytes]) -> bytes:
        attempts = 0
        while True:
            try:
                return self._used(use)
            except tuple(_PASSES) as error:
                _LOADED_BY[str(self._settings.module)] = 0  # initialize again: it may have read an incomplete file
                if attempts >= _PASSES.get(type(error), 0):
                    raise
            attempts += 1
            time.sleep(_PAUSE_S)

    def _used(self, use: Callable[[pkcs11.Session, pkcs11.SecretKey], bytes]) -> bytes:
        settings = self._settings
        with _LOCK, _module(str(settings.module)) as module:
            token = module.get_token(token_label=settings.token_label)
            with token.open(user_pin=self._pin) as session:
                return use(session, session.get_key(ObjectClass.SECRET_KEY, label=settings.key_label))


@contextmanager
def _module(path: str) -> Iterator[pkcs11.lib]:
    try:
        module = pkcs11.lib(path)
    except pkcs11.PKCS11Error as error:
        raise VaultFailed("the PKCS#11 library cannot be loaded", where=path) from error
    if _LOADED_BY.setdefault(path, os.getpid()) != os.getpid():
        module.reinitialize()
        _LOADED_BY[path] = os.getpid()
    yield module


def _gcm(use: Callable[..., bytes], data: bytes, nonce: bytes, context: bytes) -> bytes:
    return use(data, mechanism=Mechanism.AES_GCM, mechanism_param=GCMParams(nonce, context, _TAG_BITS))


def _wrapped(session: pkcs11.Session, kek: pkcs11.SecretKey, key: bytes) -> bytes:
    passing = session.create_object(
        {Attribute.CLASS: ObjectClass.SECRET_KEY, Attribute.KEY_TYPE: KeyType.AES, Attribute.VALUE: key, **_PASSING}
    )
    return bytes(kek.wrap_key(passing, mechanism=Mechanism.AES_KEY_WRAP))


def _unwrapped(kek: pkcs11.SecretKey, wrapped: bytes) -> bytes:
    passing = kek.unwrap_key(
        ObjectClass.SECRET_KEY, KeyType.AES, wrapped, mechanism=Mechanism.AES_KEY_WRAP, template=_PASSING
    )
    return bytes(passing[Attribute.VALUE])
