#include "sim/redis/cluster/message.h"

#include <charconv>
#include <cstdio>

#include "lib/redis/reply_reader.h"
#include "sim/redis/resp.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::string_view kMark = "RCmb";
constexpr std::size_t kDigits = 8, kHead = 12, kFixed = 19, kWordsOfGossip = 8;

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

SlotSet slots_of(std::string_view ranges) {
  SlotSet slots;
  while (!ranges.empty()) {
    const std::string_view range = ranges.substr(0, ranges.find(' '));
    ranges.remove_prefix(std::min(range.size() + 1, ranges.size()));
    const std::size_t dash = range.find('-');
    const auto first = static_cast<std::size_t>(number(std::string(range.substr(0, dash))));
    const std::size_t last = dash == std::string_view::npos
                                 ? first
                                 : static_cast<std::size_t>(number(std::string(range.substr(dash + 1))));
    if (first > last || last >= kSlots) continue;
    slots |= (SlotSet().set() >> (kSlots - 1 - (last - first))) << first;
  }
  return slots;
}

}  // namespace

std::string ranges_of(const SlotSet& slots) {
  std::string text;
  each_range(slots, [&text](std::size_t first, std::size_t last) {
    if (!text.empty()) text += ' ';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
  });
  return text;
}

std::string to_bytes(const BusMessage& message) {
  std::vector<std::string> words = {std::to_string(static_cast<int>(message.type)),
                                    message.sender,
                                    message.primary ? "1" : "0",
                                    message.follows,
                                    std::to_string(message.current_epoch),
                                    std::to_string(message.config_epoch),
                                    std::to_string(message.offset),
                                    ranges_of(message.slots),
                                    message.paused ? "1" : "0",
                                    message.force_vote ? "1" : "0",
                                    message.about,
                                    std::to_string(message.about_epoch),
                                    ranges_of(message.about_slots),
                                    message.channel,
                                    message.payload,
                                    message.sharded ? "1" : "0",
                                    message.at.host,
                                    std::to_string(message.at.port),
                                    std::to_string(message.bus_port)};
  for (const BusMessage::Gossip& one : message.gossip) {
    words.push_back(one.id);
    words.emplace_back(one.fail ? "fail" : one.pfail ? "pfail" : "well");
    words.push_back(std::to_string(one.pinged_ms));
    words.push_back(std::to_string(one.ponged_ms));
    words.push_back(one.at.host);
    words.push_back(std::to_string(one.at.port));
    words.push_back(std::to_string(one.bus_port));
    words.emplace_back(one.primary ? "1" : "0");
  }
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string body;
  append_request(body, views);
  char length[kDigits + 1];
  std::snprintf(length, sizeof length, "%08zu", body.size());
  return std::string(kMark) + length + body;
}

std::optional<BusMessage> BusReader::next() {
  if (broken_ || in_.size() < kHead) return std::nullopt;
  std::size_t length = 0;
  const char* const end = in_.data() + kHead;
  const auto [at, error] = std::from_chars(in_.data() + kMark.size(), end, length);
  if (!in_.starts_with(kMark) || error != std::errc() || at != end) {
    broken_ = true;
    return std::nullopt;
  }
  if (in_.size() < kHead + length) return std::nullopt;
  redis::ReplyReader reader;
  redis::Reply body;
  reader.feed(std::string_view(in_).substr(kHead, length));
  const bool whole = reader.next(body) == redis::ReplyReader::Next::reply;
  in_.erase(0, kHead + length);
  const auto& words = body.items;
  if (!whole || words.size() < kFixed || (words.size() - kFixed) % kWordsOfGossip != 0) {
    broken_ = true;
    return std::nullopt;
  }
  BusMessage message;
  message.type = static_cast<BusMessage::Type>(number(words[0].text));
  message.sender = words[1].text;
  message.primary = words[2].text == "1";
  message.follows = words[3].text;
  message.current_epoch = number(words[4].text);
  message.config_epoch = number(words[5].text);
  message.offset = number(words[6].text);
  message.slots = slots_of(words[7].text);
  message.paused = words[8].text == "1";
  message.force_vote = words[9].text == "1";
  message.about = words[10].text;
  message.about_epoch = number(words[11].text);
  message.about_slots = slots_of(words[12].text);
  message.channel = words[13].text;
  message.payload = words[14].text;
  message.sharded = words[15].text == "1";
  message.at = {words[16].text, static_cast<std::uint16_t>(number(words[17].text))};
  message.bus_port = static_cast<std::uint16_t>(number(words[18].text));
  for (std::size_t i = kFixed; i < words.size(); i += kWordsOfGossip) {
    message.gossip.push_back(
        {.id = words[i].text,
         .pfail = words[i + 1].text == "pfail",
         .fail = words[i + 1].text == "fail",
         .pinged_ms = number(words[i + 2].text),
         .ponged_ms = number(words[i + 3].text),
         .at = {words[i + 4].text, static_cast<std::uint16_t>(number(words[i + 5].text))},
         .bus_port = static_cast<std::uint16_t>(number(words[i + 6].text)),
         .primary = words[i + 7].text == "1"});
  }
  return message;
}

}  // namespace holdfast::sim::embedded
