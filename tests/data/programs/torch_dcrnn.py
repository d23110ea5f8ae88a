#!/usr/bin/env python3
"""torch_dcrnn.py - a small DCRNN (one layer of diffusion-convolutional GRU, encoder and decoder) in PyTorch, written like a
user's program, without any knowledge of the collector. Data-parallel with gloo; each rank takes its part of a batch of 32. Ranks know
each other by RANK and WORLD_SIZE, as torchrun sets them, and meet in the file MEETING."""
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

SENSORS, UNITS, HISTORY, HORIZON, BATCH, STEPS = 40, 32, 6, 6, 32, 24


class Cell(torch.nn.Module):
    """A GRU whose products are sums over the supports: x, a random walk forth and one back."""

    def __init__(self, walk, inputs):
        super().__init__()
        self.register_buffer("supports", torch.stack([torch.eye(SENSORS), walk, walk.t()]))
        self.gates = torch.nn.Linear(3 * (inputs + UNITS), 2 * UNITS)
        self.candidate = torch.nn.Linear(3 * (inputs + UNITS), UNITS)

    def diffuse(self, x):
        return torch.einsum("snm,bmf->bnsf", self.supports, x).flatten(2)

    def forward(self, x, h):
        r, u = torch.sigmoid(self.gates(self.diffuse(torch.cat([x, h], 2)))).chunk(2, 2)
        c = torch.tanh(self.candidate(self.diffuse(torch.cat([x, r * h], 2))))
        return u * h + (1 - u) * c


class DCRNN(torch.nn.Module):
    def __init__(self, walk):
        super().__init__()
        self.encoder, self.decoder, self.out = Cell(walk, 1), Cell(walk, 1), torch.nn.Linear(UNITS, 1)

    def forward(self, x):
        h = x.new_zeros(len(x), SENSORS, UNITS)
        for t in range(HISTORY):
            h = self.encoder(x[:, t], h)
        y, ys = x.new_zeros(len(x), SENSORS, 1), []
        for _ in range(HORIZON):
            h = self.decoder(y, h)
            y = self.out(h)
            ys.append(y)
        return torch.stack(ys, 1)


rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.set_num_threads(1)
torch.manual_seed(1)
dist.init_process_group("gloo", init_method=f"file://{os.environ['MEETING']}", rank=rank, world_size=world)
walk = torch.rand(SENSORS, SENSORS) * (torch.rand(SENSORS, SENSORS) < 0.2)
walk = walk / walk.sum(1, keepdim=True).clamp(min=1e-6)
series = torch.rand(BATCH * STEPS, HISTORY + HORIZON, SENSORS, 1)
mine = TensorDataset(series[rank::world])
model = DistributedDataParallel(DCRNN(walk))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for (x,) in DataLoader(mine, batch_size=BATCH // world):
    optimizer.zero_grad()
    loss = (model(x[:, :HISTORY]) - x[:, HISTORY:]).abs().mean()
    loss.backward()
    optimizer.step()
dist.barrier()
