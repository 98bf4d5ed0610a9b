// `holdfast report DIR`: results of a folder as one page.
#include <fmt/format.h>

#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/open_page.h"
#include "tools/holdfast/output.h"
#include "tools/report/report_page.h"

namespace holdfast::tools {

ExitCode report_command(const ReportArguments& arguments) {
  std::string folder = arguments.folder;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  const ReportData data = read_report_data(folder);
  const std::string page = arguments.page.empty() ? folder + "/report.html" : arguments.page;
  write_file(page, report_page(data));
  print_out(fmt::format("page {}\n", for_terminal(page)));
  if (arguments.open) {
    finish_standard_output();
    open_page(page);
  }
  return kMet;
}

}  // namespace holdfast::tools
