"""6 batches of training, with a validation after the third and a checkpoint at the end. Prints what it sees of the collector."""
import importlib.util
import os
import sys

assert importlib.util.find_spec("torch")  # as libraries check whether it is there
import torch
from torch.utils.data.dataloader import DataLoader


class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1


weights = [10]
net, optimizer = Net(), torch.optim.SGD([weights])
for x in DataLoader(range(6)):
    torch.autograd.backward(net(x))
    optimizer.step()
    if x == 2:
        for y in DataLoader(range(4)):
            net(y)
torch.serialization.save(weights, sys.argv[1])
print(weights, [p for p in sys.path if "dcreport" in p], torch.nn.Module.__call__ is torch.nn.Module._wrapped_call_impl, "sitecustomize" in sys.modules,
      getattr(sys.modules.get("sitecustomize"), "mine", None), [m for m in sys.modules if "dcreport" in m], sorted(os.environ) == sorted(set(os.environ)))
sys.exit(3)
