"""Retrieval in the lab: clients of two groups ask the same question, a group is revoked, principals are forged.

Documents enter by `sovctl rag` on the controller. Answers come through the gateway, and from the service itself.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import pytest
import yaml
from lab_site import NAME, LabSite, sovctl_command
from retrieval_values import add_retrieval

from examples import IS_COMPLETE
from sovctl.compliance.signing import SigningKey
from sovctl.gateway.access.assertion import PrincipalSigner
from sovctl.gateway.access.principal import Method, Principal

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(not IS_COMPLETE, reason="applies and removes retrieval; runs with `make test-all`"),
]

SERVICE = "https://10.77.0.21:8446"
UNIT = "sovctl-retrieval"
LOANS = "Consumer loans are approved by two officers of the branch."
SALARIES = "Salaries of the board are approved by the owners in March."
QUESTION = "Who approves it? Name the source as [1]."
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"enum": ["As the source says [1]."]}},
    "required": ["answer"],
    "additionalProperties": False,
}
CITING = {"type": "json_schema", "json_schema": {"name": "citing", "strict": True, "schema": SCHEMA}}
STAFF, BOARD = "branch-app", "board-app"
KEYS = {STAFF: "client-key", BOARD: "board-key"}
# Runs on s1 with the certificate of its gateway. Reads headers and a body, prints status and answer.
SEARCH = """
import json, ssl, sys, urllib.error, urllib.request
tls = ssl.create_default_context(cafile="/etc/sovctl/tls/ca.pem")
tls.load_cert_chain("/etc/sovctl/tls/node.pem", "/etc/sovctl/tls/node.key")
headers, body = json.loads(sys.argv[2]), sys.argv[3].encode()
request = urllib.request.Request(sys.argv[1] + "/v1/search", body, {"content-type": "application/json", **headers})
try:
    with urllib.request.urlopen(request, context=tls, timeout=60) as response:
        print(json.dumps([response.status, json.load(response)]))
except urllib.error.HTTPError as error:
    print(json.dumps([error.code, json.load(error)]))
"""


@dataclass
class Searched:
    """The site with retrieval and two documents."""

    site: LabSite
    folder: Path

    def rag(self, *arguments: str, accept: tuple[int, ...] = (0,)) -> str:
        """Run a `sovctl rag` command on the controller; return what it prints."""
        command = ["ip", "netns", "exec", NAME, *sovctl_command("rag", *arguments, "--config", str(self.config))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode in accept, f"sovctl rag ended with {done.returncode}: {done.stderr}"
        return done.stdout

    @property
    def config(self) -> Path:
        """Path of rag.yaml."""
        return self.folder / "rag.yaml"

    def write_config(self, client: str) -> None:
        """Write rag.yaml with the administrator's certificate and a client."""
        pki = self.site.state / "pki"
        service = {"certificate": str(pki / "retrieval-admin.pem"), "key": str(pki / "retrieval-admin.key")}
        gateway = {"url": "https://10.77.0.21:8443", "key_file": str(self.site.folder / "secrets" / KEYS[client])}
        trusted = {"ca": str(pki / "ca.pem")}
        values = {"service": {"url": SERVICE, **trusted, **service}, "gateway": {**gateway, **trusted}}
        self.config.write_text(yaml.safe_dump(values))

    def members(self, groups: dict[str, list[str]]) -> None:
        """Replace the directory export."""
        path = self.folder / "people.json"
        path.write_text(json.dumps({"groups": groups}))
        self.rag("directory", "import", str(path))

    def ask(self, client: str, path: str, body: Any, **headers: str) -> tuple[int, dict[str, Any]]:
        """Return status and answer of the gateway."""
        status, _, answer = self.site.ask("POST", path, body, key=KEYS[client], headers=headers)
        return status, answer

    def found(self, client: str, **headers: str) -> list[str]:
        """Return the source ids that a client finds."""
        status, answer = self.ask(client, "/v1/vector_stores/handbook/search", {"query": QUESTION}, **headers)
        assert status == 200, answer
        return [each["filename"] for each in answer["data"]]

    def chat(self, client: str, *, has_tool: bool = True) -> tuple[int, dict[str, Any]]:
        """Return status and answer of a chat on-prem."""
        tool = {"type": "file_search", "vector_store_ids": ["handbook"]}
        body = {
            "model": "private",
            "messages": [{"role": "user", "content": QUESTION}],
            "max_tokens": 160,
            "temperature": 0,
            **({"tools": [tool], "response_format": CITING} if has_tool else {}),
        }
        return self.ask(client, "/v1/chat/completions", body)

    def cited(self, client: str) -> list[str]:
        """Return the source ids that the answer of a chat cites."""
        status, answer = self.chat(client)
        assert status == 200, answer
        # The echo model cannot cite by itself: the schema has one permitted text with a mark.
        annotations = answer["choices"][0]["message"].get("annotations") or []
        return sorted({each["file_citation"]["filename"] for each in annotations})

    def search(self, principal: str | None) -> tuple[int, dict[str, Any]]:
        """Search at the service with the gateway's certificate."""
        headers = {} if principal is None else {"x-sovctl-principal": principal}
        body = json.dumps({"collection": "handbook", "query": QUESTION, "k": 5})
        words = ["sudo", "python3", "-c", SEARCH, SERVICE, json.dumps(headers), body]
        status, answer = json.loads(self.site.on("s1", shlex.join(words)))
        return status, answer


