{
  "variables": {
    # 1: the addon needs no newer libc than glibc 2.28, and no libstdc++ (rdmc-verbs-build --portable).
    "portable%": 0,
  },
  "targets": [
    {
      "target_name": "rdmc_verbs",
      # Each unit includes the sources of one part; make starts them in this order, so the longest come first.
      "sources": ["unit_ibverbs.cc", "unit_tcp.cc", "unit_core.cc", "unit_shm.cc", "unit_binding.cc"],
      # The headers of Node-API come from npm: not every Node has them, and they are the same for all versions.
      "include_dirs": [
        ".",
        "<!@(node -p \"require('node-addon-api').include\")",
        "<!@(node -p \"require('node-api-headers').include_dir\")",
      ],
      "defines": ["NAPI_VERSION=9", "NODE_ADDON_API_DISABLE_DEPRECATED", "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"],
      "cflags_cc": [
        "-std=gnu++20", "-O3", "-Wall", "-Wextra", "-pthread", "-fvisibility=hidden", "-fno-omit-frame-pointer",
      ],
      "ldflags": ["-pthread", "-Wl,-z,nodelete"],
      "conditions": [
        ["portable==1", {
          "sources": ["unit_portable.cc"],
          "ldflags": [
            "-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections", "-s",
            # Without it, symbols of the libstdc++ that Node uses could take the place of those in the addon.
            "-Wl,--version-script=<(module_root_dir)/portable/exports.map",
            # The functions of portable/old_glibc.cc.
            "-Wl,--wrap=__libc_single_threaded", "-Wl,--wrap=__pthread_key_create", "-Wl,--wrap=_dl_find_object",
            "-Wl,--wrap=dladdr", "-Wl,--wrap=dlerror", "-Wl,--wrap=dlopen", "-Wl,--wrap=dlvsym",
            "-Wl,--wrap=fstat64", "-Wl,--wrap=pthread_create", "-Wl,--wrap=pthread_detach",
            "-Wl,--wrap=pthread_join", "-Wl,--wrap=pthread_once", "-Wl,--wrap=pthread_rwlock_rdlock",
            "-Wl,--wrap=pthread_rwlock_unlock", "-Wl,--wrap=pthread_rwlock_wrlock",
            "-Wl,--wrap=pthread_setname_np", "-Wl,--wrap=pthread_sigmask", "-Wl,--wrap=stat64",
          ],
        }],
      ],
    }
  ]
}
