// The words of an event's other fields: a mask that tells which are there, then each; fields of 64 bits take
// two words.
#include "checker/history/packed_history.h"

#include "checker/invariant.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

static_assert(static_cast<unsigned>(Function::other) < 32, "five bits");

// The fields in the order in which they are written.
constexpr Value Event::*kValues[] = {&Event::token, &Event::value};
constexpr Symbol Event::*kNarrow[] = {&Event::id,   &Event::owner, &Event::mode,
                                      &Event::node, &Event::error, &Event::permits};
constexpr std::uint32_t kProcess = std::uint32_t{1} << 9;

}  // namespace

PackedHistory PackedHistory::pack(const History& history) {
  PackedHistory packed(history);
  for (const Event& event : history.events()) packed.append(event);
  return packed;
}

void PackedHistory::append(const Event& event) {
  const std::size_t at = size_ % kBlock;
  if (at == 0) {
    if (!blocks_.empty()) blocks_.back()->more.shrink_to_fit();
    blocks_.push_back(std::make_unique_for_overwrite<Block>());
  }
  Block& block = *blocks_.back();
  if (at % kStep == 0) block.begins[at / kStep] = static_cast<std::uint32_t>(block.more.size());
  const std::size_t begin = block.more.size();
  std::uint32_t mask = 0, bit = 1;
  block.more.push_back(0);
  const auto push = [&](std::int64_t wide, bool there) {
    if (there) {
      const auto bits = static_cast<std::uint64_t>(wide);
      block.more.push_back(static_cast<std::uint32_t>(bits));
      block.more.push_back(static_cast<std::uint32_t>(bits >> 32));
      mask |= bit;
    }
    bit <<= 1;
  };
  push(event.valid_until_ns, event.valid_until_ns != kAbsent);
  for (const auto field : kValues) push((event.*field).bits(), !(event.*field).empty());
  for (const auto field : kNarrow) {
    if (event.*field != 0) {
      block.more.push_back(event.*field);
      mask |= bit;
    }
    bit <<= 1;
  }
  Symbol process = event.process;
  if (process >= kManyProcesses) {
    block.more.push_back(process);
    mask |= kProcess;
    process = kManyProcesses;
  }
  if (mask == 0) {
    block.more.pop_back();
  } else {
    block.more[begin] = mask;
  }
  block.fixed[at] = {.time_ns = event.time_ns,
                     .key = event.key,
                     .bits = static_cast<std::uint32_t>(event.type) |
                             (static_cast<std::uint32_t>(event.f) << 2) |
                             (std::uint32_t{mask != 0 ? 1U : 0U} << 7) | (process << 8)};
  ++size_;
}

Event PackedHistory::plain(const Fixed& core) {
  Event event;
  event.time_ns = core.time_ns;
  event.key = core.key;
  event.process = core.process();
  event.type = core.type();
  event.f = core.f();
  return event;
}

Event PackedHistory::decode(const Fixed& core, const std::uint32_t*& more) {
  Event event = plain(core);
  const std::uint32_t mask = *more++;
  std::uint32_t bit = 1;
  const auto pop = [&](std::uint64_t otherwise) {
    std::uint64_t bits = otherwise;
    if ((mask & bit) != 0) {
      bits = std::uint64_t{more[0]} | (std::uint64_t{more[1]} << 32);
      more += 2;
    }
    bit <<= 1;
    return bits;
  };
  event.valid_until_ns = static_cast<std::int64_t>(pop(static_cast<std::uint64_t>(kAbsent)));
  for (const auto field : kValues) event.*field = Value::from_bits(pop(0));
  for (const auto field : kNarrow) {
    if ((mask & bit) != 0) event.*field = *more++;
    bit <<= 1;
  }
  if ((mask & kProcess) != 0) event.process = *more++;
  if (HOLDFAST_PLANTED(packed_owner_dropped)) event.owner = 0;
  if (HOLDFAST_PLANTED(packed_mode_dropped)) event.mode = 0;
  return event;
}

Event PackedHistory::event(std::size_t position) const {
  CHECKER_INVARIANT(position < size_, "an event that is there");
  const Block& block = *blocks_[position / kBlock];
  const std::size_t at = position % kBlock;
  const std::uint32_t* more = block.more.data() + block.begins[at / kStep];
  for (std::size_t i = at / kStep * kStep; i < at; ++i) {
    if (block.fixed[i].more()) decode(block.fixed[i], more);
  }
  return block.fixed[at].more() ? decode(block.fixed[at], more) : plain(block.fixed[at]);
}

History PackedHistory::unpack() const {
  History history = names_;
  history.reserve(size_);
  for_each([&](std::size_t, const Fixed& core) { history.append(plain(core)); },
           [&](std::size_t, const Fixed&, const Event& event) { history.append(event); });
  return history;
}

History PackedHistory::subset(const std::vector<std::size_t>& positions) const {
  History all = names_;
  std::vector<std::size_t> chosen;
  for (const std::size_t position : positions) {
    chosen.push_back(all.events().size());
    all.append(event(position));
  }
  return all.subset(chosen);
}

std::uint64_t PackedHistory::bytes() const {
  std::uint64_t sum = blocks_.capacity() * sizeof(void*);
  for (const auto& block : blocks_) sum += sizeof(Block) + block->more.capacity() * sizeof(std::uint32_t);
  return sum;
}

}  // namespace holdfast::checker
