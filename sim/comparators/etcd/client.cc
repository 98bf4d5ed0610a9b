#include "sim/comparators/etcd/client.h"

#include <openssl/evp.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::sim::etcd {
namespace {

constexpr std::chrono::milliseconds kPause{20};  // before the next member is asked

// google.rpc.Code
constexpr int kUnknown = 2, kInvalidArgument = 3, kNotFound = 5, kAlreadyExists = 6, kFailedPrecondition = 9,
              kOutOfRange = 11, kUnauthenticated = 16;

// What the body of an answer with an error means. A stream tells it in another form.
Error error_of(const HttpAnswer& answer, const std::string& node) {
  const Json body = Json::parse(answer.body, nullptr, false);
  int code = kUnknown;
  std::string what = "HTTP " + std::to_string(answer.status);
  if (body.is_object()) {
    const bool nested = body.contains("error") && body["error"].is_object();
    const Json& error = nested ? body["error"] : body;
    code = error.value(nested ? "grpc_code" : "code", kUnknown);
    what = error.value("message", what);
  }
  Error::Kind kind = Error::Kind::unavailable;
  if (code == kNotFound) kind = Error::Kind::not_found;
  for (const int said :
       {kInvalidArgument, kAlreadyExists, kFailedPrecondition, kOutOfRange, kUnauthenticated})
    if (code == said) kind = Error::Kind::refused;
  return Error(what, kind, node, kind == Error::Kind::unavailable);
}

// The message of an answer, out of its "result" where it came as a stream.
Json message_of(const HttpAnswer& answer, const std::string& node) {
  if (answer.status != 200) throw error_of(answer, node);
  Json body = Json::parse(answer.body, nullptr, false);
  if (!body.is_object()) throw Error("no JSON: " + answer.body, Error::Kind::unavailable, node, true);
  if (body.contains("error")) throw error_of(answer, node);
  return body.contains("result") ? body["result"] : body;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::int64_t number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  return found->is_string() ? std::stoll(found->get<std::string>()) : found->get<std::int64_t>();
}

Client::Client(Runtime& runtime, std::vector<redis::Node> nodes, Duration connect_timeout, Duration patience)
    : runtime_(runtime),
      network_(runtime),
      nodes_(std::move(nodes)),
      connect_timeout_(connect_timeout),
      patience_(patience) {}

void Client::turn_from(std::size_t node) {
  if (node != node_) return;  // somebody else did
  node_ = (node_ + 1) % nodes_.size();
  idle_.clear();
  for (HttpConnection* const connection : watching_) connection->break_off();
}

std::unique_ptr<HttpConnection> Client::connect(MonotonicTime deadline, const std::stop_token& stop) {
  while (!idle_.empty()) {
    std::unique_ptr<HttpConnection> connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->open()) return connection;
  }
  const MonotonicTime limit = std::min(deadline, deadline_after(runtime_.now(), connect_timeout_));
  return std::make_unique<HttpConnection>(runtime_, network_, nodes_[node_].endpoint, limit, stop);
}

Answer Client::ask(std::string_view target, const Json& request, MonotonicTime deadline,
                   const std::stop_token& stop) {
  const std::string body = request.dump();
  bool sent_before = false;
  for (;;) {
    const std::size_t node = node_;
    const std::string& name = nodes_[node].name;
    const MonotonicTime sent_at = runtime_.now();
    const MonotonicTime limit = std::min(deadline, deadline_after(sent_at, patience_ / 3));
    const auto gives_up = [&] { return stop.stop_requested() || runtime_.now() >= deadline; };
    try {
      std::unique_ptr<HttpConnection> connection = connect(limit, stop);
      const HttpAnswer answer = connection->post(target, body, limit, stop);
      if (connection->open() && node == node_) idle_.push_back(std::move(connection));
      return {.body = message_of(answer, name), .node = name, .sent_at = sent_at, .again = sent_before};
    } catch (const NoAnswer& error) {
      sent_before = sent_before || error.may_have_executed();
      if (gives_up()) throw Error(error.what(), Error::Kind::unavailable, name, sent_before);
    } catch (const Error& error) {
      sent_before = sent_before || error.may_have_executed();
      if (error.kind() != Error::Kind::unavailable)
        throw Error(error.what(), error.kind(), name, sent_before);
      if (gives_up()) throw Error(error.what(), error.kind(), name, sent_before);
    }
    turn_from(node);
    // Not beyond the deadline: a holder is told then that he cannot renew.
    runtime_.sleep_until(std::min(deadline, deadline_after(runtime_.now(), kPause)));
  }
}

bool Client::wait_for_deletion(const std::string& key, std::int64_t revision, MonotonicTime deadline,
                               const std::stop_token& stop) {
  const std::size_t node = node_;
  const std::string& name = nodes_[node].name;
  const Json request = {
      {"create_request",
       {{"key", key}, {"start_revision", std::to_string(revision)}, {"filters", {"NOPUT"}}}}};
  bool deleted = false;
  const auto over = [&] { return stop.stop_requested() || runtime_.now() >= deadline; };
  try {
    const std::unique_ptr<HttpConnection> connection = connect(deadline, stop);
    struct Watching {
      std::set<HttpConnection*>& all;
      HttpConnection* const one;
      ~Watching() { all.erase(one); }
    } const watching{watching_, connection.get()};
    if (node != node_) throw NoAnswer("this client has turned to another member", false);
    watching_.insert(connection.get());
    connection->post_and_listen("/v3/watch", request.dump(), deadline, stop, [&](std::string_view line) {
      const Json message = message_of({.status = 200, .body = std::string(line)}, name);
      // The revision may be forgotten already: whoever asks sees what stands now.
      if (message.value("canceled", false))
        throw Error("the watch was cancelled: " + message.value("cancel_reason", ""),
                    Error::Kind::unavailable, name, false);
      deleted = message.contains("events") && !message["events"].empty();
      return !deleted;
    });
  } catch (const NoAnswer& error) {
    if (deleted) return true;
    if (over()) return false;
    turn_from(node);
    throw Error(error.what(), Error::Kind::unavailable, name, false);
  } catch (const Error&) {
    turn_from(node);
    throw;
  }
  if (!deleted && !over()) {
    turn_from(node);
    throw Error("the watch ended", Error::Kind::unavailable, name, false);
  }
  return deleted;
}

Json ask_once(Runtime& runtime, Network& network, const redis::Node& node, std::string_view target,
              const Json& request, MonotonicTime deadline) {
  try {
    HttpConnection connection(runtime, network, node.endpoint, deadline);
    return message_of(connection.post(target, request.dump(), deadline), node.name);
  } catch (const NoAnswer& error) {
    throw Error(error.what(), Error::Kind::unavailable, node.name, error.may_have_executed());
  }
}

}  // namespace holdfast::sim::etcd
