// Every kind of mask over every small size, against the definition in base/mask_spec.h, pair by pair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/mask.h"
#include "base/mask_spec.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kLargest = 6;

/// Whether query i sees key j of seqlen_q x seqlen_k.
using Definition =
    std::function<bool(std::int64_t i, std::int64_t j, std::int64_t seqlen_q, std::int64_t seqlen_k)>;

struct Defined {
  std::string name;
  Definition sees;
};

std::string pair_text(std::int64_t a, std::int64_t b) { return std::to_string(a) + "," + std::to_string(b); }

/// The number of the document of a token; those after the last have one more.
std::int64_t document_of(std::int64_t token, const std::vector<std::int64_t>& lengths) {
  std::int64_t document = 0;
  std::int64_t end = 0;
  for (const std::int64_t length : lengths) {
    end += length;
    if (token >= end) ++document;
  }
  return document;
}

void add_windows(std::vector<Defined>& masks) {
  for (std::int64_t left = -1; left <= 4; ++left) {
    for (std::int64_t right = -1; right <= 4; ++right) {
      const auto around = [=](std::int64_t key, std::int64_t j) {
        return (left == -1 || key - left <= j) && (right == -1 || j <= key + right);
      };
      masks.push_back(
          {"top_left:" + pair_text(left, right), [=](auto i, auto j, auto, auto) { return around(i, j); }});
      masks.push_back({"bottom_right:" + pair_text(left, right),
                       [=](auto i, auto j, auto q, auto k) { return around(i + k - q, j); }});
    }
  }
}

void add_generic(std::vector<Defined>& masks) {
  for (std::int64_t y = -2; y <= 4; ++y) {
    for (std::int64_t x = -2; x <= 4; ++x) {
      masks.push_back(
          {"generic:" + pair_text(y, x), [=](auto i, auto j, auto, auto) { return i - y < j && j < i + x; }});
    }
  }
}

void add_prefixes_and_documents(std::vector<Defined>& masks) {
  for (std::int64_t n = 0; n <= 7; ++n) {
    masks.push_back(
        {"prefix:" + std::to_string(n), [=](auto i, auto j, auto, auto) { return j <= i || j < n; }});
  }
  for (const std::vector<std::int64_t>& lengths :
       std::vector<std::vector<std::int64_t>>{{1}, {2}, {9}, {1, 1}, {2, 3}, {3, 2}, {1, 1, 1, 1}, {2, 9}}) {
    std::string text;
    for (const std::int64_t length : lengths) text += (text.empty() ? "" : ",") + std::to_string(length);
    const auto together = [=](std::int64_t i, std::int64_t j) {
      return document_of(i, lengths) == document_of(j, lengths);
    };
    masks.push_back({"document:" + text, [=](auto i, auto j, auto, auto) { return together(i, j); }});
    masks.push_back(
        {"document_causal:" + text, [=](auto i, auto j, auto, auto) { return together(i, j) && j <= i; }});
  }
}

std::vector<Defined> defined_masks() {
  std::vector<Defined> masks = {
      {"no_mask", [](auto, auto, auto, auto) { return true; }},
      {"top_left", [](auto i, auto j, auto, auto) { return j <= i; }},
      {"bottom_right", [](auto i, auto j, auto q, auto k) { return j <= i + (k - q); }},
  };
  add_windows(masks);
  add_generic(masks);
  add_prefixes_and_documents(masks);
  return masks;
}

