// A folder of tensors as .npy files: inputs to load, everything to save.
//
//     q k v do bias slopes sink          inputs
//     o lse d dq dk dv dbias dsink       outputs; those of the reference in the folder reference/
//     dropout_mask                       which elements of P are kept
//
// Shapes are shape_of's, [batch, head, row, column]; LSE and D are written as [batch, head, row], slopes,
// sink and dsink as [nhead_q]. Loading takes both forms. bfloat16 is written as '<u2', its bits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/problem.h"
#include "base/tensor.h"

namespace fmha_bwd {

/// "q.npy" in `folder`: the tensor's name in lower case.
std::filesystem::path tensor_file(const std::filesystem::path& folder, TensorId id);
/// Whether there is a file of that name.
bool has_tensor_file(const std::filesystem::path& folder, TensorId id);

/// Whether there are q.npy, k.npy and v.npy.
bool has_shape_files(const std::filesystem::path& folder);
/// Whether there is a file of each of inputs_of(problem).
bool has_all_inputs(const std::filesystem::path& folder, const Problem& problem);

/// What q.npy, k.npy and v.npy say of a problem; in group mode batch is 1 and the lengths are sums.
struct LoadedShape {
  std::int64_t batch = 0;
  std::int64_t nhead_q = 0;
  std::int64_t nhead_k = 0;
  std::int64_t seqlen_q = 0;
  std::int64_t seqlen_k = 0;
  std::int64_t hdim_q = 0;
  std::int64_t hdim_v = 0;
  DType dtype = DType::fp32;  // q.npy's: '<f2' is fp16, '<f4' fp32, and 16 bits bf16
};

/// Reads the headers of q.npy, k.npy and v.npy, and of do.npy where there is one. Throws Error (bad_usage)
/// where one cannot be read or their shapes do not fit together. `option` begins the message, as everywhere
/// here.
LoadedShape loaded_shape(const std::filesystem::path& folder, const std::string& option);

/// The shape of bias.npy by its first two dimensions, which are 1 or the problem's batch and nhead_q; none
/// where there is no such file. Throws Error (bad_usage) where they are something else.
BiasShape loaded_bias_shape(const std::filesystem::path& folder, const Problem& problem,
                            const std::string& option);

/// The tensor's file, of the shape and type that the problem gives it; fp32 is taken for fp16 and bf16 where
/// they hold every value exactly. Throws Error (bad_usage) where it cannot be read or is something else.
HostTensor load_tensor(const std::filesystem::path& folder, TensorId id, const Problem& problem,
                       const std::string& option);

/// Writes the tensor's file, and makes the folder where there is none. Throws Error (device_error) where that
/// fails.
void save_tensor(const std::filesystem::path& folder, TensorId id, const HostTensor& tensor,
                 const std::string& option);

/// "reference" in `folder`, for the reference's outputs.
std::filesystem::path reference_folder(const std::filesystem::path& folder);

/// Removes every file in `folder` that has a name of these, so that what is saved next is not mixed with it;
/// case.txt too, and the folder of the reference if nothing is left in it. Throws Error (device_error) where
/// one cannot be removed.
void remove_saved(const std::filesystem::path& folder, const std::string& option);

/// Writes dropout_mask.npy, booleans [batch, nhead_q, seqlen_q, seqlen_k]: true where P is kept; false beyond
/// the lengths of a sequence in group mode. Throws as save_tensor does.
void save_dropout_mask(const std::filesystem::path& folder, const Problem& problem,
                       const std::string& option);

}  // namespace fmha_bwd
