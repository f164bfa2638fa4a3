import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { createLab, type Netlab } from '@rdmc/netlab';
import { freed } from '@rdmc/testing/members';
import type { KvPlace, KvShape } from './kv-plan.js';

/** The host of all servers, or of each, from 1 up; of etcd; and of each coordinator: 0 is the one in the list of members. */
const SERVERS_HOST = 's';
export const hostOfServer = (server: number): string => `s${server}`;
export const ETCD_HOST = 'e';
export const hostOf = (coordinator: number): string => `c${coordinator}`;

const FIRST_PORT = 7400;
/** Of members that are not in the list. */
const FIRST_OTHER_PORT = 7500;

/** Where the processes of a cluster run: on loopback, or in the hosts of a lab. */
export class KvPlaces {
  #nextPort = FIRST_OTHER_PORT;

  private constructor(
    /** Of the coordinator, the servers, and the standbys. */
    readonly addresses: readonly string[],
    readonly etcd: readonly [client: string, peer: string],
    readonly lab: Netlab | undefined,
    /** The host of each server, from 1 up. */
    readonly hostOf: (server: number) => string,
  ) {}

  static create(shape: KvShape, place: KvPlace): Promise<KvPlaces> {
    return place === 'loopback' ? KvPlaces.#onLoopback(shape) : KvPlaces.#inLab(shape, place);
  }

  static async #onLoopback({ servers, standbys }: KvShape): Promise<KvPlaces> {
    const all = await freed(await reserveLoopbackPorts(servers + standbys + 3));
    const [client, peer, ...addresses] = all.map(({ host, port }) => `${host}:${port}`);
    return new KvPlaces(addresses, [client!, peer!], undefined, () => SERVERS_HOST);
  }

  /** Each coordinator is in its own host, as is etcd. Needs root. */
  static async #inLab({ servers, standbys }: KvShape, place: KvPlace): Promise<KvPlaces> {
    const coordinators = Array.from({ length: standbys + 1 }, (_, index) => hostOf(index));
    const hostOfEach = place === 'servers apart' ? hostOfServer : () => SERVERS_HOST;
    const serving = Array.from({ length: servers }, (_, index) => hostOfEach(index + 1));
    const lab = await createLab({ hosts: [...new Set(serving), ETCD_HOST, ...coordinators] });
    const at = (name: string, port: number): string =>
      `${lab.hosts.find((host) => host.name === name)!.ipv4}:${port}`;
    const [coordinator, ...others] = coordinators.map((name) => at(name, FIRST_PORT));
    const ports = serving.map((name, index) => at(name, FIRST_PORT + 1 + index));
    const etcd = [at(ETCD_HOST, 2379), at(ETCD_HOST, 2380)] as const;
    return new KvPlaces([coordinator!, ...ports, ...others], etcd, lab, hostOfEach);
  }

  /** An address at the host of a server, for one more member. */
  async freeAddress(server: number): Promise<string> {
    this.#nextPort += 1;
    if (this.lab) return `${this.lab.host(this.hostOf(server)).ipv4}:${this.#nextPort}`;
    const [free] = await freed(await reserveLoopbackPorts(1));
    return `${free!.host}:${free!.port}`;
  }

  /** Starts a program at a host; on loopback all hosts are this one. */
  launch(host: string, program: string, args: string[], options: SpawnOptions): ChildProcess {
    return this.lab ? this.lab.exec(host, program, args, options) : spawn(program, args, options);
  }

  async remove(): Promise<void> {
    await this.lab?.destroy();
  }
}
