import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Mutant } from './mutant.js';

const WORKSPACES = ['packages', 'apps', 'tools'];
const REMOVAL_RETRIES = 10;
const ADDON = join('packages', 'verbs', 'native', 'build', 'Release', 'rdmc_verbs.node');

/**
 * A copy of the checkout in which faults are tried, so that the checkout itself never contains one.
 */
export class Workshop {
  readonly root: string;
  readonly #origin: string;

  constructor(origin: string) {
    this.#origin = origin;
    this.root = mkdtempSync(join(tmpdir(), 'rdmc-mutants-'));
    for (const file of this.#tracked()) this.#copy(file);
    for (const folder of this.#packages()) this.#copy(join(folder, 'dist'));
    this.#copy(ADDON);
    this.#copyDependencies();
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.root, file), text);
  }

  /** Restores the mutant's file and its build from the checkout. */
  restore(file: string, mutant: Mutant): void {
    this.#copy(file);
    if (mutant.language === 'C++') this.#restoreAddon();
    else this.#restorePackage(mutant.package);
  }

  #restorePackage(folder: string): void {
    const dist = join(folder, 'dist');
    rmSync(join(this.root, dist), { recursive: true, force: true });
    this.#copy(dist);
  }

  /** A new file: processes may have the old one mapped. The objects stay, so that the next build compiles one unit. */
  #restoreAddon(): void {
    rmSync(join(this.root, ADDON), { force: true });
    this.#copy(ADDON);
  }

  remove(): void {
    // Again where a process that was just killed still wrote.
    rmSync(this.root, { recursive: true, force: true, maxRetries: REMOVAL_RETRIES });
  }

  #tracked(): string[] {
    const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
    const listed = spawnSync('git', args, { cwd: this.#origin, encoding: 'utf8', maxBuffer: 1 << 28 });
    if (listed.status !== 0) throw new Error(`git ls-files failed: ${listed.stderr}`);
    return listed.stdout.split('\0').filter((file) => file !== '');
  }

  #packages(): string[] {
    return WORKSPACES.flatMap((above) =>
      readdirSync(join(this.#origin, above)).map((name) => join(above, name)),
    );
  }

  #copy(path: string): void {
    const from = join(this.#origin, path);
    if (!existsSync(from)) return;
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    cpSync(from, join(this.root, path), { recursive: true, verbatimSymlinks: true });
  }

  /** As hard links if the file system allows it: nothing writes into them. Links to our own packages are relative. */
  #copyDependencies(): void {
    const from = join(this.#origin, 'node_modules');
    const to = join(this.root, 'node_modules');
    if (spawnSync('cp', ['-al', from, to]).status === 0) return;
    rmSync(to, { recursive: true, force: true });
    const copied = spawnSync('cp', ['-a', from, to], { encoding: 'utf8' });
    if (copied.status !== 0) throw new Error(`the dependencies cannot be copied: ${copied.stderr}`);
  }
}
