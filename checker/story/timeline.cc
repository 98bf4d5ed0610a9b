#include "checker/story/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "checker/history/effects.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"
#include "checker/story/story_lines.h"
#include "generated/timeline_page.h"

namespace holdfast::checker {

namespace {

// Text inside a <script> element: no `<` in it, and valid JSON.
std::string json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

class Writer {
 public:
  Writer(const History& history, const std::vector<Witness>& witnesses, const TimelineOptions& options,
         std::ostream& out)
      : history_(history),
        events_(history.events()),
        witnesses_(witnesses),
        options_(options),
        out_(out),
        words_(history),
        pairs_(pair_events(history)),
        holds_(build_holds(history, pairs_, options.reentrant)),
        lane_of_(history.symbols(), kNowhere) {}

  void write() {
    for (const Event& event : events_) last_ns_ = std::max(last_ns_, event.time_ns - words_.start_ns());
    find_lanes();
    const std::string_view page = kTimelinePage, mark = "/*DATA*/";
    const std::size_t at = page.find(mark);
    out_ << page.substr(0, at) << "{\"title\":" << json(options_.title)
         << ",\"begin\":0,\"end\":" << us(last_ns_ + std::max<std::int64_t>(last_ns_ / 50, 1000))
         << ",\n\"lanes\":[";
    for (std::size_t i = 0; i < lanes_.size(); ++i) out_ << (i > 0 ? "," : "") << json(lanes_[i]);
    out_ << "],\n";
    write_operations();
    write_holds();
    write_faults();
    write_overlaps();
    out_ << "\"strings\":[";
    for (std::size_t i = 0; i < strings_.size(); ++i) out_ << (i > 0 ? ",\n" : "") << json(strings_[i]);
    out_ << "]}" << page.substr(at + mark.size());
  }

 private:
  // Microseconds since the start, as a number of JSON.
  static std::string us(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, std::abs(ns % 1000)); }
  std::string time(std::int64_t time_ns) const {
    return us(std::max<std::int64_t>(0, time_ns - words_.start_ns()));
  }

  std::size_t string(std::string text) {
    const auto [at, fresh] = numbers_.try_emplace(std::move(text), strings_.size());
    if (fresh) strings_.push_back(at->first);
    return at->second;
  }
  std::uint64_t index(std::size_t position) const {
    return options_.index.empty() ? position : options_.index[position];
  }

  // Clients' threads under their first name ("c1/0#2" in the lane of "c1/0"), in the order of their first
  // event; nodes last.
  void find_lanes() {
    std::map<std::string, std::size_t, std::less<>> known;
    std::vector<std::string> nodes;
    for (const Event& event : events_) {
      if (of_harness(event.f)) continue;
      const bool store = event.f >= Function::store_grant && event.f <= Function::store_extend;
      const Symbol symbol = store ? event.node : event.process;
      if (lane_of_[symbol] != kNowhere) continue;
      std::string name(history_.text(symbol));
      if (store) {
        if (std::find(nodes.begin(), nodes.end(), name) == nodes.end()) nodes.push_back(name);
        continue;
      }
      name = name.substr(0, name.find('#'));
      const auto [at, fresh] = known.try_emplace(name, lanes_.size());
      if (fresh) lanes_.push_back(name);
      lane_of_[symbol] = at->second;
    }
    for (const std::string& node : nodes) {
      node_lane_[node] = lanes_.size();
      lanes_.push_back("node " + node);
    }
  }
  std::size_t lane(const Event& event) const {
    const bool store = event.f >= Function::store_grant && event.f <= Function::store_extend;
    if (!store) return lane_of_[event.process];
    const auto found = node_lane_.find(std::string(history_.text(event.node)));
    return found == node_lane_.end() ? kNowhere : found->second;
  }

