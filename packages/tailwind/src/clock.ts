import { uptime } from 'node:os';

/** Milliseconds that go on while the machine is suspended, from an arbitrary beginning. */
export type Clock = () => number;

/**
 * The time since the machine was booted, suspended time included (`process.hrtime` and `performance.now` leave it
 * out, so a lease on them would outlive its end by the length of a nap). Resolution 10 ms; a call takes some µs.
 */
export const bootClock: Clock = () => uptime() * 1000;
