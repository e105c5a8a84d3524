"""The connection is gone: nothing of recui stays behind."""

from __future__ import annotations

import signal
import subprocess
import sys

HANGING = """
import signal, threading, time
import recui.cli as cli

def run(arguments):
    threading.Thread(target=time.sleep, args=(60,)).start()
    print("ready", flush=True)
    time.sleep(60)

signal.signal(signal.SIGHUP, signal.SIG_DFL)
cli.run = run
cli.main()
"""
"""The command line with a thread that outlasts the main one, as Textual's may on a lost terminal."""

STOPPED = """
import signal, time
import recui.cli as cli

def command(*arguments, **options):
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        raise RuntimeError("no running event loop")

class Application:
    main = command

signal.signal(signal.SIGHUP, signal.SIG_DFL)
cli.typer.main.get_command = lambda app: Application
cli.main()
"""
"""The command line with an application that fails when it is stopped in the middle of anything."""


def test_what_fails_when_the_terminal_goes_is_no_bug() -> None:
    command = [sys.executable, "-c", STOPPED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=30) == 128 + signal.SIGHUP
        assert process.stderr.read() == ""


def test_a_thread_that_hangs_on_a_lost_terminal_does_not_keep_the_process() -> None:
    with subprocess.Popen([sys.executable, "-c", HANGING], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=30) == -signal.SIGALRM
