#include "sim/proxy/resp_framer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "lib/redis/reply_writer.h"
#include "sim/proxy/conversation.h"
#include "sim/proxy/resp_parse.h"

namespace holdfast::sim {
namespace {

using Grammar = RespFramer::Grammar;

// The messages that the framer finds when `stream` arrives in pieces that end at `cuts`.
std::vector<std::string> frame(RespFramer& framer, const std::string& stream,
                               const std::vector<std::size_t>& cuts) {
  std::vector<std::string> messages;
  std::string current;
  std::size_t begin = 0;
  std::vector<std::size_t> ends = cuts;
  ends.push_back(stream.size());
  for (const std::size_t end : ends) {
    std::string_view chunk(stream.data() + begin, end - begin);
    begin = end;
    while (!chunk.empty()) {
      const RespFramer::Step step = framer.scan(chunk);
      current += chunk.substr(0, step.consumed);
      chunk.remove_prefix(step.consumed);
      if (step.complete) messages.push_back(std::exchange(current, {}));
    }
  }
  if (!current.empty()) messages.push_back("(rest) " + current);
  return messages;
}

void expect_same_at_every_split(Grammar grammar, const std::vector<std::string>& messages) {
  std::string stream;
  for (const std::string& message : messages) stream += message;
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    RespFramer framer(grammar);
    EXPECT_EQ(frame(framer, stream, {cut}), messages) << "split at " << cut;
  }
  std::vector<std::size_t> everywhere;
  for (std::size_t i = 1; i < stream.size(); ++i) everywhere.push_back(i);
  RespFramer framer(grammar);
  EXPECT_EQ(frame(framer, stream, everywhere), messages);
}

TEST(RespFramer, RequestsSplitAtEveryByte) {
  expect_same_at_every_split(
      Grammar::requests, {"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nv\r\n*1\r\n", "PING\r\n", "\r\n",
                          "*2\r\n$3\r\nGET\r\n$0\r\n\r\n", "set a  b\n", "*0\r\n", "*1\r\n$4\r\nEXEC\r\n"});
}

TEST(RespFramer, RepliesSplitAtEveryByte) {
  expect_same_at_every_split(
      Grammar::replies,
      {"+OK\r\n", "-ERR no\r\n", ":-12\r\n", "$-1\r\n", "*-1\r\n", "$0\r\n\r\n", "$4\r\n\r\n$1\r\n", "*0\r\n",
       "*2\r\n*2\r\n:1\r\n*1\r\n$2\r\nab\r\n$-1\r\n", "*1\r\n*0\r\n", "\n\n+OK\r\n"});
}

TEST(RespFramer, SnapshotsWithAndWithoutLengthSplitAtEveryByte) {
  const std::string mark = "0123456789abcdef0123456789abcdef01234567";
  expect_same_at_every_split(Grammar::snapshot, {"\n\n$7\r\nREDIS\r\n", "*1\r\n$4\r\nPING\r\n"});
  expect_same_at_every_split(Grammar::snapshot, {"$0\r\n", "*1\r\n$4\r\nPING\r\n"});
  expect_same_at_every_split(Grammar::snapshot,
                             {"$EOF:" + mark + "\r\nREDIS\r\n01234" + mark, "*1\r\n$4\r\nPING\r\n"});
}

TEST(RespFramer, HeadAndParts) {
  RespFramer requests(Grammar::requests);
  requests.scan("*2\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n");
  EXPECT_EQ(requests.head(), "subscribe");
  EXPECT_EQ(requests.parts(), 2u);
  requests.scan("  get key\r\n");
  EXPECT_EQ(requests.head(), "get");
  requests.scan("*1\r\n$3\r\nfoo\r\n");
  EXPECT_EQ(requests.head(), "foo");
  RespFramer replies(Grammar::replies);
  replies.scan("+CONTINUE abc\r\n");
  EXPECT_EQ(replies.head(), "CONTINUE abc");
  replies.scan("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n");
  EXPECT_EQ(replies.head(), "message");
  EXPECT_EQ(replies.parts(), 3u);
  replies.scan("*2\r\n:1\r\n$3\r\nabc\r\n");
  EXPECT_EQ(replies.head(), "");
}

TEST(RespFramer, WhatIsNotRespBreaksIt) {
  for (const char* text :
       {"\x16\x03\x01 TLS", "*x\r\n", "*2\r\n+a\r\n", "*99999999999999999999\r\n", "*\r\n"}) {
    RespFramer framer(Grammar::requests);
    framer.scan(text);
    EXPECT_TRUE(framer.broken()) << text;
    EXPECT_EQ(framer.scan("PING\r\n").consumed, 6u);
    EXPECT_FALSE(framer.at_boundary());
  }
  RespFramer replies(Grammar::replies);
  replies.scan("HTTP/1.1 200 OK\r\n");
  EXPECT_TRUE(replies.broken());
}

redis::Reply drawn_reply(int depth) {
  redis::Reply reply;
  using Type = redis::Reply::Type;
  reply.type = static_cast<Type>(*rc::gen::inRange(0, depth > 0 ? 6 : 5));
  if (reply.type == Type::integer) reply.integer = *rc::gen::arbitrary<int>();
  if (reply.type == Type::bulk) reply.text = *rc::gen::arbitrary<std::string>();
  if (reply.type == Type::status || reply.type == Type::error) {
    reply.text = *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
  }
  if (reply.type == Type::array) {
    const int size = *rc::gen::inRange(0, 4);
    for (int i = 0; i < size; ++i) reply.items.push_back(drawn_reply(depth - 1));
  }
  return reply;
}

RC_GTEST_PROP(RespFramer, DrawnRepliesComeBackWhateverTheSplits, ()) {
  std::vector<redis::Reply> replies;
  std::vector<std::string> texts;
  std::string stream;
  const int size = *rc::gen::inRange(1, 6);
  for (int i = 0; i < size; ++i) {
    replies.push_back(drawn_reply(3));
    redis::append_reply(texts.emplace_back(), replies.back());
    stream += texts.back();
  }
  auto cuts =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, stream.size() + 1));
  std::sort(cuts.begin(), cuts.end());
  RespFramer framer(Grammar::replies);
  RC_ASSERT(frame(framer, stream, cuts) == texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    redis::Reply parsed;
    RC_ASSERT(parse_reply(texts[i] + "+more\r\n", parsed) == texts[i].size());
    RC_ASSERT(parsed == replies[i]);
  }
}

