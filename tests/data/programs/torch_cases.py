#!/usr/bin/env python3
"""torch_cases.py - typical loops of PyTorch programs, one after the other. Under the collector the trace must say how many
steps each has, and every result is the same as without it.

    torch_cases.py FOLDER        prints what it computed. With TORCH_CASES_MARK set, a range around each case tells its name."""
import copy
import ctypes
import functools
import hashlib
import io
import os
import pickle
import random
import sys
import threading

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, IterableDataset

folder = sys.argv[1]
library = ctypes.PyDLL(os.environ["NVTX_INJECTION64_PATH"]) if os.environ.get("TORCH_CASES_MARK") else None


class Numbers(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.full((4,), float(i))


class Stream(IterableDataset):
    def __iter__(self):
        return iter([torch.ones(4)] * 6)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1))

    def forward(self, x):
        return self.inner(x)


class Callable(torch.nn.Module):
    """A class that defines __call__."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 1)

    def __call__(self, x):
        return super().__call__(x) * 2

    def forward(self, x):
        return self.inner(x)


def loader(n, **more):
    return DataLoader(Numbers(n), batch_size=2, **more)


def train(model, optimizer, x):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss


def case_bare(model, optimizer, steps=6):  # as many ends of an optimizer
    for i in range(steps):
        train(model, optimizer, torch.full((2, 4), float(i)))


def case_loader(model, optimizer):  # 2 epochs of 6 batches, each with a validation
    batches, checks = loader(12, shuffle=True), loader(6)
    for _ in range(2):
        for x in batches:
            train(model, optimizer, x)
        with torch.no_grad():
            for x in checks:
                model(x)


def case_check_inside(model, optimizer):  # 6 batches, a validation behind every second one
    checks = loader(6)
    for i, x in enumerate(loader(12)):
        train(model, optimizer, x)
        if i % 2:
            for y in checks:
                model(y)


def case_accumulate(model, optimizer):  # 8 batches, a step for every second one
    for i, x in enumerate(loader(16)):
        model(x).mean().backward()
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()


def case_two_optimizers(model, optimizer):  # 5 batches
    other = Net()
    second = torch.optim.Adam(other.parameters())
    for x in loader(10):
        train(model, optimizer, x)
        train(other, second, x)


def case_two_loaders(model, optimizer):  # 5 pairs of batches
    for x, y in zip(loader(10), loader(10)):
        train(model, optimizer, x + y)


def case_lbfgs(model, _):  # 4 batches with closures
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    for x in loader(8):
        def closure():
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            return loss
        optimizer.step(closure)


def case_stream(model, optimizer):  # 3 batches of an iterable data set
    for x in DataLoader(Stream(), batch_size=2):
        train(model, optimizer, x)


def case_workers(model, optimizer):  # 4 batches made by a forked worker, then 4 by a started one
    for how in ("fork", "spawn"):
        for x in loader(8, num_workers=1, multiprocessing_context=how):
            train(model, optimizer, x)


def case_error(model, optimizer):  # 4 batches, of which one fails
    for i, x in enumerate(loader(8)):
        try:
            train(model, optimizer, x if i != 1 else torch.ones(2, 5))
        except RuntimeError as e:
            print("error", type(e).__name__, str(e).split("\n")[0])


def case_schedule(model, optimizer):  # 4 batches with a scheduler and a checkpoint
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for x in loader(8):
        train(model, optimizer, x)
        scheduler.step()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{folder}/checkpoint")
    model.load_state_dict(torch.load(f"{folder}/checkpoint")["model"])
    print("rate", scheduler.get_last_lr())


def case_async(model, optimizer):  # 4 batches, gradients reduced by hand
    if not dist.is_initialized():
        dist.init_process_group("gloo", init_method=f"file://{os.path.abspath(folder)}/meeting", rank=0, world_size=1)
    for x in loader(8):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        for work in [dist.all_reduce(p.grad, async_op=True) for p in model.parameters()]:
            work.wait()
        dist.all_reduce(torch.ones(3))
        optimizer.step()


def case_critic(model, optimizer):  # 4 batches with 3 steps of one optimizer each
    for x in loader(8):
        for _ in range(3):
            train(model, optimizer, x)


def case_other_thread(model, optimizer):  # 4 batches, while another thread saves and loads
    thread = threading.Thread(target=lambda: torch.load(io.BytesIO(saved(model))))
    thread.start()
    thread.join()
    for x in loader(8):
        train(model, optimizer, x)


def case_callable(_, __):  # 4 batches
    model = Callable()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x in loader(8):
        train(model, optimizer, x)


def saved(model):
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    return buffer.getvalue()


def digest(thing):
    return hashlib.sha256(pickle.dumps(thing)).hexdigest()[:16]


def others():
    """Code that must not notice that anything is wrapped."""
    model = Net()
    print("pickled functions", pickle.dumps([torch.save, torch.load, torch.autograd.backward, dist.all_reduce, DataLoader]).hex()[:400])
    print("copy", digest(copy.deepcopy(model).inner[0].weight.shape))
    buffer = io.BytesIO()
    torch.save(model, buffer)
    print("saved", len(buffer.getvalue()), type(torch.load(io.BytesIO(buffer.getvalue()))).__name__)
    print("traced by fx", torch.fx.symbolic_trace(torch.nn.Sequential(Net(), torch.nn.Sequential(torch.nn.ReLU()))).code)
    print("scripted", torch.jit.script(Net().inner).code)

    @torch.jit.script
    def gradient(x):
        y = (x * x).sum()
        return torch.autograd.grad([y], [x])[0]

    print("scripted gradient", gradient(torch.ones(2, requires_grad=True)))
    print("call of a module", torch.nn.Module.__call__.__code__.co_filename)
    print("path", [p for p in sys.path if "dcreport" in p], sys.modules.get("sitecustomize") is None, sys.flags.no_site)
    try:
        torch.load(f"{folder}/absent")
    except FileNotFoundError as e:
        print("error", e.strerror)
    try:
        dist.all_reduce("no tensor")
    except Exception as e:
        print("error", type(e).__name__)


def main():
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(3)
    random.seed(3)
    for name, case in [(n, c) for n, c in globals().items() if n.startswith("case_")] + [("case_bare_again", functools.partial(case_bare, steps=40))]:
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        if library:
            library.dcc_range_push(b"cases", None, name[5:].encode(), ctypes.c_uint64(2**64 - 1))
        case(model, optimizer)
        if library:
            library.dcc_range_pop(b"cases")
        print(name, [round(float(p.double().sum()), 12) for p in model.parameters()], torch.rand(1).item(), random.random())
    others()
    if dist.is_initialized():
        dist.destroy_process_group()
    sys.exit(7)


if __name__ == "__main__":
    main()
