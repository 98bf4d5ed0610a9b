// An event loop over steps of clients, in the order of their times.
#include "checker/testing/draw_history.h"

#include <algorithm>
#include <queue>
#include <string>
#include <vector>

#include "checker/testing/random.h"

namespace holdfast::checker {

namespace {

enum class Step : std::uint8_t {
  invoke_acquire,
  acquire_arrives,
  acquire_ok,
  acquire_lost,
  invoke_release,
  release_arrives,
  release_ok,
  release_lost,
  release_refused
};

struct Pending {
  std::int64_t time_us;
  std::uint64_t number;  // ties: in the order in which they came up
  Step step;
  std::uint32_t client;
  bool operator>(const Pending& other) const {
    return time_us != other.time_us ? time_us > other.time_us : number > other.number;
  }
};

class Drawing {
 public:
  explicit Drawing(const DrawOptions& options) : options_(options), random_(options.seed) {
    for (std::uint32_t key = 0; key < options.keys; ++key)
      keys_.push_back({history_.intern(std::to_string(key)), {}, false});
    clients_.resize(options.clients);
    history_.reserve(options.operations * 2 + options.clients * 4);
    for (std::uint32_t i = 0; i < options.clients; ++i) {
      clients_[i].number = i;
      clients_[i].process = history_.intern(std::to_string(i));
      later(random_.between(1, 200), Step::invoke_acquire, i);
    }
  }

  History draw() {
    while (!queue_.empty()) {
      const Pending now = queue_.top();
      queue_.pop();
      now_us_ = now.time_us;
      step(now);
    }
    return std::move(history_);
  }

 private:
  struct Key {
    Symbol name;
    std::vector<std::uint32_t> waiters;
    bool held;
  };
  struct Client {
    std::uint64_t number = 0;
    Symbol process = 0;
    std::uint32_t key = 0;
  };

  void later(std::int64_t wait_us, Step step, std::uint32_t client) {
    queue_.push({now_us_ + wait_us, number_++, step, client});
  }
  void record(const Client& client, EventType type, Function f, std::string_view error = {}) {
    Event event;
    event.time_ns = now_us_ * 1000;
    event.process = client.process;
    event.key = keys_[client.key].name;
    event.type = type;
    event.f = f;
    event.error = history_.intern(error);
    history_.append(event);
  }
  void rename(Client& client) {
    client.number += options_.clients;
    client.process = history_.intern(std::to_string(client.number));
  }
  void grant(std::uint32_t client) {
    keys_[clients_[client].key].held = true;
    later(random_.between(1, 200), Step::acquire_ok, client);
  }

  void step(const Pending& now) {
    Client& client = clients_[now.client];
    Key& key = keys_[client.key];
    switch (now.step) {
      case Step::invoke_acquire: {
        if (begun_ + 2 > options_.operations && begun_ > 0) return;
        if (options_.refused > 0 && random_.chance(options_.refused)) {
          record(client, EventType::invoke, Function::release);
          return later(random_.between(1, 200), Step::release_refused, now.client);
        }
        begun_ += 2;  // and its release
        client.key =
            static_cast<std::uint32_t>(random_.between(0, static_cast<std::int64_t>(options_.keys) - 1));
        record(client, EventType::invoke, Function::acquire);
        if (random_.chance(options_.unknown)) {
          --begun_;
          return later(5000, Step::acquire_lost, now.client);
        }
        return later(random_.between(1, 200), Step::acquire_arrives, now.client);
      }
      case Step::acquire_arrives:
        if (key.held) {
          key.waiters.push_back(now.client);
        } else {
          grant(now.client);
        }
        return;
      case Step::acquire_ok:
        record(client, EventType::ok, Function::acquire);
        return later(random_.between(1, 500), Step::invoke_release, now.client);
      case Step::acquire_lost:
        record(client, EventType::info, Function::acquire);
        rename(client);
        return later(random_.between(1, 200), Step::invoke_acquire, now.client);
      case Step::invoke_release:
        record(client, EventType::invoke, Function::release);
        return later(random_.between(1, 200), Step::release_arrives, now.client);
      case Step::release_arrives:
        key.held = false;
        if (!key.waiters.empty()) {
          const auto at =
              static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(key.waiters.size()) - 1));
          const std::uint32_t next = key.waiters[at];
          key.waiters[at] = key.waiters.back();
          key.waiters.pop_back();
          grant(next);
        }
        if (random_.chance(options_.unknown)) return later(5000, Step::release_lost, now.client);
        return later(random_.between(1, 200), Step::release_ok, now.client);
      case Step::release_ok:
        record(client, EventType::ok, Function::release);
        return later(random_.between(1, 200), Step::invoke_acquire, now.client);
      case Step::release_refused:
        record(client, EventType::fail, Function::release, "not-held");
        return later(random_.between(1, 200), Step::invoke_acquire, now.client);
      case Step::release_lost:
        record(client, EventType::info, Function::release);
        rename(client);
        return later(random_.between(1, 200), Step::invoke_acquire, now.client);
    }
  }

  const DrawOptions options_;
  testing::Random random_;
  History history_;
  std::vector<Key> keys_;
  std::vector<Client> clients_;
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> queue_;
  std::int64_t now_us_ = 0;
  std::uint64_t number_ = 0, begun_ = 0;
};

// The last place within 99% where a grant can be moved before the release that made room for it: (release,
// grant).
std::optional<std::pair<std::size_t, std::size_t>> find_place(const History& history) {
  const auto& events = history.events();
  std::vector<std::size_t> asked(history.symbols(), SIZE_MAX), released(history.symbols(), SIZE_MAX);
  std::vector<bool> holds(history.symbols(), false);  // by process
  std::optional<std::pair<std::size_t, std::size_t>> best;
  for (std::size_t i = 0; i < events.size() * 99 / 100; ++i) {
    const Event& event = events[i];
    if (event.type == EventType::invoke && event.f == Function::acquire) asked[event.process] = i;
    if (event.type == EventType::invoke && event.f == Function::release && holds[event.process]) {
      released[event.key] = i;
      holds[event.process] = false;
    }
    if (event.type != EventType::ok || event.f != Function::acquire) continue;
    holds[event.process] = true;
    if (released[event.key] == SIZE_MAX) continue;
    if (asked[event.process] < released[event.key]) best = std::pair(released[event.key], i);
    released[event.key] = SIZE_MAX;
  }
  return best;
}

}  // namespace

DrawnHistory draw_lock_history(const DrawOptions& options) {
  DrawnHistory drawn{Drawing(options).draw(), {}};
  if (!options.invalid) return drawn;
  const auto place = find_place(drawn.history);
  if (!place) return drawn;
  const auto [release, grant] = *place;
  std::vector<std::size_t> order(drawn.history.events().size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::rotate(order.begin() + static_cast<std::ptrdiff_t>(release),
              order.begin() + static_cast<std::ptrdiff_t>(grant),
              order.begin() + static_cast<std::ptrdiff_t>(grant) + 1);
  History moved = drawn.history.subset(order);
  drawn.history = History();
  drawn.history.reserve(order.size());
  // Times follow the order: the grant takes the time of the release before which it stands now.
  std::vector<Event> events = moved.events();
  events[release].time_ns = events[release + 1].time_ns;
  History result = moved.subset({});
  for (Event& event : events) {
    event.process = result.intern(moved.text(event.process));
    event.key = result.intern(moved.text(event.key));
    event.error = result.intern(moved.text(event.error));
    result.append(event);
  }
  drawn.history = std::move(result);
  drawn.violation = release;
  return drawn;
}

}  // namespace holdfast::checker
