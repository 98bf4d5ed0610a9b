// The page of `holdfast report`: the answer first, then what it stands on. Nothing is loaded from anywhere,
// and nothing depends on when or where it is made.
#pragma once

#include <cstdint>
#include <string>

#include "tools/bench/compare.h"
#include "tools/report/report_data.h"

namespace holdfast::tools {

// A part of it: "" when there is nothing to say. Each is HTML.
std::string answer_of(const ReportData& data, const Comparison* comparison);
std::string fault_tables(const ReportData& data);         // lock x fault
std::string cases_of(const ReportData& data);             // scenarios, as they were expected
std::string stories_of(const ReportData& data);           // what was kept, with its timelines
std::string measurements_of(const ReportData& data);      // plots and tables, a world a figure
std::string comparison_of(const Comparison& comparison);  // two results, row by row
std::string sources_of(const ReportData& data);           // what all of it was made from

std::string report_page(const ReportData& data);

// A sale of suite seckill, as its cell says it.
struct SaleSaid {
  enum class What { holds, oversells, stalls, no_sale } what = What::no_sale;
  std::string words;  // "oversells 65%"
};
SaleSaid sale_said(const Measurement& m);
bool is_small_sale(const Measurement& m);  // of the fault table, not of a crowd

std::string world_words(const std::string& world);  // "real/fibers" -> "real Redis"
std::string spaced(const std::string& name);        // "holder-paused" -> "holder paused"
std::string counted(std::uint64_t number, const std::string& one, const std::string& many);
std::string listed(const std::vector<std::string>& names, std::size_t most);  // "a, b and 3 more", safe HTML

}  // namespace holdfast::tools