  void write_operations() {
    out_ << "\"ops\":[";
    const char* separator = "";
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if (of_harness(event.f)) continue;
      const bool alone = event.type != EventType::invoke && pairs_.other[i] == kNowhere;
      if (event.type != EventType::invoke && !alone) continue;
      const std::size_t at = lane(event);
      if (at == kNowhere) continue;
      const std::size_t end = alone ? i : pairs_.other[i];
      const bool settled = end != kNowhere && events_[end].type != EventType::info;
      std::string text = fmt::format("{}  [{}]  {}", words_.time(event.time_ns), index(i),
                                     describe_event(history_, event, words_));
      if (end != kNowhere && end != i) {
        text += fmt::format("\n{}  [{}]  {}", words_.time(events_[end].time_ns), index(end),
                            describe_event(history_, events_[end], words_));
      }
      out_ << separator << "[" << at << "," << time(event.time_ns) << ","
           << (settled || alone ? time(events_[end].time_ns) : "-1") << ",\"" << to_string(event.f) << "\",\""
           << (end == kNowhere ? "open" : to_string(events_[end].type)) << "\","
           << string(words_.text(event.key)) << "," << string(std::move(text)) << "]";
      separator = ",\n";
    }
    out_ << "],\n";
  }

  void write_holds() {
    out_ << "\"holds\":[";
    const char* separator = "";
    for (const Hold& hold : holds_) {
      std::string text = fmt::format("{} {}\nheld {} to {}", words_.text(hold.key), words_.grant(hold),
                                     words_.time(hold.from_ns), words_.time(hold.to_ns));
      if (hold.has_claim()) text += "\nvalid until " + words_.time(hold.valid_until_ns);
      if (!hold.renewals.empty()) text += fmt::format("\n{} renewals", hold.renewals.size());
      if (hold.token != kAbsent) text += fmt::format("\ntoken {}", hold.token);
      out_ << separator << "[" << lane_of_[hold.process] << "," << time(hold.from_ns) << ","
           << (hold.to_ns == kForever ? "-1" : time(hold.to_ns)) << ","
           << (hold.has_claim() ? time(hold.valid_until_ns) : "-1") << "," << string(words_.text(hold.key))
           << "," << string(std::move(text)) << ",0]";
      separator = ",\n";
    }
    write_records(separator);
    out_ << "],\n";
  }

