"""`sovctl gateway` and `python -m sovctl.gateway`: words, errors, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warm_processes
import yaml
from echo_upstream import EchoUpstream

from sovctl.gateway.commands.main import main
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.policy.permissions import Policy
from sovctl.gateway.settings import Action, load_settings

SOVCTL = str(Path(sys.executable).parent / "sovctl")
IBAN = "DE89370400440532013000"


def run_sovctl(*arguments: str) -> subprocess.CompletedProcess[str]:
    return warm_processes.sovctl("gateway", *arguments, cwd=Path.cwd(), env=os.environ)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The gateway's own program in this process: a tenth of the time."""

    def run_here(*arguments: str) -> subprocess.CompletedProcess[str]:
        code = main([*arguments])
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, code, out, err)

    return run_here


@pytest.fixture
def config(tmp_path: Path, write_config: Any) -> Path:
    path: Path = write_config(tmp_path)
    return path


def change(config: Path, **changes: Any) -> None:
    config.write_text(yaml.safe_dump({**yaml.safe_load(config.read_text()), **changes}))


def test_check_passes_where_everything_is_there(config: Path, pool: EchoUpstream, cloud: EchoUpstream) -> None:
    result = run_sovctl("check", "--config", str(config), "--json")
    assert result.returncode == 0, result.stderr
    assert {row["check"]: row["verdict"] for row in json.loads(result.stdout)} == dict.fromkeys(
        [
            "certificate",
            "clients",
            "keys",
            "detector",
            "models",
            "listed",
            "vault",
            "ledger",
            "upstreams",
            "leaving",
            "limits",
            "release",
            "hand-offs",
        ],
        "PASS",
    )
    assert not pool.requests
    assert not cloud.requests


def test_check_says_what_is_wrong_and_goes_on(config: Path, run: Any) -> None:
    settings = yaml.safe_load(config.read_text())
    Path(settings["token_key_file"]).write_text("short\n")
    Path(settings["vault"]["kek_file"]).chmod(0o644)
    change(config, clients_file=str(config.parent / "absent.json"))
    result = run("check", "--config", str(config))
    assert result.returncode == 1
    rows = {line.split()[1]: line for line in result.stdout.splitlines()}
    assert rows["keys"].startswith("FAIL")
    assert "expected 64 hex digits" in rows["keys"]
    assert "0644" in rows["vault"]
    assert "No such file" in rows["clients"]
    assert rows["detector"].startswith("PASS")
    assert "short" not in result.stdout + result.stderr


def test_explain_names_the_reasons_and_sends_nothing(config: Path, pool: EchoUpstream, cloud: EchoUpstream) -> None:
    request = config.parent / "request.json"
    request.write_text(
        json.dumps({"model": "assistant", "messages": [{"role": "user", "content": f"Please pay to {IBAN} today"}]})
    )
    result = run_sovctl("explain", str(request), "--config", str(config), "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert {name: told[name] for name in ("verdict", "upstreams", "reasons", "entity_types", "refused")} == {
        "verdict": "leave",
        "upstreams": ["sovereign-cloud", "chat"],
        "reasons": ["tokenized:IBAN", "preferred:cloud"],
        "entity_types": {"IBAN": 1},
        "refused": None,
    }
    assert told["rules"] == [{"entity": "IBAN/IBAN", "action": "tokenize", "by": "policy.default"}]
    assert [(each["name"], each["kind"], each["place"]) for each in told["candidates"]] == [
        ("sovereign-cloud", "cloud", 1),
        ("chat", "pool", 2),
    ]
    assert IBAN not in run_sovctl("explain", str(request), "--config", str(config)).stdout
    assert not pool.requests
    assert not cloud.requests
    assert not Path(yaml.safe_load(config.read_text())["vault"]["path"]).exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"model": "nobody"}', None])
def test_explain_refuses_what_is_no_request(config: Path, run: Any, content: str | None) -> None:
    request = config.parent / "request.json"
    if content is not None:
        request.write_text(content)
    result = run("explain", str(request), "--config", str(config))
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith(f"sovctl: {request}: ")


def test_explain_names_the_field_that_is_absent(config: Path, run: Any) -> None:
    request = config.parent / "request.json"
    request.write_text('{"model": "assistant"}')
    result = run("explain", str(request), "--config", str(config))
    said = "invalid_request: `messages` is absent or invalid"
    assert result.stderr == f"sovctl: {request}: not a request of this API: {said}\n"


def test_explain_says_where_a_request_is_no_json_and_none_of_its_words(config: Path, run: Any) -> None:
    request = config.parent / "request.json"
    request.write_text('{"model": "assistant",\n "messages": anna@example.com}')
    result = run("explain", str(request), "--config", str(config))
    assert result.stderr == f"sovctl: {request}: not a request of this API: no JSON: line 2, column 14\n"


