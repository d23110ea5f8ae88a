#!/usr/bin/env python3
"""ddp.py - a small data-parallel PyTorch program on CPUs whose bottleneck is known: the truth for traces of such programs.

    ddp.py RANK WORLD FOLDER CASE...        RANK, WORLD = numbers, or env env: from RANK and WORLD_SIZE
                                            CASE = none | loader | slow | gradients | checkpoint | unmarked | plain-CASE

Each rank writes FOLDER/CASE/rankN.json with torch.profiler, and FOLDER/CASE/truth-rankN: milliseconds of each step by a clock
of its own that knows nothing of the profiler. Ranks meet through a file. `unmarked` is `none` without schedule=, so that
nothing marks its steps. `plain-...` runs without a profiler. Needs PyTorch with gloo."""
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.data import DataLoader, Dataset

STEPS, BEFORE = 10, 3
clock = time.perf_counter


class Samples(Dataset):
    """Loading a sample takes as long as the case says."""

    def __init__(self, n, width, seconds):
        self.n, self.seconds, self.data = n, seconds, torch.randn(64, width)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.seconds:
            time.sleep(self.seconds)
        return self.data[i % 64]


class SumOfRanks(torch.autograd.Function):
    """An operator that holds a collective: it all-reduces in its backward pass."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient


class Model(torch.nn.Module):
    """Its forward pass takes longer if the case says so. The numbers of `ballast` are exchanged, but not trained."""

    def __init__(self, width, depth, seconds, ballast):
        super().__init__()
        self.ballast = torch.nn.Parameter(torch.zeros(ballast))
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth))
        self.seconds, self.more, self.extra = seconds, torch.randn(384, 384), 0

    def forward(self, x):
        begin = clock()
        while clock() < begin + self.seconds:
            torch.mm(self.more, self.more)
        self.extra = clock() - begin
        x = x + self.ballast[: x.shape[1]]
        for layer in self.layers:
            x = torch.relu(layer(x))
        return SumOfRanks.apply(x)


class SlowDisk:
    """A file whose first write takes long."""

    def __init__(self, file):
        self.file, self.is_new = file, True

    def write(self, data):
        if self.is_new:
            time.sleep(0.008)
        self.is_new = False
        return self.file.write(data)

    def flush(self):
        self.file.flush()


class Case:
    def __init__(self, name, rank, world, folder):
        self.is_plain, self.rank, self.world, self.folder = name.startswith("plain-"), rank, world, f"{folder}/{name}"
        self.name = name = name.removeprefix("plain-")
        os.makedirs(self.folder, exist_ok=True)
        width, depth, batch, ballast = (192, 3, 4, 6 << 20) if name == "gradients" else (192, 3, 64, 192)
        inner = Model(width, depth, 0.012 if name == "slow" and rank == world - 1 else 0, ballast)
        self.model = DistributedDataParallel(inner)
        self.optimizer = torch.optim.SGD(inner.layers.parameters(), lr=1e-3)
        samples = Samples(batch * (BEFORE + STEPS + 2), width, 0.0003 if name == "loader" else 0)
        self.batches = iter(DataLoader(samples, batch_size=batch))
        self.truth = {k: [] for k in ("data", "io", "extra", "step")}

    def step(self):
        t = [clock()]
        x = next(self.batches)
        t.append(clock())
        loss = self.model(x).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        t.append(clock())
        if self.name == "checkpoint":
            with record_function("save_checkpoint"), open(f"{self.folder}.checkpoint-{self.rank}", "wb") as f:
                torch.save(self.model.state_dict(), SlowDisk(f))
                f.flush()
                os.fsync(f.fileno())
        t.append(clock())
        for key, seconds in (("data", t[1] - t[0]), ("io", t[3] - t[2]), ("extra", self.model.module.extra)):
            self.truth[key].append(1e3 * seconds)

    def write(self, profiler):
        profiler.export_chrome_trace(f"{self.folder}/rank{self.rank}.json")

    def run_plain(self):
        for _ in range(BEFORE + STEPS + 1):
            begin = clock()
            self.step()
            self.truth["step"].append(1e3 * (clock() - begin))
        dist.barrier()

    def write_truth(self):
        with open(f"{self.folder}/truth-rank{self.rank}", "w") as f:
            json.dump(self.truth, f)

    def run(self):
        if self.is_plain:
            self.run_plain()
            self.write_truth()
            return
        is_marked = self.name != "unmarked"
        for _ in range(BEFORE):
            self.step()
        dist.barrier()
        with profile(activities=[ProfilerActivity.CPU], on_trace_ready=self.write if is_marked else None,
                     schedule=schedule(wait=0, warmup=1, active=STEPS + 1) if is_marked else None) as p:
            if is_marked:
                self.step()
                p.step()
            for list_ in self.truth.values():
                list_.clear()
            for _ in range(STEPS):
                begin = clock()
                self.step()
                if is_marked:
                    p.step()
                self.truth["step"].append(1e3 * (clock() - begin))  # including the profiler's own work, which is also
                                                                    # inside its steps
        if not is_marked:
            self.write(p)
        self.write_truth()
        dist.barrier()


def main():
    rank, world, folder, *cases = sys.argv[1:]
    if rank == "env":  # as torchrun starts it
        rank, world = os.environ["RANK"], os.environ["WORLD_SIZE"]
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo", init_method=f"file://{os.path.abspath(folder)}/meeting", rank=int(rank),
                            world_size=int(world))
    for case in cases:
        Case(case, int(rank), int(world), folder).run()


main()
