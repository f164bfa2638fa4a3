/** A key that members share: bytes, or text, which stands for its bytes in UTF-8. At least 16 bytes; `openssl rand -hex 32`. */
export type Key = Uint8Array | string;
