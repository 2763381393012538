"""The tree: the roots everybody knows, and proofs that hold for what is true and for nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.compliance.ledger.merkle import EMPTY_ROOT, WIDTH, Frontier, complete_root, leaf_hash, node_hash
from sovctl.compliance.ledger.proof import (
    Rows,
    consistency_proof,
    inclusion_proof,
    inclusion_proofs,
    subtree_root,
    verify_consistency,
    verify_inclusion,
)

# The test vectors of the Certificate Transparency reference implementation (google/certificate-transparency,
# merkletree tests): eight leaves, and the root over the first n of them.
LEAVES = [
    bytes.fromhex(data)
    for data in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def plain_root(leaves: list[bytes]) -> bytes:
    """RFC 9162 2.1.1, word for word and slow: the second opinion."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return node_hash(plain_root(leaves[:split]), plain_root(leaves[split:]))


def grown(leaves: list[bytes]) -> Frontier:
    frontier = Frontier()
    for leaf in leaves:
        frontier.append(leaf)
    return frontier


def some_leaves(count: int) -> list[bytes]:
    return [leaf_hash(number.to_bytes(4, "big")) for number in range(count)]


def rows_in_memory(leaves: Sequence[bytes]) -> Rows:
    """Rows of complete subtrees over leaf hashes that are all at hand."""
    levels: list[list[bytes]] = [list(leaves)]
    while len(levels[-1]) >= WIDTH:
        below = levels[-1]
        levels.append(
            [complete_root(below[start : start + WIDTH]) for start in range(0, len(below) - WIDTH + 1, WIDTH)]
        )
    return lambda level, start, stop: levels[level][start:stop]


MANY = some_leaves(70_000)
ROWS = rows_in_memory(MANY)


@pytest.mark.parametrize("size", range(9))
def test_gives_the_roots_of_the_reference_implementation(size: int) -> None:
    assert grown([leaf_hash(data) for data in LEAVES[:size]]).root().hex() == ROOTS[size]


def test_an_empty_tree_has_the_hash_of_nothing() -> None:
    assert Frontier().root() == EMPTY_ROOT == hashlib.sha256(b"").digest()


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 511, 512, 1000, 65_535, 65_536, 65_537, 70_000])
def test_a_growing_tree_agrees_with_the_plain_definition(size: int) -> None:
    assert grown(MANY[:size]).root() == plain_root(MANY[:size]) == subtree_root(ROWS, 0, size)


def test_completed_rows_are_reported_once_and_in_order() -> None:
    frontier, completed = Frontier(), []
    for leaf in MANY[:65_536]:
        completed += [(level, value) for level, value in enumerate(frontier.append(leaf), start=1)]
    assert [value for level, value in completed if level == 1] == ROWS(1, 0, 256)
    assert [value for level, value in completed if level == 2] == ROWS(2, 0, 1)


@given(st.integers(1, 70_000), st.data())
@examples(60)
def test_every_inclusion_proof_holds_and_no_other_does(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    root, path = subtree_root(ROWS, 0, size), inclusion_proof(ROWS, index, size)
    assert verify_inclusion(MANY[index], index, size, path, root)
    assert not verify_inclusion(leaf_hash(b"another"), index, size, path, root)
    assert not verify_inclusion(MANY[index], index, size, path, leaf_hash(b"another root"))
    assert not verify_inclusion(MANY[index], index, size, [*path, root], root)
    assert not verify_inclusion(MANY[index], size, size, path, root)
    if path:
        assert not verify_inclusion(MANY[index], index, size, path[:-1], root)
        assert not verify_inclusion(MANY[index], index ^ 1, size, path, root)


@given(st.integers(1, 70_000), st.data())
@examples(30)
def test_proofs_of_many_leaves_are_those_of_each_leaf(size: int, data: st.DataObject) -> None:
    indices = data.draw(st.sets(st.integers(0, size - 1), max_size=20))
    assert inclusion_proofs(ROWS, indices, size) == {index: inclusion_proof(ROWS, index, size) for index in indices}


@given(st.integers(0, 70_000), st.integers(0, 70_000))
@examples(60)
def test_every_consistency_proof_holds_and_no_other_does(one: int, two: int) -> None:
    old, new = sorted((one, two))
    roots = [grown(MANY[:size]).root() if size < 300 else subtree_root(ROWS, 0, size) for size in (old, new)]
    path = consistency_proof(ROWS, old, new)
    assert verify_consistency(old, roots[0], new, roots[1], path)
    assert not verify_consistency(old, leaf_hash(b"another"), new, roots[1], path)
    assert not verify_consistency(old, roots[0], new, roots[1], [*path, roots[0]])
    if old not in (0, new):
        assert not verify_consistency(old, roots[0], new, leaf_hash(b"another"), path)
        assert not verify_consistency(old, roots[0], new, roots[1], path[:-1])
    if old < new:
        assert not verify_consistency(new, roots[1], old, roots[0], path)


def test_small_proofs_are_checked_one_by_one() -> None:
    for size in range(1, 40):
        root = plain_root(MANY[:size])
        for index in range(size):
            path = inclusion_proof(ROWS, index, size)
            holds = [at for at in range(size) if verify_inclusion(MANY[index], at, size, path, root)]
            assert holds == [index]


@pytest.mark.parametrize(("index", "size"), [(-1, 3), (3, 3), (0, 0)])
def test_refuses_a_proof_of_what_is_not_there(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="expected an index"):
        inclusion_proof(ROWS, index, size)
    with pytest.raises(ValueError, match="expected an index"):
        inclusion_proofs(ROWS, [index], size)
