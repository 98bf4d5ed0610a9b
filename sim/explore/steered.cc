#include "sim/explore/steered.h"

#include <algorithm>
#include <string_view>

#include "sim/explore/same_history.h"

namespace holdfast::sim {
namespace {

// What is drawn of a fault's place: beforehand, or at each place whether it is the one.
constexpr std::string_view kOrder = "order", kNth = "/nth", kPlace = "/place";

// Of a hundred, whether it is one of so many: in two ways.
bool is_part(const std::string& stream) {
  return stream.ends_with("/readers") || stream.ends_with("/interrupts");
}

// What a stream is for: "network/c1/r1/request" -> "network", "fault/die/1" -> "fault/die".
std::string purpose_of(const std::string& stream) {
  if (is_part(stream)) return stream.substr(stream.rfind('/') + 1);
  const std::size_t first = stream.find('/');
  if (!stream.starts_with("fault/")) return stream.substr(0, first);
  return stream.substr(0, stream.find('/', first + 1));
}

}  // namespace

Steered::Steered(const HuntCase& one, const ExploreOptions& options, Chooser& chooser,
                 std::vector<Noted>* noted, const Scenario* parsed)
    : options_(options), chooser_(chooser), noted_(noted) {
  Decisions decisions;
  decisions.steer([this](const std::string& stream, std::uint64_t number, const Drawn& drawn) {
    return settle(stream, number, drawn);
  });
  decisions.keep_past(past_);
  if (options_.reduce) {
    past_.on_moment([this](bool crossed) {
      if (crossed) chooser_.crossed();
      return chooser_.moment(past_.state(options_.forgotten));
    });
  }
  const auto look = [this](const RunResult& run) {
    history_ = digest_of_same(run.history);
    if (!run.history.events().empty()) begin_ns_ = run.history.events().front().time_ns;
  };
  trial_ = try_case(one, {.decisions = &decisions, .parsed = parsed, .look = look});
  if (past_.crossed()) chooser_.crossed();
  if (past_.cut()) trial_ = {};
}

std::vector<std::uint64_t> Steered::values_of(const std::string& stream, const Drawn& drawn) const {
  std::vector<std::uint64_t> values;
  if (drawn.high - drawn.low < 3) {
    for (std::uint64_t value = drawn.low; value <= drawn.high; ++value) values.push_back(value);
    return values;
  }
  values.push_back(drawn.low);
  const std::uint64_t twice = drawn.low < drawn.high / 2 ? 2 * drawn.low : drawn.high;
  if (options_.twice && !is_part(stream) && twice > drawn.low && twice < drawn.high) values.push_back(twice);
  values.push_back(drawn.high);
  return values;
}

std::uint64_t Steered::settle(const std::string& stream, std::uint64_t number, const Drawn& drawn) {
  if (drawn.kind == Drawn::Kind::word) return drawn.value;
  if (stream == kOrder) return order(number, drawn);
  if (stream.ends_with(kNth)) return place(stream, drawn);
  if (stream.ends_with(kPlace)) {
    const Drawn here{.kind = drawn.kind, .low = drawn.low, .high = std::min(drawn.low + 1, drawn.high)};
    const std::string nth = stream.substr(0, stream.size() - kPlace.size()) + std::string(kNth);
    settled_[nth].try_emplace(0, drawn.high);
    return place(nth, here) == drawn.low ? drawn.low : drawn.high;
  }
  const std::vector<std::uint64_t> values = values_of(stream, drawn);
  // A fork of a stream draws again what its parent draws: the same number, the same decision.
  auto& of_stream = settled_[stream];
  const auto found = of_stream.find(number);
  std::uint64_t value = values.front();
  if (found != of_stream.end()) {
    value = found->second;
  } else if (values.size() > 1) {
    const bool chance = drawn.kind == Drawn::Kind::chance;
    const Turn turn = chance ? Turn::fault : Turn::time;
    note(chance ? Noted::Kind::chance : Noted::Kind::time, stream, number, values);
    const std::uint32_t choice =
        chooser_.choose(static_cast<std::uint32_t>(values.size()), static_cast<std::size_t>(turn));
    value = values[choice];
    of_stream[number] = value;
    if (choice > 0) otherwise_.push_back({stream, drawn.kind, number, values.front(), value});
    ExploreState::Values& its = values_[purpose_of(stream)];
    its.kind = drawn.kind;
    its.of_a_draw.insert(values);
  }
  past_.took(value);
  return value;
}

void Steered::note(Noted::Kind kind, const std::string& stream, std::uint64_t number,
                   std::vector<std::uint64_t> values, std::vector<std::string> tasks) {
  if (noted_ == nullptr) return;
  noted_->push_back({.kind = kind,
                     .stream = stream,
                     .number = number,
                     .at_ns = past_.now_ns(),
                     .values = std::move(values),
                     .tasks = std::move(tasks)});
}

// Of the tasks that can run: those of the party that goes on as usual, and those that have nothing to do with
// it at this moment, as far as one knows.
std::uint64_t Steered::order(std::uint64_t number, const Drawn& drawn) {
  if (drawn.low == drawn.high) return drawn.low;
  const std::vector<bool>& alike = past_.alike();
  std::uint64_t apart = 0;
  for (std::size_t i = 0; options_.reduce && i < alike.size() && i < 64; ++i) {
    if (!alike[i]) apart |= std::uint64_t{1} << i;
  }
  const auto choices = static_cast<std::uint32_t>(drawn.high - drawn.low + 1);
  if (noted_ != nullptr) note(Noted::Kind::order, std::string(kOrder), number, {}, past_.tasks());
  const std::uint32_t choice = chooser_.choose(choices, static_cast<std::size_t>(Turn::order), apart);
  settled_[std::string(kOrder)][number] = choice;
  if (choice > 0) otherwise_.push_back({std::string(kOrder), drawn.kind, number, 0, choice});
  return choice;
}

// The last place is the usual one, which may lie beyond the end of the run.
std::uint64_t Steered::place(const std::string& stream, const Drawn& drawn) {
  std::uint64_t& settled = settled_[stream].try_emplace(0, drawn.high).first->second;
  ExploreState::Values& its = values_[purpose_of(stream)];
  its.places = true;
  its.of_a_draw.insert({settled, drawn.low});
  for (std::uint64_t value = drawn.low; value < drawn.high; ++value) {
    note(Noted::Kind::place, stream, value);
    if (chooser_.choose(2, static_cast<std::size_t>(Turn::fault)) == 0) continue;
    otherwise_.push_back({stream, drawn.kind, 0, settled, value});
    past_.took(value);
    return settled = value;
  }
  return drawn.high;
}

}  // namespace holdfast::sim
