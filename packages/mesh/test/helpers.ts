import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { RdmcError } from '@rdmc/common';
import {
  rejection as anyRejection,
  thrown as anyThrown,
  closedAfterTest,
  until as lookUntil,
  ofClass,
} from '@rdmc/testing';
import type { Core, Internals } from '../src/core.js';
import type { Member, Mesh, MeshError, MeshFailure, MeshOptions } from '../src/index.js';
import type { Link } from '../src/link.js';
import type { ReservedPort } from '../src/loopback.js';
import { reserveLoopbackPorts } from '../src/loopback.js';
import { joinMesh } from '../src/mesh.js';

export const KEY = 'a cluster key of more than sixteen bytes';

export interface Place {
  readonly members: Member[];
  readonly reserved: ReservedPort[];
  /** Takes part as this member; whatever comes of it is closed after the test. */
  join(id: number, options?: Partial<MeshOptions>, internals?: Internals): Joining;
}

export interface Joining {
  readonly mesh: Promise<Mesh>;
  readonly core: Core;
}

/** Ports and a list for `count` members, with a function that joins as one of them. */
export async function place(count: number, host: '127.0.0.1' | '::1' = '127.0.0.1'): Promise<Place> {
  const reserved = await reserveLoopbackPorts(count, host);
  const members = reserved.map(({ port }, id) => ({ id, host, port }));
  for (const { server } of reserved) {
    closedAfterTest({ close: () => new Promise((resolve) => server.close(resolve)) });
  }
  const join = (id: number, options: Partial<MeshOptions> = {}, internals: Internals = {}): Joining => {
    let core: Core | undefined;
    const mesh = joinMesh(
      { id, members, server: reserved[id]!.server, timeoutMs: 60_000, ...options },
      {
        ...internals,
        observe: (created) => {
          core = created;
        },
      },
    );
    mesh.catch(() => {});
    if (core !== undefined) closedAfterTest(core);
    return {
      mesh,
      get core() {
        if (core === undefined) throw new Error('options were refused');
        return core;
      },
    };
  };
  return { members, reserved, join };
}

export interface Formed extends Place {
  readonly meshes: Mesh[];
  readonly cores: Core[];
}

export async function form(
  count: number,
  options: Partial<MeshOptions> = {},
  host: '127.0.0.1' | '::1' = '127.0.0.1',
  internals: Internals = {},
): Promise<Formed> {
  const where = await place(count, host);
  const joinings = where.members.map(({ id }) => where.join(id, options, internals));
  const meshes = await Promise.all(joinings.map(({ mesh }) => mesh));
  return { ...where, meshes, cores: joinings.map(({ core }) => core) };
}

export function failureOf(mesh: Mesh, member: number): Promise<MeshFailure> {
  return new Promise((resolve) => {
    mesh.onFailure((failure) => {
      if (failure.member === member) resolve(failure);
    });
  });
}

export function leaveOf(mesh: Mesh, member: number): Promise<void> {
  return new Promise((resolve) => {
    mesh.onLeave((id) => {
      if (id === member) resolve();
    });
  });
}

/**
 * From now on the others see nothing of this member: it neither sends nor closes a connection. Both ends of a connection see
 * its end, and each tells the others; frames on different connections arrive in any order. A test that expects
 * the report of one end calls this for the other one.
 */
export function hide({ links }: { readonly links: ReadonlyMap<number, Link> }): void {
  for (const link of links.values()) {
    link.send = () => {};
    link.dismiss = () => {};
  }
}

/** The next `count` messages of a topic, as [from, body]. */
export function messages(mesh: Mesh, topic: string, count: number): Promise<[number, unknown][]> {
  return new Promise((resolve) => {
    const seen: [number, unknown][] = [];
    const subscription = mesh.onMessage(topic, (from, body) => {
      seen.push([from, body]);
      if (seen.length === count) {
        subscription.close();
        resolve(seen);
      }
    });
  });
}

/** A `MeshError` or an `AbortError`. */
type Rejection = RdmcError & Partial<Pick<MeshError, 'missing'>>;

/** The error of this project that a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<Rejection> {
  return ofClass(RdmcError, await anyRejection(promise));
}

/** The error of this project that a call throws. */
export const thrown = (act: () => unknown): RdmcError => ofClass(RdmcError, anyThrown(act));

/** Waits for a condition that no event announces. */
export const until = (condition: () => boolean): Promise<void> => lookUntil(condition, 2);

/** A connection of somebody who is no member. */
export async function stranger(member: Member): Promise<Socket> {
  const socket = connect({ host: member.host, port: member.port });
  closedAfterTest({ close: () => socket.destroy() });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

export async function closed(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}

/** Everybody still hears everybody. */
export async function assertWhole(meshes: readonly Mesh[]): Promise<void> {
  const heard = meshes.map((mesh) => messages(mesh, 'whole', meshes.length - 1));
  for (const mesh of meshes) mesh.broadcast('whole', mesh.id);
  await Promise.all(heard);
}
