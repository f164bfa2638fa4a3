import type { SpawnOptions } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Etcd } from '@rdmc/testing/etcd';
import { smallDisk } from '../cluster/small-disk.js';
import { ETCD_HOST, hostOf, KvPlaces } from './kv-places.js';
import type { KvPlace, KvShape } from './kv-plan.js';
import { BUILT, type KvRelease } from './kv-release.js';
import { KvProcess } from './kv-server.js';

/** Beside two runs of all tests and two busy loops, coordinators with 2 s followed each other without end. */
const LEAD_SECONDS = 6;

/** Where the built program of the gate is, from the sources and from dist. */
const GATE = ['./gate.js', '../../dist/gate.js']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find(existsSync)!;

/** Where a process runs, and the parent of its directory. */
interface Site {
  readonly host: string;
  readonly directory: string;
}

/** `kv coordinator` and `kv server` as processes, with the same addresses and files after every start. */
export class KvCluster {
  readonly directory = mkdtempSync(join(tmpdir(), 'rdmc-chaos-kv-'));
  /** Of processes that are started from now on. */
  release: KvRelease = BUILT;
  coordinator!: KvProcess;
  standbys: readonly KvProcess[] = [];
  servers: readonly KvProcess[] = [];
  /** Processes whose id another process has got; clients ask them as long as they run. */
  replaced: readonly KvProcess[] = [];
  /** Processes of members that were started again. */
  readonly #former: KvProcess[] = [];
  readonly #starting = new Set<KvProcess>();
  #places: KvPlaces | undefined;
  /** By host. */
  readonly #gates = new Map<string, string>();
  readonly #key = randomBytes(32).toString('hex');
  #etcd: Etcd | undefined;
  #isRemoved = false;

  /** By server. */
  readonly #unmount = new Map<number, () => Promise<void>>();

  /**
   * @param place anything but loopback needs root
   * @param diskSize of a file system of each server; needs root
   */
  constructor(
    private readonly shape: KvShape,
    private readonly place: KvPlace = 'loopback',
    private readonly diskSize?: string,
  ) {}

  /** The lab in which the cluster runs. */
  get lab(): KvPlaces['lab'] {
    return this.#places?.lab;
  }

  /** The processes that were started, those that ended included. */
  get processes(): KvProcess[] {
    const servers = [...this.#former, ...this.replaced, ...this.#starting, ...this.servers];
    const all = [...servers, ...this.standbys, this.coordinator].filter((each) => each !== undefined);
    // A twin that was admitted is among the servers, too.
    return [...new Set(all)];
  }

  /** @param environment returns the variables of one server, by its number from 1 */
  async start(environment: (server: number) => Record<string, string> = () => ({})): Promise<void> {
    const { servers, standbys } = this.shape;
    this.#places ??= await KvPlaces.create(this.shape, this.place);
    const places = this.#places;
    if (standbys > 0) {
      this.#etcd ??= await Etcd.at(places.etcd, { launch: (...what) => places.launch(ETCD_HOST, ...what) });
    }
    if (places.lab) await this.#openGates(places);
    if (this.diskSize) await this.#mountDisks(this.diskSize);
    if (this.#isRemoved) throw new Error('the cluster was removed before it was started');
    this.coordinator = this.#launchCoordinator();
    this.servers = Array.from({ length: servers }, (_, index) =>
      this.#launchServer(index + 1, environment(index + 1)),
    );
    this.standbys = Array.from({ length: standbys }, (_, index) => this.#launchStandby(index + 1));
    const ready = [...this.servers, ...this.standbys].map((each) => each.ready);
    // On a busy machine a standby may have taken the lead by then.
    await Promise.all([...ready, Promise.any(this.coordinators.map(({ serving }) => serving))]);
  }

  /** The coordinator and its standbys. */
  get coordinators(): readonly KvProcess[] {
    return [this.coordinator, ...this.standbys];
  }

  /** Another process of a coordinator that shares its state with others. Resolves when it is in the cluster. */
  async rejoinCoordinator(former: KvProcess): Promise<KvProcess> {
    this.#former.push(former);
    const number = this.coordinators.indexOf(former);
    const again = number === 0 ? this.#launchCoordinator() : this.#launchStandby(number);
    if (number === 0) this.coordinator = again;
    else this.standbys = this.standbys.map((each) => (each === former ? again : each));
    await again.ready;
    return again;
  }

  get #list(): string[] {
    return ['--members', this.#places!.addresses.slice(0, this.shape.servers + 1).join(',')];
  }

  /** Another process of the coordinator, with its files. Resolves when every slot has a server. */
  async restartCoordinator(): Promise<void> {
    this.#former.push(this.coordinator);
    this.coordinator = this.#launchCoordinator();
    await this.coordinator.serving;
  }

  /** Another process of a server, with its files or with none. Resolves when clients can connect. */
  async restartServer(former: KvProcess, hasFiles: boolean): Promise<KvProcess> {
    const id = Number(former.id);
    if (!hasFiles) this.#removeFiles(id);
    const server = this.#launchServer(id, {});
    // Clients do not ask it before: a request that does not reach it has no known outcome.
    this.#starting.add(server);
    await server.ready;
    this.#starting.delete(server);
    this.replace(former, server);
    return server;
  }

  /** From now on this process is the one with the id of a former one. */
  replace(former: KvProcess, server: KvProcess): void {
    this.replaced = [...this.replaced, former];
    this.servers = this.servers.map((each) => (each === former ? server : each));
  }

  /**
   * Another process with the id of a server. It has other ports and its own directory, and joins at a server that runs, in that one's
   * host. It does not take the other process's place: it may have to end.
   */
  async launchTwin(id: string, beside: KvProcess): Promise<KvProcess> {
    const port = await beside.ready;
    const listen = await this.#places!.freeAddress(Number(beside.id));
    const place = ['--join', `127.0.0.1:${port}`, '--listen', listen];
    const at = { host: this.#places!.hostOf(Number(beside.id)), directory: join(this.directory, 'twin') };
    const twin = this.#launchServer(Number(id), {}, place, at);
    this.#former.push(twin);
    return twin;
  }

  /** Of the files of a server. */
  directoryOf(server: KvProcess): string {
    return this.#directoryOf(Number(server.id));
  }

  #directoryOf(id: number): string {
    return join(this.directory, `server-${id}`);
  }

  /** A mounted directory cannot be removed. */
  #removeFiles(id: number): void {
    const directory = this.#directoryOf(id);
    for (const name of readdirSync(directory))
      rmSync(join(directory, name), { recursive: true, force: true });
  }

  async #mountDisks(size: string): Promise<void> {
    for (let id = 1; id <= this.shape.servers; id += 1) {
      if (this.#unmount.has(id)) continue;
      const directory = this.#directoryOf(id);
      mkdirSync(directory);
      this.#unmount.set(id, await smallDisk(directory, size));
    }
  }

  /** A server that was not in the list joins. Resolves when clients can connect. */
  async join(): Promise<KvProcess> {
    const id = this.servers.length + 1;
    const port = await this.servers.find(({ gone }) => !gone)!.ready;
    const listen = await this.#places!.freeAddress(id);
    const server = this.#launchServer(id, {}, ['--join', `127.0.0.1:${port}`, '--listen', listen]);
    this.#starting.add(server);
    await server.ready;
    this.#starting.delete(server);
    this.servers = [...this.servers, server];
    return server;
  }

  /** A process of a member, 0 for the coordinator, which does not take its place: it is expected to end. */
  launch(member: number): KvProcess {
    const process = member === 0 ? this.#launchCoordinator() : this.#launchServer(member, {});
    this.#former.push(process);
    return process;
  }

  #launchCoordinator(): KvProcess {
    return this.#launch(hostOf(0), 'coordinator', ['coordinator', ...this.#shared]);
  }

  #launchStandby(number: number): KvProcess {
    const own = [
      '--standby',
      String(number),
      '--listen',
      this.#places!.addresses[this.shape.servers + number]!,
    ];
    return this.#launch(hostOf(number), `standby ${number}`, ['coordinator', ...this.#shared, ...own]);
  }

