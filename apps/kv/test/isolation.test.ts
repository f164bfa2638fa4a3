import { type Subscription, subscription } from '@rdmc/common';
import { until } from '@rdmc/testing';
import { expect, it, onTestFinished } from 'vitest';
import { standbyId } from '../src/cluster/messages.js';
import { Isolation, serverConnected } from '../src/node/isolation.js';

/** The peers of a coordinator. The test is all of them. */
class FakePeers {
  readonly peers = new Map<number, { id: number; state: string }>();
  readonly #listeners = new Set<() => void>();

  onMember(listener: () => void): Subscription {
    this.#listeners.add(listener);
    return subscription(() => this.#listeners.delete(listener));
  }

  set(id: number, state: string): void {
    this.peers.set(id, { id, state });
    for (const listener of this.#listeners) listener();
  }
}

function isolationOf(mesh: FakePeers): Isolation {
  const isolation = new Isolation(mesh as never, 1);
  onTestFinished(() => isolation.close());
  return isolation;
}

/** The time of an isolation that began with this has passed. */
async function timeOut(): Promise<void> {
  const control = new FakePeers();
  control.set(standbyId(1), 'connected');
  const lonely = isolationOf(control);
  await until(() => lonely.signal.aborted);
}

it('a coordinator that no server is connected with gives up where there is a standby', async () => {
  const mesh = new FakePeers();
  const isolation = isolationOf(mesh);
  mesh.set(1, 'failed');
  // Without a standby nobody else would coordinate.
  await timeOut();
  expect(isolation.signal.aborted).toBe(false);
  mesh.set(standbyId(1), 'failed');
  await until(() => isolation.signal.aborted);
});

it('a coordinator that a server is connected with goes on', async () => {
  const mesh = new FakePeers();
  mesh.set(standbyId(1), 'connected');
  mesh.set(1, 'connected');
  const isolation = isolationOf(mesh);
  mesh.set(2, 'failed');
  await timeOut();
  expect(isolation.signal.aborted).toBe(false);
});

it('a coordinator waits for a server before it takes the lead, and not for another coordinator', async () => {
  const mesh = new FakePeers();
  const end = new AbortController();
  let isFound = false;
  const found = serverConnected(mesh as never, end.signal).then(() => {
    isFound = true;
  });
  mesh.set(standbyId(2), 'connected');
  mesh.set(0, 'connected');
  await new Promise((resolve) => setImmediate(resolve));
  expect(isFound).toBe(false);
  mesh.set(3, 'connected');
  await found;
  const late = serverConnected(new FakePeers() as never, end.signal);
  end.abort(new Error('closed'));
  await expect(late).rejects.toThrow('closed');
});
