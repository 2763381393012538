"""The admin surface as an ASGI application: authorization, paths, responses.

    GET  /                      the operator page, or the login form
    GET  /main                  the part of it that changes
    POST /login, /logout        a cookie for an admin's key, and its end
    GET  /usage                 usage and spend by day or month; `from`, `to` (YYYY-MM-DD), `by` (day, month)
    GET  /usage.csv, /budgets.csv, /api/usage       the same as CSV and JSON
    GET  /handoffs/ID           one hand-off with its conversation, in tokens
    GET  /api/status            everything on the page as JSON
    GET  /api/handoffs/ID       that hand-off as JSON
    POST /actions/NAME          an action, from a form or as JSON
    GET  /healthz, /readyz, /metrics, /.well-known/jwks.json      for machines, without a key; `/readyz` names failures
                                                                  only to monitors

An admin is a principal with `is_admin`: by API key or token in `Authorization`, by client certificate, or by cookie.
Credentials that the browser sends by itself (certificate, cookie) change something only with the form's token.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl

import orjson
from starlette.types import Receive, Scope, Send

from sovctl.support.errors import SovctlError

from ..access.authenticator import bearer
from ..access.failures import Failures
from ..access.principal import Method, Principal
from ..domain.errors import Refused
from ..pipeline.readiness import NOT_READY
from ..telemetry import log
from ..telemetry.metrics.exposition import exposition
from .actions import ACTIONS, Actions, NotDone, NotPermitted
from .answer import AdminRequest, AdminResponse, page, plain, redirect
from .page import Pages
from .session import COOKIE, Sealer, Session
from .status import Sources, gather, gather_usage
from .usage import Period, Span, budgets_csv, usage_csv

_HANDOFF, _API_HANDOFF = "/handoffs/", "/api/handoffs/"
_MAX_BODY_BYTES = 64 << 10
_TOKEN_SESSION_S = 900  # a token cannot be verified again later, so its session is short


class _TooManyFailures(Exception):
    """Too many failed logins.

    Args:
        wait_s: seconds until the next one is answered.
    """

    def __init__(self, wait_s: int) -> None:
        super().__init__(wait_s)
        self.wait_s = wait_s


class AdminApp:
    """The ASGI application.

    Args:
        key: signs cookies and forms; the same in all workers.
        is_encrypted: the listener uses TLS, so cookies are for TLS only.
    """

    def __init__(self, sources: Sources, actions: Actions, *, key: bytes, session_s: int, is_encrypted: bool) -> None:
        self._sources = sources
        self._actions = actions
        self._sealer = Sealer(key)
        self._session_s = session_s
        self._is_encrypted = is_encrypted
        self._failures = Failures()
        self._pages = Pages()
        self._paths: Mapping[tuple[str, str], Callable[[AdminRequest], Awaitable[AdminResponse]]] = {
            ("GET", "/"): self._page,
            ("GET", "/main"): self._main,
            ("POST", "/login"): self._login,
            ("POST", "/logout"): self._logout,
            ("GET", "/api/status"): self._status,
            ("GET", "/usage"): self._usage,
            ("GET", "/usage.csv"): self._usage,
            ("GET", "/budgets.csv"): self._usage,
            ("GET", "/api/usage"): self._usage,
            ("GET", "/healthz"): self._healthz,
            ("GET", "/readyz"): self._readyz,
            ("GET", "/metrics"): self._metrics,
            ("GET", "/.well-known/jwks.json"): self._jwks,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            request = await AdminRequest.read(scope, receive, at_most=_MAX_BODY_BYTES)
            answer = await self._answer(request)
        except _TooManyFailures as error:
            answer = plain(429, "too many invalid credentials; a valid one is served\n")
            answer.headers.append((b"retry-after", b"%d" % error.wait_s))
        except ValueError:
            answer = plain(400, "the request is too large or malformed\n")
        except Exception as error:  # noqa: BLE001 - last error handler; the message may contain any text
            log.event("internal error", level=40, error=error)
            answer = plain(500, "internal error; see the gateway log\n")
        await answer.send(send, policy=self._pages.policy)

    async def _answer(self, request: AdminRequest) -> AdminResponse:
        method = "GET" if request.method == "HEAD" else request.method
        handler = self._paths.get((method, request.path))
        if handler is None and method == "POST" and request.path.startswith("/actions/"):
            handler = self._act
        if handler is None and method == "GET" and request.path.startswith((_HANDOFF, _API_HANDOFF)):
            handler = self._handoff
        if handler is None:
            return plain(404, "no such path\n")
        return await handler(request)

    async def _operator(self, request: AdminRequest) -> Principal | None:
        """Return the admin of the request; None if it has no valid credential of one."""
        authenticator = self._sources.authenticator()
        credential, peer = bearer(request.header("authorization")), request.peer
        if credential is not None or peer is not None:
            principal = await authenticator.identify(credential, peer)
            if principal is not None and principal.is_admin:
                return principal
            if credential is not None:
                self._count_failure(request)
                return None
        session = self._session(request)
        return authenticator.admin(session.name, session.key_id, session.method) if session is not None else None

    def _count_failure(self, request: AdminRequest) -> None:
        """Count a failed authentication.

        Raises:
            _TooManyFailures: further ones are not answered yet.
        """
        limits = self._sources.authenticator().failure_limits
        if (wait_s := self._failures.count(request.address, limits, now_s=time.monotonic())) is not None:
            raise _TooManyFailures(math.ceil(wait_s))

    def _session(self, request: AdminRequest) -> Session | None:
        try:
            cookie = SimpleCookie(request.header("cookie") or "").get(COOKIE)
        except CookieError:
            return None
        return self._sealer.read(cookie.value, now=time.time()) if cookie is not None else None

    def _is_intended(self, request: AdminRequest, operator: Principal) -> bool:
        """Return whether the operator intended the request, so that another site cannot trigger it."""
        if bearer(request.header("authorization")) is not None:
            return True
        token = request.fields.get("form_token", "") or request.header("x-sovctl-form-token") or ""
        return self._sealer.is_form_token(operator.name, operator.key_id, token)

    async def _page(self, request: AdminRequest) -> AdminResponse:
        operator = await self._operator(request)
        if operator is None:
            return page(401, self._pages.login(site=self._sources.settings().site, is_refused=False))
        done = dict(parse_qsl(request.query)).get("done", "")
        return await self._drawn(operator, told=ACTIONS[done].done if done in ACTIONS else "")

    async def _drawn(self, operator: Principal, *, told: str, status_code: int = 200) -> AdminResponse:
        status = await gather(self._sources, scope=self._actions.scope(operator), now=time.time())
        token = self._sealer.form_token(operator.name, operator.key_id)
        names = self._actions.names(operator)
        text = self._pages.page(status, actions=names, form_token=token, operator=operator.name, told=told)
        return page(status_code, text)

    async def _main(self, request: AdminRequest) -> AdminResponse:
        operator = await self._operator(request)
        if operator is None:
            return plain(401, "log in again\n")
        status = await gather(self._sources, scope=self._actions.scope(operator), now=time.time())
        token = self._sealer.form_token(operator.name, operator.key_id)
        return page(200, self._pages.main(status, actions=self._actions.names(operator), form_token=token))

    async def _login(self, request: AdminRequest) -> AdminResponse:
        principal = await self._sources.authenticator().identify(request.fields.get("key", "").strip(), request.peer)
        if principal is None or not principal.is_admin or not request.is_same_site:
            log.event("login refused", level=30)
            self._count_failure(request)
            return page(401, self._pages.login(site=self._sources.settings().site, is_refused=True))
        lasts_s = min(self._session_s, _TOKEN_SESSION_S) if principal.method is Method.TOKEN else self._session_s
        session = Session(principal.name, principal.key_id, principal.method, time.time() + lasts_s)
        log.event("operator logged in", client=principal.name, key_id=principal.key_id)
        return redirect("./").cookie(self._cookie(self._sealer.session(session), lasts_s))

    async def _logout(self, request: AdminRequest) -> AdminResponse:
        operator = await self._operator(request)
        if operator is not None and not self._is_intended(request, operator):
            return plain(403, "the form token is invalid; reload the page\n")
        return redirect("./").cookie(self._cookie("", 0))

    def _cookie(self, value: str, lasts_s: int) -> str:
        secure = "; Secure" if self._is_encrypted else ""
        return f"{COOKIE}={value}; Path=/; Max-Age={lasts_s}; HttpOnly; SameSite=Strict{secure}"

    async def _status(self, request: AdminRequest) -> AdminResponse:
        operator = await self._operator(request)
        if operator is None:
            return plain(401, "expected `Authorization: Bearer` with the key of an admin\n")
        status = await gather(self._sources, scope=self._actions.scope(operator), now=time.time())
        return AdminResponse(200, orjson.dumps(status), "application/json")

    async def _usage(self, request: AdminRequest) -> AdminResponse:
        operator = await self._operator(request)
        if operator is None:
            is_page = request.path == "/usage"
            return redirect("./") if is_page else plain(401, "expected `Authorization: Bearer` with an admin's key\n")
        fields, now = dict(parse_qsl(request.query)), time.time()
        try:
            span, period = Span.of(fields, now=now), Period(fields.get("by", Period.DAY))
        except ValueError:
            return plain(400, "expected `from` and `to` as YYYY-MM-DD, at most 400 days, and `by` as day or month\n")
        scope = self._actions.scope(operator)
        shown = await gather_usage(self._sources, scope=scope, span=span, period=period, now=now)
        if request.path == "/usage":
            return page(200, self._pages.usage(shown, site=self._sources.settings().site, operator=operator.name))
        if request.path == "/api/usage":
            return AdminResponse(200, orjson.dumps(shown), "application/json")
        rows = shown["table" if request.path == "/usage.csv" else "budgets"]
        if rows is None:
            return plain(503, "the store of quotas cannot be read\n")
        if request.path == "/usage.csv":
            name, content = f"usage-{shown['first']}-{shown['last']}-by-{shown['by']}.csv", usage_csv(rows)
        else:
            name, content = "budgets.csv", budgets_csv(rows)
        disposition = f'attachment; filename="{name}"'.encode()
        return AdminResponse(200, content, "text/csv; charset=utf-8", [(b"content-disposition", disposition)])

    async def _handoff(self, request: AdminRequest) -> AdminResponse:
        operator = await self._operator(request)
        is_page = request.path.startswith(_HANDOFF)
        if operator is None:
            return redirect("../") if is_page else plain(401, "expected `Authorization: Bearer` with an admin's key\n")
        try:
            case = await self._actions.read(request.path.rpartition("/")[2], by=operator)
        except (Refused, SovctlError) as error:
            log.event("hand-off not shown", level=40, error=error)
            return plain(503, "the hand-off is unreadable, or the access cannot be recorded; it is not shown\n")
        if case is None:
            return plain(404, "no such hand-off: it may have expired\n")
        if not is_page:
            return AdminResponse(200, orjson.dumps(case), "application/json")
        token = self._sealer.form_token(operator.name, operator.key_id)
        site = self._sources.settings().site
        return page(200, self._pages.handoff(case, site=site, form_token=token, operator=operator.name))

    async def _act(self, request: AdminRequest) -> AdminResponse:
        operator = await self._operator(request)
        if operator is None:
            return plain(401, "an admin's key is required\n")
        if not self._is_intended(request, operator):
            return plain(403, "send the page's form token, or a key in `Authorization`\n")
        name = request.path.removeprefix("/actions/")
        try:
            await self._actions.run(name, request.fields, by=operator)
        except KeyError:
            return plain(404, "no such action\n")
        except NotPermitted:
            return plain(403, "this action concerns all tenants; it needs an operator of all tenants\n")
        except NotDone as error:
            log.event("action failed", level=30, action=name, client=operator.name)
            return (
                plain(409, f"{error}\n")
                if request.is_json
                else await self._drawn(operator, told=str(error), status_code=409)
            )
        except Refused:
            return plain(503, "the action could not be recorded in the ledger; it was not carried out\n")
        log.event("action done", action=name, client=operator.name)
        if request.is_json:
            return AdminResponse(200, orjson.dumps({"done": name, "message": ACTIONS[name].done}), "application/json")
        return redirect(f"../?done={name}")

    async def _healthz(self, _asked: AdminRequest) -> AdminResponse:
        return AdminResponse(200, b'{"status":"ok"}', "application/json")

    async def _readyz(self, request: AdminRequest) -> AdminResponse:
        wrong = await self._sources.wrong()
        is_ready = NOT_READY.isdisjoint(wrong)
        told = {"ready": is_ready, **({"wrong": dict(wrong)} if await self._may_monitor(request) else {})}
        return AdminResponse(200 if is_ready else 503, orjson.dumps(told), "application/json")

    async def _may_monitor(self, request: AdminRequest) -> bool:
        """Return whether the request has a credential that permits the details of readiness."""
        credential = bearer(request.header("authorization"))
        if credential is None and request.peer is None:
            return False
        principal = await self._sources.authenticator().identify(credential, request.peer)
        if principal is None and credential is not None:
            self._count_failure(request)
        return principal is not None and principal.is_monitor

    async def _metrics(self, request: AdminRequest) -> AdminResponse:
        content_type, body = exposition(self._sources.metrics(), accept=request.header("accept") or "")
        return AdminResponse(200, body, content_type)

    async def _jwks(self, _asked: AdminRequest) -> AdminResponse:
        if self._sources.jwks is None:
            return plain(404, "access.principal_key_files is not set\n")
        return AdminResponse(200, orjson.dumps(self._sources.jwks), "application/jwk-set+json")
