import { Deferred } from '@rdmc/common';
import { rejection } from '@rdmc/testing';
import type { MemoryRegion } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';
import { agreementOf, disagreement } from '../src/agreement.js';
import type { BufferSlabs } from '../src/buffer-slabs.js';
import { checkGroupOptions } from '../src/checked-group-options.js';
import type { GroupEnvironment } from '../src/environment.js';
import { Formation } from '../src/formation.js';
import type { GroupDirectory } from '../src/group-directory.js';
import { neighbourhoodOf } from '../src/neighbourhood.js';
import type { WireMessage } from '../src/wire-messages.js';
import type { WorkerEvents, WorkerLink } from '../src/worker-link.js';

const OWN = 0;
const [ROOT, LEAF] = [1, 2];
const MEMBERS = [ROOT, OWN, LEAF];
const GROUP = 7;
const ADDRESS = { data: {}, control: {} };

/**
 * The creation of a chain at its relay, up to the last command to the worker; the test sends the messages of the
 * others.
 */
async function lastStep() {
  const started = new Deferred<void>();
  const starting = new Deferred<void>();
  const introduced = new Deferred<void>();
  const sent: { to: number; message: WireMessage }[] = [];
  const commands = {
    createPair: async () => ADDRESS,
    connect: async () => 'shm',
    start: () => {
      starting.resolve();
      return started.promise;
    },
  };
  const link = { commands, open: async () => {}, abort: async () => {} };
  const directory = {
    send(to: number, message: WireMessage) {
      sent.push({ to, message });
      if (sent.length === MEMBERS.length - 1) introduced.resolve();
    },
  };
  const asked = { id: GROUP, members: MEMBERS, algorithm: 'chain', smallMessageBytes: 0 } as const;
  const options = checkGroupOptions(asked, OWN, () => 0);
  const region = { handle: 0, close: async () => {} } as unknown as MemoryRegion;
  const environment = {
    memberId: OWN,
    directory: directory as unknown as GroupDirectory,
    link: link as unknown as WorkerLink,
    allocate: async () => region,
    slabs: { join: async () => {}, leave: async () => {} } as unknown as BufferSlabs,
  } as unknown as GroupEnvironment;
  const slot = { number: 0, counters: new Float64Array(0), release: () => {} };
  const formation = new Formation(environment, options, 'own', slot, neighbourhoodOf(options, OWN));
  const running = formation.run({} as WorkerEvents, { prepare: async () => null });
  running.catch(() => {});
  await introduced.promise;
  const base = { group: GROUP } as const;
  const say = (from: number, message: object) =>
    formation.take(from, { ...base, nonce: `of ${from}`, to: 'own', ...message } as WireMessage);
  for (const from of [ROOT, LEAF])
    say(from, { type: 'create', agreement: agreementOf(options), address: ADDRESS });
  for (const from of [ROOT, LEAF]) say(from, { type: 'connected', transports: ['shm'] });
  await starting.promise;
  return { formation, running, say, started, sent };
}

describe('Formation, in its last step', () => {
  it('resolves when the worker has started', async () => {
    const { running, started } = await lastStep();
    started.resolve();
    await running;
  });

  it('rejects when a member is lost', async () => {
    const { formation, running, started } = await lastStep();
    formation.memberLost(LEAF, 'it is gone');
    started.resolve();
    expect(await rejection(running)).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: LEAF });
  });

  it('rejects where another member knows another process of a member', async () => {
    const options = checkGroupOptions({ id: GROUP, members: MEMBERS }, OWN, () => 1);
    const theirs = { ...agreementOf(options), incarnations: [1, 1, 2] };
    expect(disagreement(GROUP, agreementOf(options), OWN, agreementOf(options), LEAF)).toBeUndefined();
    const error = disagreement(GROUP, agreementOf(options), OWN, theirs, LEAF);
    expect(error).toMatchObject({
      code: 'ERR_RDMC_GROUP_MISMATCH',
      field: 'incarnations',
      memberId: LEAF,
    });
    expect(error!.message).toContain('create the group again');
  });

  it('rejects when the others, which are ready, have lost this member', async () => {
    const { running, say, started, sent } = await lastStep();
    say(ROOT, { type: 'failed', culprit: OWN, code: 'ERR_RDMC_MEMBER_LOST', reason: 'it is silent' });
    started.resolve();
    const error = await rejection(running);
    expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: OWN, reason: 'it is silent' });
    expect(sent.filter(({ message }) => message.type === 'abandon')).toHaveLength(MEMBERS.length - 1);
  });
});