def test_check_says_when_a_limit_leaves_no_room_for_plain_requests(config: Path, run: Any) -> None:
    settings = yaml.safe_load(config.read_text())
    settings["quota"] = {"path": str(config.parent / "quota.db"), "default_limits": {"tokens_per_day": 5000}}
    config.write_text(yaml.safe_dump(settings))
    limits = next(line for line in run("check", "--config", str(config)).stdout.splitlines() if "limits" in line)
    assert "as they may use 8192 tokens: `quota.completion_tokens` reserves fewer" in limits


def test_a_file_that_is_not_there_is_said_with_a_way_to_one(run: Any, tmp_path: Path) -> None:
    result = run("check", "--config", str(tmp_path / "none.yaml"))
    assert result.returncode == 3
    assert "hint: name your file with --config" in result.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"detect": {"llm_revue": {}}}, "detect.llm_revue: unknown key `llm_revue`\nhint: did you mean `llm_review`?"),
        (
            {"routes": [{"model": "m", "pol": "chat"}]},
            "routes[0].pol: unknown key `pol`\nhint: did you mean `pool`?",
        ),
        ({"sites": "x"}, "sites: unknown key `sites`\nhint: did you mean `site`?"),
        ({"workers": 0}, "workers: input should be greater than or equal to 1"),
        ({"policy": {"entity_types": {"EMIAL": "tokenize"}}}, "got EMIAL (EMAIL?)"),
        (
            {"policy": {"rules": [{"entity_types": ["EMIAL/X"], "action": "mask"}]}},
            "policy.rules[0].entity_types[0]: expected one of SECRET, ",
        ),
        (
            {"policy": {"rules": [{"routes": ["assistent"], "action": "mask"}]}},
            "policy.rules[0].routes: expected one of",
        ),
        (
            {
                "policy": {
                    "rules": [{"entity_types": ["IBAN"], "action": "mask"}, {"tenants": ["hr"], "action": "allow"}]
                }
            },
            "policy.rules[1]: ambiguous for IBAN of tenant hr",
        ),
        ({"policy": {"rules": [{"routes": ["inside"], "action": "mask"}]}}, "expected block on route inside, got mask"),
        ({"policy": {"name_languages": ["en", "xx"]}}, "policy.name_languages: expected languages in which names can"),
        ({"policy": {"default": "maybe"}}, "policy.default: input should be"),
        ({"routes": [{"model": "m", "pool": "sovereign-cloud"}]}, "expected a pool named sovereign-cloud, got cloud"),
        ({"routes": [{"model": "m", "pool": "chat", "prefer": "cloud"}]}, "but the route names no cloud"),
        (
            {"routes": [{"model": "m", "pool": "chat", "fallbacks": ["sovereign-cloud"]}]},
            "the first cloud under `cloud`",
        ),
        (
            {"routes": [{"model": "m", "pool": "chat", "fallbacks": ["nobody"]}]},
            "routes[0].fallbacks[0]: unknown upstream nobody",
        ),
        ({"routes": [{"model": "m", "pool": "chat", "fallbacks": ["chat"]}]}, "got chat 2 times"),
        (
            {"routes": [{"model": "m", "pool": "chat", "escalate_on": ["empty"]}]},
            "routes[0].escalate_on: expected a second pool or cloud",
        ),
        (
            {"routes": [{"model": "m", "pool": "chat", "shadow": {"simple": "chat", "complex": "chta"}}]},
            "routes[0].shadow.complex: expected one of chat, got chta",
        ),
        (
            {"routes": [{"model": "m", "pool": "chat", "max_cost_per_request": 1}]},
            "routes[0].max_cost_per_request: expected quota.prices",
        ),
        (
            {"policy": {"jurisdictions": ["DE"]}},
            "upstreams[1].jurisdiction: expected one of DE (policy.jurisdictions), got AE",
        ),
        (
            {"policy": {"jurisdictions": ["AE"], "tenant_jurisdictions": {"hr": ["AE", "DE"]}}},
            "policy.tenant_jurisdictions.hr: expected a subset of policy.jurisdictions, got also DE",
        ),
        ({"detect": {"phone_regions": ["QQ"]}}, "got QQ"),
        ({"upstreams": []}, "upstreams: list should have at least 1 item"),
        (
            {"access": {"teams": [{"name": "cards", "tenant": "retail", "routes": ["assistent"]}]}},
            "got assistent\nhint: did you mean assistant?",
        ),
    ],
)
def test_bad_settings_are_named_with_their_place(config: Path, run: Any, changes: dict[str, Any], message: str) -> None:
    change(config, **changes)
    result = run("serve", "--config", str(config))
    assert result.returncode == 3
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_raw_text_over_plain_http_to_another_machine_is_refused(config: Path, run: Any) -> None:
    upstreams = yaml.safe_load(config.read_text())["upstreams"]
    upstreams[0]["base_urls"] = ["http://10.77.0.11:8000/v1"]
    change(config, upstreams=upstreams)
    result = run("serve", "--config", str(config))
    assert result.returncode == 3
    assert "expected https, got http to another machine" in result.stderr


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://us:er@cloud.example/v1", "without user name and password"),
        ("https://cloud.example/v1?api-version=3", "without query and fragment"),
        ("https://cloud.example/v1#x", "without query and fragment"),
    ],
)
def test_an_address_holds_no_secret_and_no_query(config: Path, run: Any, url: str, message: str) -> None:
    upstreams = yaml.safe_load(config.read_text())["upstreams"]
    upstreams[0]["base_urls"] = [url]
    change(config, upstreams=upstreams)
    result = run("serve", "--config", str(config))
    assert result.returncode == 3
    assert "upstreams[0].base_urls: expected" in result.stderr
    assert message in result.stderr
    assert "us:er" not in result.stderr