  // What the servers had on record (from the ledger): from a grant that took effect to the removal, to the
  // next grant of the key there, or to where the lease ends as the client counts it.
  void write_records(const char* separator) {
    struct Record {
      std::size_t granted = kNowhere;
      std::int64_t to_ns = kForever;
    };
    std::map<Symbol, std::int64_t> valid_until;  // by acquisition
    for (const Hold& hold : holds_) {
      if (hold.id != 0 && hold.has_claim()) valid_until[hold.id] = hold.valid_until_ns;
    }
    std::vector<Record> records;
    std::map<std::pair<Symbol, Symbol>, std::size_t> open;  // node and key -> record
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      const bool grant = event.f == Function::store_grant, remove = event.f == Function::store_remove;
      if (event.type != EventType::ok || event.value == 0 || !(grant || remove)) continue;
      const auto found = open.find({event.node, event.key});
      if (found != open.end()) {
        std::int64_t& to_ns = records[found->second].to_ns;
        to_ns = std::min(to_ns, event.time_ns);
        open.erase(found);
      }
      if (!grant) continue;
      open[{event.node, event.key}] = records.size();
      const auto lease = valid_until.find(event.id);
      records.push_back({i, lease == valid_until.end() ? kForever : lease->second});
    }
    for (const Record& record : records) {
      const Event& event = events_[record.granted];
      if (lane(event) == kNowhere || record.to_ns < event.time_ns) continue;
      std::string text = fmt::format("record of {} at {}, granted at {}", words_.text(event.id),
                                     words_.text(event.node), words_.time(event.time_ns));
      if (record.to_ns != kForever) text += "\nuntil " + words_.time(record.to_ns);
      out_ << separator << "[" << lane(event) << "," << time(event.time_ns) << ","
           << (record.to_ns == kForever || record.to_ns - words_.start_ns() > last_ns_ ? "-1"
                                                                                       : time(record.to_ns))
           << ",-1," << string(words_.text(event.id)) << "," << string(std::move(text)) << ",1]";
      separator = ",\n";
    }
  }

  void write_faults() {
    struct Act {
      Symbol id;
      std::int64_t begin_ns, end_ns;
    };
    std::vector<std::pair<std::string, std::string>> names;  // and kind
    std::map<std::string, std::vector<Act>> acts;
    for (const Event& event : events_) {
      if (event.f != Function::fault) continue;
      const std::string kind = words_.text(event.error),
                        name = event.key != 0 ? words_.text(event.key) : kind;
      auto& mine = acts[name];
      if (mine.empty()) names.emplace_back(name, kind);
      if (event.value != 0) {
        mine.push_back({event.id, event.time_ns, kAbsent});
        continue;
      }
      const auto act = std::find_if(mine.rbegin(), mine.rend(), [&](const Act& one) {
        return one.id == event.id && one.end_ns == kAbsent;
      });
      if (act != mine.rend()) {
        act->end_ns = event.time_ns;
      } else {
        mine.push_back({event.id, words_.start_ns(), event.time_ns});
      }
    }
    out_ << "\"faults\":[";
    for (std::size_t i = 0; i < names.size(); ++i) {
      out_ << (i > 0 ? "," : "") << "{\"name\":" << json(names[i].first)
           << ",\"kind\":" << json(names[i].second) << ",\"acts\":[";
      const auto& mine = acts[names[i].first];
      for (std::size_t k = 0; k < mine.size(); ++k) {
        out_ << (k > 0 ? "," : "") << "[" << time(mine[k].begin_ns) << ","
             << (mine[k].end_ns == kAbsent ? "-1" : time(mine[k].end_ns)) << "]";
      }
      out_ << "]}";
    }
    out_ << "],\n";
  }

  void write_overlaps() {
    out_ << "\"overlaps\":[";
    for (std::size_t i = 0; i < witnesses_.size(); ++i) {
      const Witness& witness = witnesses_[i];
      std::vector<std::size_t> marked;
      if (witness.acquires) {
        marked = {lane(events_[witness.acquires->first]), lane(events_[witness.acquires->second])};
      } else {
        for (const std::size_t position : witness.events) marked.push_back(lane(events_[position]));
      }
      std::sort(marked.begin(), marked.end());
      marked.erase(std::unique(marked.begin(), marked.end()), marked.end());
      marked.erase(std::remove(marked.begin(), marked.end(), kNowhere), marked.end());
      out_ << (i > 0 ? ",\n" : "") << "{\"from\":" << time(witness.from_ns)
           << ",\"to\":" << (witness.to_ns == kForever ? "-1" : time(witness.to_ns))
           << ",\"why\":" << json(witness.why) << ",\"lanes\":[" << fmt::format("{}", fmt::join(marked, ","))
           << "]}";
    }
    out_ << "],\n";
  }

  const History& history_;
  const std::vector<Event>& events_;
  const std::vector<Witness>& witnesses_;
  const TimelineOptions& options_;
  std::ostream& out_;
  const Wording words_;
  const Pairs pairs_;
  const std::vector<Hold> holds_;
  std::vector<std::size_t> lane_of_;  // by process
  std::map<std::string, std::size_t> node_lane_;
  std::vector<std::string> lanes_, strings_;
  std::map<std::string, std::size_t> numbers_;
  std::int64_t last_ns_ = 0;
};

}  // namespace

void write_timeline(const History& history, const std::vector<Witness>& witnesses,
                    const TimelineOptions& options, std::ostream& out) {
  Writer(history, witnesses, options, out).write();
}

}  // namespace holdfast::checker
