#include "checker/testing/oracle_scribe.h"

#include <algorithm>
#include <map>
#include <vector>

namespace holdfast::checker::oracle {

namespace {

struct Line {
  const Act* act = nullptr;
  bool asks = false;
};

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos &&
         (text == "0" || text[0] != '0');
}

class Scribe {
 public:
  Scribe(const Drawn& drawn, const Telling& telling, testing::Random& random)
      : telling_(telling), random_(random) {
    lines_.resize(static_cast<std::size_t>(drawn.recorded));
    bool two_keys = false;
    for (const Act& act : drawn.acts) {
      lines_[static_cast<std::size_t>(act.called)] = {&act, !act.single};
      if (act.returned >= 0 && !act.single) lines_[static_cast<std::size_t>(act.returned)] = {&act, false};
      two_keys = two_keys || act.key == "l";
    }
    keyless_ = !two_keys && one_of(3);
  }

  std::string jsonl() {
    std::string text = one_of(3) ? "\xEF\xBB\xBF" : "";
    const bool index = one_of(2), crlf = one_of(3);
    const std::vector<std::size_t> order = telling_.times && !one_of(4) ? any_order() : in_order();
    for (const std::size_t at : order) {
      json_ = true;
      text += blank() + "{" + fields(lines_[at], index ? static_cast<int>(at) : -1, ",", ":") + "}" + blank();
      text += crlf ? "\r\n" : "\n";
      if (one_of(10)) text += " \t\n";
    }
    if (one_of(5) && !text.empty()) text.pop_back();  // the last line ends with the file
    return text;
  }

  std::string edn() {
    const std::int64_t around = random_.between(0, 2);
    const bool index = one_of(2);
    std::string text = one_of(3) ? "\xEF\xBB\xBF" : "";
    if (one_of(4)) text += "; a history\n";
    text += around == 0 ? "" : around == 1 ? "[" : "(";
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      text += one_of(3) ? "#jepsen.history.Op {" : "{";
      text += fields(lines_[i], index ? static_cast<int>(i) : -1, one_of(2) ? ", " : " ", " ");
      text += one_of(3) ? "} ; ok? }{\n" : one_of(4) ? "}," : "}\n";
    }
    return text + (around == 0 ? "" : around == 1 ? "]" : ")") + (one_of(2) ? "\n" : "");
  }

  std::string log() {
    const std::string between = one_of(2) ? "\t" : one_of(2) ? " " : "   ";
    std::string text = "INFO  jepsen.core - Run complete, writing\n";
    for (const Line& line : lines_) {
      const Act& act = *line.act;
      const std::string f = act.f;
      text += (one_of(5) ? "" : "INFO  jepsen.util - ") + act.process + between + ":" + type(line) + between +
              ":" + f;
      const bool value = act.f == "resize";
      text += between + (value ? act.value : "nil");
      if (!line.asks && act.answer != Answer::ok && one_of(2)) text += between + ":timed-out";
      text += one_of(8) ? "\r\n" : "\n";
      if (one_of(10)) text += "WARN jepsen.core - Process 3 crashed\n";
    }
    return text;
  }

 private:
  bool one_of(std::int64_t many) { return random_.between(1, many) == 1; }
  std::string blank() {
    return std::vector<std::string>{"", "", " ", "\t"}[static_cast<std::size_t>(random_.between(0, 3))];
  }

