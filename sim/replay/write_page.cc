#include "sim/replay/write_page.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "generated/replay_input.h"
#include "generated/replay_main.h"
#include "generated/replay_model.h"
#include "generated/replay_page.h"
#include "generated/replay_strip.h"
#include "generated/replay_style.h"
#include "generated/replay_view.h"

namespace holdfast::sim {
namespace {

constexpr std::array kScripts = {kReplayModel, kReplayStrip, kReplayView, kReplayInput, kReplayMain};

// Numbers that JavaScript has no exact word for are texts.
constexpr std::uint64_t kMostExact = std::uint64_t{1} << 53;

// Text inside a <script> element: valid JSON, and no `<` in it.
std::string json(std::string_view text) {
  std::string out = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = out.find('<', at)) != std::string::npos;) out.replace(at, 1, "\\u003c");
  return out;
}

// Microseconds, as a number of JSON.
std::string time(std::int64_t ns) {
  if (ns % 1000 == 0) return std::to_string(ns / 1000);
  const std::int64_t whole = ns / 1000, rest = std::abs(ns % 1000);
  return fmt::format("{}{}.{:03}", ns < 0 && whole == 0 ? "-" : "", whole, rest);
}
std::string time(const std::optional<std::int64_t>& ns) { return ns ? time(*ns) : "null"; }

std::string exact(std::uint64_t number) {
  return number <= kMostExact ? std::to_string(number) : fmt::format("\"0x{:016x}\"", number);
}

class Writer {
 public:
  Writer(const Replay& replay, std::ostream& out) : replay_(replay), out_(out) { string(""); }

  void write(const std::string& reproduce) {
    out_ << fmt::format(
        "{{\"title\":{},\"about\":{},\"lock\":{},\"seed\":{},\"trace\":\"{:016x}\",\"reproduce\":{},"
        "\"end\":{},\"cut\":{},\"keysLeftOut\":{},\"sentinels\":{}",
        json(replay_.title), json(replay_.about), json(replay_.lock), exact(replay_.seed), replay_.trace,
        json(reproduce), time(replay_.end_ns), time(replay_.cut_ns), replay_.keys_left_out,
        replay_.sentinels);
    names("servers", replay_.servers);
    names("threads", replay_.threads);
    list("verdicts", replay_.verdicts, [](const Replay::Verdict& one) {
      return fmt::format("[{},{},{}]", json(one.check), json(one.outcome), json(one.reason));
    });
    list("places", replay_.places, [](const Replay::Place& one) {
      return fmt::format("[{},{},{},{},{},{},{},{},{}]", json(one.check), json(one.kind), json(one.key),
                         json(one.why), time(one.at_ns), time(one.from_ns), time(one.to_ns),
                         nlohmann::json(one.threads).dump(), time(one.first_ns));
    });
    list("told", replay_.told, [this](const Replay::Told& one) {
      return fmt::format("[{},{},{},{}]", static_cast<int>(one.sort), string(one.who), string(one.text),
                         one.lane);
    });
    list("records", replay_.records, [this](const Replay::Record& one) { return record(one); });
    list("messages", replay_.messages, [this](const Replay::Message& one) {
      return fmt::format("[{},{},{},{},{},{},{},{},{},{},{}]", string(one.from), string(one.to),
                         static_cast<int>(one.direction), one.replication ? 1 : 0, one.connection,
                         string(one.text), one.bytes, static_cast<int>(one.meant), time(one.delay_ns),
                         one.fate ? static_cast<int>(*one.fate) : -1, one.routine ? 1 : 0);
    });
    list("drawings", replay_.drawings, [this](const Replay::Drawing& one) {
      const Drawn& drawn = one.drawn;
      return fmt::format("[{},{},{},{},{},{},{}]", string(one.stream), one.number,
                         static_cast<int>(drawn.kind), exact(drawn.low), exact(drawn.high),
                         exact(drawn.value), one.fixed ? 1 : 0);
    });
    list("standings", replay_.standings, [](const Replay::Server& one) {
      return fmt::format("[{},{},{}]", one.server, static_cast<int>(one.standing), time(one.clock_ns));
    });
    list("beliefs", replay_.beliefs, [this](const Replay::Belief& one) { return belief(one); });
    list("pauses", replay_.pauses, [this](const Replay::Pause& one) {
      return fmt::format("[{},{},{}]", string(one.party), string(one.act), one.begins ? 1 : 0);
    });
    list("steps", replay_.steps, [](const Replay::Step& one) {
      return fmt::format("[{},{},{}]", time(one.at_ns), static_cast<int>(one.kind), one.at);
    });
    list("strings", strings_, [](const std::string& one) { return json(one); });
    out_ << "}";
  }

 private:
  std::size_t string(const std::string& text) {
    const auto [at, fresh] = numbers_.try_emplace(text, strings_.size());
    if (fresh) strings_.push_back(text);
    return at->second;
  }

  void names(std::string_view name, const std::vector<std::string>& all) {
    list(name, all, [](const std::string& one) { return json(one); });
  }

  template <typename T, typename F>
  void list(std::string_view name, const std::vector<T>& all, F&& row) {
    out_ << ",\n\"" << name << "\":[";
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out_ << (i % 32 == 0 ? ",\n" : ",");
      out_ << row(all[i]);
    }
    out_ << "]";
  }

  std::string record(const Replay::Record& one) {
    std::string elements;
    for (const Replay::Element& element : one.elements)
      elements += fmt::format("{}[{},{},{}]", elements.empty() ? "" : ",", string(element.name),
                              string(element.value), string(element.owner));
    return fmt::format("[{},{},{},[{}],{},{},{}]", one.server, string(one.key), string(one.type), elements,
                       one.left_out, one.expires ? std::to_string(*one.expires) : "null",
                       string(std::string(one.by)));
  }

  std::string belief(const Replay::Belief& one) {
    std::string claims;
    for (const Replay::Claim& claim : one.claims) {
      claims +=
          fmt::format("{}[{},{},{},{},{},{},{},{}]", claims.empty() ? "" : ",", string(claim.key),
                      string(claim.id), static_cast<int>(claim.state), time(claim.since_ns),
                      time(claim.until_ns), string(claim.token), string(claim.mode), string(claim.note));
    }
    return fmt::format("[{},{},{},[{}]]", one.thread, one.dead ? 1 : 0, string(one.doing), claims);
  }

  const Replay& replay_;
  std::ostream& out_;
  std::vector<std::string> strings_;
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace

void write_page(const Replay& replay, const std::string& reproduce, std::ostream& out) {
  std::string_view page = kReplayPage;
  const auto until = [&](std::string_view mark) {
    const std::size_t at = page.find(mark);
    out << page.substr(0, at);
    page.remove_prefix(at + mark.size());
  };
  until("/*STYLE*/");
  out << kReplayStyle;
  until("/*DATA*/");
  Writer(replay, out).write(reproduce);
  until("/*SCRIPT*/");
  for (const std::string_view script : kScripts) out << script << "\n";
  out << page;
}

}  // namespace holdfast::sim
