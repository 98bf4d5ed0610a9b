#include "checker/testing/gallery.h"

#include <sstream>

#include "checker/testing/draw_history.h"
#include "checker/testing/draw_register.h"

namespace holdfast::checker::testing {

namespace {

struct Size {
  std::size_t operations, unknown, failed;
};

struct MutexOf {
  const char* name;
  Size size;
  DrawOptions options;
};

struct RegisterOf {
  const char* name;
  Format format;
  Size size;
  DrawRegisterOptions options;
};

const MutexOf kMutexes[] = {
    {"mutex_1000_operations_10_clients", {1000, 6, 0}, {.operations = 1000, .seed = 5}},
    {"mutex_1018_operations_100_keys",
     {1018, 7, 0},
     {.operations = 1018, .keys = 100, .clients = 50, .seed = 19}},
    {"mutex_508_operations_33_unknown", {508, 33, 0}, {.operations = 508, .unknown = 0.07, .seed = 40}},
    {"mutex_563_operations_304_refused",
     {563, 8, 304},
     {.operations = 260, .clients = 5, .unknown = 0.04, .refused = 0.67, .seed = 1}},
};

const RegisterOf kRegisters[] = {
    {"register_85_operations_16_unknown",
     Format::jepsen_log,
     {85, 16, 23},
     {.operations = 85, .clients = 5, .unknown = 0.3, .seed = 7}},
    {"register_291_operations_9_unknown",
     Format::jepsen_edn,
     {291, 9, 101},
     {.operations = 291, .initial = Value(0), .unknown = 0.05, .seed = 2}},
    {"register_305_operations_10_clients",
     Format::jepsen_edn,
     {305, 0, 86},
     {.operations = 305, .initial = Value(0), .seed = 4}},
    {"register_317_operations_15_clients",
     Format::jepsen_edn,
     {317, 0, 87},
     {.operations = 317, .clients = 15, .initial = Value(0), .seed = 13}},
};

KnownHistory known_history(const std::string& name, const Size& size, History history,
                           std::optional<std::size_t> violation) {
  KnownHistory known;
  known.name = name;
  known.history = std::move(history);
  known.operations = size.operations;
  known.unknown = size.unknown;
  known.failed = size.failed;
  known.verdict.valid = name.ends_with("_valid");
  if (violation) {
    known.verdict.index = *violation;
    known.verdict.process = known.history.text(known.history.events()[*violation].process);
  }
  return known;
}

KnownHistory draw(const MutexOf& of, bool valid) {
  DrawOptions options = of.options;
  options.invalid = !valid;
  DrawnHistory drawn = draw_lock_history(options);
  KnownHistory known = known_history(std::string(of.name) + (valid ? "_valid" : "_invalid"), of.size,
                                     std::move(drawn.history), drawn.violation);
  known.verdict.model = "mutex";
  known.verdict.keyed = options.keys > 1;
  if (drawn.violation) {  // the release of the hold that is broken comes next
    known.verdict.holder = known.history.text(known.history.events()[*drawn.violation + 1].process);
  }
  return known;
}

KnownHistory draw(const RegisterOf& of, bool valid) {
  DrawRegisterOptions options = of.options;
  options.invalid = !valid;
  DrawnRegister drawn = draw_register_history(options);
  KnownHistory known = known_history(std::string(of.name) + (valid ? "_valid" : "_invalid"), of.size,
                                     std::move(drawn.history), drawn.violation);
  known.format = of.format;
  known.verdict.model = "cas-register";
  known.verdict.initial = options.initial;
  return known;
}

std::vector<KnownHistory> draw_gallery() {
  std::vector<KnownHistory> all;
  for (const bool valid : {true, false}) {
    for (const MutexOf& of : kMutexes) all.push_back(draw(of, valid));
    for (const RegisterOf& of : kRegisters) all.push_back(draw(of, valid));
  }
  return all;
}

// Jepsen's old text log has no indices, no times and no keys.
std::string log_of(const History& history) {
  const auto number = [&history](Value value) { return history.shown(value); };
  std::string text;
  for (const Event& event : history.events()) {
    text += "INFO  jepsen.util - " + std::string(history.text(event.process)) +
            "\t:" + std::string(to_string(event.type)) + "\t:" + std::string(to_string(event.f)) + "\t";
    if (event.error != 0) {
      text += ":" + std::string(history.text(event.error));
    } else if (event.f == Function::cas) {
      text += "[" + number(event.token) + " " + number(event.value) + "]";
    } else {
      text += number(event.value);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

const std::vector<KnownHistory>& gallery() {
  static const std::vector<KnownHistory> all = draw_gallery();
  return all;
}

std::string text_of(const KnownHistory& known) {
  if (known.format == Format::jepsen_log) return log_of(known.history);
  ReadHistory read;
  read.history = known.history;
  std::ostringstream text;
  write_edn(read, text, known.verdict.keyed);
  return text.str();
}

}  // namespace holdfast::checker::testing
