import { expectPrinted, expectShown } from '@rdmc/testing';
import { it } from 'vitest';

const root = new URL('..', import.meta.url);

it('the README shows the example', () => expectShown(root));
it('the README says what the example prints', () => expectPrinted(root));
