// Attention forward on Hopper's tensor cores: the O and LSE that the backward takes as inputs. It is for head
// dimensions up to 128, plain scores and sinks, Staircase masks and batch mode; mma's is for the rest.
//
//   S = scale Q K^T,  P = softmax(mask(S)),  O = P V,  LSE = log sum exp of a row's visible scores and its
//   head's sink
//
// Tiling: a block of two warpgroups owns kM = 128 queries of one head, 64 a warpgroup, and walks over the
// tiles of kN = 128 keys that any of them sees, with a running maximum and sum of each row (online softmax;
// Milakov and Gimelshein, arXiv:1805.02867). Tiles of K and V come by the copy engine, two in flight; P goes
// from the sums of S to the next product in registers; O leaves through Q's place in shared memory.
//
// Budget at hdim 128: 64 sums of O and 64 of S a thread, 160 KB of shared memory, one block an SM.
//
// Why it is fast enough: it is not timed; 16k tokens take milliseconds. Masks cost on boundary tiles only,
// tiles that nobody sees are skipped, and the longest rows of a causal problem start first.
#include "kernels/hopper/launch.h"
#include "kernels/hopper/ptx/dependence.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/ptx/wgmma.h"
#include "kernels/hopper/shared_bytes.h"
#include "kernels/hopper/tile_out.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {
namespace {

constexpr int kM = 128;
constexpr int kN = 128;
constexpr int kStages = 2;
constexpr int kPanelBytes = 128 * kPanelRowBytes;     // of 128 rows
constexpr int kHalfPanelBytes = 64 * kPanelRowBytes;  // of a warpgroup's rows
constexpr int kThreads = 2 * kWarpgroup;

struct ForwardArguments {
  TensorMap q;  // [batch, nhead_q, seqlen_q, hdim_q], boxes of 64 rows
  TensorMap k;  // [batch, nhead_k, seqlen_k, hdim_q], boxes of kN rows
  TensorMap v;  // [batch, nhead_k, seqlen_k, hdim_v], boxes of kN rows
  TensorMap o;  // [batch, nhead_q, seqlen_q, hdim_v], boxes of 64 rows
  float* lse;   // [batch, nhead_q, rows]
  Staircase mask;
  float scale_log2;  // scale * log2 e
  int nhead_q;
  int group_size;
  int heads;          // batch * nhead_q
  int rows_of_head;   // of LSE
  const float* sink;  // [nhead_q], or nullptr
};

template <int kHeadDim>
struct alignas(1024) ForwardShared {
  static constexpr int kPanels = kHeadDim / kPanelColumns;
  std::byte q[kPanels * kPanelBytes];
  std::byte k[kStages][kPanels * kPanelBytes];
  std::byte v[kStages][kPanels * kPanelBytes];
  Barrier q_full;
  Barrier full[kStages];
  Barrier empty[kStages];
};

template <class T, int kHeadDim>
__global__ __launch_bounds__(kThreads, 1) void forward_kernel(const __grid_constant__ ForwardArguments a) {
  follow_launch_before();
  using Shared = ForwardShared<kHeadDim>;
  constexpr int kPanels = Shared::kPanels;
  extern __shared__ __align__(1024) std::byte raw[];
  auto& shared = *reinterpret_cast<Shared*>(raw);

  const int half = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int head_of_batch = static_cast<int>(blockIdx.x) % a.heads;
  const int batch = head_of_batch / a.nhead_q;
  const int head = head_of_batch % a.nhead_q;
  const int head_k = head / a.group_size;
  const int seqlen_q = static_cast<int>(a.mask.seqlen_q());
  // The last rows see the most keys.
  const int first_query = ((seqlen_q + kM - 1) / kM - 1 - static_cast<int>(blockIdx.x) / a.heads) * kM;
  const int end_query = first_query + kM < seqlen_q ? first_query + kM : seqlen_q;
  const int tiles = (static_cast<int>(a.mask.keys_of({first_query, end_query}).end) + kN - 1) / kN;
  // Up to this key every query of the tile sees all.
  const int all_see = static_cast<int>(a.mask.visible_keys(first_query).end);
  const MapPlace place = place_in_batch(batch);
  const int query = first_query + 64 * half + 16 * warp + lane / 4;  // and query + 8
  const auto end_key_of = [&](int q) {
    return q < seqlen_q ? static_cast<int>(a.mask.visible_keys(q).end) : 0;
  };

  const auto load_keys = [&](int tile) {
    const int stage = tile % kStages;
    barrier_arrive_expecting(shared.full[stage], 2 * kPanels * kPanelBytes);
    FMHA_BWD_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      load_tile(shared.k[stage] + p * kPanelBytes, a.k, p * kPanelColumns, tile * kN, head_k, place,
                shared.full[stage]);
      load_tile(shared.v[stage] + p * kPanelBytes, a.v, p * kPanelColumns, tile * kN, head_k, place,
                shared.full[stage]);
    }
  };

