// The part of libuv that the addon uses. Node has libuv's functions, and its own headers declare them; those of Node-API
// alone, with which the addon is compiled, do not. Handles are opaque here: their size may differ between versions.
#pragma once
#include <cstddef>

extern "C" {
struct uv_loop_s;
struct uv_handle_s;

using uv_close_cb = void (*)(uv_handle_s* handle);
using uv_poll_cb = void (*)(uv_handle_s* handle, int status, int events);

size_t uv_handle_size(int type);
void* uv_handle_get_data(const uv_handle_s* handle);
void uv_handle_set_data(uv_handle_s* handle, void* data);
void uv_close(uv_handle_s* handle, uv_close_cb closed);
void uv_ref(uv_handle_s* handle);
void uv_unref(uv_handle_s* handle);
int uv_poll_init(uv_loop_s* loop, uv_handle_s* handle, int fd);
int uv_poll_start(uv_handle_s* handle, int events, uv_poll_cb ready);
int uv_poll_stop(uv_handle_s* handle);
}

namespace rdmc {
// Values of enumerators, which stay the same in all versions 1.
constexpr int kUvPoll = 8;
constexpr int kUvReadable = 1;
}  // namespace rdmc
