#include "lib/lock/observers/lock_metrics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <exception>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "lib/lock/observers/exposition.h"
#include "lib/redis/failure.h"

namespace holdfast {
namespace {

using Counter = std::atomic<std::uint64_t>;

constexpr std::string_view kOther = "other";
constexpr std::size_t kLongestValue = 128;
constexpr std::array<std::string_view, 4> kModes = {"", "read", "write", kOther};

void count(Counter& counter, std::uint64_t by = 1) { counter.fetch_add(by, std::memory_order_relaxed); }

std::vector<std::uint64_t> values_of(const std::vector<Counter>& counters) {
  return {counters.begin(), counters.end()};
}

class Histogram {
 public:
  explicit Histogram(const std::vector<Duration>& bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void add(Duration value) {
    value = std::max(value, Duration::zero());
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    count(counts_[static_cast<std::size_t>(bucket)]);
    count(sum_ns_, static_cast<std::uint64_t>(value.count()));
  }
  void write(Exposition& out, const MetricLabels& labels) const {
    out.histogram(labels, bounds_, values_of(counts_), sum_ns_);
  }

 private:
  const std::vector<Duration>& bounds_;
  std::vector<Counter> counts_;
  Counter sum_ns_ = 0;
};

// What is counted of one kind, mode and value of the label.
struct Series {
  explicit Series(const std::vector<Duration>& bounds) : wait(bounds), hold(bounds), delay(bounds) {}

  void note(const LockEvent& event, MonotonicTime now) {
    using Kind = LockEvent::Kind;
    const auto time = [&](Histogram& histogram) {
      if (event.since) histogram.add(now - *event.since);
    };
    switch (event.kind) {
      case Kind::acquired: count(grants); return time(wait);
      case Kind::waiting: return count(waits);
      case Kind::refused: return count(refusals);
      case Kind::acquire_failed: return count(acquire_failures);
      case Kind::renewed: count(renewals); return time(delay);
      case Kind::renew_failed: return count(renewal_failures);
      case Kind::released: count(releases); return time(hold);
      case Kind::release_failed: count(release_failures); return time(hold);
      case Kind::lost: count(losses); return time(hold);
      case Kind::extended: return count(extensions);
      case Kind::renewing:
      case Kind::queued: return;
    }
  }

