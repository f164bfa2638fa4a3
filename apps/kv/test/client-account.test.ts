/** Commands of one client whose replies come from everywhere, with all that may go wrong: what is counted for it ends at nothing. */
import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Reply, ReplyReader } from '../src/client/reply-reader.js';
import type { PeerLinks } from '../src/cluster/peer-links.js';
import { SlotTable } from '../src/cluster/slot-table.js';
import { MAX_OUTPUT_BYTES, PAUSE_OUTPUT_BYTES, SLOTS } from '../src/limits.js';
import { Client } from '../src/server/client.js';
import { UnfinishedCommands } from '../src/server/unfinished-commands.js';
import { encodeCommand } from './support/encode.js';
import { FakeLink, wordsOf } from './support/fake-link.js';
import { FakeSocket } from './support/fake-socket.js';
import { startManualServer } from './support/manual-server.js';
import { slotOfKey } from './support/recorded-log.js';

const VALUE = 'v'.repeat(PAUSE_OUTPUT_BYTES / 2 + 1);
const FULL = Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' });
const REFUSALS = ['Error: CLUSTERDOWN ERR_RDMC_LEASE_EXPIRED', 'Error: OOM ERR_RDMC_LOG_FULL'];
const MULTI = ['MULTI', 'GET near', 'GET near', `SET near ${VALUE}`, 'EXEC'];
const MULTI_FAR = ['MULTI', 'GET far', 'EXEC'];

/** Lines that are sent at once. */
const commands = fc.constantFrom(
  ['GET near'],
  ['GET far'],
  [`SET near ${VALUE}`],
  ['SET far y'],
  ['MGET far near far'],
  ['MSET far 1 near 2'],
  ['DEL far near'],
  ['HGETALL far'],
  ['KEYS *'],
  ['DBSIZE'],
  ['FLUSHALL'],
  ['WATCH near'],
  ['WATCH far'],
  ['UNWATCH'],
  ['RESET'],
  ['NONSENSE'],
  ['rdmc.admin STATUS'],
  MULTI,
  MULTI_FAR,
);
/** What happens: the name of an event, or a number for the members that have the two keys. */
type Step = readonly string[] | string | number;
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: commands },
  {
    weight: 6,
    arbitrary: fc.constantFrom('answer', 'refuse', 'lose', 'acknowledge', 'log', 'lease', 'read', 'turn'),
  },
  { weight: 2, arbitrary: fc.nat(8) },
);

function answerTo(words: readonly string[]): string {
  const [name = ''] = words;
  const long = `$${VALUE.length}\r\n${VALUE}\r\n`;
  switch (name.toLowerCase()) {
    case 'get':
      return long;
    case 'mget':
      return `*${words.length - 1}\r\n${long.repeat(words.length - 1)}`;
    case 'rdmc.watch':
      return `*${words.length - 1}\r\n${'$1\r\nt\r\n'.repeat(words.length - 1)}`;
    case 'rdmc.exec':
      return `*1\r\n${long}`;
    case 'hgetall':
    case 'keys':
      return `*2\r\n${long}${long}`;
    case 'del':
    case 'dbsize':
      return ':1\r\n';
    default:
      return '+OK\r\n';
  }
}

