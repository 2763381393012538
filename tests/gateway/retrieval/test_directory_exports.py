"""Exports of a directory: JSON, and LDIF as OpenLDAP and Active Directory write it."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from sovctl.gateway.retrieval.ingest.directory import read_directory
from sovctl.support.errors import InputError, SpecError

LDIF = f"""version: 1
# an export with invented people
dn: uid=anna,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: anna

dn:: {base64.b64encode("uid=jürgen,ou=people,dc=example,dc=com".encode()).decode()}
objectClass: inetOrgPerson
uid:: {base64.b64encode("jürgen".encode()).decode()}
jpegPhoto:: /9j/4AAQ

dn: cn=staff,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: staff
member: uid=Anna, ou=People,dc=example,dc=com
member:: {base64.b64encode("uid=jürgen,ou=people,dc=example,dc=com".encode()).decode()}
member: cn=board,ou=gro
 ups,dc=example,dc=com

dn: cn=board,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: board
member: cn=staff,ou=groups,dc=example,dc=com

dn: cn=unix,ou=groups,dc=example,dc=com
objectClass: posixGroup
cn: unix
memberUid: ben

dn: cn=empty,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: empty
member:
"""


def read(tmp_path: Path, name: str, text: str, **more: str) -> dict[str, list[str]]:
    path = tmp_path / name
    path.write_text(text)
    return read_directory(path, subject_attribute=more.get("attribute", "uid"), subject_prefix=more.get("prefix", ""))


def test_reads_ldif_with_nested_groups_and_a_cycle(tmp_path: Path) -> None:
    assert read(tmp_path, "d.ldif", LDIF) == {
        "board": ["anna", "jürgen"],
        "empty": [],
        "staff": ["anna", "jürgen"],
        "unix": ["ben"],
    }


def test_reads_json_with_a_prefix(tmp_path: Path) -> None:
    text = '{"groups": {"all": {"members": ["ben"], "groups": ["staff"]}, "staff": ["anna"]}}'
    found = read(tmp_path, "d.json", text, prefix="sso:")
    assert found == {"all": ["sso:anna", "sso:ben"], "staff": ["sso:anna"]}


GROUP = "dn: cn=g,dc=x\nobjectClass: group\ncn: g\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("d.ldif", GROUP + "member: cn=absent,dc=x\n", "is not in the export"),
        ("d.ldif", GROUP + "member: cn=u,dc=x\n\ndn: cn=u,dc=x\nobjectClass: user\n", "has no `uid`"),
        ("d.ldif", GROUP + "member;range=0-1499: cn=u,dc=x\n", "only a range"),
        ("d.ldif", GROUP + "\n" + GROUP, "same `cn`"),
        ("d.ldif", "dn: cn=g,dc=x\nchangetype: add\n", "change records"),
        ("d.ldif", "dn: cn=g,dc=x\nphoto:< file:///etc/passwd\n", "from URLs"),
        ("d.ldif", "cn: g\n", "begins with `dn:`"),
        ("d.ldif", "dn: x\nno colon here\n", "attribute: value"),
        ("d.ldif", " folded\n", "continuation"),
        ("d.ldif", "", "no groups"),
        ("d.json", "{}", "object `groups`"),
        ("d.json", '{"groups": {}}', "no groups"),
        ("d.json", '{"groups": {"a": "b"}}', "list of names"),
        ("d.json", '{"groups": {"a": {"groups": ["b"]}}}', "unknown group"),
        ("d.json", "[" * 100_000, "not JSON"),
    ],
)
def test_refuses_an_incomplete_or_invalid_export(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(SpecError) as error:
        read(tmp_path, name, text)
    assert words in str(error.value.problems[0])
    assert name in str(error.value.problems[0])


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a name"):
        read(tmp_path, "d.csv", "x")
