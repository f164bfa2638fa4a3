import assert from 'node:assert/strict';

/** Asserts that a promise rejects with one of these codes; returns the error. */
export async function failsWith(
  promise: Promise<unknown>,
  ...codes: readonly string[]
): Promise<{ code: string; index?: number }> {
  try {
    await promise;
  } catch (error) {
    const code = (error as { code?: string }).code;
    const message = `wanted ${codes.join(' or ')}, got ${String(code)}: ${(error as Error).message}`;
    assert.ok(code !== undefined && codes.includes(code), message);
    return error as { code: string; index?: number };
  }
  assert.fail(`wanted ${codes.join(' or ')}, but it succeeded`);
}

/** As `failsWith`, and the refused request's index. */
export async function refusedAt(index: number, promise: Promise<unknown>, ...codes: string[]): Promise<void> {
  const error = await failsWith(promise, ...codes);
  assert.equal(error.index, index, `index of the request refused with ${error.code}`);
}

/** The numbers `from`, ..., `from + count - 1`. */
export function range(count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, i) => from + i);
}
