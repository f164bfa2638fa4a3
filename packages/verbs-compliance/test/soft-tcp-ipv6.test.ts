import { describe, it } from 'vitest';
import { hasIpv6, softOverTcp } from './soft.js';

if (hasIpv6()) softOverTcp('process', '::1');
else
  describe('soft/tcp over IPv6', () =>
    it.skip('[skipped: this machine has no ::1 on its loopback]', () => {}));
