// Who may do what on the members of a set, for `holdfast survivor`: ACLs are not replicated, so each member
// is asked, and each gets the user of the clients.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "tools/holdfast/survivor_survey.h"

namespace holdfast::tools {

// One command that clients of the locks send, by themselves or in a script: how a rule of an ACL calls it,
// and a call of it.
struct Right {
  std::string_view rule;
  std::vector<std::string_view> example;
};
// All that clients of the locks of this library need on servers that are no Cluster, whatever the kind, but
// for the channels of Redisson's layout. AUTH and HELLO need no right.
const std::vector<Right>& client_rights();

// Somebody who may do what leaves two owners of a lock (lib/SURVIVOR.md): "CONFIG RESETSTAT", ...
struct Dangerous {
  std::string user;
  std::vector<std::string> may;
};

// What a member says of its users.
struct MemberUsers {
  std::string address;
  std::string trouble = {};  // it would not say, and why; then nothing below counts
  std::string asked_as = {};
  std::string replicates_as = {};          // masteruser; empty: default, or not told
  std::vector<Dangerous> dangerous = {};   // those who can log in, in the order of their names
  bool has_client_user = false;            // and he can log in
  std::vector<std::string> lacks = {};     // the client user: commands of client_rights()
  std::vector<std::string> may_else = {};  // the client user, there or off: rules beyond client_rights()
};

// [parks] Asks each member, one after the other. `client_user`: empty: there is none to look for.
std::vector<MemberUsers> survey_users(Runtime& runtime, Network& network,
                                      const std::vector<std::string>& members, const Access& access,
                                      const std::string& client_user);

// A line for each user who may do what is dangerous, and for each member that would not say. Who asks is left
// out, unless he is `default`, who every client is that names no user.
std::vector<std::string> warnings_of(const std::vector<MemberUsers>& members);

// Why clients cannot work as that user, a line each; empty: they can.
std::vector<std::string> client_user_problems(const std::vector<MemberUsers>& members,
                                              const std::string& client_user);

// Why that user must not be set to the rights of clients, a line each: somebody else needs him.
std::vector<std::string> not_for_clients(const std::vector<MemberUsers>& members,
                                         const std::string& client_user);

// What was done on a member, and whether a restart forgets it; empty: nothing. `trouble`: it failed, or will
// not outlast a restart though it should.
struct UserChange {
  std::string done, trouble;
};
// [parks] Gives that user these rights and this password, and no other ones, or takes him away. It is kept by
// ACL SAVE where the server has an aclfile, else by CONFIG REWRITE where it has a configuration file.
UserChange make_client_user(Runtime& runtime, Network& network, const std::string& member,
                            const Access& access, const Access& client);
UserChange drop_client_user(Runtime& runtime, Network& network, const std::string& member,
                            const Access& access, const std::string& client_user);

}  // namespace holdfast::tools
