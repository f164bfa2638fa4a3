import { expect, it } from 'vitest';
import * as constants from '../src/constants.js';
import { native } from '../src/native.js';

const tables = ['Layout', 'Word', 'CompletionWord', 'Opcode', 'CompletionOpcode', 'WorkRequestFlag'] as const;
const more = ['CompletionFlag', 'Status', 'Access', 'QueuePairState', 'PostResult'] as const;
const constantsByName = new Map<string, unknown>(Object.entries(constants));

it.each([...tables, ...more])('the native core agrees on %s', (name) => {
  expect(native().constants[name]).toEqual(constantsByName.get(name));
});
