#include "sim/comparators/zookeeper/session.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::sim::zookeeper {
namespace {

// Between two looks at a client that has no connection, at least.
constexpr std::chrono::milliseconds kPause{10};

// Whether both are the same socket: numbers are used again.
bool same_socket(int one, int other) {
  struct stat first {
  }, second{};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 && first.st_ino == second.st_ino;
}

}  // namespace

bool Error::unknown() const { return code_ == ZCONNECTIONLOSS || code_ == ZOPERATIONTIMEOUT; }

// What the client calls. It does so in zookeeper_process() and zookeeper_close(); none of it may park.
struct Session::Callbacks {
  using Held = std::shared_ptr<Request>;  // by the client, until it is answered

  static void finish(const void* data, int code, const std::function<void(Request&)>& fill) {
    const std::unique_ptr<Held> held(static_cast<Held*>(const_cast<void*>(data)));
    Request& request = **held;
    request.code = code;
    request.done = true;
    if (code == ZOK) fill(request);
    if (request.session != nullptr) request.session->wake();
  }
  static void created(int code, const char* path, const Stat* stat, const void* data) {
    finish(data, code, [&](Request& request) {
      request.answer.path = path;
      request.answer.created = stat->czxid;
    });
  }
  static void listed(int code, const String_vector* names, const void* data) {
    finish(data, code, [&](Request& request) {
      for (int i = 0; i < names->count; ++i) request.answer.names.emplace_back(names->data[i]);
    });
  }
  static void removed(int code, const void* data) {
    finish(data, code, [](Request&) {});
  }
  static void found(int code, const Stat* stat, const void* data) {
    finish(data, code, [&](Request& request) { request.answer.created = stat->czxid; });
  }
  static void watched(zhandle_t* handle, int type, int state, const char*, void* context) {
    auto* const session = static_cast<Session*>(context);
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) {
      const std::string at = zoo_get_current_server(handle);
      for (const redis::Node& node : session->nodes_) {
        if (at.ends_with(":" + std::to_string(node.endpoint.port))) session->node_ = node.name;
      }
    }
    session->changed_ = true;
    session->wake();
  }
};

Session::Session(Runtime& runtime, const SessionOptions& options)
    : runtime_(runtime), nodes_(options.nodes), node_(options.nodes.front().name) {
  zoo_set_debug_level(static_cast<ZooLogLevel>(0));
  zoo_deterministic_conn_order(1);
  std::string hosts;
  for (const redis::Node& node : nodes_) hosts += (hosts.empty() ? "" : ",") + node.endpoint.to_string();
  const auto timeout_ms = std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout).count();
  handle_ = zookeeper_init(hosts.c_str(), Callbacks::watched, static_cast<int>(timeout_ms), nullptr, this, 0);
  if (handle_ == nullptr) throw Error("the client cannot be made for " + hosts, ZSYSTEMERROR);
  driver_ = runtime_.spawn("reader", [this] { drive(); });
}

Session::~Session() {
  ended_ = nullptr;
  alive_ = false;
  // Nothing more leaves: the servers do not learn that it is closed below.
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
  driver_ = Task();  // joined
  forget_socket();
  if (handle_ != nullptr) zookeeper_close(handle_);
}

void Session::close() noexcept {
  ended_ = nullptr;
  alive_ = false;
  if (handle_ != nullptr) zookeeper_close(std::exchange(handle_, nullptr));
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);  // its driver wakes
  wake();
}

