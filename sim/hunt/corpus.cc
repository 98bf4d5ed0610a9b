#include "sim/hunt/corpus.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "sim/hunt/draw_case.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

constexpr std::uint64_t kFreshPercent = 40;
constexpr std::uint64_t kBudget = 24;  // children without anything new, and eight more for each that had
constexpr std::size_t kYoung = 64;

Rng rng_of(std::uint64_t seed, std::uint64_t number) {
  return Rng::derive(seed, "run/" + std::to_string(number));
}

}  // namespace

Corpus::Corpus(const Ground& ground, std::uint64_t seed, std::vector<CorpusEntry> entries)
    : ground_(ground), seed_(seed), entries_(std::move(entries)) {
  if (const Value* const faults = ground.given.find("fault")) given_faults_ = faults->items.size();
}

Derived Corpus::draw(std::uint64_t number) const {
  const Rng rng = rng_of(seed_, number);
  Dice dice(rng.child("seed"));
  return {.one = {.document = draw_case(ground_, rng.child("case")), .seed = dice.word() >> 12},
          .parent = {}};
}

Derived Corpus::derive(std::uint64_t number) const {
  Dice dice(rng_of(seed_, number).child("parent"));
  if (dice.percent(kFreshPercent)) return draw(number);
  const std::optional<std::size_t> parent = choose(dice);
  if (!parent) return draw(number);
  const CorpusEntry& entry = entries_[*parent];
  const bool on = entry.moment_ns > 0 && dice.percent(45);
  return {.one = on ? go_on(entry, dice.child("on")) : change(entry.one, dice.child("change")),
          .parent = parent};
}

// One of the youngest as often as any; those that have had their budget are passed over.
std::optional<std::size_t> Corpus::choose(Dice& dice) const {
  if (entries_.empty()) return std::nullopt;
  for (int i = 0; i < 8; ++i) {
    const std::size_t young = std::min(entries_.size(), kYoung);
    const std::size_t at = dice.one_in(2) ? entries_.size() - 1 - dice.between(0, young - 1)
                                          : dice.between(0, entries_.size() - 1);
    if (!entries_[at].spent) return at;
  }
  return std::nullopt;
}

HuntCase Corpus::go_on(const CorpusEntry& from, Dice dice) const {
  HuntCase one = from.one;
  // A little before the moment, so that what led to it can go another way, too.
  const std::int64_t at = from.moment_ns - static_cast<std::int64_t>(dice.between(0, 20)) * 1'000'000;
  std::erase_if(one.changes.reseeds, [&](const Changes::Reseed& reseed) { return reseed.at_ns >= at; });
  one.changes.reseeds.push_back({.at_ns = std::max<std::int64_t>(at, 0), .seed = dice.word()});
  return one;
}

HuntCase Corpus::change(const HuntCase& from, Dice dice) const {
  HuntCase one = from;
  for (std::uint64_t left = dice.between(1, 3), i = 0; i < left; ++i) {
    const Rng rng = Rng::derive(dice.word(), "change");
    const std::uint64_t what = dice.between(1, 100);
    if (what <= 35) {
      if (const auto fault = draw_fault(ground_, one.document, rng))
        tables_of(one.document, "fault").push_back(*fault);
    } else if (what <= 50) {
      Value without = one.document;
      std::vector<Value>& faults = tables_of(without, "fault");
      if (faults.size() <= given_faults_) continue;  // what the file says stays
      faults.erase(faults.begin() +
                   static_cast<std::ptrdiff_t>(dice.between(given_faults_, faults.size() - 1)));
      if (faults.empty()) erase_key(without, "fault");
      if (fits(ground_, without)) one.document = std::move(without);
    } else if (what <= 75) {
      const auto part = static_cast<std::size_t>(dice.between(0, std::size(kParts) - 1));
      one.document = redraw(ground_, one.document, kParts[part], rng);
    } else {
      one.seed = dice.word() >> 12;
      one.changes = {};
    }
  }
  expect_promises(ground_, one.document);
  return one;
}

void Corpus::take(const Derived& derived, const std::vector<Feature>& fresh) {
  if (derived.parent) {
    CorpusEntry& parent = entries_[*derived.parent];
    ++parent.tries;
    if (!fresh.empty()) ++parent.paid;
    if (parent.tries >= kBudget + 8 * parent.paid) {
      parent.spent = true;
      parent.one = {};
    }
  }
  if (!fresh.empty()) entries_.push_back({.one = derived.one, .moment_ns = fresh.front().at_ns});
}

}  // namespace holdfast::sim
