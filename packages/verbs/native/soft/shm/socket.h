// The sockets at which devices of one host meet: abstract names, which belong to the network namespace.
#pragma once
#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "soft/control_segment.h"

namespace rdmc {

// Where a device listens.
std::string shmSocketName(const DeviceId& id);
socklen_t abstractAddress(const std::string& name, sockaddr_un& address);
// Whether the process at the other end runs as our user.
bool sameUser(int socket);
// The process at the other end, as this one numbers it; 0 where it cannot be found out.
pid_t peerProcess(int socket);

}  // namespace rdmc
