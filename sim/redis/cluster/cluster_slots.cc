// Who has which hash slot: by the newest configuration.
#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/redis/hash_slot.h"
#include "sim/redis/cluster/cluster.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {

void Cluster::hear_slots(Peer& sender, const BusMessage& message, BusLink& on) {
  Peer* const claimant = message.primary ? &sender : find(message.follows);
  if (claimant == nullptr || claimant->slots == message.slots) return;
  if (message.primary) claim(sender, message.config_epoch, message.slots);
  // It claims what somebody has by a newer configuration: it has missed that.
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const Peer* const owner = owners_[slot];
    if (!message.slots.test(slot) || is_unclaimed(slot) || owner == claimant) continue;
    if (owner->config_epoch <= message.config_epoch) continue;
    BusMessage update = header(BusMessage::Type::update);
    update.about = owner->id;
    update.about_epoch = owner->config_epoch;
    update.about_slots = owner->slots;
    ++sent_[update.type];
    (sender.link && sender.link->open() ? *sender.link : on).send(update);
    break;
  }
}

void Cluster::own_slot(std::size_t slot, Peer* peer) {
  Peer* const before = owners_[slot];
  if (before != nullptr) {
    before->slots.reset(slot);
    --before->slot_count;
  }
  if (before != nullptr && (before == own_ || before->id == own_->follows)) {
    if (engine_.pubsub().leave_slot(engine_, slot)) has_output_ = true;
  }
  owners_[slot] = peer;
  unclaimed_.reset(slot);
  if (peer == nullptr) return;
  peer->slots.set(slot);
  ++peer->slot_count;
}

// The newest configuration of a slot wins. Whose primary loses its last slot follows who has it now.
void Cluster::claim(Peer& claimant, std::int64_t epoch, const SlotSet& slots) {
  if (&claimant == own_) return;
  Peer& mine = own_primary();
  bool lost = false, changed = false;
  std::vector<std::string> left_over;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    Peer* const owner = owners_[slot];
    if (owner == &claimant) unclaimed_.set(slot, !slots.test(slot));
    if (!slots.test(slot) || owner == &claimant || importing_.contains(slot)) continue;
    if (!is_unclaimed(slot) && owner->config_epoch >= epoch) continue;
    if (owner == &mine) lost = true;
    if (owner == own_) {
      std::vector<std::string> keys = keys_in(slot);
      std::move(keys.begin(), keys.end(), std::back_inserter(left_over));
    }
    own_slot(slot, &claimant);
    changed = true;
  }
  Peer* const above = own_->primary ? nullptr : find(mine.follows);
  if (changed) look_again_ = true;
  if (lost && mine.slots.none()) {
    follow(claimant);
  } else if (above != nullptr && above != own_) {
    follow(*above);  // the one that it follows is a replica itself
  } else if (!left_over.empty()) {
    engine_.delete_keys(0, left_over);
    engine_.finish_batch();
  }
  if (changed) remember();
}

void Cluster::hear_update(const BusMessage& message) {
  Peer* const about = find(message.about);
  if (about == nullptr || about->config_epoch >= message.about_epoch) return;
  if (about == own_) return;
  if (!about->primary) set_primary(*about);
  about->config_epoch = message.about_epoch;
  claim(*about, message.about_epoch, message.about_slots);
  remember();
}

std::vector<std::string> Cluster::keys_in(std::size_t slot) {
  std::vector<const Entry*> entries;  // the newest first
  engine_.db(0).each([&](const Entry& entry) {
    if (redis::hash_slot(*entry.key) == slot) entries.push_back(&entry);
  });
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return a->serial > b->serial; });
  std::vector<std::string> keys;
  for (const Entry* const entry : entries) keys.push_back(*entry->key);
  return keys;
}

bool Cluster::bump_epoch() {
  std::int64_t newest = current_epoch_;
  for (const auto& [id, peer] : peers_) newest = std::max(newest, peer->config_epoch);
  if (own_->config_epoch != 0 && own_->config_epoch == newest) return false;
  own_->config_epoch = ++current_epoch_;
  remember();
  return true;
}

}  // namespace holdfast::sim::embedded
