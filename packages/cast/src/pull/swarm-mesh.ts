import { randomBytes } from 'node:crypto';
import type { RdmcNode } from '@rdmc/group';
import { describeAddress } from '@rdmc/mesh/sockets';
import { joinNode } from '../join-node.js';
import { listenWithin, portOf } from '../ports.js';
import { allocateRegions, type Region } from '../sender/pump.js';
import { SERVER_ID } from './frames.js';
import type { PullReaderThread } from './pull-reader-thread.js';
import type { SwarmOptions } from './swarm-options.js';

/** The server's side of the mesh of one swarm, whose members come and go. */
export class SwarmMesh {
  private constructor(
    readonly node: RdmcNode,
    /** Address at which fetchers join. */
    readonly contact: string,
    /** Key of this mesh alone, told to fetchers over their control connections. */
    readonly secret: string,
    readonly regions: readonly Region[],
    readonly messageBytes: number,
  ) {}

  /** @param localHost the server's address as its fetchers reach it */
  static async open(
    localHost: string,
    messageBytes: number,
    reader: PullReaderThread,
    options: SwarmOptions,
    signal: AbortSignal,
  ): Promise<SwarmMesh> {
    const {
      meshPorts,
      advertise = localHost,
      device,
      transport,
      connectTimeoutMs: timeoutMs,
      logger,
    } = options;
    const server = await listenWithin(localHost, meshPorts);
    const listen = { host: advertise, port: portOf(server) };
    const secret = randomBytes(32).toString('hex');
    const node = await joinNode(
      { device, transport, localHost, ports: meshPorts },
      {
        id: SERVER_ID,
        join: [],
        ...{ listen, server, timeoutMs, signal },
        listenHost: localHost,
        key: secret,
        ...(logger && { logger }),
      },
    );
    try {
      const [regions] = await Promise.all([
        allocateRegions(node, messageBytes),
        reader.attach(node.device.handle),
      ]);
      return new SwarmMesh(node, describeAddress(listen), secret, regions, messageBytes);
    } catch (error) {
      await node.close();
      throw error;
    }
  }

  /** A fetcher has failed: its group ends, and the others do not connect to it any more. */
  remove(id: number, reason: string): void {
    const { mesh } = this.node;
    if (mesh.signal.aborted || !mesh.peers.has(id)) return;
    mesh.reportFailure(id, reason.slice(0, 200));
    mesh.remove(id);
  }

  close(): Promise<void> {
    return this.node.close();
  }
}
