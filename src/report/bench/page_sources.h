// The files of src/report/page/, built in.
#pragma once

#include <string_view>

namespace fmha_bwd {

extern const std::string_view kPageTemplate;  // page.html: {{title}}, {{style}}, {{data}} and {{script}}
extern const std::string_view kPageStyle;     // page.css
extern const std::string_view kPageScript;    // the .js files, one after the other

}  // namespace fmha_bwd
