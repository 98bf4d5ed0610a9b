// The search beside a plain Wing-Gong-Lowe search with memoised states (checker/testing/plain_search.h), on
// 200 drawn configurations, in one process and in turns.
//
//   build/bench_search              the table, and what the goals say of it (a few minutes)
//   build/bench_search --only 17    one configuration
//   build/bench_search --json F     the table as data
//   build/bench_search --files DIR  histories for tools/bench/porcupine/compare, one operation a line
//   build/bench_search --judge F --model M --timeout S    judges one of them: verdict, seconds, MB
//
// A time is the median of three turns of each: of one, where one takes over a second, and of as many as fit
// into 20 ms, where they are short, so that neither is measured while it is loaded. The plain search
// stops at a million configurations: then it took at least the time that it shows.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "checker/linearizability/search.h"
#include "checker/testing/plain_search.h"
#include "checker/testing/search_cases.h"

namespace {

using namespace holdfast::checker;

std::uint64_t plain_most = 1'000'000, most_steps = 50'000'000;

double milliseconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

struct Row {
  SearchCase what;
  std::size_t operations = 0, unknown = 0;
  std::optional<bool> ours = {}, plain = {};
  double ours_ms = 0, plain_ms = 0;
  std::uint64_t ours_steps = 0, plain_configurations = 0;
};

Row measure(const SearchCase& what) {
  Row row{.what = what};
  const std::vector<Operation> operations = draw_operations(what.draw);
  const auto model = find_model(what.draw.model)->make(what.draw.options);
  row.operations = operations.size();
  for (const Operation& each : operations) row.unknown += each.unknown ? 1 : 0;
  std::vector<double> ours, plain;
  constexpr double kLeastMs = 20;
  double spent_ms = 0;
  for (int turn = 0; turn < 3 || (spent_ms < kLeastMs && turn < 201); ++turn) {
    ours.push_back(milliseconds([&] {
      const SearchResult found = search(operations, *model, {.steps = most_steps});
      row.ours_steps = found.steps;
      if (found.outcome != SearchOutcome::out_of_budget)
        row.ours = found.outcome == SearchOutcome::linearizable;
    }));
    plain.push_back(milliseconds([&] {
      const PlainResult found = plain_search(operations, *model, plain_most);
      row.plain_configurations = found.configurations;
      row.plain = found.linearizable;
    }));
    spent_ms += ours.back() + plain.back();
    if (ours.back() + plain.back() > 1000) break;
  }
  row.ours_ms = median(ours);
  row.plain_ms = median(plain);
  return row;
}

// --- files for other checkers

template <typename Value>
std::string text_of(const Value& value) {
  if (value == Operation().value) return "-";
  if constexpr (std::is_integral_v<Value>) {
    return std::to_string(value);
  } else {
    return std::to_string(value.number());
  }
}

// Histories that Porcupine's driver has a model for.
int write_files(const std::string& folder) {
  constexpr std::size_t kFiles = 40;
  std::string list;
  std::size_t number = 0;
  for (const SearchCase& each : search_cases()) {
    const bool fits =
        each.draw.model == "cas-register" || each.draw.model == "register" || each.draw.model == "mutex";
    if (!fits || each.draw.operations < 200 || number == kFiles) continue;
    const std::vector<Operation> operations = draw_operations(each.draw);
    const std::string name = fmt::format("{}.txt", number++);
    std::ofstream out(folder + "/" + name);
    std::size_t unknown = 0;
    for (const Operation& operation : operations) {
      unknown += operation.unknown ? 1 : 0;
      const bool mutex = each.draw.model == "mutex";
      out << fmt::format("{} {} {} {} {} {}\n", to_string(operation.f), operation.process, operation.call,
                         operation.unknown ? -1 : operation.ret, mutex ? "-" : text_of(operation.value),
                         mutex ? "-" : text_of(operation.token));
    }
    list += fmt::format(
        "{}{{\"file\": \"{}\", \"model\": \"{}\", \"operations\": {}, \"clients\": {}, \"unknown\": {}}}",
        list.empty() ? "" : ",\n", name, each.draw.model, operations.size(), each.draw.clients, unknown);
  }
  std::ofstream(folder + "/cases.json") << "[" << list << "]\n";
  return 0;
}

std::vector<Operation> read_file(const std::string& path) {
  std::vector<Operation> operations;
  std::ifstream in(path);
  std::string line, f, value, expected;
  while (std::getline(in, line)) {
    Operation each;
    std::istringstream parts(line);
    parts >> f >> each.process >> each.call >> each.ret >> value >> expected;
    for (const Function known :
         {Function::read, Function::write, Function::cas, Function::acquire, Function::release})
      if (to_string(known) == f) each.f = known;
    each.owner = each.process;
    each.unknown = each.ret < 0;
    if (each.unknown) each.ret = kForever;
    if (value != "-") each.value = decltype(each.value)(std::stoll(value));
    if (expected != "-") each.token = decltype(each.token)(std::stoll(expected));
    operations.push_back(each);
  }
  return operations;
}

// Peak memory of this program in MB (not of the one that started it, which getrusage() counts as well).
double peak_mb() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return static_cast<double>(std::stoll(line.substr(6))) / 1024;
  }
  return 0;
}

