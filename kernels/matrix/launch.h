// The launches of a family's matrix kernels. A family's traits have its name and sizes (kernels/*/sizes.h);
// its .hip files instantiate one member of Launcher each.
#pragma once

#include "kernels/family.h"
#include "kernels/launch.h"
#include "kernels/matrix/tiling.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

template <class Traits>
struct Launcher {
  /// O and LSE.
  static void forward(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                      hipStream_t stream);
  /// dK, dV and the accumulator of dQ, of plain scores.
  static void plain_dq_dk_dv(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                             hipStream_t stream);
  /// The same of others.
  static void scored_dq_dk_dv(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                              hipStream_t stream);
  /// dQ.
  static void convert_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);
};

/// A Launcher, as a table.
struct Launches {
  void (*forward)(const Problem&, const MaskRule&, const DeviceTensors&, hipStream_t);
  void (*plain_dq_dk_dv)(const Problem&, const MaskRule&, const DeviceTensors&, hipStream_t);
  void (*scored_dq_dk_dv)(const Problem&, const MaskRule&, const DeviceTensors&, hipStream_t);
  void (*convert_dq)(const Problem&, const DeviceTensors&, hipStream_t);
};
template <class Traits>
constexpr Launches launches_of() {
  using L = Launcher<Traits>;
  return {L::forward, L::plain_dq_dk_dv, L::scored_dq_dk_dv, L::convert_dq};
}

/// What `body.template operator()<T, kHeadDim>()` returns, for a problem that the families take: the smallest
/// head dimension that holds its own.
template <class Body>
auto with_types(const Problem& problem, Body&& body) {
  const std::int64_t hdim = problem.hdim_q > problem.hdim_v ? problem.hdim_q : problem.hdim_v;
  const auto with = [&]<class T>() {
    if (hdim <= 64) return body.template operator()<T, 64>();
    if (hdim <= 128) return body.template operator()<T, 128>();
    return body.template operator()<T, 256>();
  };
  return problem.dtype == DType::fp16 ? with.template operator()<Half>()
                                      : with.template operator()<Bfloat16>();
}

/// Of stage 2 and its accumulator, for tiles of B.
template <class B>
struct BackwardGrid {
  std::int64_t key_tiles;    // of the longest sequence
  std::int64_t slices;       // of a deterministic problem's accumulator: blocks for each head
  std::int64_t plane_tiles;  // of the accumulator
  std::int64_t planes;

  explicit BackwardGrid(const Problem& p)
      : key_tiles(divided_up(p.seqlen_k, B::kN)),
        slices(slices_of(p, key_tiles)),
        plane_tiles(p.grouped() ? AccPlace::plane_tiles(shape_of(TensorId::q, p).row, p.batch, B::kM)
                                : AccPlace::plane_tiles(p.seqlen_q, 1, B::kM)),
        planes((p.grouped() ? 1 : p.batch) * p.nhead_q) {}

  std::int64_t slice_floats() const { return planes * plane_tiles * B::kM * B::kHeadDim; }
  std::int64_t acc_floats(const Problem& p) const { return slice_floats() * (p.deterministic ? slices : 1); }
  /// Workgroups for each key head of each sequence.
  std::int64_t blocks_a_head(const Problem& p) const { return p.deterministic ? slices : key_tiles; }

 private:
  /// Enough blocks for the largest GPUs; each has its slice, and the tiles of keys n, n + slices, ...
  static std::int64_t slices_of(const Problem& p, std::int64_t key_tiles) {
    constexpr std::int64_t kBlocks = 512;
    const std::int64_t slices = divided_up(kBlocks, p.batch * p.nhead_k);
    return slices < key_tiles ? slices : (key_tiles > 0 ? key_tiles : 1);
  }
};

/// `mask` is not used by stage 3.
template <class B>
Arguments<typename B::Unit::Element> arguments_of(const Problem& p, const MaskRule& mask,
                                                  const DeviceTensors& t) {
  using T = typename B::Unit::Element;
  const BackwardGrid<B> grid(p);
  return {view_of<const T>(t.q, TensorId::q, p),
          view_of<const T>(t.k, TensorId::k, p),
          view_of<const T>(t.v, TensorId::v, p),
          view_of<const T>(t.d_o, TensorId::d_o, p),
          view_of<T>(t.o, TensorId::o, p),
          view_of<float>(t.lse, TensorId::lse, p),
          view_of<const float>(t.d, TensorId::d, p),
          view_of<T>(t.dq, TensorId::dq, p),
          view_of<T>(t.dk, TensorId::dk, p),
          view_of<T>(t.dv, TensorId::dv, p),
          t.dq_acc,
          p.deterministic ? grid.slice_floats() : 0,
          static_cast<int>(grid.blocks_a_head(p)),
          grid.plane_tiles,
          static_cast<const float*>(t.scratch),
          scores_of<T>(p, t),
          {t.sequences, p.seqlen_q, p.seqlen_k},
          mask,
          static_cast<int>(p.batch),
          static_cast<int>(p.nhead_q),
          static_cast<int>(p.nhead_k),
          static_cast<int>(p.group_size()),
          p.grouped()};
}

template <class T>
void launch(void (*kernel)(Arguments<T>), std::int64_t blocks, int threads, int shared_bytes,
            hipStream_t stream, const Arguments<T>& arguments) {
  if (blocks == 0) return;
  launch_kernel(kernel, blocks, threads, shared_bytes, stream, arguments, "the launch of a matrix kernel");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
