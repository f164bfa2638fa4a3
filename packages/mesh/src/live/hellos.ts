import { hostname } from 'node:os';
import { MAX_HOST_CHARACTERS } from '../constants.js';
import { type MeshError, protocolError } from '../errors.js';
import type { ConnectionName, Hello } from '../hello.js';
import type { ResolvedLiveOptions } from '../options.js';
import { entryOf } from './live-hello.js';
import { judgeHello } from './live-hello-check.js';
import type { Membership } from './membership.js';
import { ROSTER_DIGEST_BYTES, type RosterEntry } from './roster.js';
import { verdictError } from './verdict-error.js';

const NO_DIGEST = '0'.repeat(2 * ROSTER_DIGEST_BYTES);
const PROCESS = { host: hostname().slice(0, MAX_HOST_CHARACTERS), pid: process.pid };

export interface HellosContext {
  readonly options: ResolvedLiveOptions;
  readonly version: number;
  /** At which the others reach this member. */
  port(): number;
  /** Undefined: this member has no incarnation yet. */
  membership(): Membership | undefined;
}

/** The HELLOs of this member, and its judgement of those of others. */
export class Hellos {
  constructor(private readonly context: HellosContext) {}

  /** For the pair's own connection. */
  link(to: number, epoch: number): Hello {
    return this.#make(to, epoch, false);
  }

  introduction(to: number): Hello {
    return this.#make(to, 0, true);
  }

  /** Of an introduction by a process that has no incarnation yet, whatever it had in an earlier attempt. */
  newcomer(): Hello {
    const hello = this.introduction(this.context.options.id);
    return { ...hello, live: { ...hello.live!, incarnation: 0 } };
  }

  further(to: number, connection: ConnectionName): Hello {
    return { ...this.#make(to, 0, false), live: undefined, connection };
  }

  answer({ from, live, connection }: Hello): Hello {
    if (connection !== undefined) return this.further(from, connection);
    return this.#make(from, live?.epoch ?? 0, live?.isIntroduction ?? false);
  }

  /** Why the answer of a peer to the HELLO of the pair's connection is refused. */
  judgeAnswer(hello: Hello): MeshError | undefined {
    if (hello.live === undefined) return protocolError(`member ${hello.from} answers with another HELLO`);
    return judgeHello(hello, hello.live, this.context.membership()!);
  }

  /** Why the answer of a peer in an introduction is refused. */
  judgeClaim(hello: Hello): MeshError | undefined {
    const { live, from } = hello;
    if (live === undefined || live.incarnation === 0) return undefined;
    const verdict = this.context.membership()?.judgeClaim(entryOf(hello, live));
    return verdict && verdictError(verdict, from);
  }

  /** This member as a roster's entry. */
  entry(incarnation: number): RosterEntry {
    const { id, instance, self } = this.context.options;
    const { host } = self;
    const port = this.context.port();
    return { id, incarnation, instance: instance.toString('hex'), host, port, process: PROCESS };
  }

  #make(to: number, epoch: number, isIntroduction: boolean): Hello {
    const { options, version } = this.context;
    const { id, digest, instance, maxFrameBytes, levels, attributes, self } = options;
    const membership = this.context.membership();
    const live = {
      incarnation: membership?.self.incarnation ?? 0,
      epoch,
      host: self.host,
      port: this.context.port(),
      process: PROCESS,
      roster: membership?.roster.digest.toString('hex') ?? NO_DIGEST,
      isIntroduction,
    };
    return { version, from: id, to, digest, instance, maxFrameBytes, levels, attributes, live };
  }
}
