#include "sim/hunt/shrink.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/hunt/draw_case.h"
#include "sim/scenario/units.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

constexpr unsigned kSeedsAtTheEnd = 20;

std::int64_t number_at(const Value& document, const char* section, const char* key, std::int64_t otherwise) {
  const Value* const table = document.find(section);
  const Value* const value = table == nullptr ? nullptr : table->find(key);
  return value == nullptr ? otherwise : value->integer;
}

void count(const Value& value, Size& size) {
  switch (value.kind) {
    case Value::Kind::table:
      for (const Member& member : value.members) {
        ++size.keys;
        count(member.value, size);
      }
      return;
    case Value::Kind::list:
      for (const Value& item : value.items) count(item, size);
      return;
    // A range says more than a time, and 1730ms more than 2s.
    case Value::Kind::text:
      size.length += value.text.size() + (value.text.find("..") == std::string::npos ? 0 : 4);
      return;
    case Value::Kind::integer:
      size.length += std::to_string(value.integer).size() +
                     static_cast<std::size_t>(std::clamp<std::int64_t>(value.integer, 0, 50));
      return;
    case Value::Kind::real:
    case Value::Kind::flag: size.length += 1; return;
  }
}

// --- candidates ------------------------------------------------------------------------------------------

using Candidates = std::vector<Value>;

// Shorter and rounder than that time.
std::vector<std::string> simpler_times(const std::string& text) {
  std::vector<std::string> times;
  const auto range = parse_duration_range(text);
  if (!range) return times;
  const auto add = [&](Duration time) {
    std::string shown = format_duration(time);
    if (shown != text && std::find(times.begin(), times.end(), shown) == times.end())
      times.push_back(std::move(shown));
  };
  if (!range->fixed()) {
    add(range->low);
    add(range->high);
    add((range->low + range->high) / 2);
    return times;
  }
  const std::int64_t value = range->low.count();
  if (value <= 0) return times;
  std::int64_t unit = 1;
  while (value / unit >= 10) unit *= 10;
  const std::int64_t digit = value / unit;
  for (const std::int64_t round : {std::int64_t{1}, std::int64_t{2}, std::int64_t{5}, std::int64_t{10}}) {
    if (round <= digit + 1 || round == 10) add(Duration(round * unit));
  }
  add(Duration(digit * unit));
  add(Duration((digit + 1) * unit));
  return times;
}

// The same document with one leaf simpler or one key or item gone, for each of them.
void simplify_within(Value& whole, Value& part, const std::string& path, Candidates& out) {
  static const std::set<std::string> kFirm = {
      "schema",        "name",   "about",    "run.seeds",  "lock.kind",
      "workload.kind", "expect", "fault.id", "fault.kind", "cluster.topology"};
  const auto offer = [&] { out.push_back(whole); };
  if (part.kind == Value::Kind::table) {
    for (std::size_t i = 0; i < part.members.size(); ++i) {
      const std::string inner = path.empty() ? part.members[i].key : path + "." + part.members[i].key;
      if (kFirm.contains(inner)) continue;
      const Member kept = part.members[i];
      part.members.erase(part.members.begin() + static_cast<std::ptrdiff_t>(i));
      offer();
      part.members.insert(part.members.begin() + static_cast<std::ptrdiff_t>(i), kept);
      simplify_within(whole, part.members[i].value, inner, out);
    }
    return;
  }
  const Value kept = part;
  if (part.kind == Value::Kind::list) {
    const bool tables = path == "fault";
    for (std::size_t i = 0; i < kept.items.size(); ++i) {
      if (tables) {
        simplify_within(whole, part.items[i], path, out);
      } else if (i + 1 == kept.items.size() && i > 0) {
        part.items.pop_back();
        offer();
        part = kept;
      }
    }
    return;
  }
  if (part.kind == Value::Kind::integer && part.integer > 1) {
    for (const std::int64_t less : {std::int64_t{1}, part.integer / 2, part.integer - 1}) {
      part.integer = less;
      offer();
    }
  } else if (part.kind == Value::Kind::text) {
    if (path == "run.order") {
      part.text = "first-come";
      offer();
    } else if (path == "cluster.persistence") {
      part.text = "none";
      offer();
    } else {
      for (const std::string& time : simpler_times(kept.text)) {
        part.text = time;
        offer();
      }
    }
  }
  part = kept;
}

// Without some of its faults: all, halves, quarters, one.
Candidates without_faults(const Value& document) {
  Candidates out;
  const Value* const faults = document.find("fault");
  if (faults == nullptr) return out;
  const std::size_t count = faults->items.size();
  for (std::size_t chunk = count; chunk > 0; chunk /= 2) {
    for (std::size_t from = 0; from < count; from += chunk) {
      Value fewer = document;
      std::vector<Value>& left = tables_of(fewer, "fault");
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(from),
                 left.begin() + static_cast<std::ptrdiff_t>(std::min(from + chunk, count)));
      if (left.empty()) erase_key(fewer, "fault");
      out.push_back(std::move(fewer));
    }
  }
  return out;
}

// A smaller topology of the same sort of lock.
Candidates smaller_clusters(const Value& document) {
  Candidates out;
  const Value* const cluster = document.find("cluster");
  const Value* const topology = cluster == nullptr ? nullptr : cluster->find("topology");
  if (topology == nullptr || topology->text == "independent") return out;
  const auto with = [&](const char* name, std::vector<const char*> nodes) {
    if (topology->text == name) return;
    Value smaller = document;
    Value& table = section_of(smaller, "cluster");
    set_key(table, "topology", text_value(name));
    std::vector<Value> items;
    for (const char* const node : nodes) items.push_back(text_value(node));
    set_key(table, "nodes", list_value(std::move(items)));
    out.push_back(std::move(smaller));
  };
  with("single", {"r1"});
  if (topology->text != "single") with("primary-replica", {"r1", "r2"});
  return out;
}

