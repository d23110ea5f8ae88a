"""What the collector's hook looks for in PyTorch, and no more: so that it can be tried without PyTorch, and as a version of which
nothing else is known (no distributed, no worker, a Module.__call__ of another name)."""
import sys
import types


def module(name):
    m = sys.modules["torch." + name] = types.ModuleType("torch." + name)
    parent, _, last = ("torch." + name).rpartition(".")
    setattr(sys.modules[parent], last, m)
    return m


nn, optim, autograd, serialization = (module(n) for n in ("nn", "optim", "autograd", "serialization"))
module("utils")
module("utils.data")
dataloader = module("utils.data.dataloader")


class Module:
    training = True

    def _wrapped_call_impl(self, *args):
        return self.forward(*args)

    __call__ = _wrapped_call_impl


class Optimizer:
    def __init__(self, params):
        self.params = params

    def step(self):
        pass


class SGD(Optimizer):
    def step(self):
        for p in self.params:
            p[0] -= 1


class _BaseDataLoaderIter:
    def __init__(self, data):
        self.data = iter(data)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.data)


class DataLoader:
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        return _BaseDataLoaderIter(self.data)


def backward(loss):
    return loss


def save(thing, path):
    with open(path, "w") as f:
        f.write(str(thing))


nn.Module, optim.Optimizer, optim.SGD = Module, Optimizer, SGD
dataloader.DataLoader, dataloader._BaseDataLoaderIter = DataLoader, _BaseDataLoaderIter
autograd.backward, serialization.save = backward, save
