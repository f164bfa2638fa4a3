import { explore } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { RequesterMachine } from '../src/machine/requester-machine.js';
import { ResponderMachine } from '../src/machine/responder-machine.js';
import { BroadcastModel, type BroadcastSetting } from './model/broadcast-model.js';
import { ChannelModel } from './model/channel-model.js';
import type { Setting } from './model/channel-setting.js';

const base = { slots: 1, messages: 4, losses: 1 } as const;

function check(setting: Setting) {
  return explore(new ChannelModel(setting));
}

describe('the protocol, in every interleaving', () => {
  const settings: [string, Setting][] = [
    ['pull, one slot, four messages, a loss', { ...base, mode: 'pull' }],
    ['pull, one slot, four messages, two losses', { ...base, mode: 'pull', losses: 2 }],
    ['push, one slot, four messages, a loss', { ...base, mode: 'push' }],
    ['push, one slot, four messages, two losses', { ...base, mode: 'push', losses: 2 }],
    [
      'push after completion, on a device that does not order writes',
      { ...base, mode: 'push', announceAt: 'completion', ordersWrites: false },
    ],
    [
      'push after completion, two slots, three messages, on a device that does not order writes',
      { ...base, slots: 2, messages: 3, mode: 'push', announceAt: 'completion', ordersWrites: false },
    ],
    ['per-request, one slot, four messages, two losses', { ...base, mode: 'per-request', losses: 2 }],
    [
      'per-request, two slots, three messages, a loss',
      { ...base, slots: 2, messages: 3, mode: 'per-request' },
    ],
    ['pull, two slots, three messages, a loss', { ...base, slots: 2, messages: 3, mode: 'pull' }],
    ['push, two slots, three messages, a loss', { ...base, slots: 2, messages: 3, mode: 'push' }],
  ];
  it.each(settings)(
    '%s: no step is unsafe, and the end is reachable from every state',
    { timeout: 240_000 },
    (_name, setting) => {
      const { states, unsafe, stuck } = check(setting);
      expect(unsafe, unsafe?.trace.join(', ')).toBeUndefined();
      expect(stuck).toBeUndefined();
      expect(states).toBeGreaterThan(500);
    },
  );
});

describe('a broadcast to two, in every interleaving', () => {
  const check = (mode: Setting['mode'], messages: number, losses: number): void => {
    const model = new BroadcastModel({ slots: 1, mode, messages, losses });
    const { states, unsafe, stuck } = explore(model);
    expect(unsafe, unsafe?.trace.join(', ')).toBeUndefined();
    expect(stuck).toBeUndefined();
    expect(states).toBeGreaterThan(1000);
  };
  const what = 'one slot, and responders that leave one by one';

  it.each(['pull', 'push', 'per-request'] as const)(
    `%s, two messages, ${what}`,
    { timeout: 240_000 },
    (mode) => {
      check(mode, 2, 0);
    },
  );
  it(`per-request, a message, a loss, ${what}`, { timeout: 240_000 }, () => check('per-request', 1, 1));

  // Half a minute each, several minutes on a busy machine.
  it.skipIf(!process.env.RDMC_TEST_LONG).each(['pull', 'push'] as const)(
    `%s, a message, a loss, ${what}: needs RDMC_TEST_LONG=1`,
    { timeout: 900_000 },
    (mode) => check(mode, 1, 1),
  );

  const wrong: [string, Partial<BroadcastSetting>, RegExp][] = [
    [
      'a slot is free when the first has released it',
      { freesAtFirst: true },
      /reads|torn|may not write|does not match/,
    ],
    ['a responder leaves while it holds a message', { dismissesEarly: true }, /held a message/],
  ];
  it.each(wrong)('%s: unsafe', { timeout: 240_000 }, (_name, more, reason) => {
    const setting = { slots: 1, messages: 2, losses: 0, mode: 'push' as const, ...more };
    expect(explore(new BroadcastModel(setting)).unsafe?.reason).toMatch(reason);
  });
});

