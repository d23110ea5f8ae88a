"""torch_spawn.py - two ranks that torch.multiprocessing.spawn starts, as PyTorch's tutorial has them: no variable tells their ranks.
`torch_spawn.py crash`: rank 1 crashes in its tenth step. `raise`: it raises an exception there. `linger`: it closes its connections
after that, and ends a second later, so the other rank ends first. Under torchrun it is one rank."""
import os
import signal
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def train(rank, size, meeting):
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=size)
    loader = DataLoader(TensorDataset(torch.randn(320, 64), torch.randn(320, 1)), batch_size=16)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        if "crash" in sys.argv and rank == 1 and step == 9:
            os.kill(os.getpid(), signal.SIGSEGV)
        if "raise" in sys.argv and rank == 1 and step == 9:
            raise ValueError("as it was told")
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def main(rank, size, meeting):
    is_over = False
    try:
        train(rank, size, meeting)
        is_over = True
    finally:
        if is_over or "linger" in sys.argv:
            dist.destroy_process_group()
            time.sleep(0 if is_over or rank == 0 else 1)


if "RANK" in os.environ:
    main(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), "env://")
elif __name__ == "__main__":
    with tempfile.TemporaryDirectory() as meeting:
        mp.spawn(main, args=(2, f"file://{meeting}/meeting"), nprocs=2)
    sys.exit(0)
