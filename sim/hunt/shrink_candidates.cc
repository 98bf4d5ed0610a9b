#include "sim/hunt/shrink_candidates.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "sim/hunt/dice.h"
#include "sim/hunt/draw_case.h"
#include "sim/scenario/units.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

const Value* at_path(const Value& document, const char* section, const char* key) {
  const Value* const table = document.find(section);
  return table == nullptr ? nullptr : table->find(key);
}

const std::string* text_of(const Value& table, const char* key) {
  const Value* const value = table.find(key);
  return value == nullptr || value->kind != Value::Kind::text ? nullptr : &value->text;
}

std::vector<Value> faults_of(const Value& document) {
  const Value* const faults = document.find("fault");
  return faults == nullptr ? std::vector<Value>() : faults->items;
}

Value with_faults(const Value& document, std::vector<Value> faults) {
  Value changed = document;
  if (faults.empty()) {
    erase_key(changed, "fault");
  } else {
    tables_of(changed, "fault") = std::move(faults);
  }
  return changed;
}

// --- faults ------------------------------------------------------------------------------------------------

// Of two delays, where both are fixed; a range loses its width.
std::string sum_of_delays(const std::string* a, const std::string* b) {
  Duration sum{};
  for (const std::string* const one : {a, b}) {
    if (one == nullptr) continue;
    if (const auto range = parse_duration_range(*one)) sum += range->low;
  }
  return format_duration(sum);
}

// `fault` waited for `gone`: now it waits for what that one waited for.
void inherit_trigger(Value& fault, const Value& gone) {
  const Value* const after = fault.find("after");
  const std::string* const delay = text_of(*after, "delay");
  if (const Value* const before = gone.find("after")) {
    Value trigger = *before;
    const std::string sum = sum_of_delays(text_of(trigger, "delay"), delay);
    erase_key(trigger, "delay");
    if (sum != "0s") set_key(trigger, "delay", text_value(sum));
    set_key(fault, "after", trigger);
    return;
  }
  const std::string* const at = text_of(gone, "at");
  const std::string sum = sum_of_delays(at != nullptr ? at : text_of(gone, "every"), delay);
  erase_key(fault, "after");
  set_key(fault, "at", text_value(sum));
}

bool names(const Value& fault, const char* key, const std::set<std::string>& ids) {
  const Value* const table = fault.find(key);
  if (table == nullptr) return false;
  if (table->kind == Value::Kind::text) return ids.contains(table->text);
  const std::string* const id = text_of(*table, "fault");
  return id != nullptr && ids.contains(*id);
}

Value without_faults(const Value& document, std::size_t from, std::size_t count) {
  std::vector<Value> left = faults_of(document);
  const auto begin = left.begin() + static_cast<std::ptrdiff_t>(from);
  const std::vector<Value> gone(begin, begin + static_cast<std::ptrdiff_t>(count));
  left.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  std::set<std::string> ids;
  for (const Value& fault : gone) ids.insert(fault.find("id")->text);
  for (Value& fault : left) {
    for (std::size_t i = 0; i < gone.size() && names(fault, "after", ids); ++i) {
      const std::string first = fault.find("after")->find("fault")->text;
      inherit_trigger(fault, *std::find_if(gone.begin(), gone.end(),
                                           [&](const Value& one) { return one.find("id")->text == first; }));
    }
    if (names(fault, "during", ids)) erase_key(fault, "during");
    if (names(fault, "until", ids)) erase_key(fault, "until");
  }
  return with_faults(document, std::move(left));
}

// --- clients -----------------------------------------------------------------------------------------------

std::optional<std::int64_t> number_of_client(const std::string& text) {
  if (text.size() < 2 || text.size() > 6 || text[0] != 'c' ||
      text.find_first_not_of("0123456789", 1) != std::string::npos)
    return std::nullopt;
  return std::stoll(text.substr(1));
}

void each_text(Value& value, const std::function<void(std::string&)>& see) {
  if (value.kind == Value::Kind::text) see(value.text);
  for (Value& item : value.items) each_text(item, see);
  for (Member& member : value.members) each_text(member.value, see);
}

// The clients that faults name become c1, c2, ... in their order; those above `most` share a name.
Candidate with_clients(const Value& document, std::int64_t most) {
  Candidate candidate{.document = document};
  set_key(section_of(candidate.document, "workload"), "clients", integer_value(most));
  std::set<std::int64_t> named;
  Value* const faults = candidate.document.find("fault");
  if (faults == nullptr) return candidate;
  each_text(*faults, [&](std::string& text) {
    if (const auto number = number_of_client(text)) named.insert(*number);
  });
  if (named.empty() || *named.rbegin() <= most) return candidate;
  std::int64_t next = 0;
  for (const std::int64_t number : named)
    candidate.renamed["c" + std::to_string(number)] = "c" + std::to_string(next++ % most + 1);
  each_text(*faults, [&](std::string& text) {
    const auto found = candidate.renamed.find(text);
    if (found != candidate.renamed.end()) text = found->second;
  });
  return candidate;
}

