"""The curator's key: a signature under the terms of a collection, or a model, by which a device knows whose it is.

A device may pin the public key of the one curator it reports to (:mod:`ldpsim.devices.policy`).
Then it verifies the signature before it reads anything else of a question. The signature
(Ed25519) covers a fixed label and the terms of the whole collection (:mod:`ldpsim.devices.policy.terms`). The curator
signs them once, where the key lives. They travel with every question, and the device asks whether
the question stays inside them. So nobody who runs the collection needs the key.

    signed question    "ldps" | u8 version | 64 bytes of signature | u32 length | terms | a query's canonical bytes

Canonical bytes begin with a brace, so that no query begins like a signed question.

What devices predict from (:mod:`ldpsim.devices.prediction`) is signed under a label of its own, as a first line:

    signed model       "ldpsim signed model 1 " | 128 hexadecimal digits of signature | "\n" | the model's bytes | "\n"
"""

from __future__ import annotations

import os
import stat
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ldpsim.devices.atomic_files import read_file
from ldpsim.devices.foreign.strict_json import read_json
from ldpsim.devices.query import canonical

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_HEAD = b"ldps\x02"
_FRAME = struct.Struct("<5s64sI")
_LABEL = b"ldpsim terms of a collection, version 1\n"
_MODEL_HEAD = b"ldpsim signed model 1 "
_MODEL_LABEL = b"ldpsim model that devices predict from, version 1\n"
_SIGNATURE = 64
SIGNED_MODEL_BYTES = len(_MODEL_HEAD) + 2 * _SIGNATURE + 2  # of a signed model, beside the model
_LARGEST_KEY = 1 << 16  # bytes
_PUBLIC_HEX = 64


@dataclass(frozen=True)
class CuratorKey:
    """Secret key of a curator.

    Args:
        path: File that it was read from.
        seed: Its 32 bytes.
    """

    path: Path
    seed: bytes = field(repr=False)

    @classmethod
    def load(cls, path: Path) -> CuratorKey:
        """Read a key that :func:`generate` wrote.

        Raises:
            ValueError: one line, where the file is missing, no such key, or readable by other users.
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        data = _key_file(path)
        there = path.stat()
        if there.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(there.st_mode) & 0o077:
            raise ValueError(f"--curator-key {path}: other users can read it (chmod 600 {path}, as its owner)")
        key = None
        with suppress(Exception):  # not PEM, damaged, with a password, or of another algorithm
            key = load_pem_private_key(data, password=None)
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError(f"--curator-key {path}: no secret key of a curator (ldpsim curator keygen makes one)")
        return cls(path, key.private_bytes_raw())

    @property
    def public(self) -> str:
        """The public key, 64 hexadecimal digits."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, terms: bytes) -> SignedTerms:
        """Return signed terms for the bytes of terms (:func:`ldpsim.devices.policy.terms.terms_of`)."""
        return SignedTerms(self._key.sign(_LABEL + terms), terms)

    def sign_model(self, model: bytes) -> SignedModel:
        """Return the signed model for the bytes of what devices predict from."""
        return SignedModel(self._key.sign(_MODEL_LABEL + model), model)

    @property
    def _key(self) -> Ed25519PrivateKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed)


class SignedTerms(NamedTuple):
    """Terms of a collection with their signature, and no key.

    Args:
        signature: The 64 bytes of the signature.
        terms: The bytes that it covers, and a fixed label.
    """

    signature: bytes
    terms: bytes

    def ask(self, query: bytes) -> bytes:
        """Return the signed question for a query's canonical bytes."""
        return _FRAME.pack(_HEAD, self.signature, len(self.terms)) + self.terms + query

    def to_text(self) -> str:
        """Return JSON text, one line."""
        return f'{{"signature":"{self.signature.hex()}","terms":{self.terms.decode("ascii")}}}'

    @classmethod
    def from_text(cls, text: str) -> SignedTerms:
        """Read :meth:`to_text` back; no signature is verified.

        Raises:
            ValueError: for text of another form.
        """
        try:
            values = read_json(text)
            terms = cls(bytes.fromhex(values["signature"]), canonical(values["terms"]))
        except (ValueError, TypeError, KeyError):
            terms = cls(b"", b"")
        if len(terms.signature) != _SIGNATURE or terms.to_text() != text:
            raise ValueError("the terms are not signed terms (ldpsim curator sign makes them)")
        return terms

    def is_signed_by(self, public: str) -> bool:
        """Return whether the signature is of this public key."""
        return _verified(public, self)


