/** Values of options and defaults. This entry does not load the code of casts: a command line can check its options with it. */
export { type ChecksumKind, checksums } from './checksum.js';
export {
  CAST_PROTOCOL_VERSION,
  DEFAULT_MESSAGE_BYTES,
  DEFAULT_PORT,
  DEFAULT_SERVE_PORT,
  MAX_STALL_TIMEOUT_MS,
  MIN_STALL_TIMEOUT_MS,
} from './constants.js';
export { type ComparisonKind, comparisons } from './manifest/policy.js';
