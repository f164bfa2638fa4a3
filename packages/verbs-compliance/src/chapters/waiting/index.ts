import type { SuiteContext } from '../../suite-context.js';
import { breaks } from './breaks.js';
import { deaths } from './deaths.js';
import { refusals } from './refusals.js';
import { releases } from './releases.js';

export function waiting(context: SuiteContext): void {
  releases(context);
  breaks(context);
  deaths(context);
  refusals(context);
}
