// Messages over a plain TCP connection of Node.js. Each begins with the time at which it was due, in milliseconds (8 bytes, a float64 in
// little endian).
import { once } from 'node:events';
import { connect } from 'node:net';

const STAMP_BYTES = 8;

/** Calls `taken` with the stamp of each message when its last byte is there. */
export function readStamps(socket, byteLength, taken) {
  const stamp = Buffer.alloc(STAMP_BYTES);
  let position = 0;
  socket.on('data', (chunk) => {
    for (let offset = 0; offset < chunk.length; ) {
      const count = Math.min(byteLength - position, chunk.length - offset);
      if (position < STAMP_BYTES) chunk.copy(stamp, position, offset, offset + count);
      position += count;
      offset += count;
      if (position < byteLength) continue;
      position = 0;
      if (stamp.readDoubleLE(0) > 0) taken(stamp.readDoubleLE(0));
    }
  });
  socket.on('end', () => socket.end());
}

/** Sends messages at a rate for some milliseconds; resolves when the other end has taken all. */
export async function sendStamps({ port, byteLength, durationMs, perSecond, now }) {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  await once(socket, 'connect');
  const started = now();
  let messages = 0;
  for (let elapsed = 0; elapsed <= durationMs; elapsed = now() - started) {
    while (messages < (elapsed * perSecond) / 1000) {
      // A buffer of its own: the socket may not have written it when the next one is due.
      const message = Buffer.alloc(byteLength);
      message.writeDoubleLE(started + (messages * 1000) / perSecond, 0);
      socket.write(message);
      messages += 1;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.resume().end();
  await once(socket, 'close');
}