RC_GTEST_PROP(RespFramer, DrawnRequestsComeBackWhateverTheSplits, ()) {
  std::vector<std::string> texts;
  std::string stream;
  const int size = *rc::gen::inRange(1, 6);
  for (int i = 0; i < size; ++i) {
    const auto words = *rc::gen::nonEmpty<std::vector<std::string>>();
    const std::vector<std::string_view> views(words.begin(), words.end());
    append_request(texts.emplace_back(), views);
    stream += texts.back();
    std::vector<std::string_view> parsed;
    RC_ASSERT(parse_request(texts.back(), parsed) == texts.back().size());
    RC_ASSERT(parsed == views);
  }
  auto cuts =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, stream.size() + 1));
  std::sort(cuts.begin(), cuts.end());
  RespFramer framer(Grammar::requests);
  RC_ASSERT(frame(framer, stream, cuts) == texts);
}

RC_GTEST_PROP(RespFramer, RandomBytesNeverBreakOut, (const std::string& bytes)) {
  for (const Grammar grammar : {Grammar::requests, Grammar::replies, Grammar::snapshot}) {
    RespFramer framer(grammar);
    std::string_view rest = bytes;
    while (!rest.empty()) {
      const RespFramer::Step step = framer.scan(rest);
      RC_ASSERT(step.consumed > 0u);
      RC_ASSERT(step.consumed <= rest.size());
      rest.remove_prefix(step.consumed);
    }
  }
  std::vector<std::string_view> arguments;
  redis::Reply reply;
  RC_ASSERT(parse_request(bytes, arguments) <= bytes.size());
  RC_ASSERT(parse_reply(bytes, reply) <= bytes.size());
}

