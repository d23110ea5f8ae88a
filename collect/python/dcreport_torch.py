"""dcreport_torch.py - marks the phases of a PyTorch program for the collector. The program is not changed.

Every training loop passes the same few functions: the data loader's __next__, the call of the outermost module, backward, an
optimiser's step, torch.save, the collectives. install() wraps them. Each becomes a range of the trace (docs/FORMAT.md, PyTorch).

Rules of this file:
- A wrapper calls the function that it wraps exactly once, with the same arguments, and hands on its result or exception.
- Classes and modules are wrapped, never objects: a wrapped `optimizer.step` breaks learning rate schedulers, and pickles.
- A function that has two names is replaced under both, because pickle looks it up by name and compares.
- Only one thread marks: the main thread, or the one that made the last optimiser. Others pass through.
- What torch.compile traces passes through as well.
- What this version of PyTorch does not have is left out. Tried with 1.13 and 2.11; others by the names that they have."""
import atexit
import ctypes
import functools
import os
import sys
import threading
import time
import weakref

DOMAIN = b"PyTorch"
NO_PAYLOAD = 2**64 - 1
LEARNING_STEPS = 2
STEPS_WITHOUT_LOADER = 32  # after this many optimiser steps without a request to it, a loader was not that of the
                           # training

ELASTIC_ERRORS = "torch.distributed.elastic.multiprocessing.errors"
COLLECTIVES = ("all_reduce", "all_gather", "all_gather_into_tensor", "all_to_all", "all_to_all_single", "barrier", "broadcast", "gather",
               "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "send")


class Recorder:
    """The collector's entry points (collect/guest/entry.h). PyDLL keeps the interpreter's lock: a call takes less than a
    microsecond, and giving the lock away could take longer."""

    def __init__(self, path):
        library = ctypes.PyDLL(path)
        self._push, self._pop = library.dcc_range_push, library.dcc_range_pop
        self._push.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64]
        self._pop.argtypes = [ctypes.c_char_p]

    def push(self, category, name, payload=NO_PAYLOAD):
        self._push(DOMAIN, category, name, payload)

    def pop(self):
        self._pop(DOMAIN)

    def tell(self, category, name, payload):
        """A range without length, which only carries a payload."""
        self._push(DOMAIN, category, name, payload)
        self._pop(DOMAIN)


class Batches:
    """Which part of the loop is a step.

    A batch begins with the first __next__ of a loader after an optimiser's step. Whether it is a training step is known at its end:
    it is one if an optimiser has stepped in it. The reader of the trace applies this rule (lib/reduce/reduce.c), so a range `step` of
    the category `batch of PyTorch` can be opened when the batch begins. Programs without a loader have steps from the end of an optimiser's
    step to the end of its next one."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.n = 0               # completed steps
        self.is_open = False
        self.n_stepped = 0       # optimiser steps in the open batch
        self.by_loader = False
        self.since_next = 0      # optimiser steps since a loader was asked
        self.was_asked = False   # a loader was asked in the open batch
        self.loaders = weakref.WeakSet()  # those iterators, as long as they live
        self.trained = weakref.WeakSet()  # iterators that gave batches of earlier steps
        self.first_is_trained = False
        self.optimizer = None    # weak reference to the optimiser that ends steps if there is no loader

    def begin(self):
        self.end()
        self.recorder.push(b"batch of PyTorch", b"step", self.n)
        self.is_open = True

    def end(self):
        if self.is_open:
            self.recorder.pop()
        if self.is_open and self.n_stepped:
            self.n += 1
            self.trained.update(self.loaders)
        self.is_open = False
        self.n_stepped = 0
        self.loaders = weakref.WeakSet()
        self.was_asked = self.first_is_trained = False

    def on_iter(self):
        """A loop over a loader begins: an epoch, or a validation."""
        self.by_loader = True
        self.since_next = 0
        self.begin()

    def on_next(self, iterator):
        self.since_next = 0
        # If the loader of the training is asked again, a validation has ended without a step.
        if not self.by_loader or not self.is_open or self.n_stepped or (
                self.was_asked and not self.first_is_trained and iterator in self.trained):
            self.by_loader = True
            self.begin()
        if not self.was_asked:
            self.was_asked, self.first_is_trained = True, iterator in self.trained
        self.loaders.add(iterator)

    def on_optimizer(self, optimizer):
        """An optimiser's step has ended."""
        self.n_stepped += 1
        if self.optimizer is None or self.optimizer() is None:
            self.optimizer = weakref.ref(optimizer)
        if self.optimizer() is not optimizer:
            return
        self.since_next += 1
        if self.since_next == STEPS_WITHOUT_LOADER:
            self.by_loader = False
        if not self.by_loader:
            self.begin()


