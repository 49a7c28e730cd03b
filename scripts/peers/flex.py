"""The backward of FlexAttention, compiled: what masks and scores it needs for a shape."""
import concurrent.futures
import multiprocessing

import torch
import torch._functorch.config
import torch._inductor.config
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from peers.contestants import inputs, sinks, slopes

PROCESSES = 14


def mask_of(shape):
    """The mask_mod of a FeatureShape; None where every query sees every key."""
    left, right = shape.window or (None, 0 if shape.causal else None)
    part = None
    if len(shape.parts) > 1:
        lengths = torch.tensor(shape.parts, device="cuda")
        part = torch.repeat_interleave(torch.arange(len(lengths), device="cuda"), lengths)
    if left is right is part is None:
        return None

    def mask(batch, head, query, key):
        visible = key >= 0
        if left is not None:
            visible = visible & (query - key <= left)
        if right is not None:
            visible = visible & (key - query <= right)
        if part is not None:
            visible = visible & (part[query] == part[key])
        return visible

    return mask


def score_of(shape):
    """The score_mod; None where scores are scale Q K^T."""
    if shape.softcap:
        cap = shape.softcap
        # cap tanh(score / cap): as a sigmoid, the backward took 0.72 of the time.
        return lambda score, batch, head, query, key: 2 * cap * torch.sigmoid(score * (2 / cap)) - cap
    if shape.alibi:
        slope = slopes(shape)
        return lambda score, batch, head, query, key: score - slope[head] * torch.abs(query - key)
    return None


def backward(shape, tensors):
    """The call, after a forward. RuntimeError where PyTorch cannot compile it."""
    torch._dynamo.reset()  # or it would give up after some shapes
    torch._functorch.config.donated_buffer = False  # of them, retain_graph needs all
    *parameters, d_o = tensors
    leaves = [tensor.detach().requires_grad_() for tensor in parameters]
    _, seqlen_q, seqlen_k = shape.rows
    mask, score = mask_of(shape), score_of(shape)
    block_mask = mask and create_block_mask(mask, None, None, seqlen_q, seqlen_k, device="cuda")
    options = {"scale": shape.scale, "enable_gqa": shape.nhead_q != shape.nhead_k}

    def attention(q, k, v, score, block_mask):
        return flex_attention(q, k, v, score, block_mask, **options)

    def with_sinks(q, k, v, sink, score, block_mask):
        o, lse = flex_attention(q, k, v, score, block_mask, return_lse=True, **options)
        return o * torch.sigmoid(lse - sink[:, None]).unsqueeze(-1).to(o.dtype)

    if shape.sink:
        leaves.append(sinks(shape).requires_grad_())
    compiled = torch.compile(with_sinks if shape.sink else attention, dynamic=False)
    o = compiled(*leaves, score, block_mask)
    return lambda: torch.autograd.grad(o, leaves, d_o, retain_graph=True)


def compile_one(shape):
    torch._inductor.config.compile_threads = 1
    backward(shape, inputs(shape))()
    torch.cuda.synchronize()


def prepare(shapes):
    """Compiles what `shapes` need into PyTorch's caches, several at a time. A shape that fails here fails
    again, with its reason, where it is wanted."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(min(PROCESSES, len(shapes)), context) as pool:
        concurrent.futures.wait([pool.submit(compile_one, shape) for shape in shapes])