  std::vector<std::size_t> in_order() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < lines_.size(); ++i) order.push_back(i);
    return order;
  }
  std::vector<std::size_t> any_order() {
    std::map<std::string, std::vector<std::size_t>> left;  // by process, the last one first
    for (std::size_t i = lines_.size(); i-- > 0;) left[lines_[i].act->process].push_back(i);
    std::vector<std::size_t> order;
    while (!left.empty()) {
      auto of = left.begin();
      std::advance(of, random_.between(0, static_cast<std::int64_t>(left.size()) - 1));
      order.push_back(of->second.back());
      of->second.pop_back();
      if (of->second.empty()) left.erase(of);
    }
    return order;
  }

  std::string type(const Line& line) {
    if (line.asks) return "invoke";
    if (line.act->single && line.act->f != "resize") return one_of(2) ? "ok" : "info";
    switch (line.act->answer) {
      case Answer::ok: return "ok";
      case Answer::unknown: return "info";
      default: return "fail";
    }
  }

  // A text as JSON or EDN writes it.
  std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      if (json_ && one_of(30)) {
        constexpr const char* kDigits = "0123456789abcdef";
        out += std::string("\\u00") + kDigits[static_cast<unsigned char>(c) >> 4] + kDigits[c & 15];
      } else {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
      }
    }
    return out + '"';
  }
  std::string named(const std::string& text) {
    if (is_number(text) && one_of(2)) return text;
    if (!json_ && one_of(3) && text.find_first_of("/#") == std::string::npos && !is_number(text))
      return ":" + text;
    return quoted(text);
  }
  std::string word(const std::string& text) {
    return json_ ? quoted(text) : one_of(2) ? ":" + text : quoted(text);
  }
  std::string nothing() const { return json_ ? "null" : "nil"; }
  std::string token(const std::string& digits) {
    if (one_of(3)) return quoted(one_of(4) ? "0" + digits : one_of(8) ? "+" + digits : digits);
    if (!json_ && one_of(6)) return digits + "N";
    return digits;
  }

  std::string fields(const Line& line, int index, const std::string& comma, const std::string& colon) {
    const Act& act = *line.act;
    std::vector<std::string> all;
    const auto add = [&](const std::string& name, const std::string& value) {
      all.push_back(word(name) + (json_ ? blank() : "") + colon + (json_ ? blank() : "") + value);
    };
    const bool lock = act.f == "acquire" || act.f == "release", acquire = act.f == "acquire";
    // What one of the two events says is enough: the first one to be asked says it where the other does not.
    const auto says = [&](bool must) { return must || one_of(2); };
    if (telling_.times) add("time", std::to_string(line.asks || act.single ? act.call : act.ret));
    if (index >= 0) add("index", std::to_string(index));
    add("process", named(act.process));
    add("type", word(type(line)));
    add("f", word(acquire && one_of(4) ? "lock" : act.f == "release" && one_of(4) ? "unlock" : act.f));
    if (!act.key.empty() && !keyless_ && says(line.asks || !lock)) add("key", named(act.key));
    if (!act.id.empty() && says(acquire ? !line.asks : line.asks || !lock)) add("id", named(act.id));
    if (act.names_owner) {
      if (says(!lock || one_side(act) == line.asks)) add("owner", named(act.owner));
    } else if (lock && one_of(6)) {
      add("owner", one_of(2) ? nothing() : named(act.process));
    }
    if (act.shared) {
      if (says(one_side(act) == line.asks)) add("mode", word("read"));
    } else if (lock && one_of(6)) {
      add("mode", one_of(3) ? nothing() : word("write"));
    }
    if (act.names_permits && says(one_side(act) == line.asks)) {
      add("permits", std::to_string(act.permits));
    }
    if (!act.value.empty() && says(line.asks || act.single)) add("value", act.value);
    if (!line.asks && !act.token.empty()) add(!json_ && one_of(3) ? "fence" : "token", token(act.token));
    if (!line.asks && act.valid_until) {
      add(!json_ && one_of(2) ? "valid-until" : "valid_until", std::to_string(*act.valid_until));
    }
    if (!line.asks && !act.single) {
      if (act.answer == Answer::not_owner) add("error", word(one_of(2) ? "not-owner" : "lost"));
      if (act.answer == Answer::fail && one_of(2)) add("error", word("busy"));
      if (act.answer == Answer::unknown && one_of(2)) add("error", word("timeout"));
    }
    if (one_of(3)) add("node", one_of(2) ? nothing() : quoted("r1"));
    if (json_ && one_of(4)) add("note", R"({"f":"release","deep":[1,{"type":"ok"},-2.5e3,"}"]})");
    if (!json_ && one_of(6)) all.push_back("#_ {:type :fail}");
    if (!json_ && one_of(6)) all.push_back(":note {:f :release, :deep [1 #{\"}\"} \\}]}");
    std::string text = json_ ? blank() : "";
    while (!all.empty()) {
      const auto at = all.begin() + random_.between(0, static_cast<std::int64_t>(all.size()) - 1);
      text += *at;
      all.erase(at);
      if (!all.empty()) text += (json_ ? blank() : "") + comma + (json_ ? blank() : "");
    }
    return text;
  }
  // Which of the two events has to say it: the same answer for both.
  bool one_side(const Act& act) {
    auto [found, fresh] = side_.try_emplace(&act, false);
    if (fresh) found->second = act.returned < 0 || one_of(2);
    return found->second;
  }

  const Telling telling_;
  testing::Random& random_;
  std::vector<Line> lines_;  // in the order of recording
  std::map<const Act*, bool> side_;
  bool keyless_ = false, json_ = false;
};

}  // namespace

std::string write_jsonl(const Drawn& drawn, const Telling& telling, testing::Random& random) {
  return Scribe(drawn, telling, random).jsonl();
}
std::string write_edn(const Drawn& drawn, const Telling& telling, testing::Random& random) {
  return Scribe(drawn, telling, random).edn();
}

bool log_can_tell(const Drawn& drawn) {
  return std::all_of(drawn.acts.begin(), drawn.acts.end(), [](const Act& act) {
    return is_number(act.process) && act.id.empty() && !act.names_owner && act.key == "k" && !act.shared &&
           act.permits == 1 && act.token.empty() && !act.valid_until && act.f != "renew" && act.f != "crash";
  });
}
std::string write_log(const Drawn& drawn, testing::Random& random) {
  return Scribe(drawn, {.jepsen = true, .times = false}, random).log();
}

}  // namespace holdfast::checker::oracle