  if (threadIdx.x == 0) {
    barrier_init(shared.q_full, 1);
    for (int s = 0; s < kStages; ++s) {
      barrier_init(shared.full[s], 1);
      barrier_init(shared.empty[s], kThreads / 32);
    }
    fence_barrier_init();
    barrier_arrive_expecting(shared.q_full, kPanels * kPanelBytes);
    for (int p = 0; p < kPanels; ++p) {
      for (int h = 0; h < 2; ++h) {
        load_tile(shared.q + p * kPanelBytes + h * kHalfPanelBytes, a.q, p * kPanelColumns,
                  first_query + 64 * h, head, place, shared.q_full);
      }
    }
    for (int tile = 0; tile < kStages && tile < tiles; ++tile) load_keys(tile);
  }
  __syncthreads();

  float o[kHeadDim / 2];
  FMHA_BWD_UNROLL
  for (int i = 0; i < kHeadDim / 2; ++i) o[i] = 0.0F;
  float maximum[2] = {-INFINITY, -INFINITY};  // of scale_log2 * S
  float sum[2] = {0.0F, 0.0F};
  const std::uint64_t q_rows = descriptor(shared.q + half * kHalfPanelBytes);
  barrier_wait(shared.q_full, 0);

  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile % kStages;
    const unsigned parity = static_cast<unsigned>(tile / kStages % 2);
    float s[kN / 2];
    barrier_wait(shared.full[stage], parity);
    products_begin();
    FMHA_BWD_UNROLL
    for (int i = 0; i < kHeadDim / 16; ++i) {
      const int at = i / 4 * kPanelBytes + i % 4 * 32;
      if (i == 0)
        multiply<T, kN, true, false, false>(s, q_rows, descriptor(shared.k[stage]));
      else
        multiply<T, kN, false, false, false>(s, moved(q_rows, at), moved(descriptor(shared.k[stage]), at));
    }
    products_commit();
    products_wait<0>();
    products_finished(s);

