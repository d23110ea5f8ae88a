"""own_ranks.py N - starts N ranks, as torch.multiprocessing.spawn does, which no launcher numbers. Each tells its rank by a link in the
spool, as the hook for PyTorch does. `own_ranks.py N RANK` is one of them. A child that it starts works for the same rank.

FAIL=TIME,TIME: each rank tells that an exception ended it at this time, in nanoseconds ("" tells nothing). Rank LAST then ends a second
after the other."""
import ctypes
import os
import subprocess
import sys
import time

n = int(sys.argv[1])
if len(sys.argv) == 2:
    ranks = [subprocess.Popen([sys.executable, __file__, str(n), str(r)]) for r in range(n)]
    sys.exit(max(r.wait() for r in ranks))
rank = int(sys.argv[2])
library = ctypes.PyDLL(os.environ["NVTX_INJECTION64_PATH"])


def mark(name):
    library.dcc_range_push(b"own", None, name.encode(), ctypes.c_uint64(2**64 - 1))
    library.dcc_range_pop(b"own")


mark(f"before {rank}")
os.symlink(str(rank), f"{os.environ['DCC_SPOOL']}/rank-of-{os.getpid()}")
mark(f"after {rank}")
child = subprocess.Popen(["sh", "-c", "sleep 0.8; :"])
time.sleep(0.6)  # for the monitors
child.wait()
if "FAIL" in os.environ:
    raised = os.environ["FAIL"].split(",")[rank]
    if raised:
        os.symlink(raised, f"{os.environ['DCC_SPOOL']}/raised-in-rank{rank}")
    time.sleep(rank == int(os.environ["LAST"]))
    sys.exit(1)
