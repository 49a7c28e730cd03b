#include "src/files/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

NpyHeader header_from(const std::string& file) {
  return npy_header_from(file, file.size(), "--load: 'x.npy'");
}
NpyHeader header_of_dict(const std::string& dict, std::size_t data_bytes) {
  return header_from(npy_bytes(dict, std::string(data_bytes, '\0')));
}
std::string refusal_of(const std::string& file) {
  return message_of([&] { header_from(file); });
}
std::string refusal_of_dict(const std::string& dict, std::size_t data_bytes = 24) {
  return refusal_of(npy_bytes(dict, std::string(data_bytes, '\0')));
}

constexpr const char* kDict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

// What numpy.save wrote for numpy.arange(3, dtype='f2').reshape(1, 3).
TEST(Npy, AFileOfNumPysIsRead) {
  const std::string file = std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                           "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 3), }" +
                           std::string(58, ' ') + "\n" + std::string("\x00\x00\x00\x3c\x00\x40", 6);
  const NpyHeader header = header_from(file);
  EXPECT_EQ(header.type, NpyType::float16);
  EXPECT_THAT(header.shape, ElementsAre(1, 3));
  EXPECT_EQ(header.data_begin, 128u);
  EXPECT_EQ(header.elements(), 3);
}

TEST(Npy, WhatIsWrittenIsWhatNumPyWrites) {
  EXPECT_EQ(npy_start_of(NpyType::float16, {1, 3}),
            std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 3), }" + std::string(58, ' ') + "\n");
}

TEST(Npy, EveryTypeAndShapeThatIsWrittenIsReadBack) {
  for (const NpyType type : {NpyType::float16, NpyType::float32, NpyType::bits16, NpyType::boolean}) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{}, {0}, {7}, {2, 3}, {2, 3, 4, 5}, {1, 0, 1 << 20}}) {
      std::string file = npy_start_of(type, shape);
      EXPECT_EQ(file.size() % 64, 0u);
      const std::uint64_t begin = file.size();
      std::int64_t elements = 1;
      for (const std::int64_t extent : shape) elements *= extent;
      file.resize(file.size() + static_cast<std::size_t>(elements) * size_of(type));
      const NpyHeader header = header_from(file);
      EXPECT_EQ(header.type, type);
      EXPECT_EQ(header.shape, shape);
      EXPECT_EQ(header.elements(), elements);
      EXPECT_EQ(header.data_begin, begin);
    }
  }
}

TEST(Npy, AHeaderOfAnyLengthIsPaddedTo64Bytes) {
  std::vector<std::int64_t> shape;
  for (int i = 0; i < 70; ++i) {
    shape.push_back(0);
    EXPECT_EQ(npy_start_of(NpyType::float32, shape).size() % 64, 0u) << i;
  }
}

TEST(Npy, Bfloat16IsReadAsUnsignedIntegersOrAsVoids) {
  for (const std::string descr : {"<u2", "|V2", "<V2"}) {
    const NpyHeader header =
        header_of_dict("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2,)}\n", 4);
    EXPECT_EQ(header.type, NpyType::bits16) << descr;
  }
}

TEST(Npy, Formats2And3HaveALongerLength) {
  for (const char major : {'\2', '\3'}) {
    const std::string dict(kDict);
    const std::string length = {static_cast<char>(dict.size()), 0, 0, 0};
    const NpyHeader header =
        header_from("\x93NUMPY" + std::string{major, 0} + length + dict + std::string(24, '\0'));
    EXPECT_THAT(header.shape, ElementsAre(2, 3));
    EXPECT_EQ(header.data_begin, 12 + dict.size());
  }
}

