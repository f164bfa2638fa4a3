import { defaultRecoveryCosts, type RecoveryReport, simulateRecovery } from '@rdmc/simulator';
import { type Bench, reproduceCommand, type Way } from '../catalogue/figure.js';
import type { Outcome } from '../record/record.js';
import { knownResults } from './known-results.js';
import { SIMULATED } from './sweep.js';
import { rounded } from './values.js';

const ID = 'tailwind-13';
const BACKUPS = 10;
const OBJECTS = [1e6, 10e6];
const SERVERS = [1, 2, 4, 8, 16, 32];
/** The recovery that `replay` is fitted to: four servers on two processors, one fifth of a million objects. */
const FITTED = { servers: 4, processors: 2, objects: 200_000 };
const MEASURED = '0.88 and 0.92';

function recover(
  objects: number,
  servers: number,
  more: { heirs?: number; processors?: number } = {},
): RecoveryReport {
  return simulateRecovery({ cluster: 'tailwind', servers, objects, ...more });
}
const seconds = ({ microseconds }: RecoveryReport) => rounded(microseconds / 1e6, 2);

/** Exported for tests. */
export function recoverySimulations(): Outcome {
  const together = OBJECTS.map((objects) => recover(objects, BACKUPS));
  const alone = OBJECTS.map((objects) => recover(objects, BACKUPS, { heirs: 1 }));
  const [few, many] = together.map(seconds) as [number, number];
  const fitted = recover(FITTED.objects, FITTED.servers, FITTED);
  const most = Math.max(...together.map(({ mostOverMean: { busy } }) => busy));
  return {
    panels: [
      {
        title: `Simulated recovery of a server from ${BACKUPS} backups`,
        description: 'Seconds until all objects are replayed and in the logs of the heirs. Lower is better.',
        kind: 'bars',
        x: { label: 'objects', values: OBJECTS.map((objects) => `${objects / 1e6} million`) },
        y: { label: 'seconds', scale: 'linear', digits: 2 },
        series: [
          { name: `${BACKUPS} heirs`, values: together.map(seconds), own: true },
          { name: 'one heir', values: alone.map(seconds) },
        ],
      },
      {
        title: 'Simulated recovery, by the servers that share it',
        description:
          'Seconds; each server is a backup and an heir. Both axes are logarithmic. Lower is better.',
        kind: 'lines',
        x: { label: 'servers', scale: 'log2', values: SERVERS },
        y: { label: 'seconds', scale: 'log10', digits: 2 },
        series: OBJECTS.map((objects) => ({
          name: `${objects / 1e6} million objects`,
          values: SERVERS.map((servers) => seconds(recover(objects, servers))),
          own: true,
        })),
      },
    ],
    facts: { million: `${few} s`, ten: `${many} s` },
    notes: [
      'The planning functions and the pulling machine of @rdmc/tailwind over simulated links of 56 Gbit/s; replicas are in memory. ' +
        'Each server has a scanning thread and a thread that replays.',
      `An object costs ${defaultRecoveryCosts.scan} µs to scan, measured, and ${defaultRecoveryCosts.replay} µs to replay and append, ` +
        `fitted to one measurement here: four servers on two processors recovered 200,000 objects in ${MEASURED} s; the ` +
        `simulator has ${seconds(fitted)} s. Fencing and planning take ${defaultRecoveryCosts.plan / 1e6} s, as measured for a ` +
        'million objects, in all cases.',
      `No server works more than ${most.toFixed(2)} times the mean.`,
    ],
    missing: [],
  };
}

/** The way `simulated` of the figure. */
export function simulatedRecovery(): Way {
  return {
    id: SIMULATED,
    name: 'simulator',
    kind: 'calibrated',
    how: 'Planning and pulling of recoveries as shipped, on simulated links, disks and threads of the paper’s cluster.',
    command: reproduceCommand(ID, SIMULATED),
    minutes: 1,
    rivals: [],
    run: async ({ say }: Bench) => {
      say(`the simulator reproduced ${knownResults()} known results`);
      return recoverySimulations();
    },
  };
}
