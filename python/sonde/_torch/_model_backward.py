# SPDX-License-Identifier: MIT
"""A backward of what one forward gave, which leaves alone what is not of that forward."""
import contextlib

from .. import _sonde
from . import _gate, _model_kept
from ._model_words import ModelError


def _starts(torch, out):
    """Outputs and their gradients: of the sum of all of them, each is 1."""
    tensors = [t for t in _model_kept.tensors_in(torch, out) if t.requires_grad and (t.is_floating_point() or t.is_complex())]
    if not tensors:
        raise ModelError("there is nothing to go backward from: no output of the model depends on a parameter or input "
                         "that requires a gradient (are gradients switched off, or all parameters frozen?)")
    return tensors, [torch.ones_like(one.detach().contiguous()) if one.is_nested else torch.ones(one.shape, dtype=one.dtype, device=one.device) for one in tensors]


@contextlib.contextmanager
def gradients(torch, backward):
    """A forward runs with gradients where the caller's would; for a backward it must, in inference mode too."""
    if not backward:
        yield
        return
    with torch.inference_mode(False), torch.enable_grad():
        yield


def graph_now(torch, given=()):
    """From which number on nodes of the graph are of the forward that comes: copies of inputs have theirs already."""
    if not hasattr(torch.autograd, "_get_sequence_nr"):
        return None
    return min([torch.autograd._get_sequence_nr()] + [t.grad_fn._sequence_nr() for t in _model_kept.tensors_in(torch, given) if t.grad_fn is not None])


class Backward:
    """`since`: graph_now() before the forward that gave `out`.

    Where the forward took something that was computed before, gradients are asked for, to the borders of its graph and to leaves, and
    none is put anywhere.  Else it is torch's usual backward, and leaves that are neither the model's nor given have the gradient of
    before.
    """

    def __init__(self, torch, module, given, out, since):
        self._torch = torch
        self._tensors, self._ones = _starts(torch, out)
        self._ends, self._cut, self._others, self._is_usual = (), (), (), True
        edge = getattr(torch.autograd.graph, "GradientEdge", None)
        if since is None or edge is None:
            return
        leaves, edges, before, is_shared = _sonde.graph_border(self._tensors, since, graph_now(torch))
        if before:
            self._is_usual = False
            self._ends = tuple({id(leaf): leaf for leaf in leaves}.values()) + tuple(edge(*one) for one in edges)
            self._cut = before if is_shared else ()  # they lead on to tensors that are asked for
        else:
            known = {id(t) for t in list(module.parameters()) + _model_kept.tensors_in(torch, given)}
            self._others = [leaf for leaf in leaves if id(leaf) not in known]

    def run(self):
        try:
            if self._is_usual:
                with _model_kept.same_gradients(self._others):
                    self._go(False, accumulate_grad=True)
            elif self._ends:
                self._to_the_ends()
        except Exception as why:
            why._sonde_backward = True
            raise

    def _to_the_ends(self):
        """A node of another graph that is run all the same is given nothing to go on with, and keeps what it keeps."""
        cut = [node.register_prehook(lambda grads: (None,) * len(grads)) for node in self._cut]
        try:
            self._go(bool(cut), accumulate_grad=False)
        except RuntimeError as why:
            if "use_reentrant" not in str(why):
                raise
            raise ModelError("a checkpoint with use_reentrant=True goes all the way back, also into what the forward takes from elsewhere and "
                             "was computed before: detach() that, or set use_reentrant=False") from why
        finally:
            for one in cut:
                one.remove()

    def _go(self, keeps, accumulate_grad):
        """torch.autograd's backward() and grad() without their look at the shapes, which loads a library of symbols for half a second: ours fit."""
        torch = self._torch
        engine = getattr(getattr(torch.autograd, "Variable", None), "_execution_engine", None)
        with _gate.opened():
            if engine is not None and all(type(t) in (torch.Tensor, torch.nn.Parameter) for t in self._tensors):
                engine.run_backward(tuple(self._tensors), tuple(self._ones), keeps, False, self._ends, allow_unreachable=True, accumulate_grad=accumulate_grad)
            elif accumulate_grad:
                torch.autograd.backward(self._tensors, self._ones, retain_graph=keeps)
            else:
                torch.autograd.grad(self._tensors, self._ends, self._ones, retain_graph=keeps, allow_unused=True)


def node_left(torch, why):
    """The number of the innermost node of a torch.autograd.Function that an exception came through; None: through none."""
    at, found = why.__traceback__, None
    while at is not None:
        own = at.tb_frame.f_locals.get("self")
        if at.tb_frame.f_code.co_name == "apply" and issubclass(type(own), torch._C._FunctionBase):
            found = own
        at = at.tb_next
    return found._sequence_nr() if hasattr(found, "_sequence_nr") else None