// Below `now`, the best first, each once.
std::vector<std::int64_t> less_than(std::int64_t now, std::initializer_list<std::int64_t> wanted) {
  std::vector<std::int64_t> less;
  for (const std::int64_t one : wanted) {
    if (one >= 1 && one < now && std::find(less.begin(), less.end(), one) == less.end()) less.push_back(one);
  }
  return less;
}

// --- leaves ------------------------------------------------------------------------------------------------

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

// A lease is of whole seconds, as people write it: a shorter one is kept by no real server.
std::vector<std::string> simpler_leases() { return {"1s", "2s", "5s", "10s"}; }

std::vector<std::string> simpler_texts(const std::string& path, const std::string& text) {
  if (path == "run.order") return {"first-come"};
  if (path == "cluster.persistence") return {"none"};
  if (path == "lock.lease") return simpler_leases();
  if (parse_percent(text)) return {"100%", "50%"};
  return simpler_times(text);
}

// What a scenario is not the same without.
bool firm(const std::string& path) {
  static const std::set<std::string> kFirm = {
      "schema",        "name",   "about",    "run.seeds",  "lock.kind",
      "workload.kind", "expect", "fault.id", "fault.kind", "cluster.topology"};
  return kFirm.contains(path);
}

// Calls `see` for each key and each leaf within `part` of `whole`, which it may change: it is put back.
struct Walk {
  std::function<void(Value& table, std::size_t member, const std::string& path)> key;
  std::function<void(Value& leaf, const std::string& path)> leaf;

  void go(Value& part, const std::string& path) const {
    if (part.kind == Value::Kind::table) {
      for (std::size_t i = 0; i < part.members.size(); ++i) {
        const std::string inner = path.empty() ? part.members[i].key : path + "." + part.members[i].key;
        if (firm(inner)) continue;
        if (key) key(part, i, inner);
        go(part.members[i].value, inner);
      }
    } else if (part.kind == Value::Kind::list && path == "fault") {
      for (Value& item : part.items) go(item, path);
    } else if (leaf) {
      leaf(part, path);
    }
  }
};

}  // namespace

std::int64_t number_at(const Value& document, const char* section, const char* key, std::int64_t otherwise) {
  const Value* const value = at_path(document, section, key);
  return value == nullptr ? otherwise : value->integer;
}

Candidates fewer_faults(const Value& document) {
  Candidates out;
  const std::size_t count = faults_of(document).size();
  for (std::size_t chunk = count; chunk > 0; chunk /= 2) {
    for (std::size_t from = 0; from < count; from += chunk)
      out.push_back({without_faults(document, from, std::min(chunk, count - from))});
  }
  return out;
}

Candidates fewer_clients(const Value& document) {
  Candidates out;
  const Value* const clients = at_path(document, "workload", "clients");
  const std::int64_t now = clients == nullptr ? 3 : clients->integer;
  for (const std::int64_t most : less_than(now, {2, 1, 3, 4, now / 4, now / 2, now - 1}))
    out.push_back(with_clients(document, most));
  return out;
}

Candidates less_work(const Value& document) {
  Candidates out;
  const auto with = [&](std::initializer_list<std::pair<const char*, std::int64_t>> keys) {
    Value changed = document;
    for (const auto& [key, value] : keys) set_key(section_of(changed, "workload"), key, integer_value(value));
    out.push_back({std::move(changed)});
  };
  const auto now = [&](const char* key, std::int64_t otherwise) {
    return number_at(document, "workload", key, otherwise);
  };
  const std::int64_t threads = now("threads", 1), rounds = now("rounds", 10);
  for (const std::int64_t less : less_than(threads, {1, threads / 2, threads - 1})) {
    with({{"threads", less}});
    // As many tasks, in processes of their own.
    if (less == 1) with({{"threads", 1}, {"clients", now("clients", 3) * threads}});
  }
  for (const std::int64_t less : less_than(rounds, {1, 2, rounds / 2, rounds - 1})) with({{"rounds", less}});
  for (const std::int64_t less : less_than(now("depth", 1), {1, now("depth", 1) - 1}))
    with({{"depth", less}});
  return out;
}

