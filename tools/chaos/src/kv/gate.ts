// One process at the servers' host of a lab: programs in a network namespace share the files of this machine, so a socket's file leads
// into it. The first two bytes of a connection are the port that it leads to, little endian. Argument: the path of the socket.
import { connect, createServer } from 'node:net';

createServer((outside) => {
  outside.on('error', () => {});
  outside.once('data', (first: Buffer) => {
    const inside = connect(first.readUInt16LE(0), '127.0.0.1');
    inside.write(first.subarray(2));
    outside.pipe(inside);
    inside.pipe(outside);
    inside.on('error', () => outside.destroy());
    inside.on('close', () => outside.destroy());
    outside.on('close', () => inside.destroy());
  });
}).listen(process.argv[2], () => console.log('ready'));