@pytest.fixture(scope="module")
def searched(site: LabSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searched]:
    """The site with retrieval, a client of `staff`, one of `board`, and a document of each group."""
    key = site.folder / "secrets" / KEYS[BOARD]
    key.write_text("test-key-of-the-board-" + "b" * 32 + "\n")
    key.chmod(0o600)

    def change(values: dict[str, Any]) -> None:
        add_retrieval(values)
        clients = values["gateway"]["clients"]
        clients[0]["groups"] = ["staff"]
        other = {"name": BOARD, "groups": ["board"], "api_key": {"file": f"secrets/{KEYS[BOARD]}"}}
        clients.append({**clients[0], **other})

    folder = tmp_path_factory.mktemp("documents")
    with site.edited(change):
        site.mend()
        made = Searched(site, folder)
        made.write_config(STAFF)
        handbook = folder / "handbook"
        handbook.mkdir()
        (handbook / "loans.md").write_text(f"# Loans\n\n{LOANS}\n")
        (handbook / "salaries.md").write_text(f"# Salaries\n\n{SALARIES}\n")
        (folder / "groups.csv").write_text("source,allow,deny\nloans.md,staff,\nsalaries.md,board,contractors\n")
        made.rag("ingest", str(handbook), "--collection", "handbook", "--groups-file", str(folder / "groups.csv"))
        yield made
    site.mend()
    assert site.on("s1", f"systemctl is-active {UNIT} || true") == "inactive"


def test_the_checks_pass(searched: Searched) -> None:
    report = searched.site.run_json("verify", str(searched.site.file), "--check", "retrieval.*")
    results = {each["check_id"]: each["verdict"] for each in report["results"]}
    assert results == {"retrieval.database-rights": "PASS", "retrieval.client-certificate-required": "PASS"}


def test_clients_of_two_groups_get_different_chunks_for_one_question(searched: Searched) -> None:
    assert searched.found(STAFF) == ["loans.md"]
    assert searched.found(BOARD) == ["salaries.md"]
    assert searched.cited(STAFF) == ["loans.md"]
    assert searched.cited(BOARD) == ["salaries.md"]
    answers = {client: json.dumps(searched.chat(client)[1]) for client in KEYS}
    assert SALARIES not in answers[STAFF]
    assert LOANS not in answers[BOARD]
    listed = json.loads(searched.rag("search", QUESTION, "--collection", "handbook", "--json"))
    assert "loans.md" in json.dumps(listed)
    assert "salaries.md" not in json.dumps(listed)


