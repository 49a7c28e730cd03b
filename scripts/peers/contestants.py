"""The backward of fmha_bwd and of PyTorch's back ends on the same tensors.

Each is a call without arguments that enqueues one backward on the current stream and returns (dQ, dK, dV),
and dSink where the shape has sinks: views of shape [batch, head, row, column], and [head].
"""
import torch

from peers.library import Tensors, problem_of
from peers.plan import PEERS, Failure

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
# How each back end lays a causal mask over sequences of different lengths.
CAUSAL = {"cuDNN": "top_left", "FA2": "bottom_right"}


def empty(shape, heads, rows, columns):
    """A tensor [batch, heads, rows, columns] in the shape's layout, every element NaN."""
    sizes = (heads, rows) if shape.layout == "bhsd" else (rows, heads)
    tensor = torch.full((shape.rows[0], *sizes, columns), float("nan"), dtype=DTYPES[shape.dtype],
                        device="cuda")
    return tensor if shape.layout == "bhsd" else tensor.transpose(1, 2)


def inputs(shape, seed=42):
    """Q, K, V and dO, standard normal."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    _, of_queries, of_keys = shape.rows
    extents = ((shape.nhead_q, of_queries, shape.hdim), (shape.nhead_k, of_keys, shape.hdim),
               (shape.nhead_k, of_keys, shape.hdim_v), (shape.nhead_q, of_queries, shape.hdim_v))
    return tuple(empty(shape, *extent).normal_(generator=generator) for extent in extents)


def slopes(shape):
    """ALiBi's: 2^(-8 (h + 1) / heads)."""
    return torch.exp2(torch.arange(1, shape.nhead_q + 1, device="cuda", dtype=torch.float32)
                      * (-8 / shape.nhead_q))


def sinks(shape):
    """A score of each head, standard normal."""
    generator = torch.Generator(device="cuda").manual_seed(7)
    return torch.randn(shape.nhead_q, device="cuda", generator=generator)


def held_by_us(shape, tensors, workspace, table):
    """{name: tensor} of fmha_bwd_tensors."""
    q, k, v, d_o = tensors
    held = {"q": q, "k": k, "v": v, "d_o": d_o}
    for name, like in (("o", d_o), ("dq", q), ("dk", k), ("dv", v)):
        held[name] = empty(shape, *like.shape[1:])
    for name in ("lse", "d"):
        held[name] = torch.full(q.shape[:3], float("nan"), dtype=torch.float32, device="cuda")
    for name, size in (("dq_acc", workspace.dq_acc_bytes), ("scratch", workspace.scratch_bytes)):
        if size > 0:
            held[name] = torch.full((size,), 0xFF, dtype=torch.uint8, device="cuda")
    if "alibi" in shape.members:
        held["slopes"] = slopes(shape)
    if "sink" in shape.members:
        held["sink"] = sinks(shape)
        held["dsink"] = torch.full_like(held["sink"], float("nan"))
    if table:
        held["table"] = torch.frombuffer(table, dtype=torch.uint8).cuda()
    return held


def ours(library, family, shape, tensors):
    """(call, the family's name), after our own forward. Failure 3 where no family supports the shape."""
    problem = problem_of(shape)
    workspace = library.workspace(problem, family)
    table = library.table(problem, workspace.table_bytes) if workspace.table_bytes else None
    held = held_by_us(shape, tensors, workspace, table)
    pointers = Tensors(**{name: tensor.data_ptr() for name, tensor in held.items()})
    stream = torch.cuda.current_stream().cuda_stream
    library.forward(problem, workspace.family, pointers, stream)
    torch.cuda.synchronize()  # so that a fault of ours is not taken for a peer's
    backward = library.backward(problem, workspace.family, pointers, stream)
    gradients = tuple(held[name] for name in ("dq", "dk", "dv", "dsink") if name in held)

    def call(held=held):  # keeps all of them alive
        backward()
        return gradients

    return call, workspace.family.decode()


def peer(name, shape, tensors):
    """The call of "cuDNN" or "FA2", after its own forward. Failure 3 where it has no such mask; RuntimeError,
    TypeError or AttributeError from PyTorch where it does not support the shape."""
    if shape.mask != "no_mask" and shape.seqlen_q != shape.seqlen_k and shape.mask != CAUSAL[name]:
        raise Failure(3, f"where the lengths differ, it has {CAUSAL[name]} only")
    causal, scale = shape.mask != "no_mask", shape.scale
    q, k, v, d_o = tensors
    aten = torch.ops.aten
    if name == "cuDNN":
        saved = aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal, False, scale=scale)
        o, lse, starts_q, starts_k, longest_q, longest_k, seed, offset = saved[:8]
        return lambda: aten._scaled_dot_product_cudnn_attention_backward(
            d_o, q, k, v, o, lse, seed, offset, None, starts_q, starts_k, longest_q, longest_k, 0.0, causal,
            scale=scale)
    saved = aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal, False, scale=scale)
    o, lse, starts_q, starts_k, longest_q, longest_k, seed, offset = saved[:8]
    return lambda: aten._scaled_dot_product_flash_attention_backward(
        d_o, q, k, v, o, lse, starts_q, starts_k, longest_q, longest_k, 0.0, causal, seed, offset,
        scale=scale)


def supported(names, make):
    """({name: call}, {name: why it has none}) of make(name). Every call ran once."""
    calls, missing = {}, {}
    for name in names:
        try:
            call = make(name)
            call()
            torch.cuda.synchronize()
            calls[name] = call
        except (Failure, RuntimeError, TypeError, ValueError, AttributeError) as error:
            missing[name] = (str(error).splitlines() or [type(error).__name__])[0]
    return calls, missing


def peers(shape, tensors):
    """Those of PEERS."""
    return supported(PEERS, lambda name: peer(name, shape, tensors))


def milliseconds(call, count):
    """Of one call, by device events around `count` of them back to back."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(count):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / count