// What happens at a time or again and again happens once, at an event in its place.
Candidates event_triggers(const Value& document) {
  Candidates out;
  const Value* const faults = document.find("fault");
  if (faults == nullptr) return out;
  for (std::size_t i = 0; i < faults->items.size(); ++i) {
    if (faults->items[i].find("at") == nullptr && faults->items[i].find("every") == nullptr) continue;
    for (const char* const event : {"lock.granted", "lock.requested", "lock.releasing"}) {
      for (const std::int64_t nth : {1, 2, 3}) {
        Value changed = document;
        Value& fault = tables_of(changed, "fault")[i];
        erase_key(fault, "at");
        erase_key(fault, "every");
        Value after;
        set_key(after, "event", text_value(event));
        set_key(after, "nth", integer_value(nth));
        set_key(fault, "after", after);
        out.push_back(std::move(changed));
      }
    }
  }
  return out;
}

// --- the search --------------------------------------------------------------------------------------------

class Shrinker {
 public:
  Shrinker(const Ground& ground, const HuntCase& from, std::string promise, const ShrinkOptions& options)
      : ground_(ground), best_(from), promise_(std::move(promise)), options_(options) {}

  Shrunk go() {
    bool better = true;
    while (better && !over()) {
      better = pass(without_faults);
      better = pass(smaller_clusters) || better;
      better = pass([](const Value& document) {
                 Candidates out;
                 Value whole = document;
                 simplify_within(whole, whole, "", out);
                 return out;
               }) ||
               better;
    }
    pass(event_triggers, /*simpler=*/false);
    pin();
    Shrunk shrunk{.one = best_, .runs = runs_, .seeds_of_20 = seeds_that_show(best_.document)};
    if (shrunk.seeds_of_20 == kSeedsAtTheEnd) {
      shrunk.one.seed = 1;
      shrunk.one.changes = {};
    }
    shrunk.runs = runs_;
    return shrunk;
  }

 private:
  bool over() const { return runs_ >= options_.runs || (options_.stop && options_.stop()); }

  bool shows(const HuntCase& one) {
    ++runs_;
    return try_case(one).shows(promise_);
  }

  // The case that shows it with this document; nullopt: none of those tried.
  std::optional<HuntCase> showing(const Value& document) {
    if (!fits(ground_, document)) return std::nullopt;
    HuntCase one = best_;
    one.document = document;
    if (shows(one)) return one;
    one.changes = {};
    for (std::uint64_t seed = 1; seed <= options_.seeds && !over(); ++seed) {
      one.seed = seed;
      if (shows(one)) return one;
    }
    return std::nullopt;
  }

  // Takes what is better, and goes on with the candidates of that. `simpler`: by its measure.
  template <class Make>
  bool pass(const Make& make, bool simpler = true) {
    bool any = false;
    for (bool again = true; again && !over();) {
      again = false;
      const std::uint64_t cost = size_of(best_.document).cost();
      for (const Value& candidate : make(best_.document)) {
        if (over()) break;
        if (simpler && size_of(candidate).cost() >= cost) continue;
        std::optional<HuntCase> found = showing(candidate);
        if (!found) continue;
        best_ = std::move(*found);
        any = again = true;
        break;
      }
      if (!simpler) break;
    }
    return any;
  }

  unsigned seeds_that_show(const Value& document) {
    unsigned shown = 0;
    for (std::uint64_t seed = 1; seed <= kSeedsAtTheEnd; ++seed)
      shown += shows({.document = document, .seed = seed}) ? 1 : 0;
    return shown;
  }

  // What is left to chance is fixed where that makes more seeds show it.
  void pin() {
    unsigned shown = seeds_that_show(best_.document);
    for (bool again = true; again && shown < kSeedsAtTheEnd && !over();) {
      again = false;
      Candidates candidates;
      Value whole = best_.document;
      simplify_within(whole, whole, "", candidates);
      for (const char* const latency : {"100us", "1ms"}) {
        Value with = best_.document;
        set_key(section_of(with, "network"), "latency", text_value(latency));
        candidates.push_back(std::move(with));
      }
      for (const Value& candidate : candidates) {
        if (over()) break;
        if (!fits(ground_, candidate)) continue;
        const unsigned now = seeds_that_show(candidate);
        if (now <= shown) continue;
        shown = now;
        best_.document = candidate;
        again = true;
        break;
      }
    }
  }

  const Ground& ground_;
  HuntCase best_;
  const std::string promise_;
  const ShrinkOptions& options_;
  std::uint64_t runs_ = 0;
};

}  // namespace

std::uint64_t Size::cost() const {
  return 2'000 * faults + 600 * tasks + 300 * nodes + 20 * operations + 10 * keys + length;
}

Size size_of(const Value& document) {
  Size size;
  if (const Value* const faults = document.find("fault")) size.faults = faults->items.size();
  size.clients = static_cast<std::size_t>(number_at(document, "workload", "clients", 3));
  size.tasks = size.clients * static_cast<std::size_t>(number_at(document, "workload", "threads", 1));
  size.operations = size.tasks * static_cast<std::size_t>(number_at(document, "workload", "rounds", 10));
  const Value* const cluster = document.find("cluster");
  const Value* const nodes = cluster == nullptr ? nullptr : cluster->find("nodes");
  size.nodes = nodes == nullptr ? 1 : nodes->items.size();
  count(document, size);
  return size;
}

Shrunk shrink(const Ground& ground, const HuntCase& from, const std::string& promise,
              const ShrinkOptions& options) {
  return Shrinker(ground, from, promise, options).go();
}

}  // namespace holdfast::sim
