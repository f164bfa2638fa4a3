import { expect, it } from 'vitest';
import { drawGroup } from '../src/group/group-plan.js';
import { GROUP_SCENARIOS, isCertain } from '../src/group/group-scenarios.js';

const SEEDS = Array.from({ length: 60 }, (_, seed) => seed);

it('the same seed draws the same plan', () => {
  for (const seed of SEEDS) {
    expect(drawGroup(seed, GROUP_SCENARIOS)).toEqual(drawGroup(seed, GROUP_SCENARIOS));
  }
});

it.each(GROUP_SCENARIOS)('%s: faults concern members, and some of them', (scenario) => {
  for (const seed of SEEDS) {
    const { fault, shape } = drawGroup(seed, [scenario]);
    const { members } = shape.group;
    const cut = fault.cut ? [...fault.cut.from, ...fault.cut.to] : [];
    const trapped = fault.trapped.map(({ member }) => member);
    const torn = fault.torn ? [fault.torn.member] : [];
    const concerned = [...fault.killed, ...fault.stopped, ...trapped, ...torn];
    for (const member of [...concerned, ...cut]) expect(members).toContain(member);
    expect(new Set(concerned).size).toBe(concerned.length);
    expect(concerned.length).toBeLessThan(members.length);
    if (cut.length > 0) expect([...cut].sort()).toEqual([...members].sort());
    expect(concerned.length + cut.length > 0).toBe(scenario !== 'group-calm');
    expect(shape.silenceTimeoutMs > 0).toBe(!isCertain(scenario));
  }
});
