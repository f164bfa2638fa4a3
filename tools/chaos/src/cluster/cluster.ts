import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import type { Netlab } from '@rdmc/netlab';
import { freed } from '@rdmc/testing/members';
import type { Setup } from '../member/messages.js';
import { MemberProcess } from './member-process.js';

const CLUSTER_ID = '00112233-4455-6677-8899-aabbccddeeff';
const LAB_PORT = 7420;

/** The settings that all members share. */
export type Shape = Pick<
  Setup,
  | 'transport'
  | 'replicas'
  | 'segmentBytes'
  | 'buffers'
  | 'maxSegments'
  | 'cleans'
  | 'leaseMs'
  | 'silenceTimeoutMs'
> & { readonly servers: number };

/** Where the built program of a member is, from the sources and from dist. */
const program = ['./member.js', '../../dist/member.js']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find(existsSync)!;

/** Servers 0 to n − 1 and the coordinator, member n, each a process. */
export class Cluster {
  readonly directory = mkdtempSync(join(tmpdir(), 'rdmc-chaos-'));
  #members: MemberProcess[] = [];
  #isRemoved = false;
  readonly #undo: (() => Promise<void>)[] = [];

  constructor(
    readonly shape: Shape,
    /** If given, the members run in its hosts, in order; otherwise on loopback. */
    private readonly lab?: Netlab,
  ) {}

  get servers(): readonly MemberProcess[] {
    return this.#members.slice(0, this.shape.servers);
  }

  get coordinator(): MemberProcess {
    return this.#members[this.shape.servers]!;
  }

  server(id: number): MemberProcess {
    return this.#members[id]!;
  }

  /** Where a member keeps its files, also before it is started. */
  directoryOf(id: number): string {
    const directory = join(this.directory, String(id));
    mkdirSync(directory, { recursive: true });
    return directory;
  }

  /** Starts all members, on the existing files. Earlier processes must have ended. */
  async start(): Promise<void> {
    const { servers, ...shape } = this.shape;
    const places = await this.#places(servers + 1);
    if (this.#isRemoved) throw new Error('the cluster was removed before it was started');
    const members = places.map((place, id) => ({ id, ...place }));
    const common = { ...shape, members, coordinator: servers, clusterId: CLUSTER_ID };
    this.#members = members.map(({ id }) => {
      const directory = this.directoryOf(id);
      const setup: Setup = { ...common, id, directory, isOpenNetwork: this.lab !== undefined };
      return new MemberProcess(id, directory, this.#spawn(id, [program, JSON.stringify(setup)]));
    });
    await Promise.all(this.#members.map((member) => member.ready));
  }

  /** Ends every remaining process with SIGTERM: backups dump their buffers. */
  async powerFailure(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.kill('SIGTERM')));
  }

  /** Registers an action for `remove`, between the end of the processes and the removal of the files. */
  onRemove(undo: () => Promise<void>): void {
    this.#undo.push(undo);
  }

  async remove(): Promise<void> {
    this.#isRemoved = true;
    await Promise.all(this.#members.map((member) => member.kill('SIGKILL')));
    for (const undo of this.#undo) await undo();
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #places(count: number): Promise<{ host: string; port: number }[]> {
    if (this.lab) return this.lab.hosts.slice(0, count).map(({ ipv4 }) => ({ host: ipv4, port: LAB_PORT }));
    const members = await freed(await reserveLoopbackPorts(count));
    return members.map(({ host, port }) => ({ host, port }));
  }

  #spawn(id: number, args: string[]): ChildProcess {
    const options = { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] as ['ignore', 'pipe', 'pipe', 'ipc'] };
    if (this.lab) return this.lab.exec(`h${id}`, process.execPath, args, options);
    return spawn(process.execPath, args, options);
  }
}
