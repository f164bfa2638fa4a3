import type { SpawnOptions } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { Etcd } from '@rdmc/testing/etcd';
import { freed } from '@rdmc/testing/members';
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

/** `kv coordinator` and `kv server` as processes, with the same addresses and files after every start. */
export class KvCluster {
  readonly directory = mkdtempSync(join(tmpdir(), 'rdmc-chaos-kv-'));
  /** Of processes that are started from now on. */
  release: KvRelease = BUILT;
  coordinator!: KvProcess;
  standbys: readonly KvProcess[] = [];
  servers: readonly KvProcess[] = [];
  /** Processes of members that were started again. */
  readonly #former: KvProcess[] = [];
  readonly #starting = new Set<KvProcess>();
  #places: KvPlaces | undefined;
  /** By host. */
  readonly #gates = new Map<string, string>();
  readonly #key = randomBytes(32).toString('hex');
  #etcd: Etcd | undefined;
  #isRemoved = false;

  /** @param place anything but loopback needs root */
  constructor(
    private readonly shape: KvShape,
    private readonly place: KvPlace = 'loopback',
  ) {}

  /** The lab in which the cluster runs. */
  get lab(): KvPlaces['lab'] {
    return this.#places?.lab;
  }

  /** The processes that were started, those that ended included. */
  get processes(): KvProcess[] {
    return [...this.#former, ...this.#starting, ...this.servers, ...this.standbys, this.coordinator].filter(
      (each) => each !== undefined,
    );
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
    const index = this.servers.indexOf(former);
    const id = index + 1;
    if (!hasFiles) rmSync(join(this.directory, `server-${id}`), { recursive: true, force: true });
    const server = this.#launchServer(id, {});
    // Clients do not ask it before: a request that does not reach it has no known outcome.
    this.#starting.add(server);
    await server.ready;
    this.#starting.delete(server);
    this.#former.push(former);
    this.servers = this.servers.map((each) => (each === former ? server : each));
    return server;
  }

  /** A server that was not in the list joins. Resolves when clients can connect. */
  async join(): Promise<KvProcess> {
    const id = this.servers.length + 1;
    const port = await this.servers[0]!.ready;
    const [free] = await freed(await reserveLoopbackPorts(1));
    const server = this.#launchServer(id, {}, [
      '--join',
      `127.0.0.1:${port}`,
      '--listen',
      `127.0.0.1:${free!.port}`,
    ]);
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
    return [...this.#list, ...state];
  }

  #launchServer(id: number, environment: Record<string, string>, place = this.#list): KvProcess {
    const own = ['server', '--id', String(id), '--port', '0', '--replicas', String(this.shape.replicas)];
    // Servers that poll take the processors from the others.
    const small = ['--segment-mib', '4', '--segments', '16', '--buffers', '12', '--window-ms', '0'];
    return this.#launch(this.#places!.hostOf(id), `server ${id}`, [...own, ...small, ...place], environment);
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
    const common = ['--directory', this.directory, '--join-seconds', '120'];
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
    rmSync(this.directory, { recursive: true, force: true });
  }
}
