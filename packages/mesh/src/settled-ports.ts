import { readFileSync } from 'node:fs';
import { threadId } from 'node:worker_threads';

/** The range of ports from which Linux takes one for a program that asks for any: two numbers. */
const RANGE_FILE = '/proc/sys/net/ipv4/ip_local_port_range';
/** Well-known services are below. */
const FIRST_PORT = 10_000;
/** Processes whose ids follow each other begin so far apart. */
const STRIDE = 64;
/** With fewer ports than that, processes would use the same ones. */
const LEAST_PORTS = 64 * STRIDE;

/**
 * Ports that stay free between one process's closing them and another one's opening them: they lie below those that
 * the system gives to connections, and to servers that listen at any port. Each process begins at another port and
 * continues from there, so that several processes use different ports for long.
 */
export class SettledPorts {
  readonly #count: number;
  #given = 0;

  /** Of `range`, the text of RANGE_FILE, for the process or thread with that number. */
  constructor(
    range: string,
    private readonly process: number,
  ) {
    const end = Number(/^\s*(\d+)/.exec(range)?.[1] ?? 0);
    this.#count = end - FIRST_PORT >= LEAST_PORTS ? end - FIRST_PORT : 0;
  }

  static ofThisMachine(): SettledPorts {
    let range = '';
    try {
      range = readFileSync(RANGE_FILE, 'utf8');
    } catch {
      // Not Linux, or not shown: the system chooses.
    }
    return new SettledPorts(range, process.pid + threadId);
  }

  /** The next port to try; 0: any port, where the range is too small. */
  next(): number {
    if (this.#count === 0) return 0;
    const port = FIRST_PORT + ((this.process * STRIDE + this.#given) % this.#count);
    this.#given += 1;
    return port;
  }
}
