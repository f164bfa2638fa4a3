import { AbortError, categoryOf, errorTable, RdmcError, throwIfAborted } from '@rdmc/common';
import { describe, expect, it } from 'vitest';

const table = errorTable({
  ERR_TEST_LOST: ['peer-lost', 'a member is gone', 'start it again'],
  ERR_TEST_OPTION: ['usage', 'an option is wrong', 'give another'],
});

class TestError extends RdmcError<keyof typeof table> {
  override readonly name = 'TestError';
}

describe('an error', () => {
  it('has its code, the category of that code, the member and the cause', () => {
    const cause = new Error('first');
    const error = new TestError('ERR_TEST_LOST', 'member 3 is gone', { memberId: 3, cause });
    expect(error).toMatchObject({
      name: 'TestError',
      code: 'ERR_TEST_LOST',
      category: 'peer-lost',
      memberId: 3,
      cause,
      message: 'member 3 is gone',
    });
    expect(error).toBeInstanceOf(RdmcError);
    expect('cause' in new TestError('ERR_TEST_OPTION', 'no')).toBe(false);
  });

  it('that came as a code alone has the category of its package, where that is loaded', () => {
    expect(categoryOf('ERR_TEST_OPTION')).toBe('usage');
    expect(categoryOf('ERR_OF_NOBODY')).toBe('internal');
  });
});

describe('an abort', () => {
  it('is named as the platform names it, and its cause is the reason', () => {
    const reason = new Error('enough');
    const error = new AbortError('The send', AbortSignal.abort(reason));
    expect(error).toMatchObject({ name: 'AbortError', code: 'ERR_RDMC_ABORTED', category: 'aborted' });
    expect(error.message).toBe('The send was aborted by its signal');
    expect(error.cause).toBe(reason);
  });

  it('is thrown by a signal that is aborted, and by no other', () => {
    expect(() => throwIfAborted('The send', undefined)).not.toThrow();
    expect(() => throwIfAborted('The send', new AbortController().signal)).not.toThrow();
    expect(() => throwIfAborted('The send', AbortSignal.abort())).toThrow(AbortError);
  });
});