    FMHA_BWD_UNROLL
    for (int i = 0; i < kN / 2; ++i) s[i] *= a.scale_log2;
    if ((tile + 1) * kN > all_see) {
      const int first_key = tile * kN + 2 * (lane % 4);
      const int end[2] = {end_key_of(query) - first_key, end_key_of(query + 8) - first_key};
      FMHA_BWD_UNROLL
      for (int i = 0; i < kN / 2; ++i) {
        if (i / 4 * 8 + i % 2 >= end[i / 2 % 2]) s[i] = -INFINITY;
      }
    }
    FMHA_BWD_UNROLL
    for (int r = 0; r < 2; ++r) {
      float top = maximum[r];
      FMHA_BWD_UNROLL
      for (int i = 2 * r; i < kN / 2; i += 4) top = fmaxf(top, fmaxf(s[i], s[i + 1]));
      top = fmaxf(top, __shfl_xor(top, 1));
      top = fmaxf(top, __shfl_xor(top, 2));
      const float base = top == -INFINITY ? 0.0F : top;  // a row without a visible key so far
      const float shrink = exp2_approximate(maximum[r] - base);
      maximum[r] = top;
      float added = 0.0F;
      FMHA_BWD_UNROLL
      for (int i = 2 * r; i < kN / 2; i += 4) {
        s[i] = exp2_approximate(s[i] - base);
        s[i + 1] = exp2_approximate(s[i + 1] - base);
        added += s[i] + s[i + 1];
      }
      sum[r] = sum[r] * shrink + added;
      FMHA_BWD_UNROLL
      for (int i = 2 * r; i < kHeadDim / 2; i += 4) {
        o[i] *= shrink;
        o[i + 1] *= shrink;
      }
    }
    std::uint32_t p[kN / 16][4];
    FMHA_BWD_UNROLL
    for (int i = 0; i < kN / 4; ++i) p[i / 4][i % 4] = pack<T>(s[2 * i], s[2 * i + 1]);
    products_begin();
    FMHA_BWD_UNROLL
    for (int i = 0; i < kN / 16; ++i) {
      multiply<T, kHeadDim, true>(
          o, p[i], moved(descriptor(shared.v[stage], kPanelBytes), i * 16 * kPanelRowBytes), true);
    }
    products_commit();
    products_wait<0>();
    products_finished(o);
    if (lane == 0) barrier_arrive(shared.empty[stage]);
    if (threadIdx.x == 0 && tile + kStages < tiles) {
      barrier_wait(shared.empty[stage], parity);
      load_keys(tile + kStages);
    }
    __syncwarp();
  }

  float inverse[2];
  FMHA_BWD_UNROLL
  for (int r = 0; r < 2; ++r) {
    sum[r] += __shfl_xor(sum[r], 1);
    sum[r] += __shfl_xor(sum[r], 2);
    float shrink = 1.0F;
    if (a.sink != nullptr) {
      const float sink = a.sink[head] * kLog2E;
      const float before = maximum[r];
      maximum[r] = fmaxf(before, sink);
      const float base = maximum[r] == -INFINITY ? 0.0F : maximum[r];
      shrink = exp2_approximate(before - base);
      sum[r] = sum[r] * shrink + exp2_approximate(sink - base);
    }
    inverse[r] = sum[r] == 0.0F ? 0.0F : shrink / sum[r];
    if (lane % 4 == 0 && query + 8 * r < seqlen_q) {
      constexpr float kLn2 = 0.693147181F;
      a.lse[static_cast<std::int64_t>(head_of_batch) * a.rows_of_head + query + 8 * r] =
          sum[r] == 0.0F ? -INFINITY : maximum[r] * kLn2 + logf(sum[r]);
    }
  }
  // Q's rows were this warpgroup's alone.
  std::byte* const out = shared.q + half * kHalfPanelBytes;
  tile_from_sums<T, kHeadDim>(out, kPanelBytes, o, inverse[0], inverse[1], matrix_offset(warp, lane));
  if (half == 0)
    named_barrier<kWarpgroup, 1>();
  else
    named_barrier<kWarpgroup, 2>();
  if (thread == 0) {
    for (int p = 0; p < kPanels; ++p) {
      store_tile(a.o, p * kPanelColumns, first_query + 64 * half, head, place, out + p * kPanelBytes);
    }
    store_commit_and_wait_for_reads();
  }
}

}  // namespace

int forward_shared_bytes(int hdim) {
  return static_cast<int>(hdim == 64 ? sizeof(ForwardShared<64>) : sizeof(ForwardShared<128>));
}

void launch_forward(const Problem& p, const MaskRule& mask, const DeviceTensors& t, hipStream_t stream) {
  with_narrow_types(p, [&]<class T, int kHeadDim>() {
    const std::int64_t heads = p.batch * p.nhead_q;
    const ForwardArguments arguments = {
        tensor_map(t.q, TensorId::q, p, 64),
        tensor_map(t.k, TensorId::k, p, kN),
        tensor_map(t.v, TensorId::v, p, kN),
        tensor_map(t.o, TensorId::o, p, 64),
        t.lse,
        Staircase(Staircase::rule_of(mask), static_cast<int>(p.seqlen_q), static_cast<int>(p.seqlen_k)),
        p.scale * kLog2E,
        static_cast<int>(p.nhead_q),
        static_cast<int>(p.group_size()),
        static_cast<int>(heads),
        static_cast<int>(device_rows_q(p)),
        t.sink};
    launch(forward_kernel<T, kHeadDim>, (p.seqlen_q + kM - 1) / kM * heads, kThreads,
           sizeof(ForwardShared<kHeadDim>), stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
