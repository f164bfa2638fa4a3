import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { reserveLoopbackPorts } from '../src/loopback.js';
import { SettledPorts } from '../src/settled-ports.js';

const take = (ports: SettledPorts, count: number): number[] =>
  Array.from({ length: count }, () => ports.next());

describe('ports that the system gives to nobody', () => {
  it('lie below its range, follow each other, and begin again', () => {
    const all = take(new SettledPorts('32768\t60999\n', 4242), 22_768);
    expect([Math.min(...all), Math.max(...all)]).toEqual([10_000, 32_767]);
    expect(new Set(all).size).toBe(22_768);
  });

  it('are others in another process', () => {
    const [one, other] = [1000, 1001].map((process) => take(new SettledPorts('32768 60999', process), 64));
    expect(one!.filter((port) => other!.includes(port))).toEqual([]);
  });

  it.each(['1024 65535', '', 'nonsense', '12000 65535'])('are any port where its range is %j', (range) => {
    expect(take(new SettledPorts(range, 7), 2)).toEqual([0, 0]);
  });

  it('that are in use are passed by', async () => {
    const [first] = await reserveLoopbackPorts(1);
    const blocked = first!.port + 1;
    const blocker = createServer().listen({ host: '127.0.0.1', port: blocked });
    // Whoever has it, it is in use.
    await once(blocker, 'listening').catch(() => {});
    const [second] = await reserveLoopbackPorts(1);
    expect(second!.server.listening).toBe(true);
    expect([first!.port, blocked]).not.toContain(second!.port);
    for (const server of [blocker, first!.server, second!.server]) server.close();
  });

  it('stay with the process that had them first, also while nobody listens there', async () => {
    const [first] = await reserveLoopbackPorts(1);
    first!.server.close();
    const sockets: Socket[] = [];
    onTestFinished(() => {
      for (const socket of sockets) socket.close();
    });
    const mark = (port: number) => {
      const socket = createSocket('udp4').bind({ address: '127.0.0.1', port, exclusive: true });
      sockets.push(socket);
      return once(socket, 'listening');
    };
    // As another process would mark it.
    await expect(mark(first!.port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    const taken = first!.port + 1;
    await mark(taken).catch(() => {});
    const [second] = await reserveLoopbackPorts(1);
    second!.server.close();
    expect(second!.port).not.toBe(taken);
  });
});
