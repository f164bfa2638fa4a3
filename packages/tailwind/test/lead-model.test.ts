import { exploreObjects } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { LEAD_RULES, LeadModel, type LeadRules } from './model/lead-model.js';

describe('coordinators that follow each other, in every interleaving', () => {
  it('no step is unsafe, and the end is reachable from every state', { timeout: 240_000 }, () => {
    const { states, unsafe, stuck } = exploreObjects(new LeadModel());
    expect(unsafe, `${unsafe?.reason}: ${unsafe?.trace.join(', ')}`).toBeUndefined();
    expect(stuck, stuck?.join(', ')).toBeUndefined();
    expect(states).toBeGreaterThan(1000);
  });
});

const unsafeRules: [string, Partial<LeadRules>, RegExp][] = [
  ['a new term declares dead at once', { declaresAfterFormerLeases: false }, /was declared dead/],
  ["a lower term's order or answer is accepted", { requireTerm: () => {} }, /drops entries/],
  ['a term is not raised before its first act', { raisesTerm: false }, /drops entries|two members/],
  ['a recovery does not wait for leases of its own term', { waitsForOwnLeases: false }, /two members/],
  ['a coordinator that lost the lead acts', { checksLead: false }, /drops entries|two members|declared dead/],
];

describe('wrong variants are found', () => {
  it.each(unsafeRules)('%s', { timeout: 240_000 }, (_name, rules, reason) => {
    const { unsafe } = exploreObjects(new LeadModel({ ...LEAD_RULES, ...rules }));
    expect(unsafe?.reason).toMatch(reason);
  });
});
