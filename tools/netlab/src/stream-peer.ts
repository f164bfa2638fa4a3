// One end of a plain TCP stream, run inside a host. All hosts share the machine's CLOCK_MONOTONIC.
//   stream-peer.js receive HOST BYTES        prints the port, then the time of the last byte
//   stream-peer.js send HOST PORT BYTES      prints the time before the first byte
import { connect, createServer, type Socket } from 'node:net';

const CHUNK = Buffer.alloc(1 << 20, 0x5a);
const print = (value: number | bigint) => process.stdout.write(`${value}\n`);

function receive(host: string, bytes: number): void {
  const server = createServer((socket) => {
    let left = bytes;
    socket.on('data', (chunk) => {
      left -= chunk.length;
      if (left > 0) return;
      print(process.hrtime.bigint());
      socket.end();
      server.close();
    });
  });
  server.listen(0, host, () => print((server.address() as { port: number }).port));
}

function pump(socket: Socket, bytes: number): void {
  let left = bytes;
  const more = () => {
    while (left > 0) {
      const chunk = left < CHUNK.length ? CHUNK.subarray(0, left) : CHUNK;
      left -= chunk.length;
      if (!socket.write(chunk)) return;
    }
    socket.removeListener('drain', more);
  };
  socket.on('drain', more);
  more();
}

const [role, host, ...numbers] = process.argv.slice(2);
if (role === 'receive') {
  receive(host!, Number(numbers[0]));
} else {
  const socket = connect({ host: host!, port: Number(numbers[0]) }, () => {
    print(process.hrtime.bigint());
    pump(socket, Number(numbers[1]));
  });
  socket.resume();
}
