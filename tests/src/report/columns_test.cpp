#include "src/report/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "src/text_width.h"

namespace fmha_bwd {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Columns, AreAsWideAsTheirWidestCellAndAligned) {
  Columns columns({{"name", Align::left}, {"value"}});
  columns.add({{"a"}, {"1"}});
  columns.add({{"longer"}, {"12345678"}});
  EXPECT_EQ(columns.text(false),
            "  name       value\n"
            "  ────────────────\n"
            "  a              1\n"
            "  longer  12345678\n");
}

TEST(Columns, MeasureCharactersAndNotBytes) {
  Columns columns({{"‖dQ‖₂"}, {"x", Align::left}});
  columns.add({{"注意"}, {"▪"}});
  columns.add({{"1"}, {"▪"}});
  EXPECT_EQ(columns.text(false),
            "  ‖dQ‖₂  x\n"
            "  ────────\n"
            "   注意  ▪\n"
            "      1  ▪\n");
}

TEST(Columns, EndLinesWithoutSpaces) {
  Columns columns({{"a", Align::left}, {"b", Align::left}});
  columns.add({{"1"}, {""}});
  columns.add({{"1"}});
  columns.add({{"1"}, {"long"}});
  EXPECT_THAT(columns.text(false), Not(HasSubstr(" \n")));
}

TEST(Columns, WithoutHeadingsAreRowsAlone) {
  Columns columns({{"", Align::left}, {"", Align::left}});
  columns.add({{"device"}, {"x"}});
  EXPECT_EQ(columns.text(false), "  device  x\n");
}

TEST(Columns, KeepTheirWidthsInColour) {
  Columns columns({{"verdict", Align::left}, {"n"}});
  columns.add({{"FAILED", Style::bad}, {"1", Style::good}});
  EXPECT_EQ(columns.text(true),
            "  \033[2mverdict\033[0m  \033[2mn\033[0m\n"
            "  \033[2m──────────\033[0m\n"
            "  \033[1;31mFAILED\033[0m   \033[32m1\033[0m\n");
}

TEST(Columns, RefuseMoreCellsThanHeadings) {
  Columns columns({{"a"}});
  EXPECT_THROW(columns.add({{"1"}, {"2"}}), std::invalid_argument);
}

}  // namespace
}  // namespace fmha_bwd
