#include "sim/replay/write_page.h"

#include <fmt/format.h>

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
#include "sim/replay/page_parts.h"

namespace holdfast::sim {
namespace {

PageParts parts() {
  return {.body = kReplayPage,
          .styles = {kReplayStyle},
          .scripts = {kReplayModel, kReplayStrip, kReplayView, kReplayInput, kReplayMain}};
}

class Writer {
 public:
  Writer(const Replay& replay, std::ostream& out) : replay_(replay), out_(out) { string(""); }

  void write(const std::string& reproduce) {
    out_ << fmt::format(
        "{{\"title\":{},\"about\":{},\"lock\":{},\"seed\":{},\"trace\":\"{:016x}\",\"reproduce\":{},"
        "\"end\":{},\"cut\":{},\"keysLeftOut\":{},\"sentinels\":{}",
        json_text(replay_.title), json_text(replay_.about), json_text(replay_.lock), json_exact(replay_.seed),
        replay_.trace, json_text(reproduce), json_time(replay_.end_ns), json_time(replay_.cut_ns),
        replay_.keys_left_out, replay_.sentinels);
    names("servers", replay_.servers);
    names("threads", replay_.threads);
    list("verdicts", replay_.verdicts, [](const Replay::Verdict& one) {
      return fmt::format("[{},{},{}]", json_text(one.check), json_text(one.outcome), json_text(one.reason));
    });
    list("places", replay_.places, [](const Replay::Place& one) {
      return fmt::format("[{},{},{},{},{},{},{},{},{}]", json_text(one.check), json_text(one.kind),
                         json_text(one.key), json_text(one.why), json_time(one.at_ns), json_time(one.from_ns),
                         json_time(one.to_ns), nlohmann::json(one.threads).dump(), json_time(one.first_ns));
    });
    list("told", replay_.told, [this](const Replay::Told& one) {
      return fmt::format("[{},{},{},{}]", static_cast<int>(one.sort), string(one.who), string(one.text),
                         one.lane);
    });
    list("records", replay_.records, [this](const Replay::Record& one) { return record(one); });
    list("messages", replay_.messages, [this](const Replay::Message& one) {
      return fmt::format("[{},{},{},{},{},{},{},{},{},{},{}]", string(one.from), string(one.to),
                         static_cast<int>(one.direction), one.replication ? 1 : 0, one.connection,
                         string(one.text), one.bytes, static_cast<int>(one.meant), json_time(one.delay_ns),
                         one.fate ? static_cast<int>(*one.fate) : -1, one.routine ? 1 : 0);
    });
    list("drawings", replay_.drawings, [this](const Replay::Drawing& one) {
      const Drawn& drawn = one.drawn;
      return fmt::format("[{},{},{},{},{},{},{}]", string(one.stream), one.number,
                         static_cast<int>(drawn.kind), json_exact(drawn.low), json_exact(drawn.high),
                         json_exact(drawn.value), one.fixed ? 1 : 0);
    });
    list("standings", replay_.standings, [](const Replay::Server& one) {
      return fmt::format("[{},{},{}]", one.server, static_cast<int>(one.standing), json_time(one.clock_ns));
    });
    list("beliefs", replay_.beliefs, [this](const Replay::Belief& one) { return belief(one); });
    list("pauses", replay_.pauses, [this](const Replay::Pause& one) {
      return fmt::format("[{},{},{}]", string(one.party), string(one.act), one.begins ? 1 : 0);
    });
    list("steps", replay_.steps, [](const Replay::Step& one) {
      return fmt::format("[{},{},{}]", json_time(one.at_ns), static_cast<int>(one.kind), one.at);
    });
    list("strings", strings_, [](const std::string& one) { return json_text(one); });
    out_ << "}";
  }

 private:
  std::size_t string(const std::string& text) {
    const auto [at, fresh] = numbers_.try_emplace(text, strings_.size());
    if (fresh) strings_.push_back(text);
    return at->second;
  }

  void names(std::string_view name, const std::vector<std::string>& all) {
    list(name, all, [](const std::string& one) { return json_text(one); });
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
                      string(claim.id), static_cast<int>(claim.state), json_time(claim.since_ns),
                      json_time(claim.until_ns), string(claim.token), string(claim.mode), string(claim.note));
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
  write_parts(
      parts(), [&](std::ostream& data) { write_data(replay, reproduce, data); }, out);
}

void write_data(const Replay& replay, const std::string& reproduce, std::ostream& out) {
  Writer(replay, out).write(reproduce);
}

void write_empty_page(std::ostream& out) {
  write_parts(
      parts(), [](std::ostream& data) { data << kDataMark; }, out);
}

}  // namespace holdfast::sim
