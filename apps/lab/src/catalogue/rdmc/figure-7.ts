import type { SimulateOptions } from '@rdmc/simulator';
import { messagesInRings } from '../../benchmark/rings.js';
import { tinyMessages } from '../../benchmark/tiny-messages.js';
import type { Outcome } from '../../record/record.js';
import { type Reports, simulated } from '../../simulation/sweep.js';
import { line } from '../../simulation/values.js';
import type { Figure, Runs } from '../figure.js';

const ID = 'rdmc-7';
const MEMBERS = [2, 3, 4, 5, 6, 8, 10, 12, 14, 16];
const MESSAGES = 200;
const UNDER_WAY = [1, 4];

const key = (nodes: number, inFlight: number) => `n=${nodes}, ${inFlight} under way`;

function runs(): Runs {
  const all = new Map<string, SimulateOptions>();
  for (const nodes of MEMBERS) {
    for (const inFlight of UNDER_WAY) {
      all.set(key(nodes, inFlight), {
        cluster: 'fractus',
        nodes,
        byteLength: 1,
        messages: MESSAGES,
        inFlight,
      });
    }
  }
  return all;
}

function outcome(reports: Reports): Outcome {
  const rate = (nodes: number, inFlight: number) =>
    (1e6 * MESSAGES) / reports.of(key(nodes, inFlight)).microseconds;
  return {
    panels: [
      {
        title: 'Messages of one byte on Fractus, simulated',
        description:
          'Messages per second from one sender, binomial pipeline, shipped windows. Higher is better.',
        kind: 'lines',
        x: { label: 'members, the sender included', values: MEMBERS },
        y: { label: 'messages per second', scale: 'linear', digits: 0 },
        series: UNDER_WAY.map((inFlight) => ({
          ...line(inFlight === 1 ? 'one at a time' : `${inFlight} under way`, MEMBERS, 0, (n) =>
            rate(n, inFlight),
          ),
          own: true,
        })),
      },
    ],
    facts: { rate: `${rate(2, 1).toFixed(0)} / ${rate(16, 1).toFixed(0)}` },
    notes: [
      'Each message is a block of its own. The rate is that of the costs of a completion, a request and an announcement, which ' +
        'are assumptions of the preset: so only its fall with the size of the group says something.',
      'Small messages of @rdmc/group go through rings, which are not simulated.',
    ],
    missing: [],
  };
}

export const figure7: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Figure 7',
  title: 'Messages of one byte',
  shows: 'Messages of one byte per second with the binomial pipeline, by the size of the group, on Fractus.',
  facts: [
    { id: 'rate', quantity: 'messages per second, n = 2 / n = 16', paper: 'not in the text', origin: 'text' },
    { id: 'mpi', quantity: 'Open MPI, n = 2 / n = 16', paper: 'not in the text', origin: 'text' },
  ],
  ways: [
    simulated({
      figure: ID,
      kind: 'calibrated',
      how: 'The simulator with the preset fractus, whose costs of processors are assumptions.',
      minutes: 1,
      runs,
      outcome,
    }),
    tinyMessages(),
    messagesInRings(),
  ],
};
