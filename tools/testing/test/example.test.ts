import { expect, it } from 'vitest';
import { expectExample, expectShown } from '../src/index.js';

const folder = (name: string) => new URL(`examples/${name}/`, import.meta.url);

it('an example is shown as it is, and prints what the README says', async () => {
  await expectExample(folder('right'));
  expectShown(folder('wrong'));
  await expect(expectExample(folder('wrong'))).rejects.toThrow('two');
});
