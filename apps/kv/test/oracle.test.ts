/** Every command, against Debian's redis-server: the same bytes back. Left out where redis-server is not installed. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Connection } from '../src/client/connection.js';
import { Standalone } from '../src/index.js';
import { BEGINNING, oracleStep } from './support/oracle-commands.js';
import { PIPELINES, SCRIPTS } from './support/oracle-scripts.js';
import { RawClient } from './support/raw-client.js';
import { NEVER_SLOW_US, RedisServer } from './support/redis-server.js';

const redis = await RedisServer.start();
let ours: Standalone;

beforeAll(async () => {
  ours = await Standalone.start({ port: 0, monitor: { slowLogUs: NEVER_SLOW_US } });
});
afterAll(async () => {
  await ours.close();
  await redis?.stop();
});

const name = redis
  ? 'answers like redis-server'
  : 'answers like redis-server (left out: apt-get install redis-server)';
/** What is left of a time is told in whole seconds, and each may have been asked any part of the script's time later. */
function isSameTime([name]: readonly string[], theirs: string, own: string, seconds: number): boolean {
  const [left, right] = [theirs, own].map((reply) => Number(/^:(\d+)\r\n$/.exec(reply)?.[1]));
  return name === 'TTL' && Math.abs(left! - right!) <= Math.round(seconds);
}

/** Arity, first and last key, and step of each command. */
async function commandsAt(port: number): Promise<Map<string, unknown[]>> {
  const connection = await Connection.open('127.0.0.1', port);
  const reply = (await connection.command('COMMAND')) as [string, number, string[], number, number, number][];
  connection.close();
  return new Map(reply.map(([command, arity, , ...keys]) => [command, [arity, ...keys.slice(0, 3)]]));
}

describe.skipIf(!redis)(name, () => {
  for (const version of ['2', '3']) {
    it.each(Object.entries(SCRIPTS))(`RESP${version}: %s`, async (_, script) => {
      const clients = await Promise.all([RawClient.connect(redis!.port), RawClient.connect(ours.port)]);
      for (const client of clients) {
        await client.command('HELLO', version);
        await client.command('FLUSHDB');
      }
      const started = performance.now();
      for (const line of script) {
        const words = typeof line === 'string' ? line.split(' ') : line;
        const [theirs, own] = await Promise.all(clients.map((client) => client.command(...words)));
        const seconds = (performance.now() - started) / 1000;
        if (!isSameTime(words, theirs!, own!, seconds))
          expect(own, words.join(' ').slice(0, 100)).toBe(theirs);
      }
      for (const client of clients) client.close();
    });

    it.each(Object.entries(PIPELINES))(`RESP${version}: %s`, async (_, lines) => {
      const [theirs, own] = await Promise.all(
        [redis!.port, ours.port].map(async (port) => {
          const client = await RawClient.connect(port);
          await client.command('HELLO', version);
          await client.command('FLUSHDB');
          const replies = await client.pipeline(lines);
          client.close();
          return replies;
        }),
      );
      expect(own).toBe(theirs);
    });
  }

  it.each(['2', '3'])('RESP%s: two clients with random commands and transactions', async (version) => {
    const servers = [redis!.port, ours.port];
    const clients = await Promise.all(
      servers.map((port) => Promise.all([RawClient.connect(port), RawClient.connect(port)])),
    );
    for (const client of clients.flat()) await client.command('HELLO', version);
    await fc.assert(
      fc.asyncProperty(fc.array(oracleStep, { minLength: 1, maxLength: 15 }), async (steps) => {
        for (const pair of clients) await Promise.all(pair.map((client) => client.pipeline(BEGINNING)));
        for (const { client, lines } of steps) {
          const [theirs, own] = await Promise.all(clients.map((pair) => pair[client]!.pipeline(lines)));
          expect(own, lines.join('; ')).toBe(theirs);
        }
      }),
      { numRuns: 60 },
    );
    for (const client of clients.flat()) client.close();
  });

  it('says the same about its commands', async () => {
    const [theirs, own] = await Promise.all([redis!.port, ours.port].map(commandsAt));
    for (const [name, facts] of own!) {
      // Redis 7 tells the keys of these by their subcommands only.
      if (!['object', 'memory'].includes(name))
        expect([name, ...facts]).toEqual([name, ...theirs!.get(name)!]);
    }
  });
});
