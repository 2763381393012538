"""Ansible callback: one JSON line per task result on standard output, and nothing else.

    {"event": "start"|"ok"|"failed"|"unreachable"|"skipped", "node", "role", "task", "message"}

Messages come from tasks that failed and never from those marked no_log.
"""

import json
import sys

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
    name: sovctl_events
    type: stdout
    short_description: JSON lines for sovctl apply
    description: One line per task start and result.
"""
MESSAGE_LIMIT = 2000


class CallbackModule(CallbackBase):
    """Standard-output callback."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "sovctl_events"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._failed_items = {}  # message of the first failed item of a loop, by node and task

    def _write(self, event, node, task, message=""):
        role = task._role.get_name() if getattr(task, "_role", None) else ""
        line = {"event": event, "node": node, "role": role, "task": task.get_name(), "message": message[:MESSAGE_LIMIT]}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    def v2_runner_on_start(self, host, task):
        self._write("start", host.get_name(), task)

    def v2_runner_on_ok(self, result):
        self._write("ok", result._host.get_name(), result._task)

    def v2_runner_on_skipped(self, result):
        self._write("skipped", result._host.get_name(), result._task)

    def v2_runner_item_on_failed(self, result):
        self._failed_items.setdefault((result._host.get_name(), result._task._uuid), _message(result._result))

    def v2_runner_on_failed(self, result, ignore_errors=False):
        node = result._host.get_name()
        of_item = self._failed_items.pop((node, result._task._uuid), "")
        if not ignore_errors:
            self._write("failed", node, result._task, of_item or _message(result._result))

    def v2_runner_on_unreachable(self, result):
        self._write("unreachable", result._host.get_name(), result._task, "the node does not answer")


def _message(result):
    if result.get("_ansible_no_log") or "censored" in result:
        return "the task handles secrets; look at the node"
    parts = [str(result.get(key, "")).strip() for key in ("msg", "stderr", "stdout")]
    return " | ".join(part for part in parts if part)
