import { describe, it } from 'vitest';
import { hasIpv6, softOverTcp } from './suites.js';

/**
 * Addresses, their text and their connections; bytes and ends of a connection are as with IPv4. RDMC_TEST_LONG=1 runs all
 * chapters.
 */
const OF_ADDRESSES = ['opcodes', 'connecting', 'lifecycle'] as const;

if (hasIpv6()) softOverTcp('process', '::1', OF_ADDRESSES);
else
  describe('soft/tcp over IPv6', () =>
    it.skip('[skipped: no ::1 on the loopback; sysctl net.ipv6.conf.lo.disable_ipv6=0 adds it]', () => {}));