int judge_file(const std::string& path, const std::string& name, double timeout_seconds) {
  const std::vector<Operation> operations = read_file(path);
  const auto model = find_model(name)->make({});
  SearchResult found;
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  found =
      search(operations, *model,
             {.stop = [&](const SearchProgress&) { return seconds() > timeout_seconds ? "time" : nullptr; }});
  fmt::print("{} {:.6f} {:.1f}\n",
             found.outcome == SearchOutcome::linearizable       ? "holds"
             : found.outcome == SearchOutcome::not_linearizable ? "violated"
                                                                : "-",
             seconds(), peak_mb());
  return 0;
}

const char* word(const std::optional<bool>& verdict) {
  return !verdict ? "-" : *verdict ? "holds" : "violated";
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<std::size_t> only;
  const char* json = nullptr;
  std::string file, model = "cas-register";
  double timeout_seconds = 60;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--only") == 0) only = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--json") == 0) json = argv[i + 1];
    if (std::strcmp(argv[i], "--files") == 0) return write_files(argv[i + 1]);
    if (std::strcmp(argv[i], "--judge") == 0) file = argv[i + 1];
    if (std::strcmp(argv[i], "--model") == 0) model = argv[i + 1];
    if (std::strcmp(argv[i], "--timeout") == 0) timeout_seconds = std::strtod(argv[i + 1], nullptr);
    if (std::strcmp(argv[i], "--plain-most") == 0) plain_most = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--steps") == 0) most_steps = std::strtoull(argv[i + 1], nullptr, 10);
  }
  if (!file.empty()) return judge_file(file, model, timeout_seconds);
  const std::vector<SearchCase> cases = search_cases();
  fmt::print("{:>3} {:<22} {:>5} {:>7} {:>7} {:>8} {:>8} {:>10} {:>10} {:>7} {:>9} {:>9}\n", "", "model",
             "ops", "clients", "unknown", "ours", "plain", "ours ms", "plain ms", "ratio", "ours n",
             "plain n");
  std::size_t faster = 0, slower_than_twice = 0, disagree = 0, undecided = 0, rows = 0;
  std::string data;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (only && *only != i) continue;
    const Row row = measure(cases[i]);
    ++rows;
    const double ratio = row.ours_ms / row.plain_ms;
    const bool slow = ratio > 2 && row.plain_ms > 10 && row.plain;  // else nobody knows how long that takes
    fmt::print("{:>3} {:<22} {:>5} {:>7} {:>7} {:>8} {:>8} {:>10.3f} {:>10.3f} {:>7.2f} {:>9} {:>9}{}\n", i,
               row.what.draw.model, row.operations, row.what.draw.clients, row.unknown, word(row.ours),
               word(row.plain), row.ours_ms, row.plain_ms, ratio, row.ours_steps, row.plain_configurations,
               slow        ? "  SLOW"
               : ratio > 1 ? "  slower"
                           : "");
    std::fflush(stdout);
    faster += ratio < 1 ? 1 : 0;
    slower_than_twice += slow ? 1 : 0;
    disagree += row.ours && row.plain && *row.ours != *row.plain ? 1 : 0;
    undecided += row.ours ? 0 : 1;
    data += fmt::format(
        "{}  {{\"model\": \"{}\", \"operations\": {}, \"clients\": {}, \"unknown\": {}, \"ours\": \"{}\", "
        "\"plain\": \"{}\", \"ours_ms\": {:.3f}, \"plain_ms\": {:.3f}}}",
        data.empty() ? "" : ",\n", row.what.draw.model, row.operations, row.what.draw.clients, row.unknown,
        word(row.ours), word(row.plain), row.ours_ms, row.plain_ms);
  }
  fmt::print(
      "faster in {} of {}; slower than 2x where the plain one decides and needs over 10 ms: {}; verdicts "
      "differ: {}; "
      "not decided by ours: {}\n",
      faster, rows, slower_than_twice, disagree, undecided);
  if (json != nullptr) std::ofstream(json) << "[\n" << data << "\n]\n";
  return disagree == 0 ? 0 : 1;
}
