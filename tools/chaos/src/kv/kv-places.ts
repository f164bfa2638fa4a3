import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { createLab, type Netlab } from '@rdmc/netlab';
import { freed } from '@rdmc/testing/members';
import type { KvShape } from './kv-plan.js';

/** The host of all servers, of etcd, and of each coordinator: 0 is the one in the list of members. */
export const SERVERS_HOST = 's';
export const ETCD_HOST = 'e';
export const hostOf = (coordinator: number): string => `c${coordinator}`;

const FIRST_PORT = 7400;

/** Where the processes of a cluster run: on loopback, or in the hosts of a lab. */
export class KvPlaces {
  private constructor(
    /** Of the coordinator, the servers, and the standbys. */
    readonly addresses: readonly string[],
    readonly etcd: readonly [client: string, peer: string],
    readonly lab: Netlab | undefined,
  ) {}

  static async onLoopback({ servers, standbys }: KvShape): Promise<KvPlaces> {
    const all = await freed(await reserveLoopbackPorts(servers + standbys + 3));
    const [client, peer, ...addresses] = all.map(({ host, port }) => `${host}:${port}`);
    return new KvPlaces(addresses, [client!, peer!], undefined);
  }

  /** The servers are in one host, and each coordinator is in its own, as is etcd. Needs root. */
  static async inLab({ servers, standbys }: KvShape): Promise<KvPlaces> {
    const coordinators = Array.from({ length: standbys + 1 }, (_, index) => hostOf(index));
    const lab = await createLab({ hosts: [SERVERS_HOST, ETCD_HOST, ...coordinators] });
    const at = (name: string, port: number): string =>
      `${lab.hosts.find((host) => host.name === name)!.ipv4}:${port}`;
    const [coordinator, ...others] = coordinators.map((name) => at(name, FIRST_PORT));
    const ports = Array.from({ length: servers }, (_, index) => at(SERVERS_HOST, FIRST_PORT + 1 + index));
    return new KvPlaces([coordinator!, ...ports, ...others], [at(ETCD_HOST, 2379), at(ETCD_HOST, 2380)], lab);
  }

  /** Starts a program at a host; on loopback all hosts are this one. */
  launch(host: string, program: string, args: string[], options: SpawnOptions): ChildProcess {
    return this.lab ? this.lab.exec(host, program, args, options) : spawn(program, args, options);
  }

  async remove(): Promise<void> {
    await this.lab?.destroy();
  }
}