  Counter grants = 0, waits = 0, refusals = 0, acquire_failures = 0, renewals = 0, renewal_failures = 0;
  Counter releases = 0, release_failures = 0, losses = 0, extensions = 0;
  Histogram wait, hold, delay;
};

template <class Member>
struct Family {
  std::string_view name, help;
  Member Series::*member;
};

constexpr Family<Counter> kCounters[] = {
    {"holdfast_lock_grants_total", "Acquires that were granted.", &Series::grants},
    {"holdfast_lock_waits_total", "Acquires that the server refused at first, and that waited.",
     &Series::waits},
    {"holdfast_lock_refusals_total", "Acquires that ended without a grant: somebody else had the lock.",
     &Series::refusals},
    {"holdfast_lock_acquire_failures_total", "Acquires that threw: no server answered, or they were stopped.",
     &Series::acquire_failures},
    {"holdfast_lock_releases_total", "Holds that ended by a confirmed release.", &Series::releases},
    {"holdfast_lock_release_failures_total",
     "Holds that ended by a release that nobody confirmed; it goes on in the background.",
     &Series::release_failures},
    {"holdfast_lock_losses_total", "Holds that were lost: the holder may have worked beside another one.",
     &Series::losses},
    {"holdfast_lock_renewals_total", "Renewals that the server confirmed.", &Series::renewals},
    {"holdfast_lock_renewal_failures_total", "Renewals that were not confirmed, and are tried again.",
     &Series::renewal_failures},
    {"holdfast_lock_extensions_total", "Calls of extend(), and downgrades, that the server confirmed.",
     &Series::extensions},
};

constexpr Family<Histogram> kHistograms[] = {
    {"holdfast_lock_wait_duration_seconds", "From the call of an acquire to its grant.", &Series::wait},
    {"holdfast_lock_hold_duration_seconds", "From a grant to its release or loss.", &Series::hold},
    {"holdfast_lock_renewal_delay_seconds",
     "From when a renewal was due, a third of the lease after the last one, to its confirmation.",
     &Series::delay},
};

struct ClientFamily {
  std::string_view name, help;
  std::uint64_t redis::ClientStatistics::*member;
};

constexpr ClientFamily kClientCounters[] = {
    {"holdfast_redis_commands_total", "Commands that were sent.", &redis::ClientStatistics::commands},
    {"holdfast_redis_unanswered_calls_total", "Calls that ended without an answer.",
     &redis::ClientStatistics::unanswered},
    {"holdfast_redis_connections_total", "Connections that were made.",
     &redis::ClientStatistics::connections},
    {"holdfast_redis_reconnections_total", "Connections that were made in the place of one that was lost.",
     &redis::ClientStatistics::reconnections},
    {"holdfast_redis_connection_failures_total", "Attempts to connect that came to nothing.",
     &redis::ClientStatistics::failed_connections},
};

// One value of the label, with a series for each mode that was seen.
class Value {
 public:
  explicit Value(std::string text) : text_(std::move(text)) {}
  ~Value() {
    for (auto& series : by_mode_) delete series.load();
  }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  const std::string& text() const { return text_; }
  const Series* seen(std::size_t mode) const { return by_mode_[mode]; }
  Series& at(std::string_view mode, const std::vector<Duration>& bounds) {
    const auto known = std::find(kModes.begin(), kModes.end() - 1, mode) - kModes.begin();
    std::atomic<Series*>& place = by_mode_[static_cast<std::size_t>(known)];
    if (Series* const series = place) return *series;
    auto made = std::make_unique<Series>(bounds);
    Series* before = nullptr;
    return place.compare_exchange_strong(before, made.get()) ? *made.release() : *before;
  }

 private:
  const std::string text_;
  std::array<std::atomic<Series*>, kModes.size()> by_mode_ = {};
};

void warn(const LockMetricsOptions& options, const std::string& text) {
  if (options.on_warning) {
    options.on_warning(text);
  } else {
    std::cerr << "holdfast: " + text + '\n';
  }
}

LockMetricsOptions checked(LockMetricsOptions options) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("LockMetrics: " + what); };
  if (options.label.empty() != (options.label_of == nullptr)) refuse("label and label_of belong together");
  const bool taken = options.label == "lock_kind" || options.label == "lock_mode";
  if (!options.label.empty() && (taken || !is_label_name(options.label)))
    refuse("'" + redis::legible(options.label) + "' cannot be the name of a label");
  if (options.most_values == 0 || options.most_values > 65536) refuse("most_values is 1 to 65536");
  const auto& buckets = options.buckets;
  const bool rising =
      std::adjacent_find(buckets.begin(), buckets.end(), std::greater_equal<>()) == buckets.end();
  if (buckets.empty() || buckets.front() <= Duration::zero() || !rising)
    refuse("buckets are above zero and rise");
  return options;
}

}  // namespace

// The values stand in a table that only grows: each place is filled once, so it is read without the mutex.
class LockMetrics::Kind final : public LockObserver {
 public:
  Kind(const LockMetrics& metrics, std::string name)
      : metrics_(metrics),
        name_(std::move(name)),
        mutex_(metrics.runtime_),
        table_(metrics.options_.label.empty() ? 0 : std::bit_ceil(2 * metrics.options_.most_values)),
        rest_(std::string(kOther)) {}

  bool is_quick() const noexcept override { return true; }
  void on_event(const LockEvent& event) noexcept override {
    try {
      Value& value = table_.empty() ? rest_ : value_of(event.key);
      value.at(event.mode, metrics_.options_.buckets).note(event, metrics_.runtime_.now());
    } catch (const std::exception&) {  // no memory for a new series: not counted
    } catch (const TaskCancelled&) {   // the process is being killed
    }
  }

