import type { Connections } from '../connections.js';
import { codeOf, type MeshError, messageOf } from '../errors.js';
import type { Hello, Reject } from '../hello.js';
import type { Introduced, Link } from '../link.js';
import { Listener, type ListenerEvents } from '../listener.js';
import type { ResolvedLiveOptions } from '../options.js';
import type { Security } from '../security.js';
import type { Hellos } from './hellos.js';
import type { Introductions } from './introductions.js';
import { checkLiveHello } from './live-hello-check.js';
import type { Membership } from './membership.js';

export interface LiveListenerContext {
  readonly options: ResolvedLiveOptions;
  readonly version: number;
  readonly security: Security | undefined;
  readonly pendingTickMs: number | undefined;
  readonly links: ReadonlyMap<number, Link>;
  readonly hellos: Hellos;
  connections(): Connections;
  introductions(): Introductions;
  membership(): Membership | undefined;
  /** A connection of the pair is complete. */
  linked(introduced: Introduced): void;
  /** A caller has refused this member. */
  told(reject: Reject): void;
}

/** The listener of a member: leads each connection to what it is for. */
export function liveListener(context: LiveListenerContext): Listener {
  const { options, version, links, hellos } = context;
  const log = (error: unknown, text: string) => options.logger.warn?.({ code: codeOf(error) }, text);
  const events: ListenerEvents = {
    check: (hello, from) =>
      checkLiveHello(hello, from, {
        options,
        version,
        gathering: false,
        current: (member) => links.get(member)?.hello,
        hasRoom: (member) => context.connections().hasRoom(member),
        clusterId: options.clusterId,
        membership: context.membership(),
      }),
    answer: (hello: Hello) => hellos.answer(hello),
    connected: (introduced) => {
      const { connection, live } = introduced.hello;
      if (connection !== undefined) context.connections().accept(introduced);
      else if (live!.isIntroduction) void context.introductions().accept(introduced);
      else context.linked(introduced);
    },
    refused: (error: MeshError) => log(error, `mesh: refused: ${error.message}`),
    refusedByCaller: (reject) => context.told(reject),
    dropped: (error, from) => log(error, `mesh: closed the connection from ${from}: ${messageOf(error)}`),
  };
  return new Listener(options, context.security, version, events, context.pendingTickMs);
}
