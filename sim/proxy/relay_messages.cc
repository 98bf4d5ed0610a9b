// The half of Relay that takes streams apart into messages.
#include <utility>

#include "sim/proxy/relay.h"
#include "sim/proxy/resp_parse.h"

namespace holdfast::sim {
namespace {

bool ends_transaction(std::string_view command) { return command == "EXEC" || command == "DISCARD"; }

// Takes several requests in a row apart; `arguments` are those of the last.
void parse_last_request(std::string_view bytes, std::vector<std::string_view>& arguments) {
  while (!bytes.empty()) {
    const std::size_t size = parse_request(bytes, arguments);
    if (size == 0) return;
    bytes.remove_prefix(size);
  }
}

}  // namespace

void Relay::receive_messages(Lane& of, std::string_view chunk) {
  RespFramer& framer = talk_.framer(of.direction);
  while (!chunk.empty() && !broken_) {
    of.more = false;
    if (framer.at_boundary() && of.partial.empty()) {
      of.raw = false;
      refresh();
      if (!wants_messages_) return receive_bytes(of, chunk);
    }
    const bool snapshot = framer.grammar() == RespFramer::Grammar::snapshot;
    const RespFramer::Step step = framer.scan(chunk);
    const std::string_view piece = chunk.substr(0, step.consumed);
    chunk.remove_prefix(step.consumed);
    of.more = !chunk.empty();
    if (snapshot || of.raw || framer.broken() || (!step.complete && framer.at_boundary())) {
      flush(of);
      if (step.complete && !snapshot) talk_.skip(of.direction);
      pass_bytes(of, piece);
    } else if (!step.complete) {
      of.partial += piece;
      if (of.partial.size() > Proxy::kMessageLimit) {
        flush(of);
        of.raw = true;
      }
    } else if (of.partial.empty()) {
      message_done(of, piece);
    } else {
      of.partial += piece;
      const std::string whole = std::exchange(of.partial, {});
      message_done(of, whole);
    }
  }
  // A client that sends no more waits for an answer to what it has sent.
  if (of.direction == Direction::request && of.grouped > 0 && framer.at_boundary() && !broken_) {
    of.more = true;
    pass_group_in_pieces(of);
  }
  of.more = false;
  send_gathered(of);
}

void Relay::message_done(Lane& of, std::string_view bytes) {
  ++book_.stats.messages;
  if (of.direction == Direction::request) {
    request_done(of, bytes);
  } else {
    reply_done(of, bytes);
  }
}

void Relay::request_done(Lane& of, std::string_view bytes) {
  const std::uint32_t replies = talk_.saw_request();
  refresh();
  const std::string command = upper_case(talk_.framer(of.direction).head());
  if (of.piecewise) {
    of.group += bytes;
    if (!ends_transaction(command)) return pass_request(of, bytes, replies, bytes);
    of.piecewise = false;
    const std::string request = std::exchange(of.group, {});
    return pass_request(of, bytes, replies, request);
  }
  if (of.grouped == 0 && command != "MULTI") return pass_request(of, bytes, replies, bytes);
  of.group += bytes;
  ++of.grouped;
  if (!ends_transaction(command)) return;
  const std::string request = std::exchange(of.group, {});
  pass_request(of, request, std::exchange(of.grouped, 0), request);
}

void Relay::pass_group_in_pieces(Lane& of) {
  const std::string begun = std::exchange(of.group, {});
  of.grouped = 0;
  of.piecewise = true;
  for (std::string_view rest = begun; !rest.empty() && !broken_;) {
    const std::size_t size = parse_request(rest, of.arguments);
    if (size == 0) break;
    pass_request(of, rest.substr(0, size), 1, rest.substr(0, size));
    rest.remove_prefix(size);
  }
  of.group = begun;  // for the request of EXEC's reply
}

void Relay::pass_request(Lane& of, std::string_view bytes, std::uint32_t replies, std::string_view request) {
  parse_last_request(bytes, of.arguments);
  if (of.arguments.empty()) return pass_bytes(of, bytes);
  const std::string command = upper_case(of.arguments.front());
  const std::uint64_t id = replies == 0 ? 0 : ++book_.last_exchange;
  if (replies > 0) {
    Exchange& waits = talk_.expect_replies();
    waits.id = id;
    waits.request = request;
    waits.command = command;
    waits.replies = replies;
    waits.arguments.clear();
    const bool whole = bytes.data() == request.data() && request.size() <= UINT32_MAX;
    for (const std::string_view argument : of.arguments) {
      if (!whole) break;
      waits.arguments.push_back({static_cast<std::uint32_t>(argument.data() - request.data()),
                                 static_cast<std::uint32_t>(argument.size())});
    }
  }
  pass_message(of,
               {.link = link_,
                .direction = of.direction,
                .bytes = bytes,
                .command = command,
                .arguments = of.arguments,
                .exchange = id},
               {});
}

void Relay::reply_done(Lane& of, std::string_view bytes) {
  const Conversation::ReplyKind kind = talk_.saw_reply();
  Message message{
      .link = link_, .direction = of.direction, .bytes = bytes, .command = {}, .arguments = of.arguments};
  of.arguments.clear();
  if (kind == Conversation::ReplyKind::command) {
    parse_last_request(bytes, of.arguments);
    if (of.arguments.empty()) return pass_bytes(of, bytes);
    const std::string command = upper_case(of.arguments.front());
    message.command = command;
    if (of.grouped == 0 && command != "MULTI") return pass_message(of, message, {});
    of.group += bytes;
    ++of.grouped;
    if (!ends_transaction(command)) return;
    of.grouped = 0;
    const std::string whole = std::exchange(of.group, {});
    parse_last_request(whole, of.arguments);
    message.bytes = whole;
    return pass_message(of, message, {});
  }
  redis::Reply reply;
  message.reply = &reply;
  if (kind == Conversation::ReplyKind::push) {
    std::string command = upper_case(talk_.framer(of.direction).head());
    if (command.ends_with("MESSAGE")) command.clear();
    parse_reply(bytes, reply);
    message.command = command;
    return pass_message(of, message, {});
  }
  bool more = false;
  Exchange& exchange = of.answered;
  const bool known = talk_.answered(more, exchange);
  refresh();
  if (more) {
    of.group += bytes;
    ++of.grouped;
    return;
  }
  parse_reply(bytes, reply);
  const std::string whole = of.grouped > 0 ? std::exchange(of.group, {}) + std::string(bytes) : std::string();
  if (of.grouped > 0) message.bytes = whole;
  of.grouped = 0;
  if (known) {
    const std::string_view request = exchange.request;
    for (const auto& [from, size] : exchange.arguments) of.arguments.push_back(request.substr(from, size));
    if (of.arguments.empty()) parse_last_request(request, of.arguments);
    message.command = exchange.command;
    message.exchange = exchange.id;
    message.request = request;
  }
  pass_message(of, message, message.request);
}

void Relay::pass_message(Lane& of, const Message& message, std::string_view request) {
  if (link_.of_client()) {
    const std::size_t count = book_.watchers.size();
    for (std::size_t i = 0; i < count && !of.gathered.empty(); ++i) {
      if (book_.watchers[i].may_act(message)) send_gathered(of);
    }
    for (std::size_t i = 0; i < count && !broken_; ++i) book_.watchers[i].see(message);
  }
  Piece piece;
  const bool answers = of.direction == Direction::reply && message.exchange != 0 && link_.of_client();
  if (answers && !book_.fates.empty()) piece.exchanges = {{.exchange = message.exchange}};
  if (broken_) return tell(piece.exchanges, Fate::cut);
  refresh();  // a watcher may have set off a fault
  const Verdict verdict = ask(of, message.bytes, &message, 0);
  if (verdict.kind == Action::Kind::drop && of.direction == Direction::request)
    talk_.forget(message.exchange);
  announce(of, message.bytes, &message, verdict, piece.exchanges);
  if (verdict.instead != nullptr) tell(std::exchange(piece.exchanges, {}), Fate::dropped);
  if (verdict.kind == Action::Kind::hold) {
    piece.context = std::make_unique<Context>(
        Context{message.exchange, std::string(message.command), std::string(request)});
  }
  place(of, verdict, piece, verdict.instead ? std::string_view(*verdict.instead) : message.bytes);
}

Relay::Verdict Relay::ask_again(Lane& of, const Piece& piece) {
  if (piece.context == nullptr) return ask(of, piece.bytes, nullptr, piece.verdict.by);
  std::vector<std::string_view> arguments;
  redis::Reply reply;
  const bool answer = of.direction == Direction::reply && !talk_.streaming();
  if (!answer) {
    parse_last_request(piece.bytes, arguments);
  } else {
    parse_last_request(piece.context->request, arguments);
    for (std::string_view rest = piece.bytes; !rest.empty();) {  // of a transaction: the last
      const std::size_t size = parse_reply(rest, reply);
      if (size == 0) break;
      rest.remove_prefix(size);
    }
  }
  const Message message{.link = link_,
                        .direction = of.direction,
                        .bytes = piece.bytes,
                        .command = piece.context->command,
                        .arguments = arguments,
                        .reply = answer ? &reply : nullptr,
                        .exchange = piece.context->exchange,
                        .request = piece.context->request};
  return ask(of, piece.bytes, &message, piece.verdict.by);
}

void Relay::flush(Lane& of) {
  if (of.direction == Direction::request && of.grouped > 0) pass_group_in_pieces(of);
  std::string kept;
  if (of.grouped > 0) kept = std::exchange(of.group, {});
  of.grouped = 0;
  if (of.piecewise && of.direction == Direction::request && !wants_messages_) {
    of.piecewise = false;
    of.group.clear();
  }
  kept += std::exchange(of.partial, {});
  if (!kept.empty()) pass_bytes(of, kept);
}

}  // namespace holdfast::sim
