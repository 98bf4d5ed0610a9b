#include "checker/testing/script_history.h"

#include <cmath>
#include <sstream>
#include <string>

#include "checker/checks/check.h"
#include "checker/checks/truth.h"
#include "checker/holds/holds.h"
#include "checker/invariant.h"

namespace holdfast::checker::testing {

namespace {

std::int64_t nanoseconds(const std::string& milliseconds) {
  return static_cast<std::int64_t>(std::llround(std::stod(milliseconds) * 1e6));
}

}  // namespace

History history_of(std::string_view script) {
  History history;
  std::istringstream lines{std::string(script)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string time, process, type, f, key;
    if (!(words >> time) || time.front() == '#') continue;
    words >> process >> type >> f >> key;
    Event event;
    event.time_ns = nanoseconds(time);
    event.process = history.intern(process);
    CHECKER_INVARIANT(parse(type, event.type), line.c_str());
    if (f == kLeft || f == kLeftBehind || f == kKeyspace || f == kRecord) {
      event.f = Function::other;
      event.error = history.intern(f);
    } else {
      CHECKER_INVARIANT(parse(f, event.f), line.c_str());
    }
    if (!key.empty() && key != "-") event.key = history.intern(key);
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      CHECKER_INVARIANT(equals != std::string::npos, line.c_str());
      const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
      if (name == "id")
        event.id = history.intern(value);
      else if (name == "owner")
        event.owner = history.intern(value);
      else if (name == "mode")
        event.mode = history.intern(value);
      else if (name == "node")
        event.node = history.intern(value);
      else if (name == "error")
        event.error = history.intern(value);
      else if (name == "token")
        event.token = Value(std::stoll(value));
      else if (name == "value")
        event.value = Value(std::stoll(value));
      else if (name == "permits")
        event.permits = static_cast<std::uint32_t>(std::stoul(value));
      else if (name == "valid")
        event.valid_until_ns = nanoseconds(value);
      else
        CHECKER_INVARIANT(false, line.c_str());
    }
    history.append(event);
  }
  return history;
}

}  // namespace holdfast::checker::testing
