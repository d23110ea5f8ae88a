#!/usr/bin/env python3
"""send_signals.py HOW FILE COMMAND...: starts the command on its own terminal. When FILE exists, it sends
Ctrl-C ("key"), SIGINT to the whole group ("group") or SIGTERM and SIGUSR1 to the command alone ("alone")."""
import os
import pty
import signal
import sys
import time

how, path, command = sys.argv[1], sys.argv[2], sys.argv[3:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
while not os.path.exists(path):
    time.sleep(0.01)
time.sleep(0.3)
if how == "key":
    os.write(terminal, b"\x03")
elif how == "group":
    os.killpg(os.getpgid(pid), signal.SIGINT)
else:
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGUSR1)
try:
    while os.read(terminal, 4096):
        pass
except OSError:  # the other end of the terminal is closed
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
