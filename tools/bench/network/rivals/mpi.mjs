// Open MPI's MPI_Bcast between the hosts of a lab, its default and any algorithm by hand.
// Debian: openmpi-bin libopenmpi-dev.
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inTurn, median, output, say, scratch } from '../tools.mjs';

const SOURCE = fileURLToPath(new URL('bcast.c', import.meta.url));
const RSH = fileURLToPath(new URL('../../../netlab/bin/netlab-rsh', import.meta.url));
const KIB = 1024;

/** What is tried by hand: coll_tuned's algorithms, with segments where they have any. */
const CANDIDATES = [
  ...[32, 64, 128, 256, 1024].map((kib) => ({ name: `pipeline/${kib}K`, algorithm: 3, segment: kib * KIB })),
  { name: 'chain/128K', algorithm: 2, segment: 128 * KIB },
  { name: 'split-binary/128K', algorithm: 4, segment: 128 * KIB },
  { name: 'binomial/128K', algorithm: 6, segment: 128 * KIB },
  { name: 'scatter-allgather', algorithm: 8, segment: 0 },
  { name: 'scatter-allgather-ring', algorithm: 9, segment: 0 },
];

/** Fewer where time is short. */
const FEW = CANDIDATES.filter(({ name }) =>
  ['pipeline/64K', 'pipeline/128K', 'scatter-allgather-ring'].includes(name),
);

let built;

function program() {
  if (built) return built;
  const folder = scratch('mpi').path;
  built = join(folder, 'bcast');
  execFileSync('mpicc', ['-O2', SOURCE, '-o', built]);
  return built;
}

function mca(settings) {
  return Object.entries(settings).flatMap(([name, value]) => ['--mca', name, String(value)]);
}

/** Seconds of each round. */
export async function broadcast(lab, hosts, bytes, { rounds = 1, candidate } = {}) {
  const settings = {
    plm_rsh_agent: RSH,
    plm_rsh_no_tree_spawn: 1,
    btl: 'tcp,self',
    btl_tcp_if_include: 'eth0',
    oob_tcp_if_include: 'eth0',
    mpi_yield_when_idle: 1,
    ...(candidate && {
      coll_tuned_use_dynamic_rules: 1,
      coll_tuned_bcast_algorithm: candidate.algorithm,
      coll_tuned_bcast_algorithm_segmentsize: candidate.segment,
      ...(candidate.algorithm === 2 && { coll_tuned_bcast_algorithm_chain_fanout: 1 }),
    }),
  };
  const args = [
    '--allow-run-as-root',
    '--oversubscribe',
    '-np',
    String(hosts.length),
    '--host',
    hosts.join(','),
  ];
  const command = [...args, ...mca(settings), program(), String(rounds), String(bytes)];
  const env = { ...process.env, PATH: `${dirname(RSH)}:${process.env.PATH}` };
  const child = lab.exec(hosts[0], 'mpirun', command, { stdio: ['ignore', 'pipe', 'inherit'], env });
  return (await output(child, 'mpirun')).trim().split('\n').map(Number);
}

/** Tries each candidate once; the fastest, with its seconds. */
export async function best(lab, hosts, bytes, { few = false } = {}) {
  const tried = await inTurn(few ? FEW : CANDIDATES, async (candidate) => {
    const seconds = median(await broadcast(lab, hosts, bytes, { candidate }));
    say(`  mpi ${candidate.name}: ${seconds.toFixed(3)} s`);
    return { ...candidate, seconds };
  });
  return tried.reduce((a, b) => (b.seconds < a.seconds ? b : a));
}

export const version = () => execFileSync('mpirun', ['--version'], { encoding: 'utf8' }).split('\n')[0];
