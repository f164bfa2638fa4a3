// Open MPI's MPI_Bcast on the same host, as a rival in the same run. Debian: openmpi-bin libopenmpi-dev.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('bcast.c', import.meta.url));

export class Mpi {
  #folder = mkdtempSync(join(tmpdir(), 'rdmc-mpi-'));
  version;

  /** Builds the rival, or returns undefined where Open MPI is not installed. */
  static build() {
    if (spawnSync('mpicc', ['--version']).status !== 0) return undefined;
    const mpi = new Mpi();
    execFileSync('mpicc', ['-O2', SOURCE, '-o', join(mpi.#folder, 'bcast')]);
    mpi.version = execFileSync('mpirun', ['--version'], { encoding: 'utf8' }).split('\n')[0];
    return mpi;
  }

  /** Milliseconds of each of `rounds` broadcasts of `byteLength` among `n` ranks, warm. */
  broadcast(n, byteLength, rounds) {
    const args = ['--allow-run-as-root', '--oversubscribe', '-n', String(n), join(this.#folder, 'bcast')];
    const printed = execFileSync('mpirun', [...args, String(rounds), String(byteLength)], {
      encoding: 'utf8',
    });
    return printed
      .trim()
      .split('\n')
      .map((line) => Number(line.split(' ')[1]) / 1000);
  }

  remove() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
