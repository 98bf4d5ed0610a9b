// Listed: one of a list for as long as this object lives. Thread safety: the list's owner's.
#pragma once

#include <list>

namespace holdfast::redis {

template <typename T>
class Listed {
 public:
  // `list` and `one` outlive it.
  Listed(std::list<T*>& list, T& one) : list_(list), at_(list.insert(list.end(), &one)) {}
  ~Listed() { list_.erase(at_); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

 private:
  std::list<T*>& list_;
  const typename std::list<T*>::iterator at_;
};

}  // namespace holdfast::redis
