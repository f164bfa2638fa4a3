export { KvError, type KvErrorCode } from './errors.js';
export { Standalone, type StandaloneOptions } from './node/standalone.js';
