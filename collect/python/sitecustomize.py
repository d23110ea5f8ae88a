"""sitecustomize.py - Python imports this module at its start, because `dccollect run` puts this folder in front of PYTHONPATH. It waits
until the program imports torch, and then loads dcreport_torch.py. Without torch it does nothing.

The program finds everything as it would without the collector: sys.path has no entry of ours, and a sitecustomize of the user or of
the system runs as before."""
import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))


class _WhenImported:
    """Finds no module by itself. It lets the others find the one of that name, and calls the hook when that has been executed. Programs
    also look for torch without importing it, to see whether it is there."""

    def __init__(self, name, hook):
        self.name, self.hook, self.is_looking = name, hook, False

    def find_spec(self, name, path=None, target=None):
        if name != self.name or self.is_looking:
            return None
        import importlib.util

        self.is_looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.is_looking = False
        execute = getattr(getattr(spec, "loader", None), "exec_module", None)
        if execute is None:
            return spec

        def then_hook(module):
            del spec.loader.exec_module
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            execute(module)
            self.hook(module)

        spec.loader.exec_module = then_hook
        return spec


def _hook(torch):
    """An error here must not reach the program."""
    try:
        from importlib import util

        spec = util.spec_from_file_location("dcreport_torch", os.path.join(_folder, "dcreport_torch.py"))
        module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.install(torch, lambda name, hook: sys.meta_path.insert(0, _WhenImported(name, hook)))
    except Exception:
        pass


sys.path[:] = [p for p in sys.path if not p or os.path.abspath(p) != _folder]
if os.environ.get("NVTX_INJECTION64_PATH"):
    sys.meta_path.insert(0, _WhenImported("torch", _hook))

# Load the sitecustomize that Python would have found. If there is none, this module stays in its place, because Python
# insists on one. An ImportError from the other module is passed on to Python, which reports it as usual.
_own = sys.modules.pop(__name__, None)
try:
    import sitecustomize  # noqa: F401
except ImportError as error:
    if getattr(error, "name", "sitecustomize") != "sitecustomize":
        raise
    if _own is not None:
        sys.modules[__name__] = _own