class Marks:
    def __init__(self, torch, recorder):
        self.torch = torch
        self.recorder = recorder
        self.batches = Batches(recorder)
        self.thread = threading.main_thread()
        self.pid = os.getpid()
        self.rank = launcher_rank()
        self.noted = None, 0
        if self.rank is not None:
            quietly(forget_link, f"raised-in-rank{self.rank}")  # of an earlier process with this rank
        compiler = getattr(torch, "compiler", None)
        self.is_compiling = getattr(compiler, "is_compiling", lambda: False)
        self.inside = set()       # phases that are open: only the outermost call of a phase is marked
        self.root_classes = set()  # classes of outermost modules that have a __call__ of ours
        self.module_call = None   # the original Module.__call__, while outermost modules are searched
        self.learned_at = 0       # completed steps when the search began
        self.ddp_exposed = self.ddp_hidden = 0
        self.ddp_steps = 0        # completed steps when these times were measured

    def is_mine(self):
        return threading.current_thread() is self.thread

    def marked(self, function, phase, category, name, before=None, after=None, payload=None):
        """Wraps a function with a range. before, after: called with the function's own arguments outside of the range."""
        inside, push, pop, is_mine, is_compiling = self.inside, self.recorder.push, self.recorder.pop, self.is_mine, self.is_compiling

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if is_compiling() or phase in inside or not is_mine():
                return function(*args, **kwargs)
            if before:
                quietly(before, *args)
            inside.add(phase)
            push(category, name, payload(*args, **kwargs) if payload else NO_PAYLOAD)
            try:
                return function(*args, **kwargs)
            finally:
                pop()
                inside.discard(phase)
                if after:
                    quietly(after, *args)

        wrapper.__dcreport__ = True
        return wrapper

    # ---- loading

    def wrap_loader(self):
        from torch.utils.data import dataloader

        loader, iterator = dataloader.DataLoader, dataloader._BaseDataLoaderIter
        loader.__iter__ = self.marked(loader.__iter__, "data", b"data", b"data_load", before=lambda *_: self.batches.on_iter())
        has_next = iterator.__dict__.get("next") is iterator.__next__
        iterator.__next__ = self.marked(iterator.__next__, "data", b"data", b"data_load", before=lambda it, *_: self.batches.on_next(it))
        if has_next:
            iterator.next = iterator.__next__
        self.wrap_workers()

    def wrap_workers(self):
        """A loader's worker is not a rank, so it marks nothing. A worker that is started, not forked, finds this function by name."""
        from torch.utils.data._utils import worker

        loop = worker._worker_loop

        @functools.wraps(loop)
        def _worker_loop(*args, **kwargs):
            self.thread = None
            return loop(*args, **kwargs)

        worker._worker_loop = _worker_loop

    # ---- forward

    def look_for_roots(self):
        """In the first steps every call of a module comes here, which costs 0.2 us. Later only calls of those classes do that
        were outermost."""
        self.learned_at = self.batches.n
        if self.module_call:
            return
        module = self.torch.nn.Module
        self.module_call = module.__call__
        self.looking_call = module.__call__ = self.marked(module.__call__, "forward", b"compute", b"forward",
                                                          before=lambda root, *_: self.root_classes.add(type(root)))

    def stop_looking(self):
        module = self.torch.nn.Module
        if not self.module_call or module.__call__ is not self.looking_call:
            return  # something else has wrapped it since
        module.__call__, self.module_call = self.module_call, None
        for cls in self.root_classes:
            if not getattr(cls.__dict__.get("__call__"), "__dcreport__", False):
                quietly(self.wrap_root, cls)

    def wrap_root(self, cls):
        """A class without its own __call__ uses the one that Module has at the time of the call, because tracers (torch.fx) replace it."""
        module, call = self.torch.nn.Module, cls.__call__
        if call is module.__call__:
            @functools.wraps(call)
            def call(self_, *args, **kwargs):
                return module.__call__(self_, *args, **kwargs)
        cls.__call__ = self.marked(call, "forward", b"compute", b"forward")

    def on_step_end(self):
        if self.module_call and self.batches.n - self.learned_at >= LEARNING_STEPS:
            self.stop_looking()

    # ---- backward, optimizer, files

    def wrap_backward(self):
        """TorchScript knows the function by its identity."""
        autograd, function = self.torch.autograd, self.torch.autograd.backward
        wrapper = self.marked(function, "backward", b"compute", b"backward")
        builtins = sys.modules.get("torch.jit._builtins")
        if hasattr(builtins, "_find_builtin") and hasattr(builtins, "_register_builtin"):
            builtins._register_builtin(wrapper, builtins._find_builtin(function))
        autograd.backward = wrapper

    def wrap_optimizers(self):
        optimizer = self.torch.optim.Optimizer
        create = optimizer.__init__

        @functools.wraps(create)
        def __init__(self_, *args, **kwargs):
            create(self_, *args, **kwargs)
            if self.thread is not None:
                self.thread = threading.current_thread()
            quietly(self.wrap_class_of, type(self_))
            quietly(self.look_for_roots)

        optimizer.__init__ = __init__

    def wrap_class_of(self, cls):
        for c in cls.__mro__:
            for method, name in (("step", b"optimizer"), ("zero_grad", b"zero_grad")):
                function = c.__dict__.get(method)
                if not callable(function) or getattr(function, "__dcreport__", False):
                    continue
                after = self.after_optimizer if method == "step" else None
                setattr(c, method, self.marked(function, "optimizer", b"compute", name, after=after))

    def after_optimizer(self, optimizer, *_):
        self.batches.on_optimizer(optimizer)
        self.on_step_end()

    def wrap_files(self):
        serialization = self.torch.serialization
        for name, said in (("save", b"checkpoint"), ("load", b"torch.load")):
            function = getattr(serialization, name)
            wrapper = self.outside_loading(function, self.marked(function, "files", b"io", said))
            self.replace(function, name, wrapper, (serialization, self.torch))

    def outside_loading(self, function, wrapper):
        """A data set that loads its samples with torch.load is loading data."""
        inside = self.inside

        @functools.wraps(function)
        def either(*args, **kwargs):
            return (function if "data" in inside else wrapper)(*args, **kwargs)

        return either

    @staticmethod
    def replace(function, name, wrapper, modules):
        for module in modules:
            if getattr(module, name, None) is function:
                setattr(module, name, wrapper)

    # ---- communication

    def wrap_collectives(self):
        distributed = sys.modules.get("torch.distributed")
        c10d = sys.modules.get("torch.distributed.distributed_c10d")
        if distributed is None or c10d is None:
            return
        for name in COLLECTIVES:
            function = getattr(c10d, name, None)
            if function is not None:
                self.replace(function, name, self.collective(function, name), (c10d, distributed))
        work = getattr(c10d, "Work", None)
        if work is not None:
            work.wait = self.marked(work.wait, "comm", b"comm", b"wait")

    def collective(self, function, name):
        """A collective that is only started (async_op) counts as communication when the program waits for it."""
        wrapper = self.marked(function, "comm", b"comm", name.encode(), payload=bytes_of)

        @functools.wraps(function)
        def either(*args, **kwargs):
            return (function if kwargs.get("async_op") else wrapper)(*args, **kwargs)

        return either

    def wrap_start(self):
        """A program that starts its ranks itself, for example with torch.multiprocessing.spawn, numbers them here. A rank that a
        launcher gave has precedence."""
        c10d = sys.modules.get("torch.distributed.distributed_c10d")
        function = getattr(c10d, "init_process_group", None)
        if function is None or self.rank is not None:
            return

        @functools.wraps(function)
        def init_process_group(*args, **kwargs):
            result = function(*args, **kwargs)
            quietly(lambda: c10d.get_world_size() > 1 and self.be_rank(c10d.get_rank()))
            return result

        self.replace(function, "init_process_group", init_process_group, (c10d, sys.modules["torch.distributed"]))

    def wrap_spawn(self):
        """torch.multiprocessing.spawn ends all ranks when one fails, and only the exception that it raises names that one."""
        spawn = sys.modules.get("torch.multiprocessing.spawn")
        join = spawn.ProcessContext.join

        @functools.wraps(join)
        def join_and_tell(self_, *args, **kwargs):
            try:
                return join(self_, *args, **kwargs)
            except spawn.ProcessException as failed:
                quietly(lambda: tell_end(failed.pid, self_.processes[failed.error_index].exitcode))
                raise

        run = spawn._wrap  # of each rank. It catches what the rank's function raises.

        @functools.wraps(run)
        def run_and_tell(function, *args):
            run(self.telling(function), *args)

        spawn.ProcessContext.join = join_and_tell
        spawn._wrap = run_and_tell

    @staticmethod
    def wrap_elastic(errors):
        """torchrun raises this error when ranks failed. It names all that had failed when it looked."""
        create = errors.ChildFailedError.__init__

        @functools.wraps(create)
        def create_and_tell(self_, name, failures, *args, **kwargs):
            create(self_, name, failures, *args, **kwargs)
            quietly(lambda: [tell_status(rank, failures[rank].exitcode) for rank in failures])

        errors.ChildFailedError.__init__ = create_and_tell

    def be_rank(self, rank):
        """Tells the rank to the monitors and to pack (DCR_RANK_LINK of lib/archive/format.h)."""
        self.rank = rank
        put_link(f"rank-of-{os.getpid()}", str(rank))
        for of_earlier_process in "end-of-rank", "raised-in-rank":
            forget_link(f"{of_earlier_process}{rank}")

    # ---- exceptions that end a rank: other ranks fail after it, and may end before it

    def wrap_exceptions(self):
        """Python's own hook runs after every `finally`, which may have closed the connections to the other ranks. So the time is noted
        when they are closed."""
        distributed, c10d, say = sys.modules["torch.distributed"], sys.modules["torch.distributed.distributed_c10d"], sys.excepthook
        destroy = distributed.destroy_process_group

        @functools.wraps(destroy)
        def note_and_destroy(*args, **kwargs):
            self.noted = id(sys.exc_info()[1]), time.monotonic_ns()
            return destroy(*args, **kwargs)

        def tell_and_say(kind, exception, traceback):
            if issubclass(kind, Exception) and self.pid == os.getpid():
                quietly(self.tell_exception, exception)
            say(kind, exception, traceback)

        self.replace(destroy, "destroy_process_group", note_and_destroy, (c10d, distributed))
        sys.excepthook = tell_and_say

    def tell_exception(self, exception):
        """Tells pack (SPOOL_RAISED_LINK of collect/record/spool_layout.h). An exception may have followed from the noted one. torchrun's
        own error is none of a rank, though another launcher may have given torchrun a rank."""
        if type(exception).__name__ == "ChildFailedError":
            return
        chain = []
        while exception is not None and id(exception) not in chain:
            chain.append(id(exception))
            exception = exception.__cause__ or exception.__context__
        raised_ns = self.noted[1] if self.noted[0] in chain else time.monotonic_ns()
        if self.rank is not None:
            put_link(f"raised-in-rank{self.rank}", str(raised_ns))

    def telling(self, function):
        @functools.wraps(function)
        def call_and_tell(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except Exception as exception:
                quietly(self.tell_exception, exception)
                raise

        return call_and_tell

    # ---- DistributedDataParallel: its all-reduces run in C++ threads, which it times itself

    def wrap_ddp(self):
        parallel = sys.modules.get("torch.nn.parallel.distributed")
        ddp = getattr(parallel, "DistributedDataParallel", None)
        if not all(hasattr(ddp, m) for m in ("_get_ddp_logging_data", "_set_ddp_runtime_logging_sample_rate")):
            return
        create, forward = ddp.__init__, ddp.forward

        def has_times(model):
            """Not on a GPU, because each reading would make the host wait for it, and not on a single rank, which exchanges nothing."""
            return getattr(model, "device_type", None) == "cpu" and model.process_group.size() > 1

        @functools.wraps(create)
        def __init__(self_, *args, **kwargs):
            create(self_, *args, **kwargs)
            quietly(lambda: has_times(self_) and self_._set_ddp_runtime_logging_sample_rate(1))

        @functools.wraps(forward)
        def forward_then_read(self_, *args, **kwargs):
            out = forward(self_, *args, **kwargs)
            if self_.training and self.is_mine():
                quietly(lambda: has_times(self_) and self.read_ddp(self_))
            return out

        ddp.__init__, ddp.forward = __init__, forward_then_read

    def read_ddp(self, model):
        """DDP's times are those of the iteration before this forward pass. They are recorded once a step, after the step."""
        data = model._get_ddp_logging_data()
        iteration = data.get("iteration", 0)
        if iteration == ITERATIONS.get(model):
            return
        ITERATIONS[model] = iteration
        exposed = data.get("backward_comm_time", 0) - data.get("backward_compute_comm_overlap_time", 0)
        self.ddp_exposed += max(0, exposed)
        self.ddp_hidden += max(0, data.get("backward_compute_comm_overlap_time", 0))
        if self.batches.n != self.ddp_steps and (self.ddp_exposed or self.ddp_hidden):
            self.recorder.tell(b"exchange of PyTorch", b"exposed", self.ddp_exposed)
            self.recorder.tell(b"exchange of PyTorch", b"hidden", self.ddp_hidden)
            self.ddp_exposed = self.ddp_hidden = 0
        self.ddp_steps = self.batches.n

    def at_exit(self):
        """A batch that is open at the end is not a step, because nothing tells where a loop ended that was left early."""
        if self.batches.is_open and not self.batches.n_stepped:
            self.recorder.pop()


ITERATIONS = weakref.WeakKeyDictionary()  # last iteration read of each DistributedDataParallel


def quietly(function, *args):
    """An error here must not reach the program."""
    try:
        function(*args)
    except Exception:
        pass


def launcher_rank():
    """The rank as lib/archive/rank.c reads it; None without a launcher. It is read when torch is imported, because the program may set
    these variables later."""
    return next((os.environ[rank] for rank, only_with in (
        ("RANK", "TORCHELASTIC_RUN_ID"), ("OMPI_COMM_WORLD_RANK", ""), ("PMIX_RANK", ""), ("PMI_RANK", ""),
        ("SLURM_PROCID", "SLURM_STEP_ID"), ("RANK", "WORLD_SIZE")) if rank in os.environ and (not only_with or only_with in os.environ)), None)


def tell_end(pid, status):
    """Tells pack how the rank of another process ended (SPOOL_END_LINK of collect/record/spool_layout.h)."""
    tell_status(int(os.readlink(os.path.join(os.environ["DCC_SPOOL"], f"rank-of-{pid}"))), status)


def tell_status(rank, status):
    put_link(f"end-of-rank{rank}", str(status))


def forget_link(name):
    link = os.path.join(os.environ["DCC_SPOOL"], name)
    if os.path.lexists(link):
        os.unlink(link)


def put_link(name, text):
    forget_link(name)  # of an earlier process
    os.symlink(text, os.path.join(os.environ["DCC_SPOOL"], name))


def bytes_of(tensor=None, *_, **__):
    try:
        n = tensor.numel() * tensor.element_size()
    except Exception:
        return NO_PAYLOAD
    return n if type(n) is int else NO_PAYLOAD


def install(torch, when_imported):
    """when_imported(name, hook): calls the hook with the module of that name when the program imports it."""
    marks = Marks(torch, Recorder(os.environ["NVTX_INJECTION64_PATH"]))
    for wrap in (marks.wrap_loader, marks.wrap_backward, marks.wrap_optimizers, marks.wrap_files, marks.wrap_collectives, marks.wrap_start,
                 marks.wrap_spawn, marks.wrap_exceptions, marks.wrap_ddp):
        quietly(wrap)  # a name may be missing in this version
    if ELASTIC_ERRORS in sys.modules:
        quietly(marks.wrap_elastic, sys.modules[ELASTIC_ERRORS])
    else:
        when_imported(ELASTIC_ERRORS, lambda module: quietly(marks.wrap_elastic, module))
    atexit.register(marks.at_exit)
