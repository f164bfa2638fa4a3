/** MULTI, EXEC and WATCH: one step for other clients, and one append of the log. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReplyReader } from '../src/client/reply-reader.js';
import type { PeerLinks } from '../src/cluster/peer-links.js';
import { SlotTable } from '../src/cluster/slot-table.js';
import { MAX_MATCH_STEPS } from '../src/limits.js';
import { UnfinishedCommands } from '../src/server/unfinished-commands.js';
import { decodeRecord } from '../src/store/record.js';
import { encodeExec } from '../src/transactions/internal-commands.js';
import { Transaction } from '../src/transactions/transaction.js';
import { CommandRunner } from './support/command-runner.js';
import { FakeLink, wordsOf } from './support/fake-link.js';
import { HashModel, modelCommand } from './support/hash-model.js';
import { ManualLog, type ManualServer, startManualServer } from './support/manual-server.js';
import { RawClient } from './support/raw-client.js';
import { contentOf, namesOf, RecordedLog, recover, slotOfKey } from './support/recorded-log.js';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(options: Parameters<typeof startManualServer>[0] = {}): Promise<ManualServer> {
  const server = await startManualServer(options);
  closers.push(() => server.server.close());
  closers.push(() => server.router.close());
  return server;
}

async function connect({ server }: ManualServer): Promise<RawClient> {
  const client = await RawClient.connect(server.port);
  closers.push(() => client.close());
  return client;
}

/** A transaction with these commands, as its request. */
function execOf(commands: readonly (readonly string[])[]): Buffer {
  const transaction = new Transaction();
  transaction.key = 'a';
  for (const words of commands) transaction.queue(words, 0, true);
  return encodeExec(transaction);
}

