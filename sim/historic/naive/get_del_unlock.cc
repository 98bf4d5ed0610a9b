#include "sim/historic/naive/get_del_unlock.h"

namespace holdfast::historic {

std::optional<redis::Answer> GetDelUnlock::remove(const std::string& acquisition) {
  redis::Answer answer = client_.call({"GET", store_key_});
  if (!acquisition.empty() && answer.reply.text == acquisition) answer = client_.call({"DEL", store_key_});
  return answer;
}

}  // namespace holdfast::historic
