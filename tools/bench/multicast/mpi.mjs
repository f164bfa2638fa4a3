// Open MPI's MPI_Bcast on the same host, as a rival in the same run. Debian: openmpi-bin libopenmpi-dev.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The programs: their source is `NAME.c`. */
const PROGRAMS = ['bcast', 'rate'];

/** What MPI uses to carry bytes: by default shared memory on one host. */
const transportOptions = (transport) => (transport === 'tcp' ? ['--mca', 'btl', 'tcp,self'] : []);

export class Mpi {
  #folder = mkdtempSync(join(tmpdir(), 'rdmc-mpi-'));
  version;

  /** Builds the rival, or returns undefined where Open MPI is not installed. */
  static build() {
    if (spawnSync('mpicc', ['--version']).status !== 0) return undefined;
    const mpi = new Mpi();
    for (const name of PROGRAMS) {
      const source = fileURLToPath(new URL(`${name}.c`, import.meta.url));
      execFileSync('mpicc', ['-O2', source, '-o', join(mpi.#folder, name)]);
    }
    mpi.version = execFileSync('mpirun', ['--version'], { encoding: 'utf8' }).split('\n')[0];
    return mpi;
  }

  /** Milliseconds of each of `rounds` broadcasts of `byteLength` among `n` ranks, warm. */
  broadcast(n, byteLength, rounds, transport) {
    const lines = this.#run('bcast', n, transport, [rounds, byteLength]);
    return lines.map((line) => Number(line.split(' ')[1]) / 1000);
  }

  /** Messages per second of each of `rounds` loops of `count` broadcasts, warm. */
  rate(n, transport, byteLength, count, rounds) {
    return this.#run('rate', n, transport, [rounds, count, byteLength]).map(Number);
  }

  /** The lines that a program prints. More ranks than processors: they give the processor away while they wait. */
  #run(name, n, transport, parameters) {
    const common = ['--allow-run-as-root', '--oversubscribe', ...transportOptions(transport)];
    const args = [...common, '-n', n, join(this.#folder, name), ...parameters].map(String);
    return execFileSync('mpirun', args, { encoding: 'utf8' }).trim().split('\n');
  }

  remove() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
