"""Read-only probe of the main processes of systemd units; runs on a node (standard library only). Arguments: UNIT...

One JSON line per unit: {"unit", "pid": 0} without a process, else {"unit", "pid", "argv", "environment", "folders"}.
argv: of the kernel, with secrets replaced. environment: values of variables that configure a model server; of others
only the names. folders: folders below /opt/sovctl from which the process runs code or maps files.
"""

import json
import os
import re
import subprocess
import sys

VALUES = ("VLLM_", "HF_", "TRANSFORMERS_", "CUDA_", "NVIDIA_", "NCCL_", "UCX_", "GLOO_", "TORCH", "PYTORCH_", "OMP_",
          "MKL_", "LD_", "PYTHON", "FLASHINFER_", "TRITON_", "SAFETENSORS_", "DO_NOT_TRACK", "LLAMA_",
          "GGML_", "SOVCTL_", "HOME")  # fmt: skip
SECRET = re.compile(r"(?i)key|token|secret|passw|credential|auth")
SECRET_FLAGS = ("--api-key", "--hf-token")
ROOT = re.compile(r"(/opt/sovctl/[^/\s]+)/")


def words(pid, name):
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return [word.decode("utf-8", "backslashreplace") for word in file.read().split(b"\0")[:-1]]


def arguments(pid):
    found, hide = [], False
    for word in words(pid, "cmdline"):
        if word.startswith("--"):
            name, separator, _ = word.partition("=")
            hide = name in SECRET_FLAGS
            found.append(f"{name}=(secret)" if hide and separator else word)
        else:
            found.append("(secret)" if hide else re.sub(r"://[^/@\s]*:[^/@\s]*@", "://(secret)@", word))
    return found


def environment(pid):
    found = {}
    for word in words(pid, "environ"):
        name, _, value = word.partition("=")
        readable = name.startswith(VALUES) and not SECRET.search(name)
        found[name] = value if readable else "(not read)"
    return found


def folders(pid, argv):
    with open(f"/proc/{pid}/maps") as file:
        lines = [line.split(None, 5)[-1].strip() for line in file]
    # A path through the stable link of an environment counts as the folder that the link names.
    programs = [os.path.realpath(match.group(1)) + "/" for match in map(ROOT.match, argv[:1]) if match]
    texts = [*programs, *(line for line in lines if line.startswith("/"))]
    found = [(ROOT.match(text), text.endswith(" (deleted)")) for text in texts]
    return sorted({match.group(1) + (" (deleted)" if gone else "") for match, gone in found if match})


def describe(unit):
    command = ["systemctl", "show", "--property=MainPID", "--value", unit]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=15, check=True).stdout
    pid = int(shown.strip() or 0)
    if pid == 0:
        return {"unit": unit, "pid": 0}
    try:
        argv = arguments(pid)
        seen = {"unit": unit, "pid": pid, "argv": argv, "environment": environment(pid), "folders": folders(pid, argv)}
    except (FileNotFoundError, ProcessLookupError):  # the process ended
        return {"unit": unit, "pid": 0}
    return seen if argv else {"unit": unit, "pid": 0}  # a zombie has no arguments


for each in sys.argv[1:]:
    sys.stdout.write(json.dumps(describe(each)) + "\n")
