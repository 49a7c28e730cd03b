// The input is the text of a case file.
#include <vector>

#include "src/files/case_file.h"
#include "tests/fuzz/harness.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmha_bwd;
  std::vector<std::string> words;
  if (!takes([&] { words = case_words_from(text_of(data, size), "--load: 'case.txt'"); })) return 0;
  std::string text;
  for (const std::string& word : words) {
    require(!word.empty(), "an empty word");
    text += word + "\n";
  }
  if (text.size() > kMaxCaseBytes) return 0;
  require(case_words_from(text, "") == words, "words that change when they are read again");
  return 0;
}
