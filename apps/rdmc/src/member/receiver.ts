import { TraceFile } from '@rdmc/dataplane/trace';
import { type Group, type MemoryRegion, RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import type { Command, Report } from '../cluster/messages.js';
import { storeRegion } from './received-file.js';

const PROGRESS_EVERY_MS = 50;

type CommandOf<Type extends Command['type']> = Extract<Command, { type: Type }>;
type ReservedPort = Awaited<ReturnType<typeof reserveLoopbackPorts>>[number];

/** A member that receives. Its buffers are reused: from the second message on, their memory is warm. */
export class Receiver {
  readonly #groups: Group[] = [];
  #port: ReservedPort | undefined;
  #node: RdmcNode | undefined;
  #trace: TraceFile | undefined;
  readonly #free: MemoryRegion[] = [];
  /** The last received message. Its memory is free already, but keeps its content until the next message begins. */
  #last: { readonly region: MemoryRegion; readonly byteLength: number } | undefined;

  constructor(
    private readonly tell: (report: Report) => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Takes a port for the mesh, before the members are known. */
  async listen(): Promise<void> {
    [this.#port] = await reserveLoopbackPorts(1);
    this.tell({ type: 'listening', port: this.#port!.port });
  }

  async join({ id, members, device, transport, linkRate, trace }: CommandOf<'join'>): Promise<void> {
    const { server } = this.#port!;
    const wanted = { device, transport, ...(linkRate && { linkRate }) };
    if (trace !== undefined) this.#trace = await TraceFile.create(trace);
    this.#node = await RdmcNode.join({ id, members, server, device: wanted, trace: this.#trace });
    this.tell({ type: 'joined' });
  }

  async open(command: CommandOf<'open'>): Promise<void> {
    const { group: id, members, algorithm, blockBytes } = command;
    const incoming = async (byteLength: number) => ({ region: await this.#takeBuffer(byteLength) });
    const group = await this.#node!.createGroup({ id, members, algorithm, blockBytes, incoming });
    this.#groups.push(group);
    if (command.progress) this.#watch(group);
    this.#consume(group, command.reportEvery).catch(this.failed);
    this.tell({ type: 'opened', group: id });
  }

  async store({ path }: CommandOf<'store'>): Promise<void> {
    const { region, byteLength: total } = this.#last!;
    let told = performance.now();
    await storeRegion(region, total, path, (bytesWritten) => {
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
    await this.#trace?.close();
  }

  async #consume(group: Group, reportEvery: number): Promise<void> {
    for await (const { number, byteLength, region } of group) {
      const at = String(process.hrtime.bigint());
      this.#last = { region, byteLength };
      this.#free.push(region);
      if ((number + 1) % reportEvery !== 0) continue;
      this.tell({ type: 'received', group: group.id, number, byteLength, at });
    }
  }

  #watch(group: Group): void {
    const tell = ({ bytesReceived }: { bytesReceived: number }): void =>
      this.tell({ type: 'progress', group: group.id, bytesReceived });
    group.onProgress(tell, { intervalMs: PROGRESS_EVERY_MS });
  }

  /** A free buffer that is large enough, or a new one. */
  async #takeBuffer(byteLength: number): Promise<MemoryRegion> {
    const at = this.#free.findIndex((buffer) => buffer.byteLength >= byteLength);
    if (at !== -1) return this.#free.splice(at, 1)[0]!;
    return this.#node!.allocate(byteLength);
  }
}
