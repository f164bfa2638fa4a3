import { describe, expect, it, vi } from 'vitest';
import { CloseBarrier } from '../src/close-barrier.js';
import { GroupAgreement } from '../src/group-agreement.js';
import type { GroupCore } from '../src/group-core.js';
import type { GroupEnd } from '../src/group-end.js';
import { GroupFailure } from '../src/group-failure.js';
import { openRow } from '../src/stable/survivor-rules.js';

const MEMBERS = [0, 1, 2, 3];
const OWN = 2;
const TOTAL = 5;
const VERDICT = { code: 'ERR_RDMC_DATAPLANE_DIED', reason: 'its data plane died' };

/** Member 2 of four, with all messages of a group that the root has closed; members 0 and 3 have them too. */
function complete() {
  const barrier = new CloseBarrier(MEMBERS, OWN);
  barrier.sent(0, TOTAL);
  barrier.storesNow([TOTAL]);
  barrier.stored(3);
  const messenger = { failed: vi.fn(), stopped: vi.fn() };
  const verdicts = { remember: vi.fn() };
  const environment = { memberId: OWN, mesh: {}, verdicts };
  const core = {
    memberId: OWN,
    environment,
    options: { id: 1, members: MEMBERS },
    senders: [0],
    barrier,
    messenger,
    reception: {},
    isTableLink: () => false,
    state: 'open',
  };
  const end = { finish: vi.fn(async () => {}) };
  return { core: core as unknown as GroupCore, end: end as unknown as GroupEnd, messenger };
}

describe('a member with all messages, in a group with stable delivery', () => {
  it('does not wait for the row of a member that reports its own failure, also if that is harmless', () => {
    const { core, end } = complete();
    const failure = new GroupFailure(core, end);
    const lose = vi.fn();
    failure.agreement = { isOn: true, suspects: () => false, lose } as unknown as GroupAgreement;
    failure.failedElsewhere(3, { culprit: 3, ...VERDICT });
    expect(lose).toHaveBeenCalledWith(3);
    expect(end.finish).not.toHaveBeenCalled();
  });

  it.each([true, false])('that stops waiting tells the others, who may need its row: %s', (isOn) => {
    const { core, end, messenger } = complete();
    const failure = new GroupFailure(core, end);
    failure.agreement = { isOn } as GroupAgreement;
    failure.giveUp('it took more than 5 ms');
    expect(messenger.failed).toHaveBeenCalledTimes(isOn ? 1 : 0);
  });

  it.each([TOTAL - 1, TOTAL + 1])('does not take a row that says the group is complete with %s', (trim) => {
    const { core, end } = complete();
    const port = { stopped: vi.fn(), violated: vi.fn() };
    const agreement = new GroupAgreement(core, end, port);
    agreement.stopped(3, { ...openRow(), isWedged: true, received: [trim], trim: [trim], isDecided: true });
    expect(port.violated).toHaveBeenCalledWith(3, 'it wrote that this member has all messages');
  });
});

it.each(['minority', 'excluded'] as const)('a member that ends as %s tells the others', (how) => {
  const { core, end, messenger } = complete();
  const agreement = new GroupAgreement(core, end, { stopped: vi.fn(), violated: vi.fn() });
  core.state = 'agreeing';
  agreement.ended(how, { ...openRow(), isWedged: true, suspected: 0b1011 });
  expect(messenger.failed).toHaveBeenCalledWith(
    expect.objectContaining({ culprit: OWN, code: 'ERR_RDMC_GROUP_MINORITY' }),
  );
  expect(end.finish).toHaveBeenCalledOnce();
});

describe('a member whose own device fails, in a group with stable delivery', () => {
  const GONE = {
    group: 0,
    pair: -1,
    kind: 'device',
    code: 'ERR_RDMC_DEVICE_REMOVED',
    reason: 'gone',
  } as const;

  it('while the survivors agree: it ends, and tells them', () => {
    const { core, end, messenger } = complete();
    const failure = new GroupFailure(core, end);
    failure.agreement = { isOn: true, lose: vi.fn() } as unknown as GroupAgreement;
    core.state = 'agreeing';
    failure.trouble(GONE);
    expect(messenger.failed).toHaveBeenCalledWith(expect.objectContaining({ culprit: OWN }));
    expect(end.finish).toHaveBeenCalledOnce();
  });

  it('when it has all messages: it does not begin to agree after another failure', () => {
    const { core, end, messenger } = complete();
    const failure = new GroupFailure(core, end);
    const begin = vi.fn();
    failure.agreement = { isOn: true, lose: vi.fn(), begin } as unknown as GroupAgreement;
    failure.trouble(GONE);
    expect(end.finish).not.toHaveBeenCalled();
    failure.memberLost(1, 'its process ended');
    expect(begin).not.toHaveBeenCalled();
    expect(messenger.failed).toHaveBeenCalledWith(expect.objectContaining({ culprit: OWN }));
    expect(end.finish).toHaveBeenCalledOnce();
  });
});
