// An event loop over steps of clients, in the order of their times.
#include "checker/testing/draw_operations.h"

#include <algorithm>
#include <queue>

#include "checker/testing/draw_register.h"
#include "checker/testing/random.h"

namespace holdfast::checker {

namespace {

enum class Step : std::uint8_t { invoke, arrive, give_up };

struct Scheduled {
  std::int64_t time = 0;
  std::uint64_t number = 0;  // ties: in the order in which they were scheduled
  Step step = Step::invoke;
  std::uint32_t client = 0;
  std::size_t operation = kNowhere;
  bool operator>(const Scheduled& other) const {
    return time != other.time ? time > other.time : number > other.number;
  }
};

struct Client {
  Symbol process = 0;
  int held = 0;  // how often it has entered
  bool shared = false, queued = false;
  std::uint32_t permits = 1;
  Function last = Function::release;
};

class LockDrawing {
 public:
  explicit LockDrawing(const DrawOperations& options)
      : options_(options),
        random_(options.seed),
        model_(find_model(options.model)->make(options.options)),
        state_(model_->initial()),
        clients_(options.clients),
        reentrant_(options.model.starts_with("reentrant")),
        fenced_(options.model.find("fenced") != std::string::npos) {
    for (std::uint32_t i = 0; i < options.clients; ++i) {
      clients_[i].process = next_process_++;
      later(random_.between(1, 200), Step::invoke, i);
    }
  }

  std::vector<Operation> draw() {
    while (!queue_.empty()) {
      const Scheduled now = queue_.top();
      queue_.pop();
      now_ = now.time;
      if (now.step == Step::invoke) invoke(now.client);
      if (now.step == Step::arrive) {
        waiting_.push_back({now.operation, now.client});
        settle();
      }
      if (now.step == Step::give_up) give_up(now.client);
    }
    for (const Waiting& each : waiting_) all_[each.operation].unknown = true;
    if (options_.invalid) spoil();
    std::vector<std::size_t> order(all_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return all_[a].call < all_[b].call; });
    std::vector<Operation> sorted;
    for (const std::size_t at : order) {
      sorted.push_back(all_[at]);
      sorted.back().invoked = 2 * sorted.size() - 2;
      if (!sorted.back().unknown) sorted.back().completed = 2 * sorted.size() - 1;
    }
    return sorted;
  }

 private:
  struct Waiting {
    std::size_t operation = 0;
    std::uint32_t client = 0;
  };
  void later(std::int64_t wait, Step step, std::uint32_t client, std::size_t operation = kNowhere) {
    queue_.push({now_ + wait, number_++, step, client, operation});
  }

  Operation next_request(Client& client) {
    Operation each;
    each.process = each.owner = client.process;
    each.call = now_;
    if (client.held == 0 && !client.queued && now_ > resized_ && random_.chance(options_.resize)) {
      resized_ = kForever;
      each.f = Function::resize;
      each.value = decltype(each.value)(random_.between(1, 2 * options_.options.permits));
      return each;
    }
    const bool again = client.held > 0 && reentrant_ && client.held < 3 && random_.chance(0.3);
    each.f = client.held == 0 || again ? Function::acquire : Function::release;
    if (each.f == Function::acquire && client.held == 0) {
      client.shared = options_.model.ends_with("read-write") && random_.chance(0.6);
      client.permits = 1;
      if (options_.model == "semaphore")
        client.permits = static_cast<std::uint32_t>(
            random_.between(1, std::min<std::int64_t>(options_.options.permits, 2)));
      if (options_.model == "fair" && !client.queued) each.f = Function::queue;
    }
    each.shared = client.shared;
    each.permits = client.permits;
    return each;
  }

