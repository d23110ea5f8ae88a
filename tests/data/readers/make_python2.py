"""Run by Python 2.7 without NumPy: classes that imitate NumPy's pickle to the same bytes. Writes
adj_mx as published: protocol 2, and protocol 0 with the line ends of Windows (liyaguang/DCRNN, issue 36)."""
import cPickle
import pickle
import struct
import sys
import types

numpy, core, multiarray = [types.ModuleType(n) for n in ("numpy", "numpy.core", "numpy.core.multiarray")]
for module in (numpy, core, multiarray):
    sys.modules[module.__name__] = module


def _reconstruct(*arguments):
    pass


class ndarray(object):
    def __init__(self, n, raw):
        self.n, self.raw = n, raw

    def __reduce__(self):
        return _reconstruct, (ndarray, (0,), "b"), (1, (self.n, self.n), dtype("f4", 0, 1), False, self.raw)


class dtype(object):
    def __init__(self, *arguments):
        self.arguments = arguments

    def __reduce__(self):
        return dtype, self.arguments, (3, "<", None, None, None, -1, -1, 0)


_reconstruct.__module__, ndarray.__module__, dtype.__module__ = "numpy.core.multiarray", "numpy", "numpy"
numpy.core, core.multiarray, multiarray._reconstruct = core, multiarray, _reconstruct
numpy.ndarray, numpy.dtype = ndarray, dtype

ids = ["773869", "767541", "767542", "717447"]
weights = [1, .5, 0, 0, 0, 1, .25, 0, 0, 0, 1, 0, .75, 0, 0, 1]
value = [ids, dict((s, i) for i, s in enumerate(ids)), ndarray(4, struct.pack("<16f", *weights))]
open("adj_mx.pkl", "wb").write(cPickle.dumps(value, 2))
open("adj_mx-python2-1.pkl", "wb").write(pickle.dumps(value, 1))
open("adj_mx-windows.pkl", "wb").write(pickle.dumps(value, 0).replace("\n", "\r\n"))
