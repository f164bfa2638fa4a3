import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLab, type Netlab, NetlabError } from '@rdmc/netlab';
import { jsonLine, temporaryDirectory, underTest, WatchedProcess } from '@rdmc/testing';
import { onTestFinished, test } from 'vitest';
import { LONG, LONG_NOTE } from './long.js';

/** The built command. */
export const RDMC = fileURLToPath(new URL('../../apps/rdmc/dist/main.js', import.meta.url));
const PORT = 7411;
const KEY = '0123456789abcdef'.repeat(4);

/** One line of `--json`. */
export interface CastEvent {
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Why labs cannot be created here; undefined if they can. */
const obstacle = await createLab({ hosts: 2, rate: '100mbit' }).then(
  (lab) => lab.destroy(),
  (error: unknown) => {
    if (error instanceof NetlabError) return error.message;
    throw error;
  },
);

/** A test in network namespaces; skipped, with a title that says so, if they cannot be created. */
export const labTest = (title: string, work: () => Promise<void>, timeoutMs: number) =>
  test.skipIf(obstacle !== undefined)(`${title} (needs root and iproute2)`, work, timeoutMs);

/** Such a test that takes long, and of which others have most: `npm run test:smoke` runs it for every push, as RDMC_TEST_LONG=1 does. */
export const longLabTest = (title: string, work: () => Promise<void>, timeoutMs: number) =>
  LONG ? labTest(title, work, timeoutMs) : test.skip(`${title}${LONG_NOTE}`, work);

/** A command in a host, with its output. */
export class Command extends WatchedProcess<CastEvent, 'event'> {
  readonly ended: Promise<number | null>;

  constructor(child: ChildProcess, title: string) {
    super(child, 'event', { name: title, parse: jsonLine<CastEvent> });
    underTest(this);
    this.ended = this.exited.then(({ code }) => code);
  }
}

/** Hosts with a folder each: h0 is the sender, the others receive. Removed with the test. */
export class CastLab {
  readonly folder = temporaryDirectory('rdmc-e2e-cast');

  private constructor(readonly lab: Netlab) {}

  static async create(hosts: number, rate: string): Promise<CastLab> {
    const all = new CastLab(await createLab({ hosts, rate }));
    for (const { name } of all.lab.hosts) mkdirSync(all.folderOf(name));
    onTestFinished(() => all.lab.destroy());
    return all;
  }

  get receivers(): string[] {
    return this.lab.hosts.slice(1).map(({ name }) => name);
  }

  folderOf(host: string): string {
    return join(this.folder, host);
  }

  /** Content of a receiver's folder, including temporary files. */
  entriesOf(host: string): string[] {
    return readdirSync(this.folderOf(host)).sort();
  }

  to(host: string): string {
    return `${this.lab.host(host).ipv4}:${PORT}`;
  }

  async receive(host: string, { once = false, key = KEY } = {}): Promise<Command> {
    const args = ['receive', '--listen', this.to(host), '--dir', this.folderOf(host), '--json'];
    const command = this.#start(host, [...args, ...(once ? ['--once'] : [])], key);
    await command.event('listening');
    return command;
  }

  /** Casts from h0 to these hosts. */
  cast(path: string, hosts: readonly string[], ...options: readonly string[]): Command {
    const to = hosts.map((host) => this.to(host)).join(',');
    return this.#start('h0', ['cast', path, '--to', to, '--json', ...options], KEY);
  }

  /** Casts from h0 to receivers that it starts itself through `ip netns exec`. */
  castByShell(path: string, hosts: readonly string[], ...options: readonly string[]): Command {
    const names = hosts.map((host) => this.lab.host(host).namespace);
    const shell = join(this.folder, 'shell');
    const homes = hosts.map((host, index) => `${names[index]}) cd '${this.folderOf(host)}' ;;`).join('\n');
    writeFileSync(
      shell,
      `#!/bin/sh\nhost=$1; shift\ncase $host in\n${homes}\nesac\nexec ip netns exec $host "$@"\n`,
      { mode: 0o755 },
    );
    const remote = ['--ssh', '--remote-shell', shell, '--remote-command', `${process.execPath} ${RDMC}`];
    return this.#start('h0', ['cast', path, '--to', names.join(','), ...remote, '--json', ...options]);
  }

  #start(host: string, args: readonly string[], key?: string): Command {
    const { RDMC_KEY: _, RDMC_DEVICE: __, ...clean } = process.env;
    const env = key === undefined ? clean : { ...clean, RDMC_KEY: key };
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    const child = this.lab.exec(host, process.execPath, [RDMC, ...args], { stdio: [...stdio], env });
    return new Command(child, `${host}: rdmc ${args.join(' ')}`);
  }
}
