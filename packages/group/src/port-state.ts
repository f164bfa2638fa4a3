import type { DeviceEvent } from '@rdmc/verbs';

/**
 * Whether the port that an RDMA device uses is down, from the device's events. Events of its other ports are ignored.
 */
export class PortState {
  #isDown = false;

  /** `port`: the number of the port in use; `undefined` if the device does not have ports. */
  constructor(private readonly port: number | undefined) {}

  get isDown(): boolean {
    return this.#isDown;
  }

  take({ type, port }: Pick<DeviceEvent, 'type' | 'port'>): void {
    if (port === undefined || port !== this.port) return;
    if (type === 'portDown') this.#isDown = true;
    else if (type === 'portActive') this.#isDown = false;
  }
}