def test_a_forged_principal_gives_nothing(searched: Searched) -> None:
    def signed(signer: PrincipalSigner, *, audience: str = "retrieval", age_s: float = 0, group: str = "board") -> str:
        made = Principal(STAFF, "retail", Method.API_KEY, "k", groups=(group,))
        return signer.sign(made, audience=audience, request_id="r", now=time.time() - age_s)

    site = searched.site
    name = yaml.safe_load(site.file.read_text())["site"]["name"]
    own = PrincipalSigner.open([site.state / "keys" / "principal.key"], site=name)
    foreign = PrincipalSigner([SigningKey.generate()], site=name)
    status, answer = searched.search(signed(own, group="staff"))
    assert (status, [each["source_id"] for each in answer["hits"]]) == (200, ["loans.md"])  # the request is right
    claims = jwt.decode(signed(own), options={"verify_signature": False})
    forged = {
        "absent": None,
        "foreign key": signed(foreign),
        "another audience": signed(own, audience="pool"),
        "expired": signed(own, age_s=120),
        "no algorithm": jwt.encode(claims, None, algorithm="none"),
        "another payload": ".".join(
            (signed(own, group="staff").split(".")[0], signed(own).split(".")[1], signed(own).split(".")[2][::-1])
        ),
    }
    for reason, principal in forged.items():
        status, answer = searched.search(principal)
        assert (reason, status, answer["error"]["code"]) == (reason, 401, "principal_invalid")
    # The gateway uses its own principal, whatever a client sends.
    for headers in ({"x-sovctl-principal": signed(foreign)}, {"x-sovctl-groups": "board"}, {"x-groups": "board"}):
        assert searched.found(STAFF, **headers) == ["loans.md"]
    path = "/v1/vector_stores/handbook/search"
    assert searched.ask(STAFF, path, {"query": QUESTION, "groups": ["board"]})[0] == 400


def test_a_revoked_group_ends_with_the_next_question(searched: Searched) -> None:
    try:
        searched.members({"staff": [STAFF], "board": [BOARD]})
        assert searched.found(BOARD) == ["salaries.md"]
        # The directory states a group of `deny` that the client's token does not.
        searched.members({"staff": [STAFF], "board": [BOARD], "contractors": [BOARD]})
        assert searched.found(BOARD) == []
        searched.members({"staff": [STAFF], "board": []})
        assert searched.found(BOARD) == []
        status, answer = searched.chat(BOARD)
        assert status == 200
        assert SALARIES not in json.dumps(answer)
        assert not answer["choices"][0]["message"].get("annotations")
        assert searched.cited(STAFF) == ["loans.md"]
        searched.rag("groups", "loans.md", "--collection", "handbook", "--allow", "auditors")
        assert searched.found(STAFF) == []
    finally:
        searched.members({"staff": [STAFF], "board": [BOARD]})
        searched.rag("groups", "loans.md", "--collection", "handbook", "--allow", "staff")
    assert [searched.found(each) for each in KEYS] == [["loans.md"], ["salaries.md"]]


def test_without_the_service_only_searches_fail(searched: Searched) -> None:
    site = searched.site
    site.on("s1", f"sudo systemctl stop {UNIT}")
    try:
        status, answer = searched.ask(STAFF, "/v1/vector_stores/handbook/search", {"query": QUESTION})
        assert (status, answer["error"]["code"]) == (503, "retrieval_unavailable")
        status, answer = searched.chat(STAFF)
        assert (status, answer["error"]["code"]) == (503, "retrieval_unavailable")
        status, answer = searched.chat(STAFF, has_tool=False)
        assert (status, "Who approves it?" in answer["choices"][0]["message"]["content"]) == (200, True)
        assert "retrieval/service" in " ".join(site.changes())
    finally:
        site.mend()
    assert searched.found(STAFF) == ["loans.md"]


def test_no_text_of_documents_is_in_a_log(searched: Searched) -> None:
    units = f"-u {UNIT} -u {UNIT}-database -u sovctl-gateway"
    log = searched.site.on("s1", f"sudo journalctl -q --no-pager {units}")
    assert "sovctl-retrieval" in log
    for text in ("officers of the branch", "approved by the owners", "Who approves it"):
        assert text not in log
