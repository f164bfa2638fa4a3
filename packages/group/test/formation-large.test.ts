import { Deferred } from '@rdmc/common';
import { rejection } from '@rdmc/testing';
import type { MemoryRegion } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';
import type { BufferSlabs } from '../src/buffer-slabs.js';
import { checkGroupOptions } from '../src/checked-group-options.js';
import { MOST_DIRECT_MEMBERS } from '../src/constants.js';
import type { GroupEnvironment } from '../src/environment.js';
import { Formation } from '../src/formation.js';
import type { GroupDirectory } from '../src/group-directory.js';
import type { GroupOptions } from '../src/group-options.js';
import { neighbourhoodOf } from '../src/neighbourhood.js';
import type { WireMessage } from '../src/wire-messages.js';
import type { WorkerEvents, WorkerLink } from '../src/worker-link.js';

const LARGE = MOST_DIRECT_MEMBERS + 8;
const ADDRESS = { data: {}, control: {} };

/** The creation of one group at its members, whose messages are delivered in order, one after the other. */
class Members {
  readonly formations = new Map<number, Formation>();
  readonly outcomes = new Map<number, Promise<unknown>>();
  /** What the connections of a member wait for. */
  readonly connecting = new Map<number, Promise<string>>();
  readonly sent: { from: number; to: number; message: WireMessage }[] = [];
  /** For members that have not created the group yet. */
  readonly #waiting: { from: number; to: number; message: WireMessage }[] = [];

  constructor(readonly count: number) {}

  create(id: number, options: Partial<GroupOptions> = {}): void {
    const members = Array.from({ length: this.count }, (_, index) => index);
    const checked = checkGroupOptions({ id: 7, members, smallMessageBytes: 0, ...options }, id, () => 0);
    const connect = () => this.connecting.get(id) ?? Promise.resolve('tcp');
    const commands = { createPair: async () => ADDRESS, connect, start: async () => {} };
    const link = { commands, open: async () => {}, abort: async () => {} };
    const environment = {
      memberId: id,
      directory: {
        send: (to: number, message: WireMessage) => this.#send(id, to, message),
      } as unknown as GroupDirectory,
      link: link as unknown as WorkerLink,
      allocate: async () => ({ handle: 0, close: async () => {} }) as unknown as MemoryRegion,
      slabs: { join: async () => {}, leave: async () => {} } as unknown as BufferSlabs,
    } as unknown as GroupEnvironment;
    const slot = { number: 0, counters: new Float64Array(0), release: () => {} };
    const formation = new Formation(environment, checked, `use of ${id}`, slot, neighbourhoodOf(checked, id));
    this.formations.set(id, formation);
    const outcome = formation.run({} as WorkerEvents, { prepare: async () => null });
    outcome.catch(() => {});
    this.outcomes.set(id, outcome);
    for (const each of this.#waiting.filter(({ to }) => to === id)) this.#deliver(each);
  }

  /** The errors of all members; an empty text where there is none. */
  errors(): Promise<string[]> {
    const codes = [...this.outcomes.values()].map((each) =>
      each.then(
        () => '',
        (error: { code: string }) => error.code,
      ),
    );
    return Promise.all(codes);
  }

  #send(from: number, to: number, message: WireMessage): void {
    const each = { from, to, message };
    this.sent.push(each);
    queueMicrotask(() => this.#deliver(each));
  }

  #deliver(each: { from: number; to: number; message: WireMessage }): void {
    const formation = this.formations.get(each.to);
    if (formation) formation.take(each.from, each.message);
    else this.#waiting.push(each);
  }
}

/** All members but those left out. */
function createdBy(
  count: number,
  without: readonly number[] = [],
  options: Partial<GroupOptions> = {},
): Members {
  const members = new Members(count);
  for (let id = 0; id < count; id += 1) if (!without.includes(id)) members.create(id, options);
  return members;
}

describe('a large group', () => {
  it.each([MOST_DIRECT_MEMBERS, LARGE])(
    'of %i members exists when all have created it, in any order',
    async (n) => {
      const members = createdBy(n, [0, 5]);
      members.create(5);
      members.create(0);
      await Promise.all(members.outcomes.values());
      for (const [id, { nonces, transports }] of members.formations) {
        const others = Array.from({ length: n }, (_, other) => other).filter((other) => other !== id);
        expect([...nonces].sort((a, b) => a[0] - b[0])).toEqual(
          others.map((other) => [other, `use of ${other}`]),
        );
        expect(transports).toEqual(['tcp']);
      }
    },
  );

  it('takes a number of messages that is not quadratic in its members', async () => {
    const count = async (n: number) => {
      const members = createdBy(n);
      await Promise.all(members.outcomes.values());
      return members.sent.length;
    };
    const [some, many] = [await count(32), await count(128)];
    // At most five through the root, and one for each of ⌈log₂ n⌉ neighbours.
    expect(some).toBeLessThanOrEqual(32 * (5 + 5));
    expect(many).toBeLessThanOrEqual(128 * (5 + 7));
  });

  it('does not exist at any member before the last one is connected', async () => {
    const members = createdBy(LARGE, [LARGE - 1]);
    const connection = new Deferred<string>();
    members.connecting.set(LARGE - 1, connection.promise);
    members.create(LARGE - 1);
    let formed = 0;
    for (const each of members.outcomes.values()) each.then(() => (formed += 1)).catch(() => {});
    // Messages are delivered in microtasks.
    await new Promise((resolve) => setImmediate(resolve));
    expect(formed).toBe(0);
    connection.resolve('shm');
    await Promise.all(members.outcomes.values());
    for (const { transports } of members.formations.values()) expect(transports).toEqual(['shm', 'tcp']);
  });

  it('fails at all members if one has other options', async () => {
    const members = createdBy(LARGE, [9]);
    members.create(9, { receiveWindow: 3 });
    expect(new Set(await members.errors())).toEqual(new Set(['ERR_RDMC_GROUP_MISMATCH']));
    const error = await rejection(members.outcomes.get(9)!);
    expect(error).toMatchObject({ field: 'receiveWindow' });
  });

  it.each([
    ['the last member', LARGE - 1],
    ['the root', 0],
  ])('fails at all members if one of them gives up before %s has come', async (_name, absent) => {
    // The neighbours of a receiver are the root only.
    const members = createdBy(LARGE, [absent], { algorithm: 'sequential' });
    await new Promise((resolve) => setImmediate(resolve));
    members.formations.get(9)!.memberLost(11, 'it is gone');
    expect(new Set(await members.errors())).toEqual(new Set(['ERR_RDMC_MEMBER_LOST']));
  });

  it('names the members that are missing, at all of them', async () => {
    const absent = [6, LARGE - 1];
    const members = createdBy(LARGE, [0, ...absent], { timeoutMs: 600 });
    // Another member is the first one that does not wait any more.
    members.create(0, { timeoutMs: 60_000 });
    const errors = await Promise.all([...members.outcomes.values()].map((each) => rejection(each)));
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_GROUP_TIMEOUT', missing: absent });
    }
  });

  it('names the root if it is missing', async () => {
    const members = createdBy(LARGE, [0], { timeoutMs: 50 });
    const error = await rejection(members.outcomes.get(1)!);
    expect(error).toMatchObject({ code: 'ERR_RDMC_GROUP_TIMEOUT', missing: [0] });
  });
});