class SignedModel(NamedTuple):
    """A model that devices predict from, with its signature.

    Args:
        signature: The 64 bytes of the signature; none of a model that nobody signed.
        model: The model's bytes. The signature covers them, and a fixed label.
    """

    signature: bytes
    model: bytes

    def to_bytes(self) -> bytes:
        """Return the signed model's file."""
        return b"%b%b\n%b\n" % (_MODEL_HEAD, self.signature.hex().encode(), self.model)

    @classmethod
    def split(cls, data: bytes) -> SignedModel:
        """Return the parts of a file; nothing is verified, and the model is not parsed."""
        head, _, model = data.partition(b"\n")
        with suppress(ValueError):
            signed = cls(bytes.fromhex(head.removeprefix(_MODEL_HEAD).decode()), model[:-1])
            if signed.to_bytes() == data and len(signed.signature) == _SIGNATURE:
                return signed
        return cls(b"", data)

    def is_signed_by(self, public: str) -> bool:
        """Return whether the signature is of this public key."""
        return _verifies(public, self.signature, _MODEL_LABEL + self.model)


def generate(path: Path) -> str:
    """Make a key pair: the secret half in ``path``, for its owner alone, the public half in ``path.pub``.

    Returns:
        The public key, as :attr:`CuratorKey.public`.

    Raises:
        ValueError: where one of the files exists.
        OSError: where they cannot be written.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    public_path = path.with_name(path.name + ".pub")
    for there in (path, public_path):
        if os.path.lexists(there):
            raise ValueError(f"{there} exists already, and is not replaced")
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key()
    _write_new(path, secret, 0o600)
    _write_new(public_path, public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), 0o644)
    return public.public_bytes_raw().hex()


def _write_new(path: Path, data: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(handle)


def read_public(path: Path, named: str = "--curator-key") -> str:
    """Read a public key file, as :attr:`CuratorKey.public`.

    Args:
        path: The file.
        named: What named it.

    Raises:
        ValueError: one line, where the file is missing or holds something else, a secret key above all.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    data = _key_file(path, named)
    if b"PRIVATE KEY" in data:
        raise ValueError(f"{named} {path}: it holds a secret key; the public one belongs there ({path}.pub)")
    key = None
    with suppress(Exception):  # damaged, or of an algorithm that the library does not know
        key = load_pem_public_key(data)
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError(f"{named} {path}: no public key of a curator")
    return key.public_bytes_raw().hex()


def _key_file(path: Path, named: str = "--curator-key") -> bytes:
    try:
        return read_file(path, _LARGEST_KEY)
    except OSError as error:
        raise ValueError(f"{named} {path}: {error.strerror}") from None


def check_public(text: object) -> None:
    """Raise ValueError for anything but 64 lower-case hexadecimal digits."""
    if not (isinstance(text, str) and len(text) == _PUBLIC_HEX and set(text) <= set("0123456789abcdef")):
        raise ValueError("a curator's public key is 64 hexadecimal digits")


def query_of(question: bytes) -> bytes:
    """Return the query in a question, signed or not; no signature is verified."""
    return question if (parts := split_question(question)) is None else parts[1]


@lru_cache(maxsize=2)  # all devices of a process get the same few questions, and strangers may write long ones
def split_question(question: bytes) -> tuple[SignedTerms, bytes] | None:
    """Return signed terms and the query of a signed question; None for another one. No signature is verified."""
    if not question.startswith(_HEAD) or len(question) < _FRAME.size:
        return None
    _, signature, length = _FRAME.unpack_from(question)
    terms, end = question[_FRAME.size : _FRAME.size + length], _FRAME.size + length
    return (SignedTerms(signature, terms), question[end:]) if len(terms) == length else None


@lru_cache(maxsize=4)
def _verified(public: str, signed: SignedTerms) -> bool:
    return _verifies(public, signed.signature, _LABEL + signed.terms)


def _verifies(public: str, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
