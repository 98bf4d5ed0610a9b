// Why the conditions are enough: models/README.md, "Queues".
#include "checker/linearizability/models/queue.h"

#include <algorithm>
#include <map>
#include <set>

#include "checker/history/structure.h"

namespace holdfast::checker {

std::vector<Operation> prepare_queue(const History& names, const std::vector<Operation>& operations) {
  std::map<ItemText, std::int64_t> numbers;
  std::set<std::int64_t> taken;
  std::vector<Operation> prepared;
  for (const Operation& each : operations) {
    prepared.push_back(each);
    Value& value = prepared.back().value;
    if (each.f == Function::dequeue && each.unknown) {
      value = Value(kAnything);
    } else if (!value.empty()) {
      value = Value(numbers.try_emplace(item_of(names, value), static_cast<std::int64_t>(numbers.size()))
                        .first->second);
      if (each.f == Function::dequeue) taken.insert(value.number());
    } else if (each.f == Function::enqueue) {
      throw BadOperation(each, "an enqueue of nil, which a dequeue from an empty queue returns as well");
    }
  }
  std::erase_if(prepared, [&](const Operation& each) {
    return each.f == Function::enqueue && each.unknown && !taken.contains(each.value.number());
  });
  return prepared;
}

namespace {

using std::string_view_literals::operator""sv;

// One value: where it was put in, and where it was taken out.
struct Element {
  std::int64_t put_call = kForever, put_ret = kForever;    // ret: kForever: of unknown outcome
  std::int64_t take_call = kForever, take_ret = kForever;  // kForever: nobody returned it
};

// Each value by itself, where the order does not count and values may repeat: an enqueue is best placed at
// its call, a dequeue at its return.
std::string_view counted(const std::vector<Operation>& operations) {
  std::vector<std::int64_t> inside;
  for (const Endpoint& each : endpoints_of(operations)) {  // at one time calls come first
    const Operation& operation = operations[each.operation];
    if (operation.unknown && operation.f == Function::dequeue) continue;
    const auto value = static_cast<std::size_t>(operation.value.number());
    if (inside.size() <= value) inside.resize(value + 1, 0);
    if (operation.f == Function::enqueue) {
      inside[value] += each.returns ? 0 : 1;
    } else if (each.returns && --inside[value] < 0) {
      return "dequeue-of-nothing"sv;
    }
  }
  return {};
}

class Deciding {
 public:
  Deciding(const std::vector<Operation>& operations, bool in_order)
      : operations_(operations), in_order_(in_order) {}

  std::optional<std::string_view> decide(std::string& why_not) {
    bool repeated = false, taken_twice = false;
    for (const Operation& each : operations_) {
      if (each.f == Function::dequeue && each.unknown) {
        takes_.push_back(each.call);
        continue;
      }
      if (each.value.empty()) {
        empties_.push_back(&each);
        continue;
      }
      const auto value = static_cast<std::size_t>(each.value.number());
      if (elements_.size() <= value) elements_.resize(value + 1);
      Element& element = elements_[value];
      std::int64_t& call = each.f == Function::enqueue ? element.put_call : element.take_call;
      bool& twice = each.f == Function::enqueue ? repeated : taken_twice;
      twice = twice || call != kForever;
      call = each.call;
      (each.f == Function::enqueue ? element.put_ret : element.take_ret) = each.ret;
    }
    if (repeated) {
      if (!in_order_ && empties_.empty()) return counted(operations_);
      why_not = "a value that was enqueued twice";
      return std::nullopt;
    }
    if (taken_twice) return "dequeued-twice"sv;
    for (const Element& each : elements_) {
      if (each.take_ret != kForever && each.put_call > each.take_ret) return "dequeue-of-nothing"sv;
    }
    std::erase_if(elements_, [](const Element& each) { return each.put_call == kForever; });
    if (in_order_ && !ordered()) return "out-of-order"sv;
    return emptied() ? ""sv : "not-empty"sv;
  }

 private:
  // It was put in, and nobody is known to have taken it out.
  static bool is_left(const Element& each) { return each.take_ret == kForever && each.put_ret != kForever; }

