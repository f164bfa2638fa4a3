import { Deferred } from '@rdmc/common';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CliError } from '../src/errors.js';
import { formatEndpoint, parseEndpoint } from '../src/hosts/endpoint.js';
import { parseHostfile } from '../src/hosts/hostfile.js';
import { inParallel, resolveTargets } from '../src/hosts/resolve.js';
import { checkTargets } from '../src/hosts/target.js';

const name = fc.stringMatching(/^[a-z0-9][a-z0-9.-]{0,20}$/);
const address = fc.ipV6();
const port = fc.integer({ min: 0, max: 65_535 });
const endpoint = fc
  .record({
    user: fc.stringMatching(/^[a-z][a-z0-9_-]{0,8}$/),
    host: fc.oneof(name, address, fc.ipV4()),
    port,
  })
  .chain((full) => fc.subarray(['user', 'port'] as const).map((left) => ({ full, left })))
  .map(({ full, left }) => {
    const { host, user, port } = full;
    return { host, ...(left.includes('user') ? {} : { user }), ...(left.includes('port') ? {} : { port }) };
  });

function codeOfThrown(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(CliError);
    return (error as CliError).code;
  }
  return 'nothing was thrown';
}

describe('a host on the command line', () => {
  it('parses to the parts that it was formatted from', () => {
    fc.assert(
      fc.property(endpoint, (one) => {
        expect(parseEndpoint(formatEndpoint(one))).toEqual(one);
      }),
    );
  });

  it.each([
    ['node1', { host: 'node1' }],
    ['node1:7500', { host: 'node1', port: 7500 }],
    ['10.0.0.5:0', { host: '10.0.0.5', port: 0 }],
    ['[fd00::5]', { host: 'fd00::5' }],
    ['[fe80::1%eth0]:7411', { host: 'fe80::1%eth0', port: 7411 }],
    ['root@node_1.example', { user: 'root', host: 'node_1.example' }],
    ['müller.example', { host: 'müller.example' }],
  ])('%s', (text, expected) => {
    expect(parseEndpoint(text)).toEqual(expected);
  });

  it.each([
    '',
    ':7411',
    'node1:',
    'node1:65536',
    'node1:x',
    'node1:-1',
    '-oProxyCommand=x',
    'a b',
    'a/b',
    'a;b',
    '$(x)',
    '[node1]',
    '[::1',
    '[::1]x',
    '[::1]:',
    '@node1',
    '-l@node1',
    'fd00::5',
    '::1:7411',
    "a'b",
    'a\u0007b',
  ])('%j is refused as usage', (text) => {
    expect(codeOfThrown(() => parseEndpoint(text))).toBe('ERR_RDMC_USAGE');
  });

  it('does not accept characters that a shell or ssh would interpret', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        let host: string;
        try {
          ({ host } = parseEndpoint(text));
        } catch (error) {
          expect((error as CliError).code).toBe('ERR_RDMC_USAGE');
          return;
        }
        expect(host).not.toMatch(/^-|[\s"'`$;&|<>()\\*?!{}/]/);
      }),
    );
  });

  it('an IPv6 address without brackets is refused with the way to write it', () => {
    expect(() => parseEndpoint('fd00::5')).toThrow(
      expect.objectContaining({ advice: expect.stringContaining('[fd00::5]:7411') }),
    );
  });
});

describe('a host file', () => {
  it('holds a host a line, comments, ports and racks', () => {
    const text =
      '\uFEFF# lab\r\nnode1\nnode2:7500 rack=a\n\n  [fd00::5]  port=7600\track=b # last\nroot@n3 rack=a';
    expect(parseHostfile(text, 'hosts')).toEqual([
      { host: 'node1' },
      { host: 'node2', port: 7500, rack: 'a' },
      { host: 'fd00::5', port: 7600, rack: 'b' },
      { user: 'root', host: 'n3', rack: 'a' },
    ]);
  });

  const line = fc.record({
    one: endpoint,
    rack: fc.option(fc.stringMatching(/^[a-z0-9]{1,5}$/)),
    gap: fc.stringMatching(/^[ \t]+$/),
  });
  it('parses to the hosts that it was written from', () => {
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 20 }), (lines) => {
        const text = lines.map(
          ({ one, rack, gap }) =>
            `${gap}${formatEndpoint(one)}${rack ? `${gap}rack=${rack}` : ''}${gap}# x=y`,
        );
        const expected = lines.map(({ one, rack }) => ({ ...one, ...(rack ? { rack } : {}) }));
        expect(parseHostfile(text.join('\n'), 'hosts')).toEqual(expected);
      }),
    );
  });

  it.each([
    [
      'node1\nnode2 slots=4',
      'hosts, line 2: "slots=4" unknown; after the host, only port= and rack= are possible',
    ],
    ['node1:1 port=2', 'hosts, line 1: the port is given twice'],
    ['node1 rack=a rack=b', 'hosts, line 1: the rack is given twice'],
    ['node1 port=0', 'hosts, line 1: port=0: expected a port from 1 to 65535'],
    ['node1 rack=', "hosts, line 1: rack=: expected letters, digits, '.', '_' and '-'"],
    ['node1\n\nnode 2', 'hosts, line 3: "2" unknown; after the host'],
    ['# nothing\n', 'hosts does not contain a host'],
  ])('%j is refused with its line', (text, message) => {
    expect(() => parseHostfile(text, 'hosts')).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_USAGE', message: expect.stringContaining(message) }),
    );
  });
});

