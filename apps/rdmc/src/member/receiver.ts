import { type Group, type MemoryRegion, RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh';
import type { Order, Report } from '../crew/messages.js';
import { storeRegion } from './received-file.js';

const PROGRESS_EVERY_MS = 50;

type OrderOf<Type extends Order['type']> = Extract<Order, { type: Type }>;
type ReservedPort = Awaited<ReturnType<typeof reserveLoopbackPorts>>[number];

/** A member that receives: into one buffer, which every message of every group reuses. */
export class Receiver {
  readonly #groups: Group[] = [];
  #port: ReservedPort | undefined;
  #node: RdmcNode | undefined;
  #buffer: MemoryRegion | undefined;
  #lastSizeBytes = 0;

  constructor(
    private readonly tell: (report: Report) => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Takes a port for the mesh, before anybody knows the other members. */
  async listen(): Promise<void> {
    [this.#port] = await reserveLoopbackPorts(1);
    this.tell({ type: 'listening', port: this.#port!.port });
  }

  async join({ id, members, device, transport }: OrderOf<'join'>): Promise<void> {
    const { server } = this.#port!;
    this.#node = await RdmcNode.join({ id, members, server, device: { device, transport } });
    this.tell({ type: 'joined' });
  }

  async open({ group: id, members, algorithm, blockSizeBytes }: OrderOf<'open'>): Promise<void> {
    const incoming = async (sizeBytes: number) => ({ region: await this.#bufferOf(sizeBytes) });
    const group = await this.#node!.createGroup({ id, members, algorithm, blockSizeBytes, incoming });
    this.#groups.push(group);
    this.#watch(group);
    this.#consume(group).catch(this.failed);
    this.tell({ type: 'opened', group: id });
  }

  async store({ path }: OrderOf<'store'>): Promise<void> {
    const total = this.#lastSizeBytes;
    let told = performance.now();
    await storeRegion(this.#buffer!, total, path, (bytesWritten) => {
      const now = performance.now();
      if (now - told < PROGRESS_EVERY_MS && bytesWritten < total) return;
      told = now;
      this.tell({ type: 'storing', bytesWritten });
    });
    this.tell({ type: 'stored', path });
  }

  async leave(): Promise<void> {
    await Promise.all(this.#groups.map((group) => group.close()));
    await this.#node?.close();
    this.tell({ type: 'left' });
  }

  async #consume(group: Group): Promise<void> {
    for await (const message of group) {
      const at = String(process.hrtime.bigint());
      const { number, sizeBytes } = message;
      this.#lastSizeBytes = sizeBytes;
      message.release();
      this.tell({ type: 'received', group: group.id, number, sizeBytes, at });
    }
  }

  #watch(group: Group): void {
    const tell = ({ bytesReceived }: { bytesReceived: number }): void =>
      this.tell({ type: 'progress', group: group.id, bytesReceived });
    group.onProgress(tell, { intervalMs: PROGRESS_EVERY_MS });
  }

  /** Messages come one at a time, so one buffer serves all; it only grows. */
  async #bufferOf(sizeBytes: number): Promise<MemoryRegion> {
    if (this.#buffer && this.#buffer.length >= sizeBytes) return this.#buffer;
    const old = this.#buffer;
    this.#buffer = await this.#node!.allocate(sizeBytes);
    await old?.close();
    return this.#buffer;
  }
}
