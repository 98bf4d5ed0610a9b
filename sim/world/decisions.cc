#include "sim/world/decisions.h"

#include <algorithm>

#include "lib/runtime/check.h"

namespace holdfast::sim {

DecisionStream::DecisionStream(Decisions& all, std::string name)
    : all_(all),
      name_(std::move(name)),
      fixed_([this]() -> const std::map<std::uint64_t, std::uint64_t>* {
        const auto found = all_.changes_.fixed.find(name_);
        return found == all_.changes_.fixed.end() ? nullptr : &found->second;
      }()),
      kept_(all_.keep_ ? &all_.drawn_[name_] : nullptr) {}

DecisionStream& DecisionStream::child(std::string_view name) {
  return all_.named(name_ + "/" + std::string(name));
}

void DecisionStream::renew(Rng& rng) {
  const std::vector<Changes::Reseed>& reseeds = all_.changes_.reseeds;
  if (rng.reseeds_ == reseeds.size()) return;
  HF_CHECK(all_.now_ns_ != nullptr, "a reseed needs the world's clock");
  const std::int64_t now = all_.now_ns_();
  for (; rng.reseeds_ < reseeds.size() && reseeds[rng.reseeds_].at_ns <= now; ++rng.reseeds_)
    rng.state_ = Rng::derive(reseeds[rng.reseeds_].seed, name_).state_;
}

std::uint64_t DecisionStream::settle(const Drawn& drawn, std::uint64_t number) {
  std::uint64_t value = drawn.value;
  const auto fixed = fixed_ == nullptr ? decltype(fixed_->end()){} : fixed_->find(number);
  if (fixed_ != nullptr && fixed != fixed_->end()) {
    value = std::clamp(fixed->second, drawn.low, drawn.high);
  } else if (all_.steer_) {
    value = std::clamp(all_.steer_(name_, number, drawn), drawn.low, drawn.high);
  }
  if (kept_ != nullptr) {
    // A fork draws again what its parent draws: the same number, the same decision.
    if (kept_->size() <= number) kept_->resize(number + 1);
    (*kept_)[number] = drawn;
    (*kept_)[number].value = value;
  }
  return value;
}

Rng Decisions::stream(std::uint64_t seed, std::string_view name) {
  Rng made = Rng::derive(seed, name);
  if (keep_ || steer_ || !changes_.empty()) made.stream_ = &named(std::string(name));
  return made;
}

DecisionStream& Decisions::named(const std::string& name) {
  const auto found = streams_.find(name);
  if (found != streams_.end()) return found->second;
  return streams_.try_emplace(name, *this, name).first->second;
}

}  // namespace holdfast::sim