// --- Conversation -----------------------------------------------------------------------------------------

void ask(Conversation& talk, std::string_view request, std::uint64_t id) {
  ASSERT_TRUE(talk.framer(Direction::request).scan(request).complete);
  if (id == 0) return talk.skip(Direction::request);
  const std::uint32_t replies = talk.saw_request();
  if (replies > 0)
    talk.expect_replies() = {
        .id = id, .request = std::string(request), .command = "X", .replies = replies, .arguments = {}};
}

std::uint64_t answer(Conversation& talk, std::string_view reply) {
  EXPECT_TRUE(talk.framer(Direction::reply).scan(reply).complete);
  if (talk.saw_reply() != Conversation::ReplyKind::answer) return 9999;
  bool more = false;
  Exchange exchange;
  return talk.answered(more, exchange) ? exchange.id : 0;
}

TEST(Conversation, RepliesAreMatchedInOrderAlsoToRequestsThatNobodyLookedAt) {
  Conversation talk;
  ask(talk, "GET a\r\n", 0);
  ask(talk, "GET b\r\n", 1);
  ask(talk, "GET c\r\n", 0);
  ask(talk, "GET d\r\n", 0);
  ask(talk, "GET e\r\n", 2);
  EXPECT_EQ(answer(talk, "$-1\r\n"), 0u);
  EXPECT_EQ(answer(talk, "$-1\r\n"), 1u);
  talk.framer(Direction::reply).scan("+OK\r\n");
  talk.skip(Direction::reply);
  EXPECT_EQ(answer(talk, "$-1\r\n"), 0u);
  EXPECT_EQ(answer(talk, "$-1\r\n"), 2u);
  EXPECT_EQ(answer(talk, "$-1\r\n"), 0u) << "nobody asked";
}

TEST(Conversation, PushesAnswerNothing) {
  Conversation talk;
  ask(talk, "SUBSCRIBE a b\r\n", 1);
  ask(talk, "PING\r\n", 2);
  EXPECT_EQ(answer(talk, "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"), 9999u);
  EXPECT_EQ(answer(talk, "*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"), 9999u);
  EXPECT_EQ(answer(talk, "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nm\r\n"), 9999u);
  EXPECT_EQ(answer(talk, "*2\r\n$4\r\npong\r\n$0\r\n\r\n"), 2u);
}

TEST(Conversation, AReplicasHandshakeBecomesAStream) {
  Conversation talk;
  ask(talk, "PING\r\n", 0);
  EXPECT_EQ(answer(talk, "+PONG\r\n"), 0u);
  EXPECT_FALSE(talk.replicating());
  ask(talk, "REPLCONF listening-port 1\r\n", 1);
  EXPECT_TRUE(talk.replicating());
  EXPECT_EQ(answer(talk, "+OK\r\n"), 1u);
  ask(talk, "PSYNC ? -1\r\n", 2);
  EXPECT_EQ(answer(talk, "-NOMASTERLINK wait\r\n"), 2u);
  ask(talk, "PSYNC ? -1\r\n", 3);
  EXPECT_EQ(answer(talk, "\n+FULLRESYNC id 0\r\n"), 3u);
  EXPECT_TRUE(talk.streaming());
  EXPECT_EQ(answer(talk, "$3\r\nRDB"), 9999u);
  EXPECT_EQ(answer(talk, "*1\r\n$4\r\nPING\r\n"), 9999u);
  ask(talk, "REPLCONF ACK 14\r\n", 4);
  EXPECT_EQ(answer(talk, "*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n"), 9999u);
}

TEST(Conversation, APartialResynchronisationGoesOnWithCommands) {
  Conversation talk;
  ask(talk, "PSYNC abc 12\r\n", 0);
  EXPECT_EQ(answer(talk, "+CONTINUE\r\n"), 0u);
  EXPECT_EQ(answer(talk, "*1\r\n$4\r\nPING\r\n"), 9999u);
}

}  // namespace
}  // namespace holdfast::sim
