// Surveying and opening RDMA devices.
#include "binding/binding.h"
#include "ibv/device.h"
#include "ibv/survey.h"

namespace rdmc {
namespace {

Napi::Object toObject(Napi::Env env, const SurveyedGid& gid) {
  Napi::Object out = Napi::Object::New(env);
  out.Set("index", Napi::Number::New(env, gid.index));
  out.Set("gid", gid.gid);
  out.Set("type", gid.type);
  out.Set("netdev", gid.netdev);
  return out;
}

Napi::Object toObject(Napi::Env env, const SurveyedPort& port) {
  Napi::Object out = Napi::Object::New(env);
  out.Set("number", Napi::Number::New(env, port.number));
  out.Set("state", port.state);
  out.Set("linkLayer", port.linkLayer);
  out.Set("activeMtuBytes", Napi::Number::New(env, port.activeMtuBytes));
  out.Set("maxMtuBytes", Napi::Number::New(env, port.maxMtuBytes));
  out.Set("lid", Napi::Number::New(env, port.lid));
  Napi::Array gids = Napi::Array::New(env, port.gids.size());
  for (uint32_t i = 0; i < port.gids.size(); ++i) gids.Set(i, toObject(env, port.gids[i]));
  out.Set("gids", gids);
  return out;
}

Napi::Object toObject(Napi::Env env, const SurveyedDevice& device) {
  Napi::Object out = Napi::Object::New(env);
  out.Set("name", device.name);
  out.Set("file", device.file);
  out.Set("transport", device.transport);
  out.Set("error", device.error);
  out.Set("errno", Napi::Number::New(env, device.errorNumber));
  Napi::Array ports = Napi::Array::New(env, device.ports.size());
  for (uint32_t i = 0; i < device.ports.size(); ++i) ports.Set(i, toObject(env, device.ports[i]));
  out.Set("ports", ports);
  return out;
}

Napi::Value ibverbsSurvey(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  const Survey survey = surveyIbverbs(info[0].As<Napi::String>());
  Napi::Object out = Napi::Object::New(env);
  out.Set("library", survey.library);
  Napi::Array devices = Napi::Array::New(env, survey.devices.size());
  for (uint32_t i = 0; i < survey.devices.size(); ++i) devices.Set(i, toObject(env, survey.devices[i]));
  out.Set("devices", devices);
  return out;
}

Napi::Value ibverbsOpen(const Napi::CallbackInfo& info) {
#if RDMC_WITH_IBVERBS
  const auto given = info[0].As<Napi::Object>();
  const auto number = [&](const char* name) { return given.Get(name).As<Napi::Number>().Uint32Value(); };
  IbvOptions options;
  options.library = given.Get("library").As<Napi::String>();
  options.device = given.Get("device").As<Napi::String>();
  options.port = number("port");
  options.gidIndex = number("gidIndex");
  options.pathMtuBytes = number("pathMtuBytes");
  return adopt(info.Env(), std::make_shared<IbvDevice>(std::move(options)));
#else
  surveyIbverbs("");  // says what is missing
  return info.Env().Undefined();
#endif
}

}  // namespace

void bindIbverbs(Napi::Env env, Napi::Object exports) {
  bind<ibverbsSurvey>(env, exports, "ibverbsSurvey");
  bind<ibverbsOpen>(env, exports, "ibverbsOpen");
}

}  // namespace rdmc
