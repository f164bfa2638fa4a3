import { Buffer } from 'node:buffer';
import { Socket, type SocketConstructorOpts, type TcpSocketConnectOpts } from 'node:net';
import { SHARED_INPUT_BYTES } from '../limits.js';

/** The system's connection of a socket; Node.js gives it to sockets that it makes for servers. */
interface Handled {
  _handle?: unknown;
}

/** All of these sockets are read into it, one after the other. */
let shared: Buffer | undefined;

/**
 * A socket for the same connection, whose 'data' events have a part of one memory that all such sockets share: the bytes are valid
 * until the listener returns. Without it, Node.js allocates 64 KiB for each read, and passes the bytes through a stream's queue; that was
 * a third of the processor time for reading and answering a short command. Call it before the socket has been read. Where Node.js does
 * not show the connection, the result is the same socket.
 */
export function withSharedInput(socket: Socket): Socket {
  const handled = socket as Handled;
  const handle = handled._handle;
  if (handle === undefined || handle === null || socket.destroyed) return socket;
  shared ??= Buffer.allocUnsafeSlow(SHARED_INPUT_BYTES);
  // As Node.js does with sockets that it hands to another process. The old socket closes, and the connection stays.
  handled._handle = null;
  socket.destroy();
  const options: SocketConstructorOpts & Pick<TcpSocketConnectOpts, 'onread'> & Record<string, unknown> = {
    handle,
    allowHalfOpen: true,
    manualStart: true,
    onread: {
      buffer: shared,
      callback: (length, bytes) => {
        reader.emit('data', (bytes as Buffer).subarray(0, length));
        return true;
      },
    },
  };
  const reader = new Socket(options);
  return reader;
}
