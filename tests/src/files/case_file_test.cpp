#include "src/files/case_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> words(const std::string& text) {
  return case_words_from(text, "--load: 'case.txt'");
}
std::string refusal_of(const std::string& text) {
  return message_of([&] { words(text); });
}

TEST(CaseFile, IsCutAtWhiteSpaceOverAnyNumberOfLines) {
  EXPECT_THAT(words("--mask t:128,30 --batch 2\r\n\n\t--sink\n"),
              ElementsAre("--mask", "t:128,30", "--batch", "2", "--sink"));
  EXPECT_THAT(words("--mask"), ElementsAre("--mask"));
  EXPECT_THAT(words(""), IsEmpty());
  EXPECT_THAT(words(" \n\t\r\n"), IsEmpty());
}

TEST(CaseFile, ACommentGoesToTheEndOfItsLine) {
  EXPECT_THAT(words("# a case\n--mask n # all\n#\n--batch 2#two\n--sink #"),
              ElementsAre("--mask", "n", "--batch", "2", "--sink"));
}

TEST(CaseFile, HoldsUtf8) {
  EXPECT_THAT(words("--output \xc3\xa4.json"), ElementsAre("--output", "\xc3\xa4.json"));
}

TEST(CaseFile, ControlCharactersAreRefusedByLine) {
  EXPECT_THAT(refusal_of(std::string("--mask n\n--batch\0 2", 19)),
              AllOf(StartsWith("--load: 'case.txt'"), HasSubstr("has a control character in line 2")));
  EXPECT_THAT(refusal_of("\x1b[31m"), HasSubstr("has a control character in line 1"));
  EXPECT_THAT(refusal_of("a # \x7f"), HasSubstr("has a control character in line 1"));
}

TEST(CaseFile, WordsUpTo64KiBAreAllowed) {
  EXPECT_THAT(words(std::string(kMaxCaseWordBytes, 'x')), SizeIs(1));
  EXPECT_THAT(refusal_of("a\nb\n " + std::string(kMaxCaseWordBytes + 1, 'x')),
              HasSubstr("has a word of more than 65536 bytes in line 3"));
}

TEST(CaseFile, TextsUpTo1MiBAreAllowed) {
  EXPECT_THAT(words(std::string(kMaxCaseBytes, ' ')), IsEmpty());
  EXPECT_THAT(refusal_of(std::string(kMaxCaseBytes + 1, ' ')), HasSubstr("has more than the 1048576 bytes"));
}

TEST(CaseFile, IsReadBackAsItWasWritten) {
  const TestFolder folder;
  const std::vector<std::string> arguments = {"--mask",  "t:128,30,n", "--batch", "2",
                                              "--scale", "-0.5",       "--sink"};
  EXPECT_FALSE(has_case(folder.path() / "new"));
  write_case(folder.path() / "new", arguments, "--save");
  EXPECT_TRUE(has_case(folder.path() / "new"));
  EXPECT_EQ(contents(folder.path() / "new" / "case.txt"),
            "--mask t:128,30,n\n--batch 2\n--scale -0.5\n--sink\n");
  EXPECT_EQ(read_case(folder.path() / "new", "--load"), arguments);
}

TEST(CaseFile, MayBeEmpty) {
  const TestFolder folder;
  write_case(folder.path(), {}, "--save");
  EXPECT_THAT(read_case(folder.path(), "--load"), IsEmpty());
}

TEST(CaseFile, ArgumentsThatWouldNotComeBackAreNotWritten) {
  const TestFolder folder;
  for (const std::string bad : {"", "a b", "a#b", "a\n", "#"}) {
    EXPECT_THAT(message_of([&] {
                  write_case(folder.path(), {"--output", bad}, "--save");
                }),
                HasSubstr("cannot hold argument 2;"));
  }
  EXPECT_FALSE(has_case(folder.path()));
}

TEST(CaseFile, ThatIsMissingOrTooLargeIsRefused) {
  const TestFolder folder;
  EXPECT_THAT(message_of([&] { read_case(folder.path(), "--load"); }),
              AllOf(StartsWith("--load: '"), HasSubstr("case.txt' cannot be read: No such file")));
  put(folder.path() / "case.txt", std::string(3 * kMaxCaseBytes, ' '));
  EXPECT_THAT(message_of([&] { read_case(folder.path(), "--load"); }),
              HasSubstr("has more than the 1048576 bytes"));
}

}  // namespace
}  // namespace fmha_bwd
