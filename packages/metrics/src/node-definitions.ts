import type { Counters } from '@rdmc/dataplane';

interface Definition {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** Units of the reading in one unit of the metric. */
  readonly divisor?: number;
}

type WorkerCounter = Exclude<keyof Counters, 'named'>;

function counter(name: string, help: string, divisor = 1): Definition {
  return { name: `rdmc_${name}_total`, type: 'counter', help, divisor };
}

/** The metrics of `node.counters()`. */
export const WORKER_METRICS: Readonly<Record<WorkerCounter, Definition>> = {
  completions: counter('completions', 'Completions taken from the completion queue.'),
  unclaimedCompletions: counter(
    'unclaimed_completions',
    'Completions of queue pairs that were not attached, or not any more.',
  ),
  polls: counter('polls', 'Polls of the completion queue.'),
  emptyPolls: counter('empty_polls', 'Polls of the completion queue that found nothing.'),
  sleeps: counter('sleeps', 'Times the worker went to sleep.'),
  wakeups: counter('wakeups', 'Times the worker was woken.'),
  turns: counter('turns', 'Turns of the worker that found work.'),
  commands: counter('commands', 'Commands and posts that the worker took from the application.'),
  replies: counter('replies', 'Answers of the worker to commands.'),
  events: counter('events', 'Events from the worker to the application.'),
  eventRingFull: counter('event_ring_full', 'Times the event ring was full and the worker waited.'),
  contested: counter(
    'contested',
    'Times the worker found its processor contested and changed to interrupts.',
  ),
  pollingMicroseconds: counter('polling_seconds', 'Time the worker was awake: polling and working.', 1e6),
  commandRingBytes: { name: 'rdmc_command_ring_bytes', type: 'gauge', help: 'Content of the command ring.' },
  eventRingBytes: { name: 'rdmc_event_ring_bytes', type: 'gauge', help: 'Content of the event ring.' },
};

export const PROTOCOL_METRIC: Definition = counter(
  'protocol_counter',
  'Counters of the protocols of a node, by protocol and counter.',
);

/** Of the device's counters, the ones that may decrease. */
const DEVICE_GAUGES = new Set(['mappedBytes']);

/** The metric of a counter of the device: `copiedBytes` is `rdmc_device_copied_bytes_total`. */
export function deviceMetric(counterName: string): Definition {
  const words = counterName.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const help = `Counter ${counterName} of the device.`;
  if (!DEVICE_GAUGES.has(counterName)) return counter(`device_${words}`, help);
  return { name: `rdmc_device_${words}`, type: 'gauge', help: `Value ${counterName} of the device.` };
}

export const PEERS_METRIC: Definition = {
  name: 'rdmc_mesh_peers',
  type: 'gauge',
  help: 'Other members of the cluster, by their state as this node knows it.',
};

export const INFO_METRIC: Definition = {
  name: 'rdmc_node_info',
  type: 'gauge',
  help: '1 for each open node; the labels have its device.',
};

export type { Definition };
