import type { Way } from '../catalogue/figure.js';
import type { Outcome, Panel } from '../record/record.js';
import { grouped } from '../simulation/values.js';
import { failed, jsonOf, shown } from './command.js';

const ARGS = ['tools/bench/multicast/run.mjs', 'messages'];
const SIZES = [
  { bytes: 1, name: '1 byte' },
  { bytes: 1024, name: '1 KiB' },
  { bytes: 8192, name: '8 KiB' },
] as const;

/** A row that the benchmark prints; `mpi` is `null` without Open MPI. */
interface Row {
  readonly n: number;
  readonly bytes: number;
  readonly many: number;
  readonly single: number;
  readonly mpi: number | null;
}

function panelOf(name: string, rows: readonly Row[]): Panel {
  const hasMpi = rows.some(({ mpi }) => mpi !== null);
  return {
    title: `Messages of ${name} among processes of one host, through rings`,
    description:
      'Messages per second from the first one until every receiver has all, over shared memory. Higher is better.',
    kind: 'lines',
    x: { label: 'processes, the sender included', values: rows.map(({ n }) => n) },
    y: { label: 'messages per second', scale: 'log10', digits: 0 },
    series: [
      { name: 'sendMany, messages()', values: rows.map(({ many }) => many), own: true },
      { name: 'send, for await', values: rows.map(({ single }) => single), own: true },
      ...(hasMpi ? [{ name: 'Open MPI', values: rows.map(({ mpi }) => mpi) }] : []),
    ],
  };
}

/** The figure of the benchmark's rows. Exported for tests. @throws LabError */
export function ringsOutcome(all: readonly Row[]): Outcome {
  const parts = SIZES.map(({ bytes, name }) => ({ name, rows: all.filter((row) => row.bytes === bytes) }));
  const absent = parts.find(({ rows }) => rows.length === 0);
  if (absent) throw failed(`the benchmark did not print messages of ${absent.name}`);
  const { rows } = parts[0]!;
  const ends = (of: (row: Row) => number | null) =>
    [rows[0]!, rows.at(-1)!].map((row) => grouped(of(row) ?? 0)).join(' / ');
  const hasMpi = rows.some(({ mpi }) => mpi !== null);
  return {
    panels: parts.map((part) => panelOf(part.name, part.rows)),
    facts: {
      rate: `${ends(({ many }) => many)} (sendMany)`,
      ...(hasMpi && { mpi: ends(({ mpi }) => mpi) }),
    },
    notes: [
      'Every receiver compares all bytes of each message, with Open MPI as well. A round of ours ends when the root has an answer of ' +
        'every receiver, one of Open MPI when the last rank has the last message.',
    ],
    missing: hasMpi ? [] : ['Open MPI'],
  };
}

/** Small messages of real groups over shared memory, by turns with MPI_Bcast in a loop. */
export function messagesInRings(): Way {
  return {
    id: 'rings',
    name: 'one host, through rings',
    kind: 'measured',
    how: 'Processes of one host over shared memory, through the rings of small messages, by turns with MPI_Bcast in a loop.',
    command: shown(ARGS),
    minutes: 10,
    rivals: ['Open MPI'],
    run: async (bench) => {
      const output = await bench.command(ARGS);
      return ringsOutcome(jsonOf<{ result: { rows: Row[] } }>(output, shown(ARGS)).result.rows);
    },
  };
}
