"""idle.py COLLECTOR RANKS SECONDS [PROGRAM...]: processor time of the collectors of RANKS idle ranks on this host.

Without PROGRAM the ranks sleep. "all" is the time of the collectors and the processes they start, less that of the
programs. "steady" is the time of the collectors' threads from 5 s after the start until 3 s before the end. Rank 0 also samples the host."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

collector, n, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
program = sys.argv[4:] or ["sleep", "%g" % seconds]


def start(rank, words):
    launcher = dict(OMPI_COMM_WORLD_RANK=rank, OMPI_COMM_WORLD_LOCAL_RANK=rank, OMPI_COMM_WORLD_LOCAL_SIZE=n, OMPI_COMM_WORLD_SIZE=n)
    env = dict(os.environ, **{name: str(value) for name, value in launcher.items()})
    return subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait(started):
    """Processor seconds of all of them and their children."""
    total = 0
    for p in started:
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = status
        assert status == 0, "a rank ended with status %d" % status
        total += used.ru_utime + used.ru_stime
    return total


def threads(started):
    """Processor seconds of each of their threads so far."""
    files = [f for p in started for f in glob.glob("/proc/%d/task/*/schedstat" % p.pid)]
    return {f: int(open(f).read().split()[0]) * 1e-9 for f in files}


alone = wait([start(r, program if sys.argv[4:] else ["sleep", "0.1"]) for r in range(n)])
spool = tempfile.mkdtemp()
begun = time.monotonic()
ranks = [start(r, [collector, "run", "--spool", spool + "/s", "--", *program]) for r in range(n)]
time.sleep(max(0, begun + 5 - time.monotonic()))
first, since = threads(ranks), time.monotonic()
time.sleep(max(0, begun + seconds - 3 - time.monotonic()))
last, until = threads(ranks), time.monotonic()
total = wait(ranks) - alone
shutil.rmtree(spool)

used = {f: last[f] - first.get(f, 0) for f in last}
steady = sum(used.values())
host = sum(t for f, t in used.items() if f.startswith("/proc/%d/" % ranks[0].pid))
print("all: %.2f s, %.2f %% of a core in %g s" % (total, 100 * total / seconds, seconds))
print("start and end: %.2f s, each rank %.1f ms" % (total - steady, 1000 * (total - steady) / n))
print("steady: %.3f s in %.1f s, %.2f %% of a core; of it rank 0: %.2f %%" % (steady, until - since, 100 * steady / (until - since), 100 * host / (until - since)))
