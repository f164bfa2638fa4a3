#include "ibv/completion_queues.h"

#if RDMC_WITH_IBVERBS

#include <shared_mutex>

#include "ibv/context.h"

namespace rdmc {

int IbvCompletionQueues::createChannel() {
  const IbvContext& context = polling_.context;
  std::shared_lock gate(context.gate);
  context.checkOpen();
  auto made = std::make_shared<IbvChannel>(context.sharedLibrary(), context.hardware());
  std::lock_guard guard(lock_);
  channels_.push_back(std::move(made));
  return int(channels_.size() - 1);
}

std::shared_ptr<IbvChannel>& IbvCompletionQueues::channelHere(int id) {
  if (id < 0 || size_t(id) >= channels_.size() || !channels_[size_t(id)]) {
    throw Failure("ERR_RDMC_CHANNEL_CLOSED", "The completion channel is closed");
  }
  return channels_[size_t(id)];
}

std::shared_ptr<IbvChannel> IbvCompletionQueues::channel(int id) {
  std::lock_guard guard(lock_);
  return channelHere(id);
}

void IbvCompletionQueues::destroyChannel(int id) {
  std::shared_lock gate(polling_.context.gate);
  std::shared_ptr<IbvChannel> found;
  {
    std::lock_guard guard(lock_);
    auto& mine = channelHere(id);
    if (mine->users > 0) {
      throw Failure("ERR_RDMC_CHANNEL_BUSY", "Completion queues still use the channel: close them first");
    }
    found = std::move(mine);
  }
  found->end();
  found->release();
}

uint32_t IbvCompletionQueues::create(uint32_t depth, int channelId) {
  std::shared_lock gate(polling_.context.gate);
  polling_.context.checkOpen();
  std::shared_ptr<IbvChannel> channel;
  if (channelId >= 0) {
    std::lock_guard guard(lock_);
    channel = channelHere(channelId);
    ++channel->users;
  }
  Rollback use([&] {
    if (channel) --channel->users;
  });
  auto made = std::make_shared<IbvCompletionQueue>(polling_, depth, channel);
  use.dismiss();
  std::lock_guard guard(lock_);
  queues_.push_back(std::move(made));  // a number is used once, so that a stale one is seen
  return uint32_t(queues_.size() - 1);
}

std::shared_ptr<IbvCompletionQueue>& IbvCompletionQueues::here(uint32_t number) {
  if (number >= queues_.size() || !queues_[number]) {
    throw Failure("ERR_RDMC_COMPLETION_QUEUE_CLOSED", "The completion queue is closed");
  }
  return queues_[number];
}

std::shared_ptr<IbvCompletionQueue> IbvCompletionQueues::at(uint32_t number) {
  std::lock_guard guard(lock_);
  return here(number);
}

std::shared_ptr<IbvCompletionQueue> IbvCompletionQueues::use(uint32_t number) {
  std::lock_guard guard(lock_);
  const auto& found = here(number);
  ++found->users;
  return found;
}

void IbvCompletionQueues::leave(IbvCompletionQueue& queue) {
  std::lock_guard guard(lock_);
  --queue.users;
}

void IbvCompletionQueues::destroy(uint32_t number) {
  std::shared_lock gate(polling_.context.gate);
  std::shared_ptr<IbvCompletionQueue> found;
  {
    std::lock_guard guard(lock_);
    auto& mine = here(number);
    if (mine->users > 0) {
      throw Failure("ERR_RDMC_COMPLETION_QUEUE_BUSY", "Queue pairs still use the completion queue: close them first");
    }
    found = std::move(mine);
  }
  found->release();
}

void IbvCompletionQueues::fail(const void* queue) {
  std::lock_guard guard(lock_);
  for (const auto& each : queues_) {
    if (each.get() == queue) each->fail();
  }
}

void IbvCompletionQueues::wakeAll() {
  std::lock_guard guard(lock_);
  for (const auto& channel : channels_) {
    if (channel) channel->signal();
  }
}

void IbvCompletionQueues::endChannels() {
  std::lock_guard guard(lock_);
  for (const auto& channel : channels_) {
    if (channel) channel->end();
  }
}

void IbvCompletionQueues::release() {
  for (const auto& queue : queues_) {
    if (queue) queue->release();
  }
  for (const auto& channel : channels_) {
    if (channel) channel->release();
  }
}

}  // namespace rdmc

#endif