def test_a_key_for_the_cloud_that_no_header_can_hold_is_said_at_the_start(config: Path, run: Any) -> None:
    upstreams = yaml.safe_load(config.read_text())["upstreams"]
    key = config.parent / "cloud.key"
    key.touch(mode=0o600)
    key.write_text("one\ntwo\n")
    upstreams[0]["api_key_file"] = str(key)
    change(config, upstreams=upstreams)
    result = run("serve", "--config", str(config))
    assert result.returncode == 3
    assert result.stderr.startswith(f"sovctl: {key}: expected one line of printable ASCII")


UNREAD = ["site: 2026-13-45", "site: !!int x", "[" * 20_000, "site: a\nsite: b", "policy: {default: a, default: b}"]


@pytest.mark.parametrize("content", [None, "a: [", "- 1", "\x00", *UNREAD])
def test_a_configuration_that_cannot_be_read_is_one_clear_error(tmp_path: Path, run: Any, content: str | None) -> None:
    path = tmp_path / "gateway.yaml"
    if content is not None:
        path.write_text(content)
    result = run("serve", "--config", str(path))
    assert result.returncode == 3
    assert result.stderr.startswith(f"sovctl: {path}: ")
    assert len(result.stderr.splitlines()) <= 2


def test_a_taken_port_is_one_clear_error(config: Path, pool: EchoUpstream) -> None:
    settings = yaml.safe_load(config.read_text())
    change(config, listen={**settings["listen"], "port": pool.port})
    result = run_sovctl("serve", "--config", str(config))
    assert result.returncode == 3
    assert f"port {pool.port} of 127.0.0.1 is taken by another program" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_wrong_option_is_bad_input_like_everything_else(config: Path, run: Any) -> None:
    for words, expected in (
        (["keys", "create", "branch"], "the following arguments are required: --tenant"),
        (["keys", "create", "branch", "--tenant", "retail", "--surface", "fax"], "--surface: expected one of chat."),
        (["keys", "create", "My Branch", "--tenant", "retail"], "name: expected lower-case letters"),
        (["sevre"], "invalid choice: 'sevre'"),
    ):
        result = run(*words, *(["--config", str(config)] if words[0] == "keys" else []))
        assert (result.returncode, result.stdout) == (3, "")
        assert expected in result.stderr
        assert "usage:" not in result.stderr


def test_settings_problems_read_as_ours(tmp_path: Path, config: Path, run: Any) -> None:
    empty = tmp_path / "empty.yaml"
    empty.touch()
    assert "expected keys with their values, got an empty file" in run("check", "--config", str(empty)).stderr
    change(config, site="Not A Name", policy={"name_languages": ["english"]})
    told = run("check", "--config", str(config)).stderr
    assert "site: expected lower-case letters, digits and hyphens" in told
    assert "name_languages[0]: expected the two letters of a language" in told


def test_explain_reads_standard_input(config: Path) -> None:
    command = [SOVCTL, "gateway", "explain", "-", "--config", str(config), "--json"]
    request = json.dumps({"model": "assistant", "messages": [{"role": "user", "content": f"Pay {IBAN} today."}]})
    result = subprocess.run(command, input=request, capture_output=True, text=True, timeout=60)
    assert json.loads(result.stdout)["entity_types"] == {"IBAN": 1}