async function rig() {
  const link = new FakeLink();
  const peers = {
    link: (member: number) => (member === 2 ? link : undefined),
    flush() {},
    onLinked() {},
  } as unknown as PeerLinks;
  const table = new SlotTable();
  const pages: ((reply: Buffer) => void)[] = [];
  const admin = {
    run: (): Promise<Buffer> =>
      new Promise((resolve) => {
        pages.push(resolve);
      }),
  };
  const manual = await startManualServer({ peers, table, admin });
  const socket = new FakeSocket(false);
  const host = {
    executor: manual.executor,
    unfinished: new UnfinishedCommands(),
    dispatch: (client: Client) => manual.router.dispatch(client),
    closed() {},
  };
  const client = new Client(1, socket as unknown as Socket, host, true);
  let epoch = 0;
  const own = (near: number, far: number): void => {
    epoch += 1;
    const places = [
      { slot: slotOfKey('near'), member: near },
      { slot: slotOfKey('far'), member: far },
    ].sort((a, b) => a.slot - b.slot);
    const ranges: { from: number; to: number; member: number }[] = [];
    let from = 0;
    for (const { slot, member } of places) {
      ranges.push({ from, to: slot - 1, member: 0 }, { from: slot, to: slot, member });
      from = slot + 1;
    }
    table.update(epoch, [...ranges, { from, to: SLOTS - 1, member: 0 }]);
  };
  own(0, 2);
  manual.store.put(slotOfKey('near'), 'near', VALUE, 0);
  manual.store.commit();
  manual.log.acknowledge();
  await turn();
  return { link, manual, socket, client, own, pages };
}

it('nothing is counted, no reply is missing and the client is read when all has been answered', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 40 }), async (all) => {
      const { link, manual, socket, client, own, pages } = await rig();
      const { log, router, server } = manual;
      const reader = new ReplyReader();
      const replies: Reply[] = [];
      const read = (): void => {
        reader.push(Buffer.from(socket.drain(), 'latin1'));
        for (let reply = reader.next(); reply !== undefined; reply = reader.next()) replies.push(reply);
      };
      const answerNext = (): void => {
        const request = link.sent.shift();
        if (request) link.answer(request, answerTo(wordsOf(request)));
        else pages.shift()?.(Buffer.from('$1\r\np\r\n'));
      };
      const input: Buffer[] = [];
      const feed = (): void => {
        while (input.length > 0 && !socket.isPaused()) socket.emit('data', input.shift()!);
      };
      let sent = 0;
      /** By the place of their replies. */
      const echoes = new Map<number, string>();
      const act: Record<string, () => unknown> = {
        answer: answerNext,
        refuse: () => {
          const request = link.sent.shift();
          if (request) link.refuse(request);
        },
        lose: () => {
          const request = link.sent.shift();
          if (request) link.lose(request);
        },
        acknowledge: () => log.acknowledge(),
        log: () => log.refuseAll(FULL),
        lease: () => {
          manual.lease.valid = !manual.lease.valid;
        },
        read,
        turn,
      };
      try {
        for (const step of all) {
          if (typeof step === 'string') await act[step]!();
          else if (typeof step === 'number') own([0, 2, -1][step % 3]!, [0, 2, -1][Math.floor(step / 3)]!);
          else {
            const echo = `echo${sent}`;
            const lines = [...step, `ECHO ${echo}`];
            echoes.set(sent + step.length, echo);
            input.push(Buffer.concat(lines.map((line) => encodeCommand(line.split(' ')))));
            sent += lines.length;
          }
          feed();
        }
        manual.lease.valid = true;
        own(0, 2);
        for (let i = 0; i < 60 + 12 * all.length; i += 1) {
          while (link.sent.length + pages.length > 0) answerNext();
          log.acknowledge();
          await turn();
          read();
          feed();
        }
        expect([input.length, replies.length]).toEqual([0, sent]);
        // Without a lease, the replies of one piece are refused together with that to a read, by the lease or by the log.
        const mayRefuse = (reply: unknown): boolean =>
          all.includes('lease') && REFUSALS.some((refusal) => String(reply).startsWith(refusal));
        for (const [at, echo] of echoes) if (!mayRefuse(replies[at])) expect(replies[at]).toBe(echo);
        expect([socket.isPaused(), socket.destroyed]).toEqual([false, false]);
        expect(client.hold(MAX_OUTPUT_BYTES)).toBe(true);
        expect(client.hold(1)).toBe(false);
      } finally {
        router.close();
        await server.close();
      }
    }),
    { numRuns: 60 },
  );
});