Candidates more_work(const Value& document) {
  constexpr std::int64_t kClients = 3, kMostRounds = 64;
  Candidates out;
  const std::int64_t clients = number_at(document, "workload", "clients", kClients);
  for (std::int64_t rounds = 4 * number_at(document, "workload", "rounds", 10); rounds <= kMostRounds;
       rounds *= 2) {
    for (const std::int64_t of : std::set<std::int64_t>{clients, std::max(clients, kClients)}) {
      Value changed = document;
      Value& workload = section_of(changed, "workload");
      set_key(workload, "rounds", integer_value(rounds));
      set_key(workload, "clients", integer_value(of));
      out.push_back({std::move(changed)});
    }
  }
  return out;
}

Candidates smaller_clusters(const Value& document) {
  Candidates out;
  const Value* const topology = at_path(document, "cluster", "topology");
  if (topology == nullptr) return out;
  const auto with = [&](const std::string& name, std::vector<std::string> nodes) {
    Value smaller = document;
    Value& table = section_of(smaller, "cluster");
    set_key(table, "topology", text_value(name));
    std::vector<Value> items;
    for (std::string& node : nodes) items.push_back(text_value(std::move(node)));
    set_key(table, "nodes", list_value(std::move(items)));
    out.push_back({std::move(smaller)});
  };
  const Value* const nodes = at_path(document, "cluster", "nodes");
  if (topology->text == "independent") {
    if (nodes != nullptr && nodes->items.size() > 3) with("independent", {"r1", "r2", "r3"});
    return out;
  }
  if (topology->text == "single") return out;
  with("single", {"r1"});
  with("primary-replica", {"r1", "r2"});
  with("primary-replica", {"r1", "r2", "r3"});
  return out;
}

Candidates fewer_keys(const Value& document) {
  Candidates out;
  Value whole = document;
  const auto offer = [&] { out.push_back({whole}); };
  Walk{.key =
           [&](Value& table, std::size_t i, const std::string& path) {
             if (path == "lock.lease") return;  // thirty seconds are no simpler
             const Member kept = table.members[i];
             const auto at = table.members.begin() + static_cast<std::ptrdiff_t>(i);
             table.members.erase(at);
             offer();
             table.members.insert(table.members.begin() + static_cast<std::ptrdiff_t>(i), kept);
           },
       .leaf =
           [&](Value& leaf, const std::string& path) {
             if (leaf.kind == Value::Kind::list && leaf.items.size() > 1) {
               const Value kept = leaf;
               leaf.items.pop_back();
               offer();
               leaf = kept;
             } else if (path == "network.latency" || path == "run.order") {
               const Value kept = leaf;
               leaf.text = path == "run.order" ? "first-come" : "1ms";
               offer();
               leaf = kept;
             }
           }}
      .go(whole, "");
  return out;
}

Candidates simpler_values(const Value& document) {
  Candidates out;
  Value whole = document;
  Walk{.key = {},
       .leaf =
           [&](Value& leaf, const std::string& path) {
             const Value kept = leaf;
             const auto offer = [&] {
               out.push_back({whole});
               leaf = kept;
             };
             if (leaf.kind == Value::Kind::integer) {
               for (const std::int64_t less :
                    less_than(kept.integer, {1, 2, kept.integer / 2, kept.integer - 1})) {
                 leaf.integer = less;
                 offer();
               }
             } else if (leaf.kind == Value::Kind::text) {
               for (const std::string& simpler : simpler_texts(path, kept.text)) {
                 if (simpler == kept.text) continue;
                 leaf.text = simpler;
                 offer();
               }
             }
           }}
      .go(whole, "");
  return out;
}

Candidate with_plain_ids(const Value& document) {
  std::vector<Value> faults = faults_of(document);
  std::map<std::string, std::string> plain;
  std::set<std::string> taken;
  for (const Value& fault : faults) {
    const std::string& kind = fault.find("kind")->text;
    std::string id = kind;
    for (int i = 2; !taken.insert(id).second; ++i) id = kind + "-" + std::to_string(i);
    plain[fault.find("id")->text] = id;
  }
  const auto rename = [&](Value* value) {
    if (value == nullptr || value->kind != Value::Kind::text) return;
    const auto found = plain.find(value->text);
    if (found != plain.end()) value->text = found->second;
  };
  for (Value& fault : faults) {
    rename(fault.find("id"));
    rename(fault.find("during"));
    for (const char* const key : {"after", "until"}) {
      if (Value* const table = fault.find(key)) rename(table->find("fault"));
    }
  }
  return {with_faults(document, std::move(faults)), std::move(plain)};
}

}  // namespace holdfast::sim
