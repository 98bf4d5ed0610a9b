#include "checker/story/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "checker/holds/holds.h"
#include "checker/holds/wording.h"
#include "checker/story/story_lines.h"
#include "checker/story/text_layout.h"
#include "checker/story/timeline_lanes.h"
#include "generated/timeline_axes.h"
#include "generated/timeline_canvas.h"
#include "generated/timeline_input.h"
#include "generated/timeline_list.h"
#include "generated/timeline_main.h"
#include "generated/timeline_model.h"
#include "generated/timeline_page.h"
#include "generated/timeline_picture.h"
#include "generated/timeline_style.h"
#include "generated/timeline_view.h"

namespace holdfast::checker {

namespace {

constexpr std::array kScripts = {kTimelineModel, kTimelineCanvas, kTimelinePicture, kTimelineAxes,
                                 kTimelineList,  kTimelineView,   kTimelineInput,   kTimelineMain};

// Text inside a <script> element: valid JSON, and no `<` in it.
std::string json(std::string_view text) {
  std::string out = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = out.find('<', at)) != std::string::npos;) out.replace(at, 1, "\\u003c");
  return out;
}

std::string joined(const std::vector<std::size_t>& numbers) {
  std::string out;
  for (const std::size_t number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
  return out;
}

// One place of the page for witnesses of one pair of holds.
struct Place {
  const Witness* witness = nullptr;
  std::vector<std::string> checks;
  bool first = false;  // where the page opens
};

class Writer {
 public:
  Writer(const History& history, const std::vector<NamedVerdict>& verdicts, const TimelineOptions& options,
         std::ostream& out)
      : history_(history),
        events_(history.events()),
        options_(options),
        out_(out),
        words_(history),
        pairs_(pair_events(history)),
        holds_(build_holds(history, pairs_, options.reentrant)),
        lanes_(history),
        outages_(outages_of(history, lanes_)),
        records_(server_records(history, holds_, lanes_, outages_)),
        names_(history.symbols(), kNowhere) {
    for (const Event& event : events_) last_ns_ = std::max(last_ns_, event.time_ns - words_.start_ns());
    for (const NamedVerdict& verdict : verdicts) {
      const bool again = std::any_of(verdicts_.begin(), verdicts_.end(), [&](const NamedVerdict* other) {
        return other->check == verdict.check;
      });
      if (!again) verdicts_.push_back(&verdict);
    }
    for (std::size_t i = 0; i < holds_.size(); ++i) hold_of_[holds_[i].acquired] = i;
    find_places();
  }

  void write() {
    std::string_view page = kTimelinePage;
    const auto until = [&](std::string_view mark) {
      const std::size_t at = page.find(mark);
      out_ << page.substr(0, at);
      page.remove_prefix(at + mark.size());
    };
    until("/*STYLE*/");
    out_ << kTimelineStyle;
    until("/*DATA*/");
    write_data();
    until("/*SCRIPT*/");
    for (const std::string_view script : kScripts) out_ << script << "\n";
    out_ << page;
  }

 private:
  // Microseconds since the start, as a number of JSON.
  std::string time(std::int64_t time_ns) const {
    if (time_ns == kForever || time_ns == kAbsent) return "-1";
    const std::int64_t ns = std::max<std::int64_t>(0, time_ns - words_.start_ns());
    return ns % 1000 == 0 ? std::to_string(ns / 1000) : fmt::format("{}.{:03}", ns / 1000, ns % 1000);
  }
  std::size_t string(std::string text) {
    const auto [at, fresh] = numbers_.try_emplace(std::move(text), strings_.size());
    if (fresh) strings_.push_back(at->first);
    return at->second;
  }
  std::size_t name(Symbol symbol) {
    if (names_[symbol] == kNowhere) names_[symbol] = string(printable(history_.text(symbol)));
    return names_[symbol];
  }
  static std::int64_t number(std::size_t position) {  // -1: nowhere
    return position == kNowhere ? -1 : static_cast<std::int64_t>(position);
  }

  // `f(i)` for i in [0, count), with commas between.
  template <typename F>
  void list(std::size_t count, F&& f) {
    out_ << "[";
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out_ << (i % 64 == 0 ? ",\n" : ",");
      out_ << f(i);
    }
    out_ << "]";
  }

  void write_data() {
    string("");  // number 0
    out_ << "{\"title\":" << json(printable(options_.title)) << ",\"outcome\":\"" << outcome()
         << "\",\"end\":" << time(words_.start_ns() + last_ns_ + std::max<std::int64_t>(last_ns_ / 50, 1000))
         << ",\n\"lanes\":";
    list(lanes_.lanes().size(), [&](std::size_t i) {
      const TimelineLanes::Lane& lane = lanes_.lanes()[i];
      return fmt::format("{{\"name\":{},\"node\":{}}}", json(lane.name), lane.node);
    });
    out_ << ",\n\"events\":";
    write_events();
    out_ << ",\n\"holds\":";
    write_holds();
    out_ << ",\n\"outages\":";
    list(outages_.size(), [&](std::size_t i) {
      const Outage& outage = outages_[i];
      return fmt::format("[{},{},{},{}]", outage.lane, time(outage.from_ns), time(outage.to_ns),
                         json(outage.what));
    });
    out_ << ",\n\"faults\":";
    write_faults();
    out_ << ",\n\"checks\":";
    write_checks();
    out_ << ",\n\"violations\":";
    write_places();
    out_ << ",\n\"strings\":";
    list(strings_.size(), [&](std::size_t i) { return json(strings_[i]); });
    out_ << "}";
  }

  void write_events() {
    const auto column = [&](std::string_view title, auto&& f) {
      out_ << (title == "time" ? "{\"" : ",\n\"") << title << "\":";
      list(events_.size(), [&](std::size_t i) { return f(events_[i], i); });
    };
    column("time", [&](const Event& event, std::size_t) { return time(event.time_ns); });
    column("lane", [&](const Event& event, std::size_t) { return number(lanes_.of(event)); });
    column("who", [&](const Event& event, std::size_t) {
      return name(is_store_event(event) ? event.node : event.process);
    });
    column("f", [&](const Event& event, std::size_t) { return static_cast<int>(event.f); });
    column("type", [&](const Event& event, std::size_t) { return static_cast<int>(event.type); });
    column("key", [&](const Event& event, std::size_t) { return name(event.key); });
    column("id", [&](const Event& event, std::size_t) { return name(event.id); });
    column("text", [&](const Event& event, std::size_t) {
      return string(printable(describe_event(history_, event, words_)));
    });
    column("pair", [&](const Event&, std::size_t i) { return number(pairs_.other[i]); });
    if (!options_.index.empty()) {
      column("index", [&](const Event&, std::size_t i) { return options_.index[i]; });
    }
    out_ << "}";
    out_ << ",\n\"functions\":";
    list(static_cast<std::size_t>(Function::other) + 1,
         [](std::size_t i) { return json(to_string(static_cast<Function>(i))); });
  }

  std::string hold_row(std::size_t lane, std::int64_t from_ns, std::int64_t to_ns, std::int64_t claim_ns,
                       const Event& event, std::string text, bool record, std::size_t position) {
    if (to_ns != kForever && to_ns - words_.start_ns() > last_ns_ && record) to_ns = kForever;
    return fmt::format("[{},{},{},{},{},{},{},{},{}]", lane, time(from_ns), time(to_ns), time(claim_ns),
                       name(event.key), string(printable_lines(text)), record ? 1 : 0, number(position),
                       name(event.id));
  }
  static std::string printable_lines(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (at > 0) out += '\n';
      out += printable(std::string_view(text).substr(at, end - at));
      at = end + 1;
    }
    return out;
  }
  void write_holds() {
    list(holds_.size() + records_.size(), [&](std::size_t i) {
      if (i < holds_.size()) {
        const Hold& hold = holds_[i];
        std::string text = fmt::format("{} {}\nheld {} to {}", words_.text(hold.key), words_.grant(hold),
                                       words_.time(hold.from_ns), words_.time(hold.to_ns));
        if (hold.has_claim()) text += "\nvalid until " + words_.time(hold.valid_until_ns);
        if (!hold.renewals.empty()) text += fmt::format("\n{} renewals", hold.renewals.size());
        if (!hold.token.empty()) text += "\ntoken " + history_.shown(hold.token);
        return hold_row(lanes_.of_process(hold.process), hold.from_ns, hold.to_ns, hold.valid_until_ns,
                        events_[hold.acquired], std::move(text), false, hold.acquired);
      }
      const ServerRecord& record = records_[i - holds_.size()];
      const Event& event = events_[record.granted];
      std::string text = fmt::format("record of {} for {}, granted at {}", words_.text(event.key),
                                     words_.text(event.id), words_.time(event.time_ns));
      if (record.to_ns != kForever) text += "\nuntil " + words_.time(record.to_ns);
      return hold_row(lanes_.of(event), event.time_ns, std::max(record.to_ns, event.time_ns), kAbsent, event,
                      std::move(text), true, record.granted);
    });
  }

  void write_faults() {
    struct Act {
      Symbol id = 0;
      std::int64_t from_ns = 0, to_ns = kForever;
    };
    struct Fault {
      std::string name, kind;
      std::vector<Act> acts;
    };
    std::vector<Fault> faults;
    std::map<std::string, std::size_t> known;
    for (const Event& event : events_) {
      if (event.f != Function::fault) continue;
      const std::string kind = words_.text(event.error), id = event.key != 0 ? words_.text(event.key) : kind;
      const auto [at, fresh] = known.try_emplace(id, faults.size());
      if (fresh) faults.push_back({id, kind, {}});
      auto& acts = faults[at->second].acts;
      const auto open = std::find_if(acts.begin(), acts.end(), [&](const Act& act) {
        return act.id == event.id && act.to_ns == kForever;
      });
      if (event.value != 0) {
        acts.push_back({.id = event.id, .from_ns = event.time_ns});
      } else if (open != acts.end()) {
        open->to_ns = event.time_ns;
      } else if (acts.empty()) {
        acts.push_back({.id = event.id, .from_ns = words_.start_ns(), .to_ns = event.time_ns});
      }
    }
    list(faults.size(), [&](std::size_t i) {
      std::string acts;
      for (const auto& [id, from_ns, to_ns] : faults[i].acts) {
        acts += fmt::format("{}[{},{}]", acts.empty() ? "" : ",", time(from_ns), time(to_ns));
      }
      return fmt::format("{{\"name\":{},\"kind\":{},\"acts\":[{}]}}", json(printable(faults[i].name)),
                         json(printable(faults[i].kind)), acts);
    });
  }

  std::string_view outcome() const {
    const auto any = [&](Outcome outcome) {
      return std::any_of(verdicts_.begin(), verdicts_.end(),
                         [&](const NamedVerdict* named) { return named->verdict.outcome == outcome; });
    };
    return to_string(any(Outcome::violated)                       ? Outcome::violated
                     : any(Outcome::unknown) || verdicts_.empty() ? Outcome::unknown
                                                                  : Outcome::holds);
  }
  void write_checks() {
    list(verdicts_.size(), [&](std::size_t i) {
      const auto& [check, verdict] = *verdicts_[i];
      return fmt::format("{{\"name\":{},\"outcome\":\"{}\",\"reason\":{},\"violations\":{},\"shown\":{}}}",
                         json(check), to_string(verdict.outcome), json(printable(verdict.reason)),
                         verdict.violations, verdict.witnesses.size());
    });
  }

  void find_places() {
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> of_pair;
    for (const NamedVerdict* named : verdicts_) {
      for (const Witness& witness : named->verdict.witnesses) {
        const Witness* wanted = options_.opens_at;
        const bool opens =
            wanted != nullptr && wanted->kind == witness.kind && wanted->events == witness.events;
        if (witness.acquires) {
          const auto [first, second] = std::minmax(witness.acquires->first, witness.acquires->second);
          const auto [at, fresh] = of_pair.try_emplace({first, second}, places_.size());
          if (!fresh) {
            places_[at->second].checks.push_back(named->check);
            if (opens) places_[at->second].first = true;
            continue;
          }
        }
        places_.push_back({&witness, {named->check}, opens});
      }
    }
    std::stable_sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
      if (a.first != b.first) return a.first;
      const bool owners = a.witness->acquires.has_value(), others = b.witness->acquires.has_value();
      return owners != others ? owners : a.witness->from_ns < b.witness->from_ns;
    });
  }
  void write_places() {
    list(places_.size(), [&](std::size_t i) {
      const auto& [witness, checks, first] = places_[i];
      std::vector<std::size_t> marked, held;
      const auto mark = [&](std::size_t lane) {
        if (lane != kNowhere && std::find(marked.begin(), marked.end(), lane) == marked.end())
          marked.push_back(lane);
      };
      for (const std::size_t position : witness->events) {
        const auto hold = hold_of_.find(position);
        if (witness->acquires && hold != hold_of_.end()) held.push_back(hold->second);
        if (!witness->acquires || hold != hold_of_.end()) mark(lanes_.of(events_[position]));
      }
      std::int64_t from_ns = witness->from_ns, to_ns = witness->to_ns;
      if (from_ns == 0 && to_ns == 0 && !witness->events.empty()) {  // it tells of events, not of a stretch
        from_ns = events_[witness->events.front()].time_ns;
        to_ns = events_[witness->events.back()].time_ns;
      }
      std::string names;
      for (const std::string& check : checks) names += (names.empty() ? "" : ",") + json(check);
      return fmt::format(
          "{{\"checks\":[{}],\"kind\":{},\"key\":{},\"from\":{},\"to\":{},\"why\":{},"
          "\"lanes\":[{}],\"holds\":[{}],\"events\":[{}]}}",
          names, json(witness->kind), json(printable(witness->key)), time(from_ns), time(to_ns),
          json(printable(witness->why)), joined(marked), joined(held), joined(witness->events));
    });
  }

  const History& history_;
  const std::vector<Event>& events_;
  const TimelineOptions& options_;
  std::ostream& out_;
  const Wording words_;
  const Pairs pairs_;
  const std::vector<Hold> holds_;
  const TimelineLanes lanes_;
  const std::vector<Outage> outages_;
  const std::vector<ServerRecord> records_;
  std::vector<std::size_t> names_;  // symbol -> number of its text
  std::vector<const NamedVerdict*> verdicts_;
  std::vector<Place> places_;
  std::map<std::size_t, std::size_t> hold_of_;  // position of a grant -> hold
  std::vector<std::string> strings_;
  std::map<std::string, std::size_t> numbers_;
  std::int64_t last_ns_ = 0;
};

}  // namespace

void write_timeline(const History& history, const std::vector<NamedVerdict>& verdicts,
                    const TimelineOptions& options, std::ostream& out) {
  Writer(history, verdicts, options, out).write();
}

}  // namespace holdfast::checker
