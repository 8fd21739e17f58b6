"""Run command lines in children forked from one warm process; see `fault_injection.py`.

A line of JSON comes in: a folder, command lines, and what is to happen at which file system call of the
first of them. A line of JSON goes out when the child has ended. A child that lives on runs the other
command lines too, unharmed, as a long-running process would.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any


def _child(request: dict[str, Any], answer: Path) -> None:
    """Run the command lines, and write after each what has come of them so far."""
    from forgekit.cli.main import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    shim = ctypes.CDLL(None)
    out, err = (os.open(f"{answer}.{name}", os.O_RDWR | os.O_CREAT | os.O_TRUNC) for name in ("out", "err"))
    os.dup2(out, 1)
    os.dup2(err, 2)
    record = request["record"]
    to = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if record else -1
    os.chdir(request["root"])
    done = []
    for number, words in enumerate(request["commands"]):
        start = time.monotonic()
        os.ftruncate(out, 0)
        os.ftruncate(err, 0)
        os.lseek(out, 0, os.SEEK_SET)
        os.lseek(err, 0, os.SEEK_SET)
        if number == 0:
            shim.faults_arm(
                request["root"].encode(),
                ctypes.c_long(request["call"]),
                request["action"],
                request["value"],
                request["sticky"],
                to,
            )
        try:
            code = main(words)
            sys.stdout.flush()
        except KeyboardInterrupt:
            code = 130
        if number == 0:
            shim.faults_disarm()
            if request["kill_at_end"]:
                os.kill(os.getpid(), signal.SIGKILL)
        said = [os.pread(handle, 1 << 20, 0).decode("utf-8", "replace") for handle in (out, err)]
        seconds = time.monotonic() - start
        done.append({"code": code, "out": said[0], "err": said[1], "seconds": seconds})
        answer.write_text(json.dumps({"seen": shim.faults_seen(), "done": done}), encoding="utf-8")


def _warm(request: dict[str, Any]) -> None:
    """Run command lines here, so that what they import is there before the first fork."""
    from forgekit.cli.main import main

    os.chdir(request["root"])
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):  # noqa: PTH123 - a device
        for words in request["commands"]:
            assert main(words) == 0, words
    gc.collect()  # a database that is open across a fork is a damaged one
    os.chdir("/")


def main(scratch: Path) -> None:
    """Serve until the input ends."""
    answer = scratch / "answer.json"
    for line in sys.stdin:
        request = json.loads(line)
        if request["warm"]:
            _warm(request)
            sys.stdout.write('{"status": 0, "seen": 0, "done": []}\n')
            sys.stdout.flush()
            continue
        answer.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            try:
                _child(request, answer)
            except BaseException as e:  # noqa: BLE001 - the child must not go on as a server
                answer.write_text(json.dumps({"broken": f"{type(e).__name__}: {e}"}), encoding="utf-8")
                os._exit(99)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        found = json.loads(answer.read_text("utf-8")) if answer.exists() else {"seen": 0, "done": []}
        sys.stdout.write(json.dumps({"status": os.waitstatus_to_exitcode(status), **found}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
