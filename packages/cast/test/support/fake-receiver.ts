import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { encodeFrame, KeyedSockets } from '@rdmc/mesh/sockets';
import { CAST_PROTOCOL_VERSION } from '../../src/constants.js';
import { ControlChannel } from '../../src/control/control-channel.js';
import { type ReceiverFrame, type SenderFrame, shapes } from '../../src/control/frames.js';
import { CONTROL_PURPOSE } from '../../src/identity.js';
import { EntryState } from '../../src/manifest/entry-states.js';
import { packStates } from '../../src/manifest/packed-states.js';

type Channel = ControlChannel<ReceiverFrame, SenderFrame>;

/** Sockets as senders and receivers of this user have them. */
export const ownSockets = (): KeyedSockets => new KeyedSockets({ purpose: CONTROL_PURPOSE });

/** Listens as a receiver does; `speak` decides what it says. */
export async function fakeReceiver(speak: (channel: Channel, socket: Socket) => Promise<void>) {
  const sockets = new Set<Socket>();
  const keyed = ownSockets();
  const server = createServer(async (raw) => {
    sockets.add(raw);
    raw.on('error', () => {});
    try {
      const socket = await keyed.accept(raw);
      sockets.add(socket);
      await speak(
        new ControlChannel<ReceiverFrame, SenderFrame>(socket, shapes.sender, 'the sender'),
        socket,
      );
    } catch {
      // The sender left.
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    to: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

export const hello: ReceiverFrame = {
  type: 'hello',
  version: CAST_PROTOCOL_VERSION,
  software: 'a test',
  hostName: 'fake',
  pid: 1,
  instance: randomUUID(),
};

/** Follows the protocol up to the members frame, as a receiver that has nothing. */
export async function goAlong(channel: Channel): Promise<AsyncIterator<SenderFrame, void, undefined>> {
  const frames = channel[Symbol.asyncIterator]();
  await frames.next();
  channel.send(hello);
  await frames.next();
  channel.send({ type: 'ready', meshPort: 1, freeBytes: 1e12 });
  for (;;) {
    const { value: frame } = await frames.next();
    if (frame?.type === 'offer') {
      const states = packStates(new Uint8Array(frame.count).fill(EntryState.ABSENT));
      channel.send({ type: 'compared', first: frame.first, states });
    } else if (frame?.type === 'offered') channel.send({ type: 'surplus', count: 0, paths: [], last: true });
    else if (frame?.type !== 'pulse') return frames;
  }
}

/** A frame as bytes, with any payload. */
export function rawFrame(text: string, version = CAST_PROTOCOL_VERSION): Buffer {
  return encodeFrame(version, Buffer.from(text));
}
