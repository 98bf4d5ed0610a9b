// The subscriptions of a client of a Redis Cluster, plain and sharded.
#include <exception>
#include <utility>

#include "lib/redis/cluster_shards.h"
#include "lib/redis/error.h"
#include "lib/redis/hash_slot.h"

namespace holdfast::redis {

// --- plain channels --------------------------------------------------------------------------------------

std::unique_ptr<Subscription> Client::Shards::subscribe(std::string channel,
                                                        std::function<void(std::string_view)> on_message,
                                                        std::function<void()> on_subscribed) {
  const std::uint16_t slot = hash_slot(channel);
  Lock lock(mutex_);
  const std::optional<std::size_t> node = map_.at(slot);
  std::shared_ptr<Pubsub> pubsub;
  for (const Ear& ear : ears_) {
    if (ear.slot == slot || (node && map_.at(ear.slot) == node)) pubsub = ear.pubsub;
  }
  if (!pubsub) {
    pubsub = std::make_shared<Pubsub>(runtime_, *parts_.network, parts_.options, parts_.servers,
                                      [weak = weak_from_this()](std::size_t at) {
                                        if (const auto self = weak.lock()) self->wish(at);
                                      });
    ears_.push_back({slot, pubsub});
    if (node) pubsub->calls_go_to(*node);
  }
  lock.unlock();
  if (!node) wish(std::nullopt);
  return pubsub->subscribe(std::move(channel), std::move(on_message),
                           [told = std::move(on_subscribed)](std::string_view) { told(); });
}

// REQUIRES: the mutex is locked; it is free for a while in between.
void Client::Shards::move_ears(Lock& lock) {
  std::vector<std::pair<std::shared_ptr<Pubsub>, std::size_t>> moves;
  for (const Ear& ear : ears_) {
    if (const std::optional<std::size_t> node = map_.at(ear.slot)) moves.emplace_back(ear.pubsub, *node);
  }
  lock.unlock();
  for (const auto& [pubsub, node] : moves) pubsub->calls_go_to(node);
  lock.lock();
}

// --- sharded channels ------------------------------------------------------------------------------------

class Client::Shards::FollowerHandle final : public Subscription {
 public:
  FollowerHandle(std::shared_ptr<Shards> shards, FollowerPtr follower)
      : shards_(std::move(shards)), follower_(std::move(follower)) {}
  ~FollowerHandle() override {
    try {
      shards_->leave(follower_);
    } catch (const TaskCancelled&) {  // the process is being killed: no callback runs any more
    }
  }

 private:
  const std::shared_ptr<Shards> shards_;
  const FollowerPtr follower_;
};

std::unique_ptr<Subscription> Client::Shards::subscribe_sharded(
    std::string channel, std::function<void(std::string_view)> on_message,
    std::function<void(std::string_view)> on_subscribed) {
  auto follower = std::make_shared<Follower>();
  follower->slot = hash_slot(channel);
  follower->channel = std::move(channel);
  follower->on_message = std::move(on_message);
  follower->on_subscribed = [this, which = follower.get(),
                             told = std::move(on_subscribed)](std::string_view node) {
    {
      const Lock lock(mutex_);
      which->failed = 0;
    }
    told(node);
  };
  auto handle = std::make_unique<FollowerHandle>(shared_from_this(), follower);
  Lock lock(mutex_);
  followers_.push_back(follower);
  const bool known = map_.at(follower->slot).has_value();
  if (known) settle(lock, follower);
  const bool settled = known && !follower->stray;  // it may have been sent on before it had an ear
  lock.unlock();
  if (!settled) wish(std::nullopt);
  return handle;
}

// Brings it to where its slot is, as far as is known. REQUIRES: the mutex is locked; it is free for a while
// in between. Throws Error (unavailable): no task could be started there.
void Client::Shards::settle(Lock& lock, const FollowerPtr& follower) {
  const std::optional<std::size_t> node = map_.at(follower->slot);
  if (!node || stopping_ || follower->gone || follower->moving) return;
  if (follower->ear && !follower->stray) {
    if (follower->node == node) return;
    if (follower->sent_in_epoch && map_.epoch <= *follower->sent_in_epoch) return;
  }
  follower->moving = true;
  follower->stray = false;
  follower->node = node;
  std::unique_ptr<Subscription> ear = std::move(follower->ear);
  const std::shared_ptr<Pubsub> pubsub = sharded_at(*node);
  lock.unlock();
  ear.reset();  // from here on it hears nothing of what is said there
  std::exception_ptr problem;
  try {
    ear = pubsub->subscribe(follower->channel, follower->on_message, follower->on_subscribed);
  } catch (const Error&) {
    problem = std::current_exception();
  }
  lock.lock();
  follower->ear = std::move(ear);
  follower->moving = false;
  settled_.notify_all();
  if (problem) std::rethrow_exception(problem);
}

// Whoever cannot be brought there now is brought there after the next map.
void Client::Shards::settle_all(Lock& lock) {
  const std::vector<FollowerPtr> all(followers_.begin(), followers_.end());
  for (const FollowerPtr& follower : all) {
    try {
      settle(lock, follower);
    } catch (const Error&) {  // no threads left?
    }
  }
}

// On the task of a Pubsub.
void Client::Shards::went_astray(std::size_t node, const std::string& channel, const Reply* moved) {
  {
    const Lock lock(mutex_);
    const std::optional<std::size_t> to = moved != nullptr ? redirected_to(*moved, node) : std::nullopt;
    for (const FollowerPtr& follower : followers_) {
      if (follower->node != node || follower->channel != channel || follower->stray) continue;
      follower->stray = true;
      follower->sent_in_epoch = to ? std::optional(map_.epoch) : std::nullopt;
      ++follower->failed;
    }
    if (to && !map_.nodes.empty()) map_.nodes[hash_slot(channel)] = static_cast<std::uint16_t>(*to);
  }
  wish(std::nullopt);
}

void Client::Shards::leave(const FollowerPtr& follower) {
  Lock lock(mutex_);
  follower->gone = true;
  std::erase(followers_, follower);
  while (follower->moving) settled_.wait(lock);
  const std::unique_ptr<Subscription> ear = std::move(follower->ear);
  lock.unlock();  // the end of the other one waits for its callbacks
}

// REQUIRES: the mutex is locked.
std::shared_ptr<Pubsub> Client::Shards::sharded_at(std::size_t node) {
  std::shared_ptr<Pubsub>& pubsub = sharded_[node];
  if (!pubsub) {
    pubsub = std::make_shared<Pubsub>(runtime_, *parts_.network, parts_.options, parts_.servers,
                                      [weak = weak_from_this()](std::size_t at) {
                                        if (const auto self = weak.lock()) self->wish(at);
                                      });
    pubsub->be_sharded(
        [weak = weak_from_this()](std::size_t at, const std::string& channel, const Reply* to) {
          if (const auto self = weak.lock()) self->went_astray(at, channel, to);
        });
    pubsub->calls_go_to(node);
  }
  return pubsub;
}

}  // namespace holdfast::redis