void Session::watch_socket(int fd) {
  if (socket_ >= 0 && same_socket(socket_, fd)) return;
  forget_socket();
  socket_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

void Session::forget_socket() noexcept {
  if (socket_ < 0) return;
  runtime_.forget_fd(socket_);
  ::close(std::exchange(socket_, -1));
}

void Session::wake() {
  if (waiting_ != nullptr) waiting_->unpark();
}

void Session::over(const std::string& why) {
  if (!std::exchange(alive_, false)) return;
  wake();
  if (ended_) std::exchange(ended_, nullptr)(why);
}

void Session::drive() {
  while (alive_) {
    int fd = -1, interest = 0;
    timeval wait{};
    const int code = zookeeper_interest(handle_, &fd, &interest, &wait);
    if (is_unrecoverable(handle_) != ZOK) return over("the servers say that it has expired");
    const Duration patience = std::chrono::seconds(wait.tv_sec) + std::chrono::microseconds(wait.tv_usec);
    if (code != ZOK || fd < 0) {
      forget_socket();
      runtime_.sleep_for(std::max<Duration>(kPause, fd < 0 ? patience : Duration::zero()));
      continue;
    }
    watch_socket(fd);
    const bool writes = (interest & ZOOKEEPER_WRITE) != 0;
    const bool ready = runtime_.wait_fd(socket_, writes ? FdInterest::writable : FdInterest::readable,
                                        deadline_after(runtime_.now(), patience));
    if (!alive_) return;
    const int events = !ready ? 0 : writes ? ZOOKEEPER_WRITE : ZOOKEEPER_READ;
    zookeeper_process(handle_, events);
    if (alive_ && is_unrecoverable(handle_) != ZOK) return over("the servers say that it has expired");
  }
}

bool Session::wait_connected(MonotonicTime deadline) {
  while (alive_ && zoo_state(handle_) != ZOO_CONNECTED_STATE) {
    if (runtime_.now() >= deadline) return false;
    wait_for_change(deadline, {});
  }
  return alive_;
}

bool Session::wait_for_change(MonotonicTime deadline, const std::stop_token& stop) {
  struct Waiting {  // also when this task is cancelled
    Session& session;
    ~Waiting() { session.waiting_ = nullptr; }
  } const waiting{*this};
  waiting_ = &runtime_.parker();
  const std::stop_callback woken(stop, [this] { wake(); });
  while (alive_ && !std::exchange(changed_, false)) {
    if (stop.stop_requested() || runtime_.now() >= deadline) return false;
    waiting_->park_until(deadline);
  }
  return true;
}

template <class Send>
Answer Session::ask(const char* what, MonotonicTime deadline, const Send& send) {
  const auto fails = [what](int code) { return Error(std::string(what) + ": " + zerror(code), code); };
  if (!alive_) throw fails(ZSESSIONEXPIRED);
  const auto request = std::make_shared<Request>(Request{.session = this});
  struct Asking {
    Session& session;
    Request& request;
    ~Asking() {
      session.waiting_ = nullptr;
      request.session = nullptr;  // an answer that comes later is nobody's
    }
  } const asking{*this, *request};
  waiting_ = &runtime_.parker();
  auto held = std::make_unique<Callbacks::Held>(request);
  if (const int code = send(held.get()); code != ZOK)
    throw fails(code == ZINVALIDSTATE ? ZSESSIONEXPIRED : code);
  static_cast<void>(held.release());
  while (alive_ && !request->done) {
    if (runtime_.now() >= deadline) throw fails(ZOPERATIONTIMEOUT);
    waiting_->park_until(deadline);
  }
  if (!request->done) throw fails(ZSESSIONEXPIRED);
  if (request->code != ZOK) throw fails(request->code == ZCLOSING ? ZSESSIONEXPIRED : request->code);
  return std::move(request->answer);
}

Answer Session::create(const std::string& path, int mode, MonotonicTime deadline) {
  return ask("create", deadline, [&](const void* data) {
    return zoo_acreate2(handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, mode, Callbacks::created, data);
  });
}

Answer Session::children(const std::string& path, MonotonicTime deadline) {
  return ask("getChildren", deadline, [&](const void* data) {
    return zoo_aget_children(handle_, path.c_str(), 0, Callbacks::listed, data);
  });
}

void Session::remove(const std::string& path, MonotonicTime deadline) {
  ask("delete", deadline,
      [&](const void* data) { return zoo_adelete(handle_, path.c_str(), -1, Callbacks::removed, data); });
}

std::optional<Answer> Session::exists_and_watch(const std::string& path, MonotonicTime deadline) {
  try {
    return ask("exists", deadline, [&](const void* data) {
      return zoo_awexists(handle_, path.c_str(), Callbacks::watched, this, Callbacks::found, data);
    });
  } catch (const Error& error) {
    if (error.code() != ZNONODE) throw;
    return std::nullopt;
  }
}

}  // namespace holdfast::sim::zookeeper
