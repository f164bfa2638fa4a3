import { describe, expect, it } from 'vitest';
import { HostedProtocol } from '../src/hosted-protocol.js';
import type { Protocol } from '../src/protocol.js';

function hosted(protocol: Protocol, attached: number): HostedProtocol {
  const made = new HostedProtocol(1, 'p');
  made.protocol = protocol;
  made.attached = attached;
  return made;
}

describe('a protocol waits for solicited completions only', () => {
  it.each([
    ['without the function, without queue pairs', hosted({ commands: {} }, 0), true],
    ['without the function, with queue pairs', hosted({ commands: {} }, 2), false],
    ['if its function returns true', hosted({ commands: {}, waitsForSolicited: () => true }, 2), true],
    ['unless its function returns false', hosted({ commands: {}, waitsForSolicited: () => false }, 0), false],
  ])('%s', (_, protocol, expected) => {
    expect(protocol.waitsForSolicited).toBe(expected);
  });

  it('once it has failed', () => {
    const failing = hosted({ commands: {}, waitsForSolicited: () => false }, 2);
    failing.fail(new Error('thrown'));
    expect(failing.waitsForSolicited).toBe(true);
  });
});