  bool ordered() {
    std::vector<const Element*> by_call, by_return;
    for (const Element& each : elements_) {
      by_call.push_back(&each);
      // One that an unknown dequeue may have taken is looked at below.
      if (each.put_ret != kForever && (takes_.empty() || !is_left(each))) by_return.push_back(&each);
    }
    const auto earlier_call = [](const Element* a, const Element* b) { return a->put_call < b->put_call; };
    const auto earlier_return = [](const Element* a, const Element* b) { return a->put_ret < b->put_ret; };
    std::sort(by_call.begin(), by_call.end(), earlier_call);
    std::sort(by_return.begin(), by_return.end(), earlier_return);
    std::size_t next = 0;
    std::int64_t latest = std::numeric_limits<std::int64_t>::min();
    for (const Element* each : by_call) {
      for (; next < by_return.size() && by_return[next]->put_ret < each->put_call; ++next)
        latest = std::max(latest, by_return[next]->take_call);
      if (each->take_ret != kForever && latest > each->take_ret) return false;
    }
    return takes_.empty() || left_are_taken(by_call);
  }

  // What was put in before a value that was taken out must have been taken by a dequeue of unknown outcome
  // that was invoked before that one returned.
  bool left_are_taken(const std::vector<const Element*>& by_call) {
    std::vector<std::int64_t> first(by_call.size() + 1, kForever);  // return of a take, from here on
    for (std::size_t i = by_call.size(); i-- > 0;) first[i] = std::min(first[i + 1], by_call[i]->take_ret);
    std::vector<std::int64_t> until;
    for (const Element& each : elements_) {
      if (!is_left(each)) continue;
      const auto after = std::partition_point(by_call.begin(), by_call.end(), [&](const Element* other) {
        return other->put_call <= each.put_ret;
      });
      const std::int64_t last = first[static_cast<std::size_t>(after - by_call.begin())];
      if (last != kForever) until.push_back(last);
    }
    std::sort(until.begin(), until.end());
    std::sort(takes_.begin(), takes_.end());
    for (std::size_t i = 0; i < until.size(); ++i) {
      if (i >= takes_.size() || takes_[i] > until[i]) return false;
    }
    return true;
  }

  // A dequeue that found nothing needs a moment at which no value is inside for certain: from the return of
  // its enqueue to the call of its dequeue; of those that are left, as many as there are more of them than
  // dequeues of unknown outcome that were called by then.
  bool emptied() {
    if (empties_.empty()) return true;
    std::vector<std::pair<std::int64_t, std::int64_t>> inside;  // without their ends
    std::vector<std::int64_t> left;
    for (const Element& each : elements_) {
      if (is_left(each)) {
        left.push_back(each.put_ret);
      } else if (each.put_ret < each.take_call) {
        inside.emplace_back(each.put_ret, each.take_call);
      }
    }
    std::sort(left.begin(), left.end());
    std::sort(takes_.begin(), takes_.end());
    for (std::size_t put = 0, taken = 0; put < left.size();) {
      while (taken < takes_.size() && takes_[taken] <= left[put]) ++taken;
      if (++put <= taken) continue;
      const std::int64_t from = left[put - 1];
      // Until as many were called.
      while (put > taken && taken < takes_.size()) {
        while (put < left.size() && left[put] < takes_[taken]) ++put;
        ++taken;
      }
      inside.emplace_back(from, put > taken ? kForever : takes_[taken - 1]);
      if (put > taken) break;
    }
    std::sort(inside.begin(), inside.end());
    std::sort(empties_.begin(), empties_.end(),
              [](const Operation* a, const Operation* b) { return a->call < b->call; });
    // Merged: those that share more than an end.
    std::vector<std::pair<std::int64_t, std::int64_t>> whole;
    for (const auto& each : inside) {
      if (!whole.empty() && each.first < whole.back().second) {
        whole.back().second = std::max(whole.back().second, each.second);
      } else {
        whole.push_back(each);
      }
    }
    std::size_t next = 0;
    for (const Operation* each : empties_) {
      while (next < whole.size() && whole[next].second <= each->call) ++next;
      if (next < whole.size() && whole[next].first < each->call && each->ret < whole[next].second)
        return false;
    }
    return true;
  }

  const std::vector<Operation>& operations_;
  const bool in_order_;
  std::vector<Element> elements_;          // by value
  std::vector<std::int64_t> takes_;        // calls of dequeues of unknown outcome
  std::vector<const Operation*> empties_;  // dequeues that found nothing
};

}  // namespace

std::optional<std::string_view> decide_queue(const std::vector<Operation>& operations, bool in_order,
                                             std::string& why_not) {
  return Deciding(operations, in_order).decide(why_not);
}

}  // namespace holdfast::checker
