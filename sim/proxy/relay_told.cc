// The part of Relay that tells others of what it does: what came, and what became of it.
#include <utility>

#include "sim/proxy/passage.h"
#include "sim/proxy/relay.h"

namespace holdfast::sim {

void Relay::announce(const Lane& of, std::string_view bytes, const Message* message, const Verdict& verdict,
                     Exchanges& exchanges) {
  if (book_.passages == nullptr) return;
  const std::uint64_t number = ++book_.last_passage;
  if (exchanges.empty()) {
    exchanges.push_back({.passage = number});
  } else {
    exchanges.front().passage = number;
  }
  book_.passages->came({.number = number,
                        .link = link_,
                        .direction = of.direction,
                        .bytes = bytes,
                        .message = message,
                        .kind = verdict.kind,
                        .delay = verdict.delay,
                        .replaced = verdict.instead != nullptr});
}

void Relay::tell(const Exchanges& exchanges, Fate fate) {
  for (const auto [exchange, passage] : exchanges) {
    for (std::size_t i = 0; exchange != 0 && i < book_.fates.size(); ++i)
      book_.fates[i](link_, exchange, fate);
    if (passage != 0) book_.passages->went(passage, fate);
  }
}

void Relay::tell_all_cut(Lane& of) {
  Exchanges all = std::exchange(of.in_gathered, {});
  if (of.queue != nullptr) {
    for (Piece& piece : *of.queue) {
      all.insert(all.end(), piece.exchanges.begin(), piece.exchanges.end());
      piece.exchanges.clear();
    }
  }
  tell(all, Fate::cut);
}

}  // namespace holdfast::sim
