#include <memory>
#include <vector>

#include "binding.h"
#include "registry.h"

namespace rdmc {
namespace {

// Devices opened by one environment (thread) are closed with it.
struct Opened {
  std::vector<int> devices;
};

Opened& openedBy(Napi::Env env) {
  auto* opened = env.GetInstanceData<Opened>();
  if (!opened) {
    opened = new Opened;
    env.SetInstanceData<Opened>(opened);
    env.AddCleanupHook(
        [](Opened* mine) {
          while (!mine->devices.empty()) {
            closeDevice(mine->devices.back());
            mine->devices.pop_back();
          }
        },
        opened);
  }
  return *opened;
}

Napi::Value softOpen(const Napi::CallbackInfo& info) {
  const auto given = info[0].As<Napi::Object>();
  SoftOptions options;
  options.transport = given.Get("transport").As<Napi::String>();
  options.host = given.Get("host").As<Napi::String>();
  options.port = uint16_t(given.Get("port").As<Napi::Number>().Uint32Value());
  if (const Napi::Value key = given.Get("key"); !key.IsUndefined()) {
    if (!key.IsTypedArray()) throw Failure("ERR_RDMC_INVALID_OPTION", "The key must be a Uint8Array");
    const auto bytes = key.As<Napi::Uint8Array>();
    options.key.assign(bytes.Data(), bytes.Data() + bytes.ByteLength());
  }
  const int handle = addDevice(std::make_shared<SoftDevice>(std::move(options)));
  openedBy(info.Env()).devices.push_back(handle);
  return Napi::Number::New(info.Env(), handle);
}

Napi::Value deviceAttach(const Napi::CallbackInfo& info) {
  deviceArgument(info);
  return info.Env().Undefined();
}

Napi::Value deviceInfo(const Napi::CallbackInfo& info) {
  const auto device = deviceArgument(info);
  Napi::Env env = info.Env();
  Napi::Object limits = Napi::Object::New(env);
  const auto number = [&](const char* name, double value) { limits.Set(name, Napi::Number::New(env, value)); };
  number("maxQueuePairs", kMaxQps - 1);
  number("maxCompletionQueues", kMaxCqs);
  number("maxCompletionQueueDepth", 1 << 20);
  number("maxSendDepth", kMaxSendDepth);
  number("maxReceiveDepth", kMaxReceiveDepth);
  number("maxSge", kMaxSge);
  number("maxInlineBytes", kMaxInlineBytes);
  number("maxMessageBytes", double(kMaxMessageBytes));
  number("maxRegions", kMaxRegions - 1);
  number("writeOrderUnitBytes", device->options().transport == "shm" ? 64 : 0);
  limits.Set("registeredMemoryIsRemote", Napi::Boolean::New(env, !device->sharedMemory()));
  limits.Set("sharedReceiveQueues", Napi::Boolean::New(env, false));
  Napi::Object out = Napi::Object::New(env);
  out.Set("kind", "soft");
  out.Set("name", "soft");
  out.Set("transport", device->options().transport);
  out.Set("port", Napi::Number::New(env, device->tcpPort()));
  out.Set("attributes", limits);
  return out;
}

Napi::Value deviceClose(const Napi::CallbackInfo& info) {
  const int handle = i32(info, 0);
  std::erase(openedBy(info.Env()).devices, handle);
  closeDevice(handle);
  return info.Env().Undefined();
}

Napi::Value deviceCounters(const Napi::CallbackInfo& info) {
  const auto device = deviceArgument(info);
  Napi::Object out = Napi::Object::New(info.Env());
  const auto set = [&](const char* name, double value) { out.Set(name, Napi::Number::New(info.Env(), value)); };
  set("copiedBytes", double(device->counters.copiedBytes));
  set("requests", double(device->counters.requests));
  set("doorbells", double(device->counters.doorbells));
  set("handedOver", double(device->counters.handedOver));
  set("mappedBytes", double(device->pool().mappedBytes()));
  return out;
}

Napi::Value protectionDomainCreate(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->createProtectionDomain());
}

Napi::Value protectionDomainDestroy(const Napi::CallbackInfo& info) {
  deviceArgument(info)->destroyProtectionDomain(u32(info, 1));
  return info.Env().Undefined();
}

}  // namespace

Napi::Error toError(Napi::Env env, const Failure& failure) {
  Napi::Error error = Napi::Error::New(env, failure.what());
  error.Set("code", Napi::String::New(env, failure.code));
  if (failure.err != 0) error.Set("errno", Napi::Number::New(env, failure.err));
  if (!failure.syscall.empty()) error.Set("syscall", Napi::String::New(env, failure.syscall));
  return error;
}

std::shared_ptr<SoftDevice> deviceArgument(const Napi::CallbackInfo& info) { return findDevice(i32(info, 0)); }

void bindDevice(Napi::Env env, Napi::Object exports) {
  bind<softOpen>(env, exports, "softOpen");
  bind<deviceAttach>(env, exports, "deviceAttach");
  bind<deviceInfo>(env, exports, "deviceInfo");
  bind<deviceClose>(env, exports, "deviceClose");
  bind<deviceCounters>(env, exports, "deviceCounters");
  bind<protectionDomainCreate>(env, exports, "protectionDomainCreate");
  bind<protectionDomainDestroy>(env, exports, "protectionDomainDestroy");
}

}  // namespace rdmc