/** R toggles when the write is posted, and the responder reads the live words. */
class TogglesAtPosting extends RequesterMachine {
  override posted(slot: number, sequence: number): void {
    super.posted(slot, sequence);
    super.announce(slot >> 5, 1 << (slot & 31));
  }
  protected override announce(): void {}
}

/** A completion with an error counts as any other: R toggles, although the payload may not have arrived. */
class TogglesWhenLost extends RequesterMachine {
  override broke(): void {
    this.completed(this.postedCount);
    super.broke();
  }
}

/** Every bit that differs from P is new: held slots are not marked. */
class ClaimsNothing extends ResponderMachine {
  readonly #p: Int32Array;
  constructor(...[memory, deliveries, state]: ConstructorParameters<typeof ResponderMachine>) {
    super(memory, deliveries, state);
    this.#p = memory.released;
  }
  protected override fresh(w: number, landed: number): number {
    return landed ^ this.#p[w]!;
  }
}

/** The end flag is accepted at once: bits of the same READ may be older. */
class LooksOnlyOnce extends ResponderMachine {
  protected override endSeen(): boolean {
    return true;
  }
}

describe('wrong variants of the protocol are detected', () => {
  const wrong: [string, Setting, RegExp][] = [
    ['R toggles at posting', { ...base, mode: 'pull', losses: 0, requester: TogglesAtPosting }, /torn/],
    [
      'a lost write toggles R',
      { ...base, mode: 'pull', requester: TogglesWhenLost },
      /torn|reads|FOOTER|sequence/,
    ],
    [
      'a push from the live words',
      { ...base, slots: 2, mode: 'push', losses: 0, pushesLiveWords: true },
      /sequence|torn/,
    ],
    ['a push ahead of its payload', { ...base, mode: 'push', losses: 0, ordersWrites: false }, /torn/],
    ['no claim mark', { ...base, mode: 'pull', losses: 0, responder: ClaimsNothing }, /may not write/],
    ['two outstanding READs', { ...base, mode: 'pull', losses: 0, reads: 2 }, /may not write/],
    ['release() twice', { ...base, mode: 'pull', losses: 0, releases: 2 }, /may not write/],
    ['a reconnect without a new generation', { ...base, mode: 'pull', carelessReconnect: true }, /torn/],
    ['the same in push mode', { ...base, mode: 'push', carelessReconnect: true }, /torn/],
    [
      'two outstanding pushes on a device that does not order writes',
      {
        ...base,
        slots: 2,
        messages: 3,
        mode: 'push',
        losses: 0,
        announceAt: 'completion',
        ordersWrites: false,
        pushes: 2,
      },
      /may not write|sequence|torn|reads/,
    ],
    ['release() twice, per-request', { ...base, mode: 'per-request', losses: 0, releases: 2 }, /empty slot/],
    [
      'an end that is accepted before its board is complete',
      {
        slots: 2,
        messages: 2,
        mode: 'push',
        losses: 0,
        announceAt: 'completion',
        ordersWrites: false,
        tornEnd: true,
      },
      /before everything/,
    ],
    [
      'no second look after the end',
      { ...base, mode: 'pull', losses: 0, responder: LooksOnlyOnce },
      /did not arrive/,
    ],
  ];
  it.each(wrong)('%s: unsafe', { timeout: 240_000 }, (_name, setting, reason) => {
    const { unsafe } = check(setting);
    expect(unsafe?.reason).toMatch(reason);
  });

  it('releases between two connections that are not reported: the requester waits for ever', () => {
    const { unsafe, stuck } = check({ ...base, mode: 'per-request', forgetsLateReleases: true });
    expect(unsafe).toBeUndefined();
    expect(stuck).toBeDefined();
  });

  it.each([
    ['free < t·n with one slot and t = 0', (free: number) => free < 0],
    ['free < floor(t·n), which is 0', (free: number) => free < Math.floor(0.5)],
  ])('%s: never refreshes, and waits for ever', (_name, refreshes) => {
    const { unsafe, stuck } = check({ ...base, mode: 'pull', losses: 0, refreshes });
    expect(unsafe).toBeUndefined();
    expect(stuck).toBeDefined();
  });
});
