import { join } from 'node:path';
import { codeOf, Deferred, SerialQueue } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import { Backup } from '@rdmc/tailwind/backup';
import { SEGMENT_BYTES } from './ledger.js';
import { lostMember } from './loss.js';
import { type CrewOrder, type HoldOrder, Topic } from './messages.js';
import { joinNode, type TrainingNode } from './node.js';
import { processReport } from './process-report.js';
import { type Place, type Settings, TRAINER } from './settings.js';
import { Shift } from './shift.js';

/** Errors of a shift that the trainer has closed, beside the loss of a member. */
const GIVEN_UP = ['ERR_RDMC_HIPOWER_PEER_CLOSED'];

/** Runs a worker until the trainer says that the job is done. */
export async function work({ id, members, settings, directory }: Place): Promise<void> {
  const node = await joinNode({ id, members, device: settings.device });
  const clusterId = await heard<string>(node.mesh, Topic.CLUSTER);
  const { protectionDomain, logs } = node;
  const place = { directory: join(directory, `backup-${id}`), segmentBytes: SEGMENT_BYTES };
  const backup = await Backup.open({ protectionDomain, clusterId, ...place });
  const service = logs.serve(backup, { coordinator: logs.coordinator(TRAINER) });
  await new Worker(node, settings).done;
  await service.close();
  await backup.close();
  await node.close();
}

/** Receives the trainer's orders. */
class Worker {
  readonly done: Promise<void>;
  readonly #failed = new Deferred<never>();
  #shift: Shift | undefined;
  readonly #crews = new SerialQueue();
  #holdAt = 0;

  constructor(
    private readonly node: TrainingNode,
    private readonly settings: Settings,
  ) {
    const { mesh } = node;
    mesh.onMessage(Topic.CREW, (_from, order) => {
      const working = this.#crews.run(() => this.#join(order as CrewOrder));
      working.catch((error) => this.#failed.reject(error));
    });
    mesh.onRequest(Topic.HOLD, (_from, order) => {
      this.#holdAt = (order as HoldOrder).step;
      return this.#report();
    });
    mesh.onRequest(Topic.REPORT, () => this.#report());
    const finished = heard(mesh, Topic.FINISH).then(() => this.#crews.idle());
    this.done = Promise.race([finished, this.#failed.promise]);
    mesh.send(TRAINER, Topic.READY, null);
  }

  /**
   * Works in a crew until it ends, regularly or with a loss. Its ends stay open until the next order, so that no
   * other member sees this worker leave and reports it as the lost one.
   */
  async #join(order: CrewOrder): Promise<void> {
    await this.#shift?.close();
    this.#shift = undefined;
    const { node, settings } = this;
    try {
      this.#shift = await Shift.begin(node, order, settings.parameters);
      await this.#shift.work(node.id, settings.parameters, (step) => this.#holdIn(step));
    } catch (error) {
      if (lostMember(error) === undefined && !GIVEN_UP.includes(codeOf(error) ?? '')) throw error;
    }
  }

  /** In the step in which this process will be killed: reports that it has reached it, and stops. */
  async #holdIn(step: number): Promise<void> {
    if (step !== this.#holdAt) return;
    this.node.mesh.send(TRAINER, Topic.HELD, null);
    await new Promise(() => {});
  }

  #report() {
    return processReport(this.node.id, this.node.counters());
  }
}

/** The first message of a topic, which may have arrived before. */
function heard<Body>(mesh: Mesh, topic: string): Promise<Body> {
  return new Promise((resolve) => {
    mesh.onMessage(topic, (_from, body) => resolve(body as Body));
  });
}
