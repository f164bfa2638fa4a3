import { Call, type Clock } from '../clock.js';
import type { Cluster } from '../cluster.js';

const BYTES_PER_US = 125;
/** Headers of a packet of RoCE v2: Ethernet, IP, UDP, transport and checksum. */
const PACKET_BYTES = 66;
const MTU_BYTES = 4096;

/** One direction of a node's port: transfers take it in turn. */
class Port {
  freeAt = 0;
}

/** NICs and links between nodes; a port carries one transfer after the other, and a full switch does not lose any. */
export class Wire {
  readonly #out: Port[];
  readonly #in: Port[];
  readonly #perByte: number;

  constructor(
    private readonly clock: Clock,
    private readonly cluster: Cluster,
    /** The NIC's time for a request. */
    private readonly request: number,
    nodes: number,
  ) {
    this.#out = Array.from({ length: nodes }, () => new Port());
    this.#in = Array.from({ length: nodes }, () => new Port());
    this.#perByte = 1 / (cluster.gbitPerSecond * BYTES_PER_US);
  }

  /** Bytes from one node's memory to the other's; `arrived` is called when the last one is there. */
  transfer(from: number, to: number, bytes: number, arrived: () => void): void {
    const { nic } = this.cluster;
    const packets = Math.max(1, Math.ceil(bytes / MTU_BYTES));
    const time = (bytes + packets * PACKET_BYTES) * this.#perByte;
    const [out, into] = [this.#out[from]!, this.#in[to]!];
    const start = Math.max(this.clock.now, out.freeAt);
    // The NIC begins the next request while this one is on the link.
    out.freeAt = start + Math.max(time, this.request);
    into.freeAt = Math.max(start + this.request + nic.latency, into.freeAt) + time;
    this.clock.schedule(new Call(arrived), into.freeAt);
  }

  /** A WRITE: `arrived` at the target, then `completed` at the initiator. */
  write(from: number, to: number, bytes: number, arrived: () => void, completed?: () => void): void {
    this.transfer(from, to, bytes, () => {
      arrived();
      if (completed)
        this.clock.schedule(new Call(completed), this.clock.now + this.cluster.nic.acknowledgement);
    });
  }

  /** A READ: `served` at the target takes the bytes as they are then; `completed` at the initiator has them. */
  read(from: number, to: number, bytes: number, served: () => void, completed: () => void): void {
    this.transfer(from, to, 0, () => {
      served();
      this.transfer(to, from, bytes, completed);
    });
  }
}
