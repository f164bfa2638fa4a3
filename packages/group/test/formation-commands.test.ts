import { Deferred } from '@rdmc/common';
import { rejection } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { checkGroupOptions } from '../src/checked-group-options.js';
import type { GroupEnvironment } from '../src/environment.js';
import { Formation } from '../src/formation.js';
import type { GroupOptions } from '../src/group-options.js';
import { neighbourhoodOf } from '../src/neighbourhood.js';
import type { WorkerEvents } from '../src/worker-link.js';

const OWN = 0;
const MEMBERS = [OWN, 1, 2];

const region = {
  handle: 0,
  address: 0,
  rkey: 1,
  view: (_: number, byteLength: number) => new Uint8Array(byteLength),
  remote: () => ({ address: 0, rkey: 1 }),
  close: async () => {},
};

/** The names of the commands that the worker gets before it has answered one, in a creation at the root. */
async function beforeAnswers(wish: Partial<GroupOptions>): Promise<string[]> {
  const sent: string[] = [];
  const opened = new Deferred<void>();
  const answered = new Deferred<never>();
  const command = (name: string) => () => {
    sent.push(name);
    return answered.promise;
  };
  const names = ['createPair', 'createSmall', 'createTable'];
  const link = {
    commands: Object.fromEntries(names.map((name) => [name, command(name)])),
    open: () => {
      opened.resolve();
      return command('open')();
    },
    abort: async () => {},
  };
  const options = checkGroupOptions({ id: 7, members: MEMBERS, ...wish }, OWN, () => 0);
  const allocate = async () => region;
  const environment = {
    memberId: OWN,
    directory: { send: () => {} },
    link,
    allocate,
    protectionDomain: { allocate },
  } as unknown as GroupEnvironment;
  const slot = { number: 0, counters: new Float64Array(0), release: () => {} };
  const formation = new Formation(environment, options, 'own', slot, neighbourhoodOf(options, OWN));
  const running = formation.run({} as WorkerEvents, { prepare: async () => null });
  await opened.promise;
  answered.reject(new Error('the worker has ended'));
  expect((await rejection(running)).message).toBe('the worker has ended');
  return sent;
}

describe('the first commands of a creation', () => {
  it('do not wait for one another', async () => {
    const small = ['open', 'createPair', 'createSmall', 'createSmall'];
    expect(await beforeAnswers({ algorithm: 'chain' })).toEqual(small);
    expect(await beforeAnswers({ algorithm: 'chain', delivery: 'stable' })).toEqual([
      ...small,
      'createTable',
      'createTable',
    ]);
  });

  it('do not wait for one another with many senders', async () => {
    // A link to each other member, and one from each other sender.
    const rings = ['createSmall', 'createSmall', 'createSmall', 'createSmall'];
    expect(await beforeAnswers({ senders: MEMBERS })).toEqual(['open', ...rings]);
  });
});