  template <class Write>
  void for_each(const Write& write) const {
    const auto all_of = [&](const Value& value) {
      for (std::size_t mode = 0; mode < kModes.size(); ++mode) {
        const Series* const series = value.seen(mode);
        if (series == nullptr) continue;
        MetricLabels labels = {{"lock_kind", name_}, {"lock_mode", kModes[mode]}};
        if (!table_.empty()) labels.emplace_back(metrics_.options_.label, value.text());
        write(labels, *series);
      }
    };
    std::vector<const Value*> values;
    for (const auto& place : table_) {
      if (const Value* const value = place) values.push_back(value);
    }
    std::ranges::sort(values, {}, &Value::text);
    for (const Value* const value : values) all_of(*value);
    all_of(rest_);
  }

 private:
  Value& value_of(std::string_view key) {
    std::string text(kOther);
    try {
      text = redis::legible(metrics_.options_.label_of(key), kLongestValue);
    } catch (const std::exception&) {
    }
    if (text == kOther) return rest_;
    if (Value* const known = find(text)) return *known;
    return full_ ? rest_ : add(text);
  }

  // The place of that value: where it stands, or would. REQUIRES: the table is never full.
  std::atomic<Value*>& place_of(std::string_view text) {
    for (std::size_t i = std::hash<std::string_view>()(text);; ++i) {
      std::atomic<Value*>& place = table_[i % table_.size()];
      const Value* const value = place;
      if (value == nullptr || value->text() == text) return place;
    }
  }
  Value* find(std::string_view text) { return place_of(text); }

  Value& add(const std::string& text) {
    const std::scoped_lock guard(mutex_);
    std::atomic<Value*>& place = place_of(text);
    if (Value* const known = place) return *known;
    if (values_.size() == metrics_.options_.most_values) {
      if (!full_.exchange(true)) {
        warn(metrics_.options_, "LockMetrics: more than " + std::to_string(values_.size()) +
                                    " values of the label '" + metrics_.options_.label + "' for '" + name_ +
                                    "'; the others count as 'other'");
      }
      return rest_;
    }
    values_.push_back(std::make_unique<Value>(text));
    place = values_.back().get();
    return *values_.back();
  }

  const LockMetrics& metrics_;
  const std::string name_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Value>> values_;
  std::vector<std::atomic<Value*>> table_;  // twice as long as there may be values; empty: no label
  std::atomic<bool> full_ = false;
  Value rest_;  // "other"; everything where there is no label
};

LockMetrics::LockMetrics(Runtime& runtime, LockMetricsOptions options)
    : options_(checked(std::move(options))), runtime_(runtime), mutex_(runtime) {}

LockMetrics::~LockMetrics() = default;

LockObserver* LockMetrics::of(std::string_view kind) {
  const std::string name = redis::legible(kind, kLongestValue);
  const std::scoped_lock guard(mutex_);
  std::unique_ptr<Kind>& found = kinds_[name];
  if (!found) found = std::make_unique<Kind>(*this, name);
  return found.get();
}

void LockMetrics::add_client(std::string name, const redis::Client& client) {
  const std::scoped_lock guard(mutex_);
  clients_[redis::legible(name, kLongestValue)] = &client;
}

std::string LockMetrics::text() const {
  const std::scoped_lock guard(mutex_);
  Exposition out;
  for (const Family<Counter>& family : kCounters) {
    out.family(family.name, "counter", family.help);
    for (const auto& [name, kind] : kinds_) {
      kind->for_each([&](const MetricLabels& labels, const Series& series) {
        out.sample(labels, series.*family.member);
      });
    }
  }
  for (const Family<Histogram>& family : kHistograms) {
    out.family(family.name, "histogram", family.help);
    for (const auto& [name, kind] : kinds_) {
      kind->for_each([&](const MetricLabels& labels, const Series& series) {
        (series.*family.member).write(out, labels);
      });
    }
  }
  for (const ClientFamily& family : kClientCounters) {
    out.family(family.name, "counter", family.help);
    for (const auto& [name, client] : clients_) {
      out.sample({{"client", name}}, client->statistics().*family.member);
    }
  }
  return out.text();
}

}  // namespace holdfast
