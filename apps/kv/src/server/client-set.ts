import type { Client } from './client.js';

/** The clients that are connected. */
export class ClientSet {
  readonly #clients = new Set<Client>();

  get size(): number {
    return this.#clients.size;
  }

  add(client: Client): void {
    this.#clients.add(client);
  }

  delete(client: Client): void {
    this.#clients.delete(client);
  }

  /** One line per client. */
  describe(): string[] {
    return [...this.#clients].map(
      ({ id, address, name, version }) => `id=${id} addr=${address} name=${name} resp=${version}`,
    );
  }
}