TEST(Npy, TheDictMayBeWrittenInAnyWayThatPythonReads) {
  EXPECT_THAT(header_of_dict("{'shape':(2,3),'fortran_order':False,'descr':'<f4'}", 24).shape,
              ElementsAre(2, 3));
  EXPECT_THAT(
      header_of_dict("{ \"shape\" : ( 2 , 3 , ) , \"fortran_order\" : False , \"descr\" : \"<f4\" } \n", 24)
          .shape,
      ElementsAre(2, 3));
  EXPECT_THAT(header_of_dict("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4).shape, IsEmpty());
}

TEST(Npy, AScalarHasOneElement) {
  EXPECT_EQ(header_of_dict("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4).elements(), 1);
}

TEST(Npy, TheWholeFileIsNotNeededForItsHeader) {
  const std::string start = npy_bytes(kDict);
  EXPECT_THAT(npy_header_from(start, start.size() + 24, "").shape, ElementsAre(2, 3));
}

TEST(Npy, ARefusalBeginsWithOptionAndFile) {
  EXPECT_THAT(refusal_of("PK\3\4"), StartsWith("--load: 'x.npy' is not a .npy file"));
}

TEST(Npy, WhatIsNoNpyFileIsRefused) {
  EXPECT_THAT(refusal_of(""), HasSubstr("is not a .npy file"));
  EXPECT_THAT(refusal_of("\x93NUMP"), HasSubstr("is not a .npy file"));
  EXPECT_THAT(refusal_of("\x92NUMPY\1" + npy_bytes(kDict).substr(7)), HasSubstr("is not a .npy file"));
}

TEST(Npy, AnUnknownFormatIsRefused) {
  for (const auto& [major, minor] : {std::pair{0, 0}, {4, 0}, {1, 1}, {255, 255}}) {
    std::string file = npy_bytes(kDict, std::string(24, '\0'));
    file[6] = static_cast<char>(major);
    file[7] = static_cast<char>(minor);
    EXPECT_THAT(refusal_of(file),
                HasSubstr("has .npy format " + std::to_string(major) + "." + std::to_string(minor)));
  }
}

TEST(Npy, AFileCutOffAnywhereIsRefused) {
  const std::string file = npy_bytes(kDict, std::string(24, '\0'));
  const std::size_t data_begin = file.size() - 24;
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::string what = size < 6            ? "is not a .npy file"
                             : size < data_begin ? "is cut off within its header"
                                                 : "bytes of data, not the 24 of its shape (2, 3)";
    EXPECT_THAT(refusal_of(file.substr(0, size)), HasSubstr(what)) << size;
  }
}

TEST(Npy, DataThatAreTooLongAreRefused) {
  EXPECT_THAT(refusal_of_dict(kDict, 25), HasSubstr("has 25 bytes of data, not the 24 of its shape (2, 3)"));
}

TEST(Npy, AHeaderLongerThanAnyIsRefusedBeforeItIsRead) {
  const std::string file = "\x93NUMPY" + std::string("\2\0\xff\xff\xff\xff", 6) + kDict;
  EXPECT_THAT(refusal_of(file), HasSubstr("has a header of 4294967295 bytes"));
}

TEST(Npy, FortranOrderIsRefused) {
  EXPECT_THAT(refusal_of_dict("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }"),
              HasSubstr("is in Fortran order; allowed is C order"));
}

TEST(Npy, OtherTypesAreRefusedByName) {
  for (const std::string descr :
       {"<f8", "<i2", "<i4", "|S4", "<U2", "|O", "<c8", "float32", "", "f4", "=f4", "|V4"}) {
    EXPECT_THAT(refusal_of_dict("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2, 3), }"),
                HasSubstr("has the dtype '" + descr + "'; allowed are '<f2'"))
        << descr;
  }
  for (const std::string descr : {">f4", ">f2", ">u2"}) {
    EXPECT_THAT(refusal_of_dict("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2, 3), }"),
                HasSubstr("has the dtype '" + descr + "', which is big-endian"));
  }
  EXPECT_THAT(refusal_of_dict("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2, 3), }"),
              HasSubstr("has a structured dtype"));
}

TEST(Npy, ShapesThatOverflowAreRefused) {
  const auto refusal_of_shape = [](const std::string& shape) {
    return refusal_of_dict("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }");
  };
  EXPECT_THAT(refusal_of_shape("(4294967296, 4294967296)"), HasSubstr("has a shape that overflows"));
  EXPECT_THAT(refusal_of_shape("(2305843009213693952,)"), HasSubstr("has a shape that overflows"));
  EXPECT_THAT(refusal_of_shape("(18446744073709551617,)"), HasSubstr("has a shape that overflows"));
  EXPECT_THAT(refusal_of_shape("(2305843009213693951,)"),
              HasSubstr("not the 9223372036854775804 of its shape"));
  EXPECT_THAT(refusal_of_shape("(-2, -3)"), HasSubstr("has a negative extent"));
}

TEST(Npy, KeysThatAreUnknownTwiceOrMissingAreRefused) {
  EXPECT_THAT(refusal_of_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}"),
              HasSubstr("has the unknown key 'x'"));
  EXPECT_THAT(refusal_of_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'shape': (2, 3)}"),
              HasSubstr("has the key 'shape' twice"));
  EXPECT_THAT(refusal_of_dict("{'fortran_order': False, 'shape': (2, 3)}"), HasSubstr("has no 'descr'"));
  EXPECT_THAT(refusal_of_dict("{'descr': '<f4', 'shape': (2, 3)}"), HasSubstr("has no 'fortran_order'"));
  EXPECT_THAT(refusal_of_dict("{'descr': '<f4', 'fortran_order': False}"), HasSubstr("has no 'shape'"));
  EXPECT_THAT(refusal_of_dict("{}"), HasSubstr("has no 'descr'"));
}

TEST(Npy, AMalformedDictIsRefused) {
  for (const std::string dict : {
           "",
           " ",
           "[",
           "{",
           "{'descr'",
           "{'descr': '<f4",
           "{'descr' '<f4'}",
           "{descr: '<f4'}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (, )}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3]}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2.0, 3)}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}",
           "{'descr': '<f4\", 'fortran_order': False, 'shape': (2, 3)}",
           "{'de\\x73cr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
       }) {
    EXPECT_THAT(refusal_of_dict(dict), HasSubstr("has a malformed header")) << dict;
  }
  EXPECT_THAT(refusal_of_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (24)}"),
              HasSubstr("has a shape that is not a tuple"));
}

