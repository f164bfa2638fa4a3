// The part of OpenSSL's libcrypto that the soft device uses. Node has these functions, and its own headers declare them;
// those of Node-API alone, with which the addon is compiled, do not.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {
struct evp_md_st;

const evp_md_st* EVP_sha256();
uint8_t* HMAC(const evp_md_st* hash, const void* key, int keyBytes, const uint8_t* data, size_t dataBytes,
              uint8_t* mac, unsigned* macBytes);
int CRYPTO_memcmp(const void* left, const void* right, size_t bytes);
}