  get #shared(): string[] {
    const state = this.#etcd ? ['--etcd', this.#etcd.endpoint, '--lead-seconds', String(LEAD_SECONDS)] : [];
    return [...this.#list, ...state, '--directory', this.directory];
  }

  #launchServer(
    id: number,
    environment: Record<string, string>,
    place = this.#list,
    { host, directory }: Site = { host: this.#places!.hostOf(id), directory: this.directory },
  ): KvProcess {
    const own = ['server', '--id', String(id), '--port', '0', '--replicas', String(this.shape.replicas)];
    // Servers that poll take the processors from the others.
    const small = ['--segment-mib', '4', '--segments', '16', '--buffers', '12', '--window-ms', '0'];
    const files = ['--directory', directory];
    return this.#launch(host, `server ${id}`, [...own, ...small, ...place, ...files], environment);
  }

  /** A program at each host of servers, that leads from a socket's file into it. */
  async #openGates(places: KvPlaces): Promise<void> {
    const hosts = new Set(Array.from({ length: this.shape.servers }, (_, index) => places.hostOf(index + 1)));
    await Promise.all(
      [...hosts].filter((host) => !this.#gates.has(host)).map((host) => this.#openGate(places, host)),
    );
  }

  async #openGate(places: KvPlaces, host: string): Promise<void> {
    const path = join(this.directory, `gate-${host}`);
    this.#gates.set(host, path);
    const options = { stdio: ['ignore', 'pipe', 'inherit'] } as SpawnOptions;
    const child = places.launch(host, process.execPath, [GATE, path], options);
    await once(child.stdout!, 'data');
  }

  #launch(
    host: string,
    name: string,
    args: readonly string[],
    environment: Record<string, string> = {},
  ): KvProcess {
    if (this.#isRemoved) throw new Error('the cluster was removed');
    const common = ['--join-seconds', '120'];
    const { program, environment: levels } = this.release;
    const child = this.#places!.launch(host, process.execPath, [program, ...args, ...common], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, ...levels, ...(this.#places!.lab && { RDMC_KEY: this.#key }), ...environment },
    });
    return new KvProcess(name, child, this.#gates.get(host));
  }

  /** Ends all processes with SIGTERM: backups dump their buffers. */
  async powerFailure(): Promise<void> {
    await Promise.all(this.processes.map((each) => each.kill('SIGTERM')));
  }

  async remove(): Promise<void> {
    this.#isRemoved = true;
    await Promise.all(this.processes.map((each) => each.kill('SIGKILL')));
    await this.#etcd?.stop();
    // Ends the gate, too.
    await this.#places?.remove();
    for (const unmount of this.#unmount.values()) await unmount();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
