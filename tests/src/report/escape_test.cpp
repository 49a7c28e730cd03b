#include "src/report/escape.h"

#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

TEST(Escape, LeavesNoControlCharacterInALine) {
  EXPECT_EQ(one_line("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(one_line("no_mask/fp16 \xC3\xA9"), "no_mask/fp16 \xC3\xA9");
}

TEST(Escape, ReplacesWhatXmlTakesForMarkup) {
  EXPECT_EQ(xml_text("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;");
  EXPECT_EQ(xml_text("&amp;"), "&amp;amp;");
}

TEST(Escape, ReplacesWhatXmlCannotHold) {
  EXPECT_EQ(xml_text(std::string("\x01\0", 2)), "\\x01\\x00");
  EXPECT_EQ(xml_text("a\xff z"), "a\xEF\xBF\xBD z");
  EXPECT_EQ(xml_text("\xEF\xBF\xBE\xEF\xBF\xBF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(xml_text("\xC3\xA9"), "\xC3\xA9");
}

TEST(Escape, ShowsMarkdownAsItIs) {
  EXPECT_EQ(markdown_text("a|b*c_d`e\\f<g>"), "a\\|b\\*c\\_d\\`e\\\\f\\<g\\>");
  EXPECT_EQ(markdown_text("a\nb"), "a\\\\x0ab");
}

TEST(Escape, KeepsCodeInItsCell) {
  EXPECT_EQ(markdown_code("no_mask/fp16"), "`no_mask/fp16`");
  EXPECT_EQ(markdown_code("a|b"), "`a\\|b`");
  EXPECT_EQ(markdown_code("a`b"), "a\\`b");
  EXPECT_EQ(markdown_code("a\\|b"), "a\\\\\\|b");
  EXPECT_EQ(markdown_code(""), "");
}

}  // namespace
}  // namespace fmha_bwd