describe('receivers', () => {
  it('given twice are refused; the error lists all', () => {
    const targets = ['a', 'b:7411', 'A:7411', 'c:1', 'c:2', 'x@b'].map(parseEndpoint);
    expect(() => checkTargets(targets, 7411)).toThrow(
      expect.objectContaining({
        code: 'ERR_RDMC_DUPLICATE_HOST',
        exitCode: 2,
        message: 'given more than once: a, b:7411',
      }),
    );
    expect(checkTargets(targets.slice(3), 7411)).toHaveLength(3);
  });

  it('of which only some have a rack are refused; the error lists the others', () => {
    const targets = [{ host: 'a', rack: 'x' }, { host: 'b' }, { host: 'c' }];
    expect(() => checkTargets(targets, 7411)).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_USAGE', message: 'these hosts do not have a rack: b, c' }),
    );
  });

  const addresses: Record<string, string> = { a: '10.0.0.1', b: '10.0.0.2', alias: '10.0.0.1' };
  const look = async (host: string): Promise<string> => {
    const address = addresses[host];
    if (address) return address;
    throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' });
  };

  const never = new AbortController().signal;

  it('whose names do not resolve are all in the error', async () => {
    const targets = ['a', 'nowhere', 'b', 'elsewhere:1', '[::1]'].map(parseEndpoint);
    await expect(resolveTargets(targets, 7411, never, look)).rejects.toMatchObject({
      code: 'ERR_RDMC_UNKNOWN_HOST',
      exitCode: 4,
      message: 'these names do not resolve: nowhere (ENOTFOUND), elsewhere (ENOTFOUND)',
    });
  });

  it('which are one by their address are refused', async () => {
    await expect(
      resolveTargets(['a', 'b', 'alias'].map(parseEndpoint), 7411, never, look),
    ).rejects.toMatchObject({
      code: 'ERR_RDMC_DUPLICATE_HOST',
      message: 'given more than once: a:7411 = alias:7411',
    });
    const resolved = await resolveTargets(['a', 'alias:1', '[::1]'].map(parseEndpoint), 7411, never, look);
    expect(resolved.map(({ address }) => address)).toEqual(['10.0.0.1', '10.0.0.1', '::1']);
  });

  it('are not waited for, and no more are looked up, after an interrupt', async () => {
    const interrupt = new AbortController();
    const looking: Deferred<string>[] = [];
    const slow = (): Promise<string> => {
      const answer = new Deferred<string>();
      looking.push(answer);
      return answer.promise;
    };
    const targets = Array.from({ length: 100 }, (_, number) => parseEndpoint(`host${number}`));
    const found = resolveTargets(targets, 7411, interrupt.signal, slow);
    const atOnce = looking.length;
    interrupt.abort(new Error('interrupted'));
    await expect(found).rejects.toThrow('interrupted');
    for (const answer of looking.splice(0)) answer.resolve('10.0.0.1');
    await new Promise(setImmediate);
    expect([atOnce < targets.length, looking]).toEqual([true, []]);
  });

  it('are processed with limited concurrency, and keep their order', async () => {
    let running = 0;
    let most = 0;
    const results = await inParallel([5, 1, 4, 2, 3], 2, async (turns) => {
      running += 1;
      most = Math.max(most, running);
      for (let i = 0; i < turns; i += 1) await Promise.resolve();
      running -= 1;
      return turns * 10;
    });
    expect(results).toEqual([50, 10, 40, 20, 30]);
    expect(most).toBe(2);
  });
});
