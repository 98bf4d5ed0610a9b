// The page of a replay: one self-contained HTML file; nothing is loaded from anywhere.
//
// The page itself lies in page/ (markup, style, scripts; embedded at build time); here its data are written
// into it. page/model.js describes them.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "sim/replay/replay.h"

namespace holdfast::sim {

// `reproduce`: the line that makes this page again, shown on it.
void write_page(const Replay& replay, const std::string& reproduce, std::ostream& out);

// In two parts, for a page that has several: the data, and the page with a mark in their place.
inline constexpr std::string_view kDataMark = "/*DATA*/";
void write_data(const Replay& replay, const std::string& reproduce, std::ostream& out);
void write_empty_page(std::ostream& out);

}  // namespace holdfast::sim
