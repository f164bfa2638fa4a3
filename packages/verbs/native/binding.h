// Between Node-API and the device: argument reading, error translation.
#pragma once
#include <napi.h>

#include <system_error>

#include "failure.h"
#include "device.h"

namespace rdmc {

void bindDevice(Napi::Env env, Napi::Object exports);
void bindIbverbs(Napi::Env env, Napi::Object exports);
void bindRegion(Napi::Env env, Napi::Object exports);
void bindQueue(Napi::Env env, Napi::Object exports);
void bindFd(Napi::Env env, Napi::Object exports);

// A JavaScript error with code, errno and syscall.
Napi::Error toError(Napi::Env env, const Failure& failure);

inline uint32_t u32(const Napi::CallbackInfo& info, size_t at) { return info[at].As<Napi::Number>().Uint32Value(); }
inline int i32(const Napi::CallbackInfo& info, size_t at) { return info[at].As<Napi::Number>().Int32Value(); }
inline uint64_t u53(const Napi::CallbackInfo& info, size_t at) {
  return uint64_t(info[at].As<Napi::Number>().DoubleValue());
}
// An object with a number for each name.
Napi::Object toObject(Napi::Env env, const NamedNumbers& numbers);
// Puts a device under the environment that opened it; returns its handle.
Napi::Value adopt(Napi::Env env, std::shared_ptr<Device> device);
std::shared_ptr<Device> deviceArgument(const Napi::CallbackInfo& info);

// Exports a function whose Failures become JavaScript errors.
template <Napi::Value (*Function)(const Napi::CallbackInfo&)>
void bind(Napi::Env env, Napi::Object exports, const char* name) {
  exports.Set(name, Napi::Function::New(
                        env,
                        [](const Napi::CallbackInfo& info) -> Napi::Value {
                          try {
                            return Function(info);
                          } catch (const Failure& failure) {
                            throw toError(info.Env(), failure);
                          } catch (const std::bad_alloc&) {
                            throw toError(info.Env(), Failure("ERR_RDMC_OUT_OF_MEMORY", "Out of memory"));
                          } catch (const std::system_error& error) {
                            throw toError(info.Env(), Failure("ERR_RDMC_SYSTEM", error.what(), error.code().value()));
                          }
                        },
                        name));
}

}  // namespace rdmc
