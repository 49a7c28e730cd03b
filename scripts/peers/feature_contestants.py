"""The backward of fmha_bwd and of its peers on a feature's shape: calls as in peers/contestants.py."""
import dataclasses
import itertools

import torch
import torch.utils.deterministic

from peers import flex
from peers.contestants import inputs, ours, supported
from peers.features import ATOMIC, FEATURES, FLEX
from peers.measure import agreeing
from peers.plan import AGREEMENT, OURS, Failure

aten = torch.ops.aten
torch.utils.deterministic.fill_uninitialized_memory = False  # it would be timed


def packed(shape):
    """(starts of what sees only itself among all rows, the longest); (None, seqlen) where that is a batch
    entry."""
    if len(shape.parts) == 1:
        return None, shape.seqlen_q
    lengths = shape.parts * shape.rows[0]
    starts = [0, *itertools.accumulate(lengths)]
    return torch.tensor(starts, dtype=torch.int32, device="cuda"), max(lengths)


def by_rows(tensor, starts):
    """[batch, head, row, column] as [batch, row, head, column], or [all rows, head, column] with starts."""
    rows = tensor.transpose(1, 2)
    return rows if starts is None else rows.flatten(0, 1)


def by_heads(tensor, like):
    """The inverse, of the shape of `like` but for its columns."""
    batch, _, rows, _ = like.shape
    return tensor.reshape(batch, rows, *tensor.shape[-2:]).transpose(1, 2)


def cudnn(shape, tensors):
    q, k, v, d_o = tensors
    saved = aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, shape.dropout, shape.causal, False,
                                                     scale=shape.scale)
    o, lse, starts_q, starts_k, longest_q, longest_k, seed, offset = saved[:8]
    return lambda: aten._scaled_dot_product_cudnn_attention_backward(
        d_o, q, k, v, o, lse, seed, offset, None, starts_q, starts_k, longest_q, longest_k, shape.dropout,
        shape.causal, scale=shape.scale)


def flash2(shape, tensors):
    """It has one hdim: V and dO are padded before."""
    starts, longest = packed(shape)
    padding = (0, shape.hdim - shape.hdim_v)
    q, k, v, d_o = (by_rows(tensor, starts) for tensor in tensors)
    v, d_o = (torch.nn.functional.pad(tensor, padding) for tensor in (v, d_o))
    left, right = shape.window or (None, None)
    options = {"scale": shape.scale, "window_size_left": left, "window_size_right": right}
    extents = (starts, starts, longest, longest, shape.dropout, shape.causal and not shape.window)
    o, lse, random, unused, _ = aten._flash_attention_forward(q, k, v, *extents, False, **options)

    def call():
        torch._C._set_deterministic_algorithms(shape.deterministic, warn_only=False)
        try:
            gradients = aten._flash_attention_backward(d_o, q, k, v, o, lse, *extents, random, unused,
                                                       **options)
        finally:
            torch._C._set_deterministic_algorithms(False, warn_only=False)
        dq, dk, dv = (by_heads(*pair) for pair in zip(gradients, tensors))
        return dq, dk, dv[..., :shape.hdim_v]

    return call


MAKERS = {"cuDNN": cudnn, "FA2": flash2, FLEX: flex.backward}


def repeats(call, runs=4):
    """Whether every run has the same bits."""
    first = [gradient.clone() for gradient in call()]
    return all(torch.equal(*pair) for _ in range(runs - 1) for pair in zip(first, call()))


def of_a_size(our_call, calls):
    """Failure 1 where the norms of our gradients are not a peer's: all that two draws of dropout share."""
    for name, call in calls.items():
        for tensor, ours_is, theirs in zip(("dQ", "dK", "dV"), our_call(), call()):
            ratio = (ours_is.double().norm() / theirs.double().norm()).item()
            if not abs(ratio - 1) <= AGREEMENT:
                raise Failure(1, f"the norm of our {tensor} is {ratio:.4f} of {name}'s")


def captured(row, name, call):
    """The call as a CUDA graph, so that a peer's time is its device's; the call itself, with a note in `row`,
    where PyTorch cannot capture it. The current stream is not the default one."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
            gradients = call()
    except RuntimeError as error:
        torch.cuda.synchronize()
        row.missing[f"{name} as a CUDA graph"] = f"{str(error).splitlines()[0]}; timed call by call"
        return call

    def replay():
        graph.replay()
        return gradients

    return replay


def contestants_for(row, library, family):
    """{name: call} of what computes the shape. Notes in `row` the peers that do not, or that disagree.
    Failure 1 where no peer has our gradients."""
    shape = row.shape
    tensors = inputs(shape)
    our_call, row.family = ours(library, family, shape, tensors)
    calls, row.missing = supported(FEATURES[shape.feature].peers, lambda name: MAKERS[name](shape, tensors))
    if shape.dropout:
        of_a_size(our_call, calls)
    elif calls:
        calls = agreeing(row, our_call, calls)
    if shape.deterministic:
        if not repeats(our_call):
            raise Failure(1, f"the bits of {row.family} differ from run to run")
        for name in [name for name, call in calls.items() if not repeats(call)]:
            row.missing[name] = "its bits differ from run to run"
            del calls[name]
        atomic = dataclasses.replace(shape, deterministic=False)
        calls[ATOMIC] = ours(library, family, atomic, tensors)[0]
    return {name: captured(row, name, call) for name, call in ({OURS: our_call} | calls).items()}