  void invoke(std::uint32_t number) {
    Client& client = clients_[number];
    if (all_.size() >= options_.operations && client.held == 0 && !client.queued) return;
    const Operation request = next_request(client);
    all_.push_back(request);
    const std::size_t at = all_.size() - 1;
    const bool may_be_lost = request.f == Function::acquire ? client.held == 0 && !client.queued
                                                            : client.held < 2 && !client.queued;
    if (request.f == Function::queue || request.f == Function::resize || !may_be_lost ||
        !random_.chance(options_.unknown))
      return later(random_.between(1, 200), Step::arrive, number, at);
    all_[at].unknown = true;
    if (request.f != Function::acquire) later(random_.between(1, 10'000), Step::arrive, number, at);
    later(5000, Step::give_up, number, at);
  }

  void give_up(std::uint32_t number) {
    Client& client = clients_[number];
    client = Client();
    client.process = next_process_++;
    later(random_.between(1, 200), Step::invoke, number);
  }

  // Lets happen what can happen, the earliest arrival first.
  void settle() {
    for (std::size_t i = 0; i < waiting_.size();) {
      Operation& each = all_[waiting_[i].operation];
      State after = state_;
      if (fenced_ && each.f == Function::acquire && !each.unknown)
        each.token = decltype(each.token)(next_token_);
      if (!model_->step(after, each)) {
        ++i;
        continue;
      }
      state_ = std::move(after);
      ++next_token_;
      const Waiting done = waiting_[i];
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      if (!each.unknown) complete(done);
      i = 0;
    }
  }

  void complete(const Waiting& done) {
    Operation& each = all_[done.operation];
    Client& client = clients_[done.client];
    const std::int64_t answer = random_.between(1, 200), think = random_.between(1, 200);
    each.ret = now_ + answer;
    if (each.f == Function::queue) client.queued = true;
    if (each.f == Function::resize) resized_ = each.ret;
    if (each.f == Function::acquire) client.queued = false, ++client.held;
    if (each.f == Function::release) --client.held;
    // A place in the queue and the grant are of one call.
    later(answer + (each.f == Function::queue ? 0 : think), Step::invoke, done.client);
  }

  void spoil() {
    std::size_t worst = kNowhere;
    for (std::size_t i = all_.size() * 2 / 3; i < all_.size(); ++i) {
      const Operation& each = all_[i];
      if (each.unknown || each.f != Function::acquire) continue;
      if (worst == kNowhere || each.ret - each.call > all_[worst].ret - all_[worst].call) worst = i;
    }
    if (worst != kNowhere) all_[worst].ret = all_[worst].call + 1;
  }

  const DrawOperations& options_;
  testing::Random random_;
  const std::unique_ptr<Model> model_;
  State state_;
  std::vector<Client> clients_;
  const bool reentrant_, fenced_;
  std::vector<Operation> all_;
  std::vector<Waiting> waiting_;  // arrived, and not yet legal
  std::priority_queue<Scheduled, std::vector<Scheduled>, std::greater<>> queue_;
  std::int64_t now_ = 0, next_token_ = 1;
  std::int64_t resized_ = -1;  // the return of the last resize: there is one at a time
  std::uint64_t number_ = 0;
  Symbol next_process_ = 1;
};

std::vector<Operation> draw_register(const DrawOperations& options, bool with_cas) {
  const DrawnRegister drawn = draw_register_history({.operations = options.operations,
                                                     .clients = options.clients,
                                                     .unknown = options.unknown,
                                                     .seed = options.seed,
                                                     .invalid = options.invalid,
                                                     .with_cas = with_cas});
  auto keys =
      extract_operations(drawn.history, {.by_position = true, .failed_release_ends = false, .locks = false});
  return keys.empty() ? std::vector<Operation>() : std::move(keys.front().operations);
}

}  // namespace

std::vector<Operation> draw_operations(const DrawOperations& options) {
  if (options.model == "cas-register") return draw_register(options, true);
  if (options.model == "register") return draw_register(options, false);
  return LockDrawing(options).draw();
}

}  // namespace holdfast::checker
