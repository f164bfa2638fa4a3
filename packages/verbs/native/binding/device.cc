#include "soft/device.h"

#include <memory>
#include <utility>
#include <vector>

#include "binding/binding.h"
#include "binding/environment.h"
#include "core/registry.h"

namespace rdmc {

Napi::Value adopt(Napi::Env env, std::shared_ptr<Device> device) {
  const int handle = addDevice(std::move(device));
  Environment::of(env).devices.push_back(handle);
  return Napi::Number::New(env, handle);
}

namespace {

Napi::Value softOpen(const Napi::CallbackInfo& info) {
  const auto given = info[0].As<Napi::Object>();
  SoftOptions options;
  options.transport = given.Get("transport").As<Napi::String>();
  options.host = given.Get("host").As<Napi::String>();
  options.port = uint16_t(given.Get("port").As<Napi::Number>().Uint32Value());
  options.linkRate = uint64_t(given.Get("linkRate").As<Napi::Number>().Int64Value());
  if (const Napi::Value key = given.Get("key"); !key.IsUndefined()) {
    if (!key.IsTypedArray()) throw Failure("ERR_RDMC_INVALID_OPTION", "The key must be a Uint8Array");
    const auto bytes = key.As<Napi::Uint8Array>();
    options.key.assign(bytes.Data(), bytes.Data() + bytes.ByteLength());
  }
  return adopt(info.Env(), std::make_shared<SoftDevice>(std::move(options)));
}

Napi::Value deviceAttach(const Napi::CallbackInfo& info) {
  deviceArgument(info);
  return info.Env().Undefined();
}

Napi::Value deviceInfo(const Napi::CallbackInfo& info) {
  const DeviceDescription from = deviceArgument(info)->describe();
  Napi::Env env = info.Env();
  Napi::Object attributes = toObject(env, from.limits);
  for (const auto& [name, able] : from.abilities) attributes.Set(name, Napi::Boolean::New(env, able));
  Napi::Object details = Napi::Object::New(env);
  for (const auto& [name, text] : from.details) details.Set(name, text);
  Napi::Object out = Napi::Object::New(env);
  out.Set("kind", from.kind);
  out.Set("name", from.name);
  out.Set("transport", from.transport);
  out.Set("port", Napi::Number::New(env, from.listeningPort));
  out.Set("attributes", attributes);
  out.Set("details", details);
  return out;
}

Napi::Value deviceClose(const Napi::CallbackInfo& info) {
  const int handle = i32(info, 0);
  Environment& mine = Environment::of(info.Env());
  std::erase(mine.devices, handle);
  closeDevice(handle);
  mine.memory.forgetGone();
  return info.Env().Undefined();
}

Napi::Value deviceCounters(const Napi::CallbackInfo& info) {
  return toObject(info.Env(), deviceArgument(info)->counterValues());
}

Napi::Value deviceTearWrites(const Napi::CallbackInfo& info) {
  deviceArgument(info)->tearWrites(uint64_t(info[1].As<Napi::Number>().DoubleValue()), info[2].As<Napi::Boolean>());
  return info.Env().Undefined();
}

Napi::Value protectionDomainCreate(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->createProtectionDomain());
}

Napi::Value protectionDomainDestroy(const Napi::CallbackInfo& info) {
  deviceArgument(info)->destroyProtectionDomain(u32(info, 1));
  return info.Env().Undefined();
}

Napi::Value errorsBy(const Napi::CallbackInfo& info) {
  Environment::of(info.Env()).makeError = Napi::Persistent(info[0].As<Napi::Function>());
  return info.Env().Undefined();
}

}  // namespace

Napi::Error toError(Napi::Env env, const Failure& failure) {
  const Napi::FunctionReference& makeError = Environment::of(env).makeError;
  if (!makeError.IsEmpty()) {
    const Napi::Value err = failure.err == 0 ? env.Undefined() : Napi::Number::New(env, failure.err);
    const Napi::Value syscall = failure.syscall.empty() ? env.Undefined() : Napi::String::New(env, failure.syscall);
    return makeError.Call({Napi::String::New(env, failure.code), Napi::String::New(env, failure.what()), err, syscall})
        .As<Napi::Error>();
  }
  Napi::Error error = Napi::Error::New(env, failure.what());
  error.Set("code", Napi::String::New(env, failure.code));
  if (failure.err != 0) error.Set("errno", Napi::Number::New(env, failure.err));
  if (!failure.syscall.empty()) error.Set("syscall", Napi::String::New(env, failure.syscall));
  return error;
}

Napi::Object toObject(Napi::Env env, const NamedNumbers& numbers) {
  Napi::Object out = Napi::Object::New(env);
  for (const auto& [name, value] : numbers) out.Set(name, Napi::Number::New(env, value));
  return out;
}

std::shared_ptr<Device> deviceArgument(const Napi::CallbackInfo& info) { return findDevice(i32(info, 0)); }

void bindDevice(Napi::Env env, Napi::Object exports) {
  bind<errorsBy>(env, exports, "errorsBy");
  bind<softOpen>(env, exports, "softOpen");
  bind<deviceAttach>(env, exports, "deviceAttach");
  bind<deviceInfo>(env, exports, "deviceInfo");
  bind<deviceClose>(env, exports, "deviceClose");
  bind<deviceCounters>(env, exports, "deviceCounters");
  bind<deviceTearWrites>(env, exports, "deviceTearWrites");
  bind<protectionDomainCreate>(env, exports, "protectionDomainCreate");
  bind<protectionDomainDestroy>(env, exports, "protectionDomainDestroy");
}

}  // namespace rdmc
