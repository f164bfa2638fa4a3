import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Member } from '@rdmc/mesh';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { bootClock } from '@rdmc/tailwind/coordinator';
import { freed } from '@rdmc/testing';
import { type CoordinatorOptions, KvCoordinator, KvServer, type ServerOptions } from '../../src/index.js';

const MIB = 1024 * 1024;
/** The longest lease. All servers share one event loop: while it is blocked, no server renews its lease. */
const LEASE_MS = 20_000;
/** A server that is lost was closed, so nobody reads by its lease: recoveries wait for a hundredth of it. */
const hastyClock = (): number => bootClock() * 100;

/** A coordinator and servers in this process. */
export class TestCluster {
  coordinator!: KvCoordinator;
  readonly servers: KvServer[] = [];
  #serving: () => void = () => {};
  #options: Partial<ServerOptions> = {};
  /** Recoveries that ended well. */
  recoveries = 0;
  failures: string[] = [];
  /** Slots that were handed over, and hand-overs that failed. */
  moves = 0;
  readonly refusals: string[] = [];
  /** Members that a server was told to be lost or to have left. */
  readonly losses: { readonly server: number; readonly member: number; readonly reason: string }[] = [];
  #onBalanced: () => void = () => {};

  private constructor(
    readonly directory: string,
    readonly members: readonly Member[],
  ) {}

  static async start(
    count: number,
    options: Partial<ServerOptions> = {},
    {
      directory = mkdtempSync(join(tmpdir(), 'kv-test-')),
      coordinator: more,
      servers: own = {},
      members: listed,
      absent = [],
    }: {
      directory?: string;
      /** The list of an earlier cluster of the directory (default: with ports that are free). */
      members?: readonly Member[];
      /** Listed servers that are not started. */
      absent?: readonly number[];
      coordinator?: Partial<CoordinatorOptions>;
      /** Options of single servers, by id. */
      servers?: Readonly<Record<number, Partial<ServerOptions>>>;
    } = {},
  ): Promise<TestCluster> {
    const members = listed ?? (await freed(await reserveLoopbackPorts(count + 1)));
    const cluster = new TestCluster(directory, members);
    const serving = cluster.serving();
    const common = { members, silenceTimeoutMs: 0 };
    const coordinator = KvCoordinator.start(
      { ...common, leaseMs: LEASE_MS, clock: hastyClock, ...more, directory: join(directory, 'coordinator') },
      {
        serving: () => cluster.#serving(),
        recovered: () => {
          cluster.recoveries += 1;
        },
        moved: ({ slots }) => {
          cluster.moves += slots;
        },
        balanced: () => cluster.#onBalanced(),
        notMoved: ({ code, reason }) => cluster.refusals.push(`${code}: ${reason}`),
        failed: ({ code, reason }) => cluster.failures.push(`${code}: ${reason}`),
      },
    );
    cluster.#options = { ...common, ...options };
    const present = members.slice(1).filter(({ id }) => !absent.includes(id));
    const servers = present.map(({ id }) => cluster.startServer(id, own[id]));
    cluster.coordinator = await coordinator;
    cluster.servers.push(...(await Promise.all(servers)));
    await serving;
    return cluster;
  }

  /** Starts a server with the options of the cluster: at first, or again. */
  startServer(id: number, options: Partial<ServerOptions> = {}): Promise<KvServer> {
    const defaults = {
      members: this.members,
      id,
      port: 0,
      directory: join(this.directory, `server-${id}`),
      segmentBytes: 4 * MIB,
      buffers: 16,
      // Workers that poll take the processors from the other servers of this process.
      windowMs: 0,
    };
    return KvServer.start(
      { ...defaults, ...this.#options, ...options },
      { memberLost: (loss) => this.losses.push({ server: id, ...loss }) },
    );
  }

  /** Resolves when slots were handed over until each server has its share, from now on. */
  balanced(): Promise<void> {
    return new Promise((resolve) => {
      this.#onBalanced = resolve;
    });
  }

  /** Resolves when every slot has a server, from now on. */
  serving(): Promise<void> {
    return new Promise((resolve) => {
      this.#serving = resolve;
    });
  }

  /** Resolves when so many recoveries have ended well and every slot has a server. */
  async recovered(count: number): Promise<void> {
    do await this.serving();
    while (this.recoveries < count);
  }

  /** As at a planned end: backups write what they have to files. */
  async dump(): Promise<void> {
    await this.coordinator.close();
    for (const server of this.servers) await server.backup?.dump();
    await Promise.all(this.servers.map((server) => server.close()));
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.coordinator.close(), ...this.servers.map((server) => server.close())]);
    rmSync(this.directory, { recursive: true, force: true });
  }
}
