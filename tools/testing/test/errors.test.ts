import { expect, it } from 'vitest';
import { ofClass, refusal, rejection, thrown } from '../src/index.js';

const coded = Object.assign(new RangeError('no'), { code: 'ERR_ONE' });
const fails = () => {
  throw coded;
};

it('returns the error of a failure, and fails without a failure', async () => {
  expect(await rejection(Promise.reject(coded))).toBe(coded);
  await expect(rejection(Promise.resolve(1))).rejects.toThrow('a rejection was expected');
  expect(thrown(fails)).toBe(coded);
  expect(() => thrown(() => 1)).toThrow('an error was expected');
});

it('an error of another class, or of another code, is not the one that was expected', () => {
  expect(ofClass(RangeError, coded)).toBe(coded);
  expect(() => ofClass(TypeError, coded)).toThrow(coded);
  expect(coded).toEqual(refusal('ERR_ONE'));
  expect(() => expect(coded).toEqual(refusal('ERR_TWO'))).toThrow();
});
