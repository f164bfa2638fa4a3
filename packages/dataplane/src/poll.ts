/*
 * The entry `@rdmc/dataplane/poll`: the polling policy without the worker, for programs that run it on simulated time.
 * Internal to this repository: it may change in any release.
 */
export { DEFAULT_WINDOW_MS } from './constants.js';
export { PollPolicy } from './poll-policy.js';
