// Opening an RDMA device, and its end: closed by its owner, or gone (unplugged, its driver unloaded, `rdma link
// delete`).
#include "ibv/device.h"

#if RDMC_WITH_IBVERBS

#include <mutex>
#include <shared_mutex>
#include <system_error>
#include <thread>

#include "ibv/names.h"

namespace rdmc {

IbvDevice::IbvDevice(IbvOptions options)
    : context_(std::move(options)),
      port_(context_),
      limits_(readLimits(context_, port_.now().attributes)),
      table_(limits_.maxQueuePairs),
      errors_(context_, table_),
      domains_(context_, regions_),
      registrations_(context_, regions_, domains_, errors_),
      shared_(context_, limits_, domains_),
      translator_(table_, shared_),
      completionQueues_({context_, limits_, translator_, errors_}),
      queuePairs_(context_, limits_, {domains_, completionQueues_, shared_}, table_, errors_),
      connector_(context_, port_, errors_, queuePairs_),
      poster_({context_, regions_, registrations_, table_, shared_, errors_}, limits_),
      events_({context_, port_, table_, completionQueues_, errors_, events(),
               [this](const std::string& why) { abandon(why); }}) {}

DeviceDescription IbvDevice::describe() const {
  const IbvOptions& options = context_.options();
  const IbvPortState now = port_.now();
  DeviceDescription out;
  out.kind = "ibverbs";
  out.name = options.device;
  out.transport = linkLayerName(now.attributes.link_layer) == std::string("infiniband") ? "infiniband" : "roce";
  out.limits = {{"maxQueuePairs", limits_.maxQueuePairs},
                {"maxCompletionQueues", limits_.maxCompletionQueues},
                {"maxCompletionQueueDepth", limits_.maxCompletionQueueDepth},
                {"maxSendDepth", limits_.maxSendDepth},
                {"maxReceiveDepth", limits_.maxReceiveDepth},
                {"maxSge", limits_.maxSge},
                {"maxInlineBytes", limits_.maxInlineBytes},
                {"maxMessageBytes", double(limits_.maxMessageBytes)},
                {"maxRegions", limits_.maxRegions},
                // A promise about single queue pairs only: see dataInOrder.
                {"writeOrderUnitBytes", 0}};
  out.abilities = {{"registeredMemoryIsRemote", true},
                   {"sharedReceiveQueues", limits_.maxSharedReceiveDepth > 0},
                   {"atomics", limits_.atomics},
                   {"ordersWrites", limits_.ordersWrites},
                   {"waitFor", false},
                   {"networkWeights", false},
                   {"dmabuf", context_.library().reg_dmabuf_mr != nullptr}};
  out.details = {{"library", context_.library().path},
                 {"port", std::to_string(options.port)},
                 {"linkLayer", linkLayerName(now.attributes.link_layer)},
                 {"gidIndex", std::to_string(options.gidIndex)},
                 {"gid", gidText(now.gid)},
                 {"gidType", now.gidType},
                 {"lid", std::to_string(now.attributes.lid)},
                 {"activeMtuBytes", std::to_string(mtuBytes(now.attributes.active_mtu))},
                 {"firmware", context_.attributes().fw_ver}};
  return out;
}

NamedNumbers IbvDevice::counterValues() {
  return {{"requests", double(poster_.requests())},
          {"doorbells", double(poster_.doorbells())},
          {"completions", double(translator_.completions())},
          {"mappedBytes", double(registrations_.mappedBytes())}};
}

bool IbvDevice::remotelyReachable(uint32_t region) {
  regions_.at(region);
  return true;
}

void IbvDevice::evictRegion(uint32_t region) {
  if (!regions_.evict(region)) return;
  const uint32_t index = RegionTable::indexOf(region);
  regions_.hideRetired(index);
  errors_.failUsers(regions_.slot(index));
  shared_.awaitPosters();
  try {
    registrations_.takeBack(index);
  } catch (const Failure&) {
    // The memory is freed nevertheless. Nothing reaches it without a queue pair of its domain, or one that receives
    // from a shared receive queue of it; the registration ends with the device.
    const uint32_t pd = regions_.domainOf(index);
    domains_.seal(pd);
    errors_.loseDomain(pd);
  }
}

// ---- the end

IbvDevice::~IbvDevice() {
  if (context_.closed.exchange(true)) return;
  events_.stop();
  finish();
}

void IbvDevice::abandon(const std::string& why) {
  if (context_.closed || context_.removed.exchange(true)) return;
  flushEverything();
  completionQueues_.endChannels();
  events().publish({"deviceRemoved", context_.name() + " cannot be used any more: " + why, 0, 0});
  // Released at once: a driver that waits for its last user can continue.
  releaseHardware();
}

void IbvDevice::flushEverything() {
  for (const auto& each : table_.all()) {
    each->state = kError;
    each->sendCq->absorb();
    each->receiveCq->absorb();
    errors_.takeAway(*each);
    errors_.breakOff(*each);  // requests that the device flushes now are completed below
    std::lock_guard guard(each->posting);
    IbvErrorState::flushHere(*each, kFatal);
  }
  completionQueues_.wakeAll();
}

void IbvDevice::releaseHardware() {
  std::unique_lock gate(context_.gate);
  if (!context_.hardware()) return;
  for (const auto& each : table_.all()) {
    errors_.takeAway(*each);
    errors_.destroyLost(*each);
  }
  shared_.release();
  completionQueues_.release();
  registrations_.release();
  domains_.release();
  context_.closeHardware();
}

void IbvDevice::close() {
  if (context_.closed.exchange(true)) return;
  completionQueues_.endChannels();
  events_.stop();
  if (!connector_.connecting()) return finish();
  // A connect under way may take a second more, and this is the application's thread. Peers cannot reach any memory
  // from here on; the rest is released when that has ended.
  {
    std::shared_lock gate(context_.gate);
    for (const auto& each : table_.all()) {
      if (!each->connecting) queuePairs_.destroyHardware(*each);
    }
    if (context_.hardware()) registrations_.release();
  }
  try {
    std::thread([self = shared_from_this()] {
      try {
        self->finish();
      } catch (const std::exception&) {
        // What was not released is released with the process.
      }
    }).detach();
  } catch (const std::system_error&) {
    finish();  // no thread can be started: the application waits
  }
}

void IbvDevice::finish() {
  connector_.stop();
  events_.join();
  releaseHardware();
}

}  // namespace rdmc

#endif
