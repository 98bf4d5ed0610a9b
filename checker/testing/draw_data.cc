#include "checker/testing/draw_data.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "checker/testing/random.h"

namespace holdfast::checker {

namespace {

constexpr int kItems = 5;

struct Request {
  Function f = Function::read;
  int item = 0;
  std::int64_t value = 0;
  std::uint32_t process = 0;
  std::int64_t call = 0, takes_effect = -1, ret = -1;  // -1: never
  bool reads() const { return f == Function::read || f == Function::dequeue; }
};

class Drawing {
 public:
  explicit Drawing(const DrawData& options) : options_(options), random_(options.seed) {}

  History draw() {
    ask();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i].takes_effect >= 0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return requests_[a].takes_effect < requests_[b].takes_effect;
    });
    answers_.resize(requests_.size());
    for (const std::size_t at : order) answers_[at] = happen(requests_[at]);
    if (options_.invalid) spoil();
    return write();
  }

 private:
  void ask() {
    std::vector<std::pair<std::int64_t, std::uint32_t>> clients;  // next call, process
    for (std::uint32_t i = 0; i < options_.clients; ++i) clients.emplace_back(random_.between(1, 200), i);
    std::uint32_t next_process = options_.clients;
    while (requests_.size() < options_.operations) {
      auto& [time, process] = *std::min_element(clients.begin(), clients.end());
      Request request = next_request();
      request.process = process;
      request.call = time;
      const bool reads_only =
          request.f == Function::read || (request.f == Function::txn && request.value == 0);
      if (!reads_only && random_.chance(options_.unknown)) {
        if (random_.chance(0.5)) request.takes_effect = time + random_.between(1, 10'000);
        time += 5000;
        process = next_process++;
      } else {
        request.takes_effect = time + random_.between(1, 200);
        request.ret = request.takes_effect + random_.between(1, 200);
        time = request.ret + random_.between(1, 200);
      }
      requests_.push_back(request);
    }
  }

  Request next_request() {
    Request request;
    request.item = static_cast<int>(random_.between(0, kItems - 1));
    request.value = static_cast<std::int64_t>(requests_.size()) + 1;
    const bool changes = random_.chance(0.5);
    const std::string& model = options_.model;
    if (model == "kv") {
      request.f = !changes ? Function::read : random_.chance(0.2) ? Function::write : Function::append;
    } else if (model == "multi-register") {
      request.f = Function::txn;
      if (!changes) request.value = 0;
    } else if (model == "set" || model == "counter") {
      // Few reads of a set: each has all that is inside.
      request.f = changes || (model == "set" && random_.chance(0.9)) ? Function::add : Function::read;
      if (model == "counter") request.value = random_.between(1, 3);
    } else {
      request.f = changes ? Function::enqueue : Function::dequeue;
    }
    return request;
  }

  std::string text_of(std::int64_t value) const { return "v" + std::to_string(value) + ";"; }

  // What is answered, as it stands in a history.
  std::string happen(const Request& request) {
    const auto item = static_cast<std::size_t>(request.item);
    const auto number = [](std::int64_t value) { return value == 0 ? "nil" : std::to_string(value); };
    switch (request.f) {
      case Function::write: texts_[item] = text_of(request.value); return texts_[item];
      case Function::append: texts_[item] += text_of(request.value); return text_of(request.value);
      case Function::txn: {
        const std::size_t other = (item + 1) % kItems;
        std::string text = "[[:r " + std::to_string(item) + " " + number(registers_[item]) + "]";
        if (request.value == 0) {
          text += " [:r " + std::to_string(other) + " " + number(registers_[other]) + "]";
        } else {
          text += " [:w " + std::to_string(other) + " " + number(request.value) + "]";
          registers_[other] = request.value;
        }
        return text + "]";
      }
      case Function::add:
        sum_ += request.value;
        inside_.push_back(request.value);
        return std::to_string(request.value);
      case Function::enqueue: inside_.push_back(request.value); return std::to_string(request.value);
      case Function::dequeue: {
        if (inside_.empty()) return "nil";
        const std::size_t which =
            options_.model == "fifo-queue" ? 0 : static_cast<std::size_t>(random_.next() % inside_.size());
        const std::int64_t taken = inside_[which];
        inside_.erase(inside_.begin() + static_cast<std::ptrdiff_t>(which));
        return std::to_string(taken);
      }
      default: break;
    }
    if (options_.model == "kv") return texts_[item];
    if (options_.model == "counter") return std::to_string(sum_);
    std::string text = "[";
    for (const std::int64_t each : inside_) text += (text.size() > 1 ? " " : "") + std::to_string(each);
    return text + "]";
  }

  // The answer of an operation in the last third becomes that of one in the first third that differs.
  void spoil() {
    const auto fits = [&](std::size_t at) {
      const Request& each = requests_[at];
      return each.ret >= 0 && (each.reads() || (each.f == Function::txn && each.value == 0));
    };
    for (std::size_t late = requests_.size() * 5 / 6; late-- > requests_.size() * 2 / 3;) {
      for (std::size_t early = 0; fits(late) && early < requests_.size() / 3; ++early) {
        const bool same = requests_[early].item == requests_[late].item;
        if (!fits(early) || !same || answers_[early] == answers_[late] || answers_[early] == "nil") continue;
        answers_[late] = answers_[early];
        return;
      }
    }
  }

  Value value_of(const std::string& text) {
    if (text == "nil") return {};
    if (text.starts_with('[')) return history_.structure(text);
    if (options_.model == "kv") return history_.text_value(text);
    return history_.number(text);
  }
  std::string asked(const Request& request) {
    if (request.reads()) return "nil";
    if (request.f == Function::write || request.f == Function::append) return text_of(request.value);
    if (request.f != Function::txn) return std::to_string(request.value);
    const std::string other = std::to_string((request.item + 1) % kItems);
    return "[[:r " + std::to_string(request.item) + " nil] " +
           (request.value == 0 ? "[:r " + other + " nil]]"
                               : "[:w " + other + " " + std::to_string(request.value) + "]]");
  }

  History write() {
    struct Point {
      std::int64_t time;
      std::size_t at;
      bool returns;
    };
    std::vector<Point> points;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      points.push_back({requests_[i].call, i, false});
      if (requests_[i].ret >= 0) points.push_back({requests_[i].ret, i, true});
    }
    std::stable_sort(points.begin(), points.end(),
                     [](const Point& a, const Point& b) { return a.time < b.time; });
    for (const Point& point : points) {
      const Request& request = requests_[point.at];
      Event event;
      event.time_ns = point.time * 1000;
      event.process = history_.intern(std::to_string(request.process));
      if (options_.model == "kv") event.key = history_.intern("k" + std::to_string(request.item));
      event.f = request.f;
      event.type = point.returns ? EventType::ok : EventType::invoke;
      event.value = value_of(point.returns ? answers_[point.at] : asked(request));
      history_.append(event);
    }
    return std::move(history_);
  }

  const DrawData& options_;
  testing::Random random_;
  std::vector<Request> requests_;
  std::vector<std::string> answers_;
  std::array<std::string, kItems> texts_;
  std::array<std::int64_t, kItems> registers_{};
  std::deque<std::int64_t> inside_;
  std::int64_t sum_ = 0;
  History history_;
};

}  // namespace

History draw_data_history(const DrawData& options) { return Drawing(options).draw(); }

}  // namespace holdfast::checker
