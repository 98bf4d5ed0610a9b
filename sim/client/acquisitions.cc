#include "sim/client/acquisitions.h"

#include <functional>

namespace holdfast::sim {

Acquisition* Acquisitions::find(std::string_view record) {
  if (latest_ != nullptr && latest_->record == record) return latest_;
  const std::size_t hash = std::hash<std::string_view>()(record);
  for (Acquisition* at = bucket(hash); at != nullptr; at = at->next) {
    if (at->hash == hash && at->record == record) return latest_ = at;
  }
  return nullptr;
}

Acquisition& Acquisitions::add(std::string_view record, checker::Symbol id) {
  for (std::size_t look = order_.size(); look > 0 && order_.size() >= remembered_; --look) {
    Acquisition* const oldest = order_.front();
    order_.pop_front();
    if (oldest->held || oldest->asked_again) {
      oldest->asked_again = false;
      order_.push_back(oldest);
    } else {
      forget(*oldest);
    }
  }
  if (free_.empty()) free_.push_back(&storage_.emplace_back());
  Acquisition& added = *free_.back();
  free_.pop_back();
  added.record.assign(record);
  added.id = id;
  added.asked_again = true;  // or it would be the first to go where all the older ones are in use
  added.hash = std::hash<std::string_view>()(record);
  if (order_.size() >= buckets_.size()) grow();
  added.next = bucket(added.hash);
  bucket(added.hash) = &added;
  order_.push_back(&added);
  return *(latest_ = &added);
}

void Acquisitions::forget(Acquisition& acquisition) {
  Acquisition** link = &bucket(acquisition.hash);
  while (*link != &acquisition) link = &(*link)->next;
  *link = acquisition.next;
  acquisition.granting = acquisition.was_held = acquisition.asked_again = false;
  acquisition.sent_at.reset();
  acquisition.node = 0;
  free_.push_back(&acquisition);
  if (latest_ == &acquisition) latest_ = nullptr;
}

void Acquisitions::begin_anew(Acquisition& acquisition, checker::Symbol id) {
  acquisition.id = id;
  acquisition.granting = acquisition.was_held = false;
  acquisition.sent_at.reset();
  acquisition.node = 0;
}

void Acquisitions::grow() {
  buckets_.assign(2 * buckets_.size(), nullptr);
  for (Acquisition* const acquisition : order_) {
    acquisition->next = bucket(acquisition->hash);
    bucket(acquisition->hash) = acquisition;
  }
}

void Acquisitions::all_over() {
  for (Acquisition* const acquisition : order_) acquisition->held = acquisition->granting = false;
}

void Renewals::begun(checker::Symbol key, std::string_view record, checker::Symbol id) {
  if (under_way_.size() >= remembered_) under_way_.pop_front();
  under_way_.push_back({key, id, std::string(record)});
}

checker::Symbol Renewals::answered(checker::Symbol key, std::string_view record, checker::Symbol id) {
  auto meant = under_way_.end();
  for (auto each = under_way_.begin(); each != under_way_.end(); ++each) {
    if (each->key != key || each->record != record) continue;
    if (meant == under_way_.end()) meant = each;
    if (each->id != id) continue;
    meant = each;
    break;
  }
  if (meant == under_way_.end()) return id;
  const checker::Symbol renewed = meant->id;
  under_way_.erase(meant);
  return renewed;
}

}  // namespace holdfast::sim
