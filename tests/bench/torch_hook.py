#!/usr/bin/env python3
"""torch_hook.py - what the marks in a PyTorch program cost: the call of an outermost module and an optimizer's step that do nothing,
and 1,000 modules inside one. Microseconds of the thread's processor time, the best of 5 passes. Run it both ways:

    for p in off on; do dccollect run --python $p -o hook.tar -- python3 tests/bench/torch_hook.py; done"""
import time

import torch


class Nothing(torch.nn.Module):
    def forward(self, x):
        return x


class Still(torch.optim.SGD):
    def step(self):
        pass


class Many(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Identity()

    def forward(self, x):
        for _ in range(1000):
            x = self.inner(x)
        return x


def cost(function, n):
    best = float("inf")
    for _ in range(5):
        begin = time.thread_time()
        for _ in range(n):
            function()
        best = min(best, (time.thread_time() - begin) / n)
    return 1e6 * best


module, many, optimizer = Nothing(), Many(), Still([torch.zeros(1, requires_grad=True)], lr=0.1)
for _ in range(3):  # outermost modules are looked for in the first steps
    module(1)
    many(1)
    optimizer.step()
print(f"outermost module {cost(lambda: module(1), 20000):.2f} us, optimizer step {cost(optimizer.step, 20000):.2f} us, "
      f"1,000 modules inside one {cost(lambda: many(1), 50):.0f} us")
