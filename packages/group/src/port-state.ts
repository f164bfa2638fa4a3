import type { DeviceEvent } from '@rdmc/verbs';

/** Whether the port that an RDMA device uses is down, as the device's events tell; its other ports do not matter. */
export class PortState {
  #isDown = false;

  /** `port`: the number of the one in use; `undefined` where the device has none. */
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
