#include "lib/async/awaiter.h"

#include <exception>

namespace holdfast::async {
namespace {

// What is carried to the executor. Destroyed unrun it means that nobody will take the result.
class Delivery {
 public:
  Delivery(std::shared_ptr<Waiting> waiting, std::shared_ptr<Operation> operation)
      : waiting_(std::move(waiting)), operation_(std::move(operation)) {}
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  ~Delivery() {
    if (operation_ != nullptr) operation_->abandon();
  }
  void make() {
    operation_ = nullptr;
    if (const auto waits = waiting_->take()) waits.resume();
  }

 private:
  const std::shared_ptr<Waiting> waiting_;
  std::shared_ptr<Operation> operation_;
};

}  // namespace

void ResumeOn::ended(const std::shared_ptr<Operation>& operation, bool here) noexcept {
  const auto delivery = std::make_shared<Delivery>(waiting_, operation);
  if (executor_) {
    try {
      return executor_([delivery] { delivery->make(); });
    } catch (const std::exception&) {  // it takes no work: then the coroutine goes on on the loop
    }
  }
  if (here || !operation->host().post([delivery] { delivery->make(); })) delivery->make();
}

}  // namespace holdfast::async
