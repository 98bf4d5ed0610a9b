#include "sim/replay/beliefs.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "checker/checks/check.h"
#include "checker/checks/truth.h"
#include "checker/history/effects.h"
#include "checker/story/story_lines.h"
#include "checker/story/text_layout.h"
#include "checker/story/timeline_lanes.h"

namespace holdfast::sim {

using checker::EventType;
using checker::Function;
using checker::Symbol;
using Claimed = Replay::Claimed;

namespace {

constexpr std::string_view kWatchdog = "/watchdog";

// "c2/0" before "c10/0".
auto by_number(const std::string& name) {
  const std::size_t slash = std::min(name.find('/'), name.size());
  return std::tuple(slash, name.substr(0, slash), name.size(), name);
}

// What servers hold is told by them, and what commands do by the messages.
bool of_servers(const checker::History& history, const checker::Event& event) {
  if (checker::is_store_event(event)) return true;
  if (event.f != Function::other) return false;
  const std::string_view name = history.text(event.error);
  return name == checker::kRecord || name == checker::kKeyspace;
}

bool of_a_thread(const checker::History& history, const checker::Event& event) {
  if (of_servers(history, event) || checker::of_harness(event.f) || event.f == Function::crash) return false;
  const std::string_view process = history.text(event.process);
  return !process.ends_with(kWatchdog) && process.find('/') != std::string_view::npos;
}

}  // namespace

Beliefs::Beliefs(const checker::History& history, Replay& replay)
    : history_(history), replay_(replay), words_(history), thread_of_(history.symbols(), -1) {
  std::set<std::string> names;
  std::map<Symbol, std::string> of_process;
  for (const Event& event : history.events()) {
    if (!of_a_thread(history, event)) continue;
    const std::string_view process = history.text(event.process);
    names.insert(of_process[event.process] = std::string(process.substr(0, process.find('#'))));
  }
  std::vector<std::string> threads(names.begin(), names.end());
  std::sort(threads.begin(), threads.end(),
            [](const std::string& a, const std::string& b) { return by_number(a) < by_number(b); });
  for (const auto& [process, name] : of_process) {
    const auto at = std::find(threads.begin(), threads.end(), name);
    thread_of_[process] = at - threads.begin();
  }
  for (std::size_t i = 0; i < threads.size(); ++i) now_.push_back({.thread = i});
  for (const std::string& name : threads) replay.threads.push_back(checker::printable(name));
}

std::string Beliefs::text(Symbol symbol) const { return checker::printable(history_.text(symbol)); }

std::optional<std::int64_t> Beliefs::until(const Event& event) const {
  if (event.valid_until_ns == checker::kAbsent) return std::nullopt;
  return event.valid_until_ns - words_.start_ns();
}

void Beliefs::take(std::size_t position, std::int64_t at_ns) {
  const Event& event = history_.events()[position];
  if (of_servers(history_, event)) return;
  tell(event, at_ns);
  if (event.f == Function::effect) return pause(event, at_ns);
  if (event.f == Function::crash) return die(event, at_ns);
  if (checker::of_harness(event.f)) return;
  if (event.f == Function::renew || event.f == Function::lost) return told_of_hold(event, at_ns);
  if (thread_of(event.process) < 0) return;
  const auto thread = static_cast<std::size_t>(thread_of(event.process));
  now_[thread].dead = false;  // a new incarnation
  switch (event.f) {
    case Function::acquire: acquire(thread, event, at_ns); break;
    case Function::queue: claim(thread, text(event.key), at_ns).state = Claimed::queued; break;
    case Function::release: release(thread, event, at_ns); break;
    default: work(thread, event);
  }
  believe(thread, at_ns);
}

void Beliefs::step(std::int64_t at_ns, Replay::Kind kind, std::size_t at) {
  replay_.steps.push_back({.at_ns = at_ns, .kind = kind, .at = static_cast<std::uint32_t>(at)});
}

void Beliefs::tell(const Event& event, std::int64_t at_ns) {
  using Sort = Replay::Told::Sort;
  Replay::Told told;
  told.sort = event.f == Function::fault    ? Sort::fault
              : event.f == Function::effect ? Sort::effect
              : event.f == Function::mark   ? Sort::mark
                                            : Sort::client;
  told.who = text(event.process);
  told.text = event.f == Function::queue
                  ? "is told that it waits for " + text(event.key)
                  : checker::printable(checker::describe_event(history_, event, words_));
  told.lane = thread_of(event.process);
  replay_.told.push_back(std::move(told));
  step(at_ns, Replay::Kind::told, replay_.told.size() - 1);
}

void Beliefs::pause(const Event& event, std::int64_t at_ns) {
  checker::Effect effect{};
  if (!checker::effect_of(history_, event, effect)) return;
  const bool begins = effect == checker::Effect::paused;
  if (!begins && effect != checker::Effect::resumed) return;
  replay_.pauses.push_back({.party = text(event.node), .act = text(event.id), .begins = begins});
  step(at_ns, Replay::Kind::pause, replay_.pauses.size() - 1);
}

void Beliefs::die(const Event& event, std::int64_t at_ns) {
  const std::string client = text(event.process);
  for (std::size_t thread = 0; thread < now_.size(); ++thread) {
    if (checker::client_of(replay_.threads[thread]) != client) continue;
    now_[thread] = {.thread = thread, .dead = true};
    std::erase_if(depths_, [&](const auto& one) { return one.first.first == thread; });
    believe(thread, at_ns);
  }
}

void Beliefs::believe(std::size_t thread, std::int64_t at_ns) {
  replay_.beliefs.push_back(now_[thread]);
  step(at_ns, Replay::Kind::belief, replay_.beliefs.size() - 1);
}

Replay::Claim& Beliefs::claim(std::size_t thread, const std::string& key, std::int64_t at_ns) {
  auto& claims = now_[thread].claims;
  const auto found =
      std::find_if(claims.begin(), claims.end(), [&](const auto& one) { return one.key == key; });
  if (found != claims.end()) return *found;
  return claims.emplace_back(Replay::Claim{.key = key, .id = {}, .since_ns = at_ns});
}

void Beliefs::drop(std::size_t thread, const std::string& key) {
  std::erase_if(now_[thread].claims, [&](const auto& one) { return one.key == key; });
  depths_.erase({thread, key});
}

void Beliefs::acquire(std::size_t thread, const Event& event, std::int64_t at_ns) {
  const std::string key = text(event.key);
  Replay::Claim& now = claim(thread, key, at_ns);
  int& depth = depths_[{thread, key}];
  if (event.type == EventType::ok) {
    if (depth++ == 0) now.since_ns = at_ns;
    now.state = Claimed::holding;
    now.id = text(event.id);
    now.until_ns = until(event);
    now.mode = text(event.mode);
    now.token = event.token.empty() ? "" : history_.shown(event.token);
    now.note = event.node == 0 ? "" : "granted by " + text(event.node);
  } else if (depth == 0) {  // else it holds it already, and holds it still
    if (event.type == EventType::fail) return drop(thread, key);
    now = {.key = key, .id = {}, .since_ns = at_ns};
    now.state = event.type == EventType::invoke ? Claimed::asking : Claimed::unsure;
    now.note = text(event.error);
  }
}

void Beliefs::release(std::size_t thread, const Event& event, std::int64_t at_ns) {
  const std::string key = text(event.key);
  int& depth = depths_[{thread, key}];
  if (event.type == EventType::invoke) {
    if (depth > 0 && --depth > 0) return;
    claim(thread, key, at_ns).state = Claimed::releasing;
  } else if (depth == 0) {
    if (event.type == EventType::ok) return drop(thread, key);
    Replay::Claim& now = claim(thread, key, at_ns);
    now.state = event.type == EventType::fail ? Claimed::lost : Claimed::unsure;
    now.note = text(event.error);
  }
}

void Beliefs::work(std::size_t thread, const Event& event) {
  const bool begins = event.type == EventType::invoke;
  now_[thread].doing =
      begins ? checker::printable(checker::describe_event(history_, event, words_)) : std::string();
}

void Beliefs::told_of_hold(const Event& event, std::int64_t at_ns) {
  const std::string id = text(event.id), client(checker::client_of(text(event.process)));
  if (id.empty() || event.type == EventType::invoke) return;
  for (std::size_t thread = 0; thread < now_.size(); ++thread) {
    if (checker::client_of(replay_.threads[thread]) != client) continue;
    for (Replay::Claim& one : now_[thread].claims) {
      if (one.id != id) continue;
      if (event.f == Function::lost) {
        one.state = Claimed::lost;
        depths_[{thread, one.key}] = 0;
      } else if (event.type == EventType::ok) {
        one.until_ns = until(event);
      }
      one.note = event.f == Function::lost ? "told that it is lost" : "renewed";
      if (event.f == Function::renew && event.type != EventType::ok) one.note = "renewal failed";
      if (event.error != 0) one.note += ": " + text(event.error);
      believe(thread, at_ns);
      return;
    }
  }
}

}  // namespace holdfast::sim
