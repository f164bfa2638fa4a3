import type { SimulateOptions, SimulationReport } from '@rdmc/simulator';
import { waitsOnOneHost } from '../../benchmark/waits.js';
import type { Outcome } from '../../record/record.js';
import { type Reports, simulated } from '../../simulation/sweep.js';
import { line, MIB } from '../../simulation/values.js';
import type { Figure, Runs } from '../figure.js';

const ID = 'rdmc-11';
const MEMBERS = [3, 4, 8, 16];
const SIZES = [
  { name: '100 MB', byteLength: 1e8, blockBytes: MIB, messages: 2 },
  { name: '1 MB', byteLength: 1e6, blockBytes: 1e5, messages: 40 },
  { name: '10 KB', byteLength: 1e4, blockBytes: 4096, messages: 200 },
] as const;
const WAITS = [
  { name: 'hybrid', windowMs: 50 },
  { name: 'interrupts', windowMs: 0 },
] as const;

const key = (size: string, wait: string, nodes: number) => `${size}, ${wait}, n=${nodes}`;

function runs(): Runs {
  const all = new Map<string, SimulateOptions>();
  for (const { name, ...size } of SIZES) {
    for (const { name: wait, windowMs } of WAITS) {
      for (const nodes of MEMBERS) {
        all.set(key(name, wait, nodes), { cluster: 'fractus', nodes, ...size, windows: 'paper', windowMs });
      }
    }
  }
  return all;
}

/** Share of time in which the threads of all members are busy, in percent: polling counts. */
function busy({ hosts, microseconds }: SimulationReport): number {
  const sum = hosts.reduce((total, { working, polling }) => total + working + polling, 0);
  return Math.min(100, (100 * sum) / (hosts.length * microseconds));
}

function outcome(reports: Reports): Outcome {
  const report = (size: string, wait: string, nodes: number) => reports.of(key(size, wait, nodes));
  const panels = SIZES.map(({ name }) => ({
    title: `${name} on Fractus, one sender`,
    description:
      'Gbit/s, with threads that poll for 50 ms and then sleep, and with threads that always sleep.',
    kind: 'lines' as const,
    x: { label: 'members', values: MEMBERS },
    y: { label: 'Gbit/s', scale: 'linear' as const, digits: 2 },
    series: WAITS.map(({ name: wait }) => ({
      ...line(wait, MEMBERS, 2, (n) => report(name, wait, n).gbitPerSecond),
      own: wait === 'hybrid',
    })),
  }));
  const cpu = {
    title: 'Busy time of the threads, n = 8',
    description: 'Percent of a core for each member, the mean of all members.',
    kind: 'bars' as const,
    x: { label: 'message', values: SIZES.map(({ name }) => name) },
    y: { label: 'percent of a core', scale: 'linear' as const, digits: 1 },
    series: WAITS.map(({ name: wait }) => ({
      ...line(wait, SIZES, 1, ({ name }) => busy(report(name, wait, 8))),
      own: wait === 'hybrid',
    })),
  };
  const slower = (size: string) =>
    (report(size, 'interrupts', 8).gbitPerSecond / report(size, 'hybrid', 8).gbitPerSecond).toFixed(3);
  const cpuOf = (size: string) => `${busy(report(size, 'interrupts', 8)).toFixed(0)}%`;
  return {
    panels: [...panels, cpu],
    facts: {
      large: cpuOf('100 MB'),
      medium: cpuOf('1 MB'),
      small: cpuOf('10 KB'),
      hybrid: `${busy(report('100 MB', 'hybrid', 8)).toFixed(0)}%`,
      bandwidth: `${slower('100 MB')} / ${slower('1 MB')} / ${slower('10 KB')}`,
    },
    notes: [
      'The work of a thread is that of its completions, requests, announcements and copies. A wake-up adds 5 µs of latency; its ' +
        'processor time in the kernel, and that of interrupt handlers, are not simulated. So the shares with interrupts are ' +
        'too low.',
    ],
    missing: [],
  };
}

export const figure11: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Figure 11',
  title: 'Polling and interrupts',
  shows:
    'Bandwidth of the hybrid of polling and interrupts, and of interrupts alone, for 100 MB, 1 MB and 10 KB on Fractus. The text ' +
    'has the load of the processors.',
  facts: [
    { id: 'hybrid', quantity: 'CPU with polling', paper: 'almost exactly 100%', origin: 'text' },
    { id: 'large', quantity: 'CPU with interrupts, 100 MB', paper: 'around 10%', origin: 'text' },
    { id: 'medium', quantity: 'CPU with interrupts, 1 MB', paper: 'around 50%', origin: 'text' },
    {
      id: 'small',
      quantity: 'CPU with interrupts, 10 KB',
      paper: 'little less than with polling',
      origin: 'text',
    },
    {
      id: 'bandwidth',
      quantity: 'bandwidth of interrupts over hybrid, 100 MB / 1 MB / 10 KB',
      paper: 'quite minimal impact, in particular for large transfers',
      origin: 'text',
    },
  ],
  ways: [
    simulated({
      figure: ID,
      kind: 'calibrated',
      how: 'The simulator with the preset fractus and the windows of the paper; the shipped PollPolicy decides who sleeps.',
      minutes: 2,
      runs,
      outcome,
    }),
    waitsOnOneHost(),
    {
      id: 'recorded',
      name: 'one host, time only',
      kind: 'measured',
      how: '256 MiB among 8 and 16 processes of one host with 2 cores: time only.',
      command: 'node tools/bench/multicast/run.mjs window',
      minutes: 5,
      rivals: [],
    },
  ],
};
