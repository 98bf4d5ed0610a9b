// The models of this build: `holdfast list models`.
#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

BadOperation::BadOperation(const Operation& operation, const std::string& problem)
    : std::runtime_error(problem),
      position(operation.completed == kNowhere ? operation.invoked : operation.completed) {}

std::vector<ModelPart> Model::prepare(const History&, const std::vector<Operation>&) const { return {}; }

std::optional<std::string_view> Model::decide(const std::vector<Operation>&, std::string& why_not) const {
  why_not = "there is no linear algorithm for this model";
  return std::nullopt;
}

ExtractOptions extract_options(const Model& model, bool jepsen) {
  ExtractOptions options;
  options.by_position = jepsen;
  options.failed_release_ends = !jepsen;
  options.leased = model.leased();
  options.reentrant = model.reentrant();
  options.one_hold = model.one_hold();
  options.locks = model.locks();
  options.owners = model.owners();
  options.queues = model.queues();
  options.resizes = model.resizes();
  options.sessions = model.sessions();
  return options;
}

const std::vector<ModelKind>& all_models() {
  static const std::vector<ModelKind> models = {
      {"mutex", "one owner at a time, which alone releases it", make_mutex},
      {"mutex-anonymous", "locked or not, without owners (Knossos's mutex)", make_anonymous_mutex},
      {"reentrant-mutex", "a mutex that its owner may enter again", make_reentrant_mutex},
      {"fenced-mutex", "a mutex whose fencing tokens rise", make_fenced_mutex},
      {"reentrant-fenced-mutex", "a re-entry has the token of the first entry", make_reentrant_fenced_mutex},
      {"read-write", "one writer or many readers, with downgrade", make_read_write},
      {"reentrant-read-write", "the same, and the writer may write again", make_reentrant_read_write},
      {"semaphore", "N permits; N may change", make_semaphore},
      {"fair", "a mutex that grants in the order of its queue", make_fair},
      {"leased-mutex", "a mutex whose holds end by themselves at valid_until", make_leased_mutex},
      {"reentrant-leased-mutex", "a leased mutex that its owner may enter again",
       make_reentrant_leased_mutex},
      {"leased-semaphore", "a semaphore whose permits come back at valid_until", make_leased_semaphore},
      {"leased-read-write", "a read-write lock whose holds end at valid_until", make_leased_read_write},
      {"reentrant-leased-read-write", "a leased read-write lock whose writer may write again",
       make_reentrant_leased_read_write},
      {"session-lock", "a mutex whose hold ends with its owner's session: by a crash", make_session_lock},
      {"register", "read and write", make_register},
      {"cas-register", "read, write and compare-and-set", make_cas_register},
      {"kv", "texts by key: put, get and append (Porcupine's kv)", make_kv},
      {"multi-register", "registers that one txn reads and writes together (Knossos's)", make_multi_register},
      {"fifo-queue", "what is put in first comes out first", make_fifo_queue},
      {"unordered-queue", "what is put in comes out, in any order", make_unordered_queue},
      {"set", "values are added, and a read returns them all", make_set},
      {"counter", "adds, and reads of the sum", make_counter},
  };
  return models;
}

const ModelKind* find_model(std::string_view name) {
  for (const ModelKind& model : all_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace holdfast::checker