describe('a server alone', () => {
  let manual: ManualServer;
  let a: RawClient;
  let b: RawClient;
  beforeEach(async () => {
    manual = await serve();
    [a, b] = [await connect(manual), await connect(manual)];
  });

  /** Sends lines; the log acknowledges what they write. */
  async function all(client: RawClient, replies: string, ...lines: string[]): Promise<void> {
    const before = client.received.length;
    client.send(`${lines.join('\r\n')}\r\n`);
    const ended = client.until((text) => text.length >= before + replies.length);
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    while (!isOver) {
      await new Promise(setImmediate);
      manual.log.acknowledge();
    }
    expect((await ended).slice(before)).toBe(replies);
  }

  it('runs the queued commands in one append, and answers with all replies', async () => {
    const queued = '+QUEUED\r\n'.repeat(4);
    const replies = `+OK\r\n${queued}*4\r\n+OK\r\n:2\r\n-ERR value is not an integer or out of range\r\n$1\r\nx\r\n`;
    await all(a, replies, 'MULTI', 'SET s x', 'HSET h f 1 g 2', 'INCR s', 'GET s', 'EXEC');
    expect(manual.log.appends.map(({ length }) => length)).toEqual([4]);
  });

  it('has the replies of Redis where a transaction is not in order', async () => {
    expect(await a.command('EXEC')).toBe('-ERR EXEC without MULTI\r\n');
    expect(await a.command('DISCARD')).toBe('-ERR DISCARD without MULTI\r\n');
    const aborted = '-EXECABORT Transaction discarded because of previous errors.\r\n';
    await all(
      a,
      `+OK\r\n-ERR wrong number of arguments for 'get' command\r\n${aborted}`,
      'MULTI',
      'GET',
      'EXEC',
    );
    await all(a, '+OK\r\n-ERR MULTI calls can not be nested\r\n*0\r\n', 'MULTI', 'MULTI', 'EXEC');
    const nested = '-ERR WATCH inside MULTI is not allowed\r\n';
    await all(a, `+OK\r\n${nested}+QUEUED\r\n+OK\r\n`, 'MULTI', 'WATCH x', 'SET x 1', 'DISCARD');
    const refused = '-ERR Command not allowed inside a transaction\r\n';
    await all(a, `+OK\r\n${refused}${aborted}`, 'MULTI', 'DBSIZE', 'EXEC');
    await all(a, '+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+PONG\r\n+OK\r\n', 'MULTI', 'PING', 'UNWATCH', 'EXEC');
    await all(a, '+OK\r\n+RESET\r\n-ERR EXEC without MULTI\r\n', 'MULTI', 'RESET', 'EXEC');
    expect(manual.log.appends).toEqual([]);
  });

  it('does nothing where a watched key has changed since', async () => {
    await all(a, '+OK\r\n:1\r\n', 'SET k 1', 'HSET h f 1');
    const changes = {
      'SET k 1': '+OK\r\n',
      'APPEND k x': ':2\r\n',
      'GETEX k EXAT 4000000000': '$2\r\n1x\r\n',
      'GETEX k PXAT 4000000000000': '$2\r\n1x\r\n',
      'GETEX k PERSIST': '$2\r\n1x\r\n',
      'DEL k': ':1\r\n',
      'HSET h f 1': ':0\r\n',
      'HSET h g 2': ':1\r\n',
      'HDEL h f': ':1\r\n',
      'EXPIRE h 100': ':1\r\n',
      'SET new 1': '+OK\r\n',
    };
    for (const [change, reply] of Object.entries(changes)) {
      expect(await a.command('WATCH', 'k', 'h', 'new')).toBe('+OK\r\n');
      await all(b, reply, change);
      const made = manual.log.appends.length;
      await all(a, '+OK\r\n+QUEUED\r\n*-1\r\n', 'MULTI', 'SET done 1', 'EXEC');
      expect(manual.log.appends.length, change).toBe(made);
    }
  });

  it('runs where no watched key has changed, and watches each key once', async () => {
    await all(a, '+OK\r\n:1\r\n', 'SET k 1', 'HSET h f 1');
    expect(await a.command('WATCH', 'k', 'h', 'nothing')).toBe('+OK\r\n');
    await all(b, '+OK\r\n', 'SET other 1');
    await all(b, '$1\r\n1\r\n$1\r\n1\r\n', 'GETEX k', 'GETEX k PERSIST');
    await all(a, '+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n', 'MULTI', 'SET k 2', 'EXEC');
    await all(b, '+OK\r\n', 'SET k 3');
    await all(a, '+OK\r\n+QUEUED\r\n*1\r\n$1\r\n3\r\n', 'MULTI', 'GET k', 'EXEC');
    expect(await a.command('WATCH', 'k')).toBe('+OK\r\n');
    await all(b, '+OK\r\n', 'SET k 4');
    await all(a, '+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n$1\r\n4\r\n', 'UNWATCH', 'MULTI', 'GET k', 'EXEC');
  });

  it('watches a key from the first WATCH on', async () => {
    await all(a, '+OK\r\n', 'SET k 1');
    expect(await a.command('WATCH', 'k')).toBe('+OK\r\n');
    await all(b, '+OK\r\n', 'SET k 2');
    expect(await a.command('WATCH', 'k')).toBe('+OK\r\n');
    await all(a, '+OK\r\n+QUEUED\r\n*-1\r\n', 'MULTI', 'SET k 3', 'EXEC');
  });

  it('counts the memory of queued commands, however short, and keeps none that EXEC will refuse', async () => {
    const count = 5000;
    const { unfinished } = manual.server;
    await all(a, `+OK\r\n${'+QUEUED\r\n'.repeat(count)}`, 'MULTI', ...Array(count).fill('GET k'));
    expect(unfinished.totalBytes).toBeGreaterThan(100 * count);
    const unknown = "-ERR unknown command 'NOSUCH', with args beginning with: \r\n";
    await all(a, `${unknown}+QUEUED\r\n`, 'NOSUCH', 'GET k');
    expect(unfinished.totalBytes).toBe(0);
    await all(a, '-EXECABORT Transaction discarded because of previous errors.\r\n', 'EXEC');
  });

  it('ends the oldest transaction where all of them hold too much, however often its client sends', async () => {
    Object.assign(manual.server, { unfinished: new UnfinishedCommands(1000) });
    for (const client of [a, b]) await all(client, '+OK\r\n+QUEUED\r\n', 'MULTI', 'GET k');
    a.send('GET k\r\n'.repeat(8));
    await a.until(() => false);
    await all(b, '*1\r\n$-1\r\n', 'EXEC');
  });

  it('is seen whole or not at all, and told when all of it is acknowledged', async () => {
    a.send('MULTI\r\nSET x 1\r\nSET y 1\r\nEXEC\r\n');
    await manual.log.made(1);
    b.send('MGET x y\r\n');
    const other = await connect(manual);
    expect(await other.command('PING')).toBe('+PONG\r\n');
    expect([a.received, b.received]).toEqual(['+OK\r\n+QUEUED\r\n+QUEUED\r\n', '']);
    manual.log.refuseAll(Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' }));
    expect(await b.until((text) => text !== '')).toBe('-OOM ERR_RDMC_LOG_FULL no room\r\n');
    const oom = '-OOM ERR_RDMC_LOG_FULL no room\r\n';
    expect(await a.until((text) => text.endsWith(oom))).toBe(`+OK\r\n+QUEUED\r\n+QUEUED\r\n${oom}`);
    expect(await other.command('MGET', 'x', 'y')).toBe('*2\r\n$-1\r\n$-1\r\n');
  });

  it('cannot be sent as one command by a client', async () => {
    expect(await a.command('rdmc.watch', 'k')).toMatch(/^-ERR unknown command 'rdmc.watch'/);
    expect(await a.command('rdmc.exec', 'k', '0')).toMatch(/^-ERR unknown command 'rdmc.exec'/);
  });
});

it.each([
  [['k', '5']],
  [['k', 'x']],
  [['k', '0', '3', 'GET', 'k']],
  [['k', '0', '0']],
  [['k', '0', 'GET', 'k']],
])('a request %j of another server is refused whole', (words) => {
  const runner = new CommandRunner(new ManualLog());
  expect(runner.run('rdmc.exec', ...words)).toBe('-ERR a transaction of another server is malformed\r\n');
});

it('a command that is not valid is refused before the first one runs', () => {
  const log = new ManualLog();
  const runner = new CommandRunner(log);
  expect(runner.run('rdmc.exec', 'k', '0', '3', 'SET', 'k', '1', '1', 'GET')).toMatch(
    /^-ERR wrong number of arg/,
  );
  expect(runner.run('rdmc.exec', 'k', '0', '3', 'SET', 'k', '1', '2', 'MULTI', 'x')).toMatch(
    /^-ERR wrong number/,
  );
  expect(log.appends).toEqual([]);
});

describe('a transaction that is too much changes nothing', () => {
  /** A server with a value of 900,000 bytes, and a hash. */
  async function filled(): Promise<{ runner: CommandRunner; log: RecordedLog }> {
    const log = new RecordedLog();
    const runner = new CommandRunner(log);
    runner.turn(['SET', 'big', 'v'.repeat(900_000)], ['HSET', 'h', 'f', '1']);
    runner.replies();
    return { runner, log };
  }

  it('where its replies do not fit into a message between servers', async () => {
    const { runner, log } = await filled();
    const made = log.appends.length;
    runner.turn(['SET', 'other', '1'], execOf([['INCR', 'n'], ...Array(19).fill(['GET', 'big'])]));
    expect(runner.replies()).toMatch(
      /^\+OK\r\n-ERR the replies of a transaction are over .*nothing was done\r\n$/,
    );
    expect(log.appends.slice(made).map(namesOf)).toEqual([['other']]);
    runner.turn(execOf([['INCR', 'n'], ...Array(18).fill(['GET', 'big'])]));
    expect(runner.replies()).toMatch(/^\*19\r\n:1\r\n\$900000\r\n/);
  });

  it('where its commands take many steps', async () => {
    const { runner, log } = await filled();
    const made = log.appends.length;
    const { value } = runner.keyspace.get(slotOfKey('h'), 'h')!;
    Object.defineProperty(value, 'size', { value: MAX_MATCH_STEPS / 2 });
    const usage = ['MEMORY', 'USAGE', 'h'];
    runner.turn(execOf([['INCR', 'n'], usage, usage, usage]));
    expect(runner.replies()).toBe('-ERR a transaction takes too long; nothing was done\r\n');
    expect(log.appends.length).toBe(made);
    runner.turn(execOf([['INCR', 'n'], usage, usage]));
    expect(runner.replies()).toMatch(/^\*3\r\n:1\r\n/);
  });
});

describe('a transaction in the log', () => {
  const transaction = fc.array(modelCommand, { minLength: 1, maxLength: 8 });

  it('is whole or absent in each prefix', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(transaction, { minLength: 1, maxLength: 6 }), async (all) => {
        const log = new RecordedLog();
        const runner = new CommandRunner(log);
        const model = new HashModel();
        const states = [model.snapshot()];
        for (const commands of all) {
          const replies = commands.map((words) => model.run(words)).join('');
          runner.turn(execOf(commands));
          expect(runner.replies()).toBe(`*${commands.length}\r\n${replies}`);
          states[log.appends.length] = model.snapshot();
        }
        expect(states.length).toBe(log.appends.length + 1);
        for (const [appends, state] of states.entries()) {
          const found = contentOf(await recover(log.appends.slice(0, appends).flat()));
          expect(found, `after ${appends} appends`).toEqual(state);
        }
      }),
    );
  });

  it('begins an append of its own where the one of the turn is too full, and changes nothing where no append fits', async () => {
    const size = fc.integer({ min: 1, max: 900 });
    const writes = fc.array(fc.tuple(fc.constantFrom('SET', 'APPEND', 'HSET'), size), {
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(writes, { minLength: 1, maxLength: 4 }), async (all) => {
        const log = new ManualLog(2000);
        const runner = new CommandRunner(log);
        const lines = all.map((steps, index) => {
          const commands = steps.map(([name, bytes]) => {
            const value = 'v'.repeat(bytes);
            return name === 'HSET'
              ? [name, `h${index}`, value, value.slice(0, 9)]
              : [name, `k${index}`, value];
          });
          return execOf(commands);
        });
        runner.turn(...lines);
        log.acknowledge();
        await new Promise(setImmediate);
        const reader = new ReplyReader();
        reader.push(Buffer.from(runner.replies()));
        for (const [index, steps] of all.entries()) {
          const mine = log.appends.filter((entries) =>
            entries.some(({ type, parts }) =>
              decodeRecord(type, Buffer.concat(parts))!.key.endsWith(`${index}`),
            ),
          );
          const reply = reader.next();
          if (reply instanceof Error)
            expect(reply.message).toMatch(/^ERR ERR_RDMC_ENTRY_TOO_LARGE the writes of a trans/);
          else expect(reply).toHaveLength(steps.length);
          expect(mine.length).toBe(reply instanceof Error ? 0 : 1);
          let text: string | undefined;
          for (const [at, [name, bytes]] of reply instanceof Error ? [] : steps.entries()) {
            // A value that fits no append is the error of its command; the others take effect.
            const own = (reply as readonly unknown[])[at];
            if (own instanceof Error) expect(own.message).toContain('ERR_RDMC_ENTRY_TOO_LARGE');
            else if (name !== 'HSET') text = (name === 'APPEND' ? (text ?? '') : '') + 'v'.repeat(bytes);
          }
          const found = contentOf(runner.store);
          expect(found.get(`k${index}`)).toBe(text);
          if (reply instanceof Error) expect(found.has(`h${index}`)).toBe(false);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('a server of a cluster', () => {
  let link: FakeLink;
  let manual: ManualServer;
  let client: RawClient;

  beforeEach(async () => {
    link = new FakeLink();
    const peers = { link: () => link, flush() {}, onLinked() {} } as unknown as PeerLinks;
    const table = new SlotTable();
    table.update(1, [
      { from: 0, to: 16_383, member: 0 },
      { from: slotOfKey('far'), to: slotOfKey('far'), member: 2 },
    ]);
    manual = await serve({ peers, table });
    client = await connect(manual);
  });

  it('refuses keys of different slots', async () => {
    const cross = "-CROSSSLOT Keys in request don't hash to the same slot\r\n";
    client.send('MULTI\r\nSET {t}a 1\r\nSET b 1\r\nEXEC\r\n');
    let expected = `+OK\r\n+QUEUED\r\n+QUEUED\r\n${cross}`;
    expect(await client.until((text) => text.length >= expected.length)).toBe(expected);
    client.send('MULTI\r\nMSET a 1 b 2\r\nEXEC\r\nWATCH a b\r\n');
    expected += `+OK\r\n${cross}-EXECABORT Transaction discarded because of previous errors.\r\n${cross}`;
    expect(await client.until((text) => text.length >= expected.length)).toBe(expected);
    expect(manual.log.appends).toEqual([]);
  });

  it('sends all of it to the server of the keys, with what the watched keys were', async () => {
    client.send('WATCH far\r\nMULTI\r\nSET far 1\r\nGET far\r\nEXEC\r\nPING\r\n');
    const watch = await link.next();
    expect(watch.writes).toBe(false);
    expect(watch.bytes.toString()).toBe('*2\r\n$10\r\nrdmc.watch\r\n$3\r\nfar\r\n');
    link.answer(watch, '*1\r\n$5\r\nid:17\r\n');
    const exec = await link.next();
    expect(exec).toMatchObject({ slot: slotOfKey('far'), writes: true });
    expect(wordsOf(exec)).toEqual([
      'rdmc.exec',
      'far',
      '1',
      'far',
      'id:17',
      '3',
      'SET',
      'far',
      '1',
      '2',
      'GET',
      'far',
    ]);
    link.answer(exec, '*2\r\n+OK\r\n$1\r\n1\r\n');
    const expected = '+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n$1\r\n1\r\n+PONG\r\n';
    expect(await client.until((text) => text.length >= expected.length)).toBe(expected);
  });

  it('does not send it again where its outcome is not known', async () => {
    client.send('MULTI\r\nSET far 1\r\nEXEC\r\n');
    manual.router.lost(await link.next());
    expect(await client.until((text) => text.includes('UNKNOWN'))).toContain('ERR_RDMC_KV_OUTCOME_UNKNOWN');
    expect(link.sent).toEqual([]);
  });

  it('says why the keys could not be watched', async () => {
    client.send('WATCH far\r\nPING\r\n');
    link.answer(await link.next(), '-CLUSTERDOWN no lease\r\n');
    expect(await client.until((text) => text.endsWith('PONG\r\n'))).toBe(
      '-CLUSTERDOWN no lease\r\n+PONG\r\n',
    );
  });
});
