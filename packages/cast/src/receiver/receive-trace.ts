import { Tracer } from '@rdmc/common';

interface ReceiveMessage {
  readonly castId: string;
  readonly from: string;
  readonly files: number;
  readonly bytes: number;
}

/** Traces each cast at a receiver. */
export const receiveTrace = new Tracer<ReceiveMessage>('@rdmc/cast:receive');
