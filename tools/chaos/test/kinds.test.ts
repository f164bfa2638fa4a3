import { expect, it } from 'vitest';
import { chosen, KINDS } from '../src/kinds.js';

const NOTHING: ReadonlyMap<string, string> = new Map();
const optionsOf = (...[options, scenarios, impossible = NOTHING]: Partial<Parameters<typeof chosen>>) =>
  chosen(options ?? {}, scenarios, impossible).map(({ option }) => option);

it('takes all kinds of clusters in turn, unless some are asked for', () => {
  expect(optionsOf()).toEqual(['store', 'kv', 'group']);
  expect(optionsOf({ kv: true })).toEqual(['kv']);
  expect(optionsOf({ store: true, group: true })).toEqual(['store', 'group']);
});

it('finds the kind that has a scenario', () => {
  expect(optionsOf({}, ['kv-twin'])).toEqual(['kv']);
  expect(optionsOf({}, ['primary', 'group-calm'])).toEqual(['store', 'group']);
  expect(() => optionsOf({ group: true }, ['kv-twin'])).toThrow(
    "unknown scenario 'kv-twin'; known are group-calm",
  );
});

it('leaves out what cannot run', () => {
  const impossible = new Map([['full-disk', 'root']]);
  expect(optionsOf({}, ['full-disk', 'kv-server'], impossible)).toEqual(['kv']);
  expect(() => optionsOf({}, ['full-disk'], impossible)).toThrow('none of these scenarios can run here');
});

it('has a name for each scenario that only one kind has', () => {
  const names = KINDS.flatMap(({ scenarios }) => scenarios);
  expect(new Set(names).size).toBe(names.length);
});