TEST(Npy, AMessageShowsNoControlCharacters) {
  EXPECT_THAT(refusal_of_dict("{'\x1b[31m\t': 1}"), HasSubstr("unknown key '?[31m?'"));
}

TEST(Npy, AFileIsWrittenAndReadBack) {
  const TestFolder folder;
  const auto path = folder.path() / "a" / "b.npy";
  const std::string data = bytes_of<float>({1.0F, -2.5F});
  write_npy(path, NpyType::float32, {2}, std::as_bytes(std::span(data)), "--save");
  EXPECT_EQ(contents(path), npy_start_of(NpyType::float32, {2}) + data);
  const NpyHeader header = read_npy_header(path, "--load");
  EXPECT_THAT(header.shape, ElementsAre(2));
  const auto read = read_npy_data(path, header, "--load");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(read.data()), read.size()), data);
}

TEST(Npy, AFileThatShrinksAfterItsHeaderWasReadIsRefused) {
  const TestFolder folder;
  const auto path = folder.path() / "q.npy";
  put(path, npy_bytes(kDict, std::string(24, '\0')));
  const NpyHeader header = read_npy_header(path, "--load");
  put(path, npy_bytes(kDict, std::string(23, '\0')));
  EXPECT_THAT(message_of([&] { read_npy_data(path, header, "--load"); }), HasSubstr("has become shorter"));
}

}  // namespace
}  // namespace fmha_bwd