/// Calls body(mask laid over the scores, definition, name) for every mask and every size, zero included.
template <class Body>
void for_all(const Body& body) {
  for (const Defined& defined : defined_masks()) {
    const MaskSpec spec = masks_from(defined.name).front();
    for (std::int64_t q = 0; q <= kLargest; ++q) {
      for (std::int64_t k = 0; k <= kLargest; ++k) {
        SCOPED_TRACE(defined.name + " over " + std::to_string(q) + " x " + std::to_string(k));
        body(Mask(spec.rule(), q, k),
             [&](std::int64_t i, std::int64_t j) { return defined.sees(i, j, q, k); });
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(MaskProperty, RangesOfKeysAndOfQueriesAreThoseOfTheDefinition) {
  for_all([](const Mask& mask, const auto& sees) {
    for (std::int64_t i = 0; i < mask.seqlen_q(); ++i) {
      for (std::int64_t j = 0; j < mask.seqlen_k(); ++j) {
        ASSERT_EQ(mask.visible(i, j), sees(i, j)) << i << " " << j;
        ASSERT_EQ(mask.visible_keys(i).contains(j), sees(i, j)) << i << " " << j;
        ASSERT_EQ(mask.visible_queries(j).contains(i), sees(i, j)) << i << " " << j;
      }
    }
  });
}

TEST(MaskProperty, RangesStayWithinTheLengths) {
  for_all([](const Mask& mask, const auto&) {
    for (std::int64_t i = 0; i < mask.seqlen_q(); ++i) {
      const Range keys = mask.visible_keys(i);
      ASSERT_TRUE(0 <= keys.begin && keys.begin <= mask.seqlen_k()) << i;
      ASSERT_TRUE(0 <= keys.end && keys.end <= mask.seqlen_k()) << i;
    }
    for (std::int64_t j = 0; j < mask.seqlen_k(); ++j) {
      const Range queries = mask.visible_queries(j);
      ASSERT_TRUE(0 <= queries.begin && queries.begin <= mask.seqlen_q()) << j;
      ASSERT_TRUE(0 <= queries.end && queries.end <= mask.seqlen_q()) << j;
    }
  });
}

TEST(MaskProperty, RangesNeverMoveBack) {
  for_all([](const Mask& mask, const auto&) {
    for (std::int64_t i = 1; i < mask.seqlen_q(); ++i) {
      ASSERT_LE(mask.visible_keys(i - 1).begin, mask.visible_keys(i).begin) << i;
      ASSERT_LE(mask.visible_keys(i - 1).end, mask.visible_keys(i).end) << i;
    }
    for (std::int64_t j = 1; j < mask.seqlen_k(); ++j) {
      ASSERT_LE(mask.visible_queries(j - 1).begin, mask.visible_queries(j).begin) << j;
      ASSERT_LE(mask.visible_queries(j - 1).end, mask.visible_queries(j).end) << j;
    }
  });
}

TEST(MaskProperty, ATilesRangeHoldsAllThatItsRowsSee) {
  for_all([](const Mask& mask, const auto& sees) {
    for (std::int64_t begin = 0; begin < mask.seqlen_q(); ++begin) {
      for (std::int64_t end = begin + 1; end <= mask.seqlen_q(); ++end) {
        const Range keys = mask.keys_of({begin, end});
        for (std::int64_t j = 0; j < mask.seqlen_k(); ++j) {
          for (std::int64_t i = begin; i < end; ++i) {
            ASSERT_FALSE(sees(i, j) && !keys.contains(j)) << begin << ".." << end << " " << j;
          }
        }
      }
    }
    for (std::int64_t begin = 0; begin < mask.seqlen_k(); ++begin) {
      for (std::int64_t end = begin + 1; end <= mask.seqlen_k(); ++end) {
        const Range queries = mask.queries_of({begin, end});
        for (std::int64_t i = 0; i < mask.seqlen_q(); ++i) {
          for (std::int64_t j = begin; j < end; ++j) {
            ASSERT_FALSE(sees(i, j) && !queries.contains(i)) << begin << ".." << end << " " << i;
          }
        }
      }
    }
  });
}

TEST(MaskProperty, AMaskMovedByAKeySeesWhatItsNeighbourSaw) {
  for (const std::string name : {"n", "t", "b", "t:2,1", "b:0,3", "g:2,-1", "t:-1,2"}) {
    const MaskSpec spec = masks_from(name).front();
    for (const std::int64_t keys : {-2, -1, 1, 2}) {
      const MaskSpec moved = shifted(spec, keys);
      const Mask mask(spec.rule(), 6, 9);
      const Mask moved_mask(moved.rule(), 6, 9);
      for (std::int64_t i = 0; i < 6; ++i) {
        for (std::int64_t j = 2; j < 7; ++j) {
          ASSERT_EQ(moved_mask.visible(i, j), mask.visible(i, j - keys))
              << name << " " << keys << " " << i << " " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace fmha_bwd
