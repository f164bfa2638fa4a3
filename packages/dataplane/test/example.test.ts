import { expectExample } from '@rdmc/testing';
import { it } from 'vitest';

it('the README shows the example and what it prints', () => expectExample(new URL('..', import.meta.url)));
