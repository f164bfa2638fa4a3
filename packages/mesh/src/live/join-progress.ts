import { Deferred } from '@rdmc/common';
import { MeshError } from '../errors.js';
import { describeAddress, describeMembers } from '../members.js';
import type { ResolvedLiveOptions } from '../options.js';

/** What a newcomer waits for: to be admitted, and then to be connected to the members that it was told, if they answer. */
export class JoinProgress {
  readonly #done = new Deferred<void>();
  readonly #lastErrors = new Map<number, MeshError>();
  /** Undefined: it was not admitted yet. */
  #awaited: Set<number> | undefined;

  /** Resolves when the newcomer has joined. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  admitted(members: Iterable<number>): void {
    this.#awaited = new Set(members);
    this.#look();
  }

  /** The member is connected, or does not belong to the mesh any more. */
  settle(id: number): void {
    if (this.#awaited?.delete(id)) this.#look();
  }

  /** The member does not answer. Attempts to reach it go on. */
  missed(id: number, error: MeshError): void {
    this.#lastErrors.set(id, error);
    this.settle(id);
  }

  fail(error: unknown): void {
    this.#done.reject(error);
  }

  timeout(options: ResolvedLiveOptions, lastError: MeshError | undefined): MeshError {
    const waited = `member ${options.id} waited ${options.timeoutMs} ms`;
    if (this.#awaited === undefined) {
      const addresses = options.contacts.slice(0, 8).map(describeAddress).join(', ');
      const trouble = lastError === undefined ? '' : `; last error: ${lastError.message}`;
      const text = `${waited}, and no member at ${addresses} admitted it${trouble}`;
      return new MeshError('ERR_RDMC_MESH_TIMEOUT', text, { cause: lastError });
    }
    const missing = [...this.#awaited].flatMap((id) => options.peers.get(id) ?? []);
    const text = `${waited}, and is not connected to ${describeMembers(missing)}`;
    return new MeshError('ERR_RDMC_MESH_TIMEOUT', text, {
      missing: missing.map((member) => ({
        ...member,
        lastError: this.#lastErrors.get(member.id)?.message,
      })),
    });
  }

  #look(): void {
    if (this.#awaited?.size === 0) this.#done.resolve();
  }
}