def test_output_that_goes_nowhere_is_no_traceback(config: Path) -> None:
    command = f"{SOVCTL} gateway keys list --config {config}"
    gone = subprocess.run(f"{command} | true", shell=True, capture_output=True, text=True, timeout=60)
    assert gone.stderr == ""
    full = subprocess.run(f"{command} > /dev/full", shell=True, capture_output=True, text=True, timeout=60)
    assert full.returncode == 7
    assert full.stderr.startswith("sovctl: no space left on device")


def test_our_own_mistake_is_said_without_what_it_was_about(config: Path, run: Any, monkeypatch: Any) -> None:
    def break_(*_: Any) -> None:
        raise RuntimeError(f"cannot handle {IBAN}")

    monkeypatch.setattr("sovctl.gateway.commands.keys._in_words", break_)
    result = run("keys", "list", "--config", str(config))
    assert result.returncode == 70
    assert "internal error: RuntimeError at test_gateway_command.py:" in result.stderr
    assert IBAN not in result.stderr


@pytest.mark.parametrize("words", [["--version"], ["gateway", "check"]])
def test_ctrl_c_while_modules_load_prints_nothing(words: list[str], config: Path) -> None:
    """Interrupted at the first module that is not there yet, as only a signal at the right moment would do it."""
    command = [SOVCTL, *words, *(["--config", str(config)] if "check" in words else [])]
    library = {"--version": "typer", "check": "orjson"}[words[-1]]
    folder = config.parent / "first"
    (folder / library).mkdir(parents=True)
    (folder / library / "__init__.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": str(folder)}
    )
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGINT, "", "")


def test_without_the_extra_the_remedy_is_named(config: Path) -> None:
    program = (
        "import sys; from importlib import util; find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'presidio_analyzer' else find(name, *rest)\n"
        f"sys.argv = ['sovctl', 'gateway', 'check', '--config', {str(config)!r}]\n"
        "from sovctl.cli.main import main; main()"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert result.returncode == 7
    assert "missing Python packages: presidio_analyzer" in result.stderr
    assert "pip install 'sovctl[gateway]'" in result.stderr


def test_settings_load_without_the_extra() -> None:
    program = (
        "import sys; import sovctl.gateway.settings\n"
        "bad = [m for m in ('starlette','aiohttp','presidio_analyzer','orjson','uvicorn') if m in sys.modules]\n"
        "sys.exit(bool(bad))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)


LAB = """
site: lab
listen:
  {host: 0.0.0.0, port: 8443, certificate_file: /etc/sovctl/tls/gateway.pem, key_file: /etc/sovctl/tls/gateway.key}
workers: 1
clients_file: /etc/sovctl/secrets/gateway-clients.json
token_key_file: /etc/sovctl/secrets/token.key
vault: {path: /var/lib/sovctl/gateway/vault.db, kek_file: /etc/sovctl/secrets/vault.kek, ttl_s: 86400}
ledger:
  directory: /var/lib/sovctl/gateway/ledger
  key_file: /etc/sovctl/secrets/ledger.key
  origin: sovctl.lab/gateway
upstreams:
  - {name: chat, kind: pool, base_urls: ["https://10.77.0.11:8000/v1"], model: echo, ca_file: /a, certificate_file: /b,
     key_file: /c, api_key_file: /d, max_model_len: 512}
  - {name: sovereign-cloud, kind: cloud, base_urls: ["https://10.88.0.2:443/v1"], model: big, ca_file: /a,
     api_key_file: /d, max_model_len: 8192, jurisdiction: AE}
routes:
  - {model: assistant, pool: chat, cloud: sovereign-cloud, prefer: cloud}
policy: {default: tokenize, entity_types: {PERSON: on-prem, SECRET: block, EMAIL: tokenize}, name_languages: [en]}
"""


def test_the_form_that_apply_writes_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(LAB)
    settings = load_settings(path)
    assert settings.upstream("chat").base_urls[0].host == "10.77.0.11"
    permissions = Policy.compile(settings.policy, settings.routes).of("retail", "assistant")
    assert permissions.by_entity_type[EntityType.PERSON] is Action.ON_PREM
    assert permissions.by_entity_type[EntityType.IBAN] is Action.TOKENIZE


def test_a_vault_that_cannot_be_made_stops_the_start(config: Path) -> None:
    settings = yaml.safe_load(config.read_text())
    (config.parent / "file").touch()
    change(config, vault={**settings["vault"], "path": str(config.parent / "file/vault.db")})
    result = run_sovctl("serve", "--config", str(config))
    assert result.returncode == 3
    assert f"sovctl: {config.parent / 'file'}: file unusable: " in result.stderr
    assert "Traceback" not in result.stderr
