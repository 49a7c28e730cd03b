// The launch of stage 2.
#include "kernels/hopper/dq_dk_dv.h"

#include "kernels/hopper/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

void launch_dq_dk_dv(const Problem& p, const Mask& mask, const DeviceTensors& t, hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    using Tile = Tiling<kHeadDim>;
    constexpr float kLog2E = 1.44269504F;
    const Scratch scratch = scratch_of<kHeadDim>(p, t);
    const std::int64_t key_tiles = (p.seqlen_k + Tile::kN - 1) / Tile::kN;
    const DqDkDvArguments<kHeadDim> arguments = {tensor_map(t.q, TensorId::q, p, Tile::kM),
                                                 tensor_map(t.k, TensorId::k, p, Tile::kN),
                                                 tensor_map(t.v, TensorId::v, p, Tile::kN),
                                                 tensor_map(t.d_o, TensorId::d_o, p, Tile::kM),
                                                 tensor_map(t.dk, TensorId::dk, p, 64),
                                                 tensor_map(t.dv, TensorId::dv, p, 64),
                                                 scratch.lse_log2,
                                                 scratch.d,
                                                 t.dq_acc,
                                                 mask,
                                                 p.scale,
                                                 p.scale * kLog2E,
                                                 static_cast<int>(key_tiles),
                                                 static_cast<int>(query_tiles<kHeadDim>(p)),
                                                 static_cast<int>(p.nhead_k),
                                                 static_cast<int>(p.group_size())};
    launch(dq_dk_dv_kernel<T, kHeadDim>, key_tiles * p.batch * p.nhead_k, 3 * kWarpgroup,
           sizeof(SharedMemory<kHeadDim>), stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper

#ifdef HOP_TRACE
#include <cstdio>
extern "C" void hop_trace() {
  unsigned h[2][8][16];
  cudaDeviceSynchronize();
  cudaMemcpyFromSymbol(h, fmha_bwd::nvidia::hopper::trace_out, sizeof(h));
  for (int i = 0; i < 8; ++i) for (int w = 0; w < 2; ++w) {
    printf("t%d w%d @%6u:", i, w, h[w][i][0] - h[0][0][0]);
    for (int j = 1; j < 13; ++j) printf(" %5d", int(h[w][i][j] - h[w][i][j - 1]));
    printf("\n");
  }
  fflush(stdout);
}
#endif
