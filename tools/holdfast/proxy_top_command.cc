// `holdfast proxy top`: what goes through a `holdfast proxy` that runs, asked of its API again and again.
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/missing.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/end_signals.h"
#include "tools/holdfast/output.h"
#include "tools/proxy/control.h"
#include "tools/proxy/http.h"
#include "tools/proxy/traffic_view.h"

namespace holdfast::tools {
namespace {

using nlohmann::json;

class Api {
 public:
  Api(Endpoint at, bool keys) : at_(std::move(at)), target_(keys ? "/traffic?keys=true" : "/traffic") {}

  json look() {
    const std::string where = "proxy top: http://" + at_.to_string() + ": ";
    HttpAnswer answer;
    try {
      answer = ask_http(runtime_, network_, at_, "GET", target_);
    } catch (const std::runtime_error& error) {
      // One that ends may leave an answer in the middle.
      if (seen_) throw Missing(where + "no proxy answers there any more: " + error.what());
      throw Missing(where + error.what() +
                    ", expected the API of a `holdfast proxy` (its first lines say where it is)");
    }
    json body = json::parse(answer.body, nullptr, false);
    if (answer.status != 200 || !body.is_object())
      throw other(" (status " + std::to_string(answer.status) + ")");
    seen_ = true;
    return body;
  }

  json between(const json& before, const json& now) const {
    try {
      return traffic_between(before, now);
    } catch (const json::exception&) {
      throw other("");
    }
  }

 private:
  Missing other(const std::string& how) const {
    return Missing("proxy top: http://" + at_.to_string() + ": it answers, but not as `holdfast proxy` does" +
                   how + "; Toxiproxy itself has no `/traffic`");
  }

  const Endpoint at_;
  const std::string target_;
  ThreadRuntime runtime_;
  SocketNetwork network_{runtime_};
  bool seen_ = false;
};

// Rows of the terminal; 0: it does not say.
std::size_t rows() {
  struct winsize size {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

std::string first_lines(const std::string& text, std::size_t most) {
  std::size_t end = 0;
  for (std::size_t line = 0; line < most; ++line) {
    const std::size_t next = text.find('\n', end);
    if (next == std::string::npos) return text;
    end = next + 1;
  }
  return text.substr(0, end);
}

}  // namespace

ExitCode proxy_top_command(const ProxyArguments& arguments) {
  Endpoint at;
  try {
    at = read_endpoint(arguments.api);
  } catch (const std::invalid_argument& error) {
    throw BadUsage(std::string("proxy: --api: ") + error.what());
  }
  EndSignals signals;
  Api api(at, arguments.keys);
  const bool screen = isatty(STDOUT_FILENO) == 1 && !arguments.once && !arguments.json;
  const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(arguments.interval);
  json before = api.look();
  for (;;) {
    pollfd signal{.fd = signals.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&signal, 1, static_cast<int>(interval.count())) > 0) {
      if (const int number = signals.take(); number != 0) return number == SIGINT ? kInterrupted : kMet;
    }
    json now = api.look();
    const json between = api.between(before, now);
    before = std::move(now);
    if (arguments.json) {
      print_out(between.dump(-1, ' ', true, json::error_handler_t::replace) + "\n");
    } else {
      const std::string head = fmt::format("holdfast proxy at http://{}, the last {:.1f} s\n", at.to_string(),
                                           between.at("seconds").get<double>());
      const std::string text = head + traffic_text(between, arguments.terminal);
      const std::size_t most = rows() > 1 ? rows() - 1 : 100;
      print_out(screen ? "\033[H\033[J" + first_lines(text, most) : text);
    }
    if (arguments.once) return kMet;
  }
}

}  // namespace holdfast::tools
