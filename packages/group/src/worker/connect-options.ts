import type { ConnectOptions } from '@rdmc/verbs';
import type { GroupSetup } from '../records.js';

/**
 * How a group's queue pairs are connected. Receives are posted before a sender may use them, so a receiver that is not ready
 * violates the protocol, and is not tried again.
 */
export function connectOptions(setup: GroupSetup): ConnectOptions {
  const { retryTimeoutMs, weight, trafficClass, serviceLevel } = setup;
  return { rnrRetries: 0, retryTimeoutMs, weight, trafficClass, serviceLevel };
}
