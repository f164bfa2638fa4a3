import { APPEND_ARGS, Appends } from '../../benchmark/appends.js';
import { shown } from '../../benchmark/command.js';
import type { Outcome } from '../../record/record.js';
import type { Way } from '../figure.js';
import { ON_ONE_HOST } from './common.js';

/** A run of the benchmark of appends. */
export function appendsWay(
  how: string,
  outcomeOf: (appends: Appends) => Pick<Outcome, 'panels' | 'facts'>,
): Way {
  return {
    id: 'measured',
    name: 'appends of a log',
    kind: 'measured',
    how,
    command: shown(APPEND_ARGS),
    minutes: 2,
    rivals: ['replication by messages'],
    run: async (bench) => {
      const appends = new Appends(await bench.command(APPEND_ARGS));
      return { ...outcomeOf(appends), notes: [ON_ONE_HOST], missing: [] };
    },
  };
}
