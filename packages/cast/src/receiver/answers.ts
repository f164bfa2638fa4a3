import { MAX_UNBUILT_IN_FRAME, PIECES_AHEAD, SURPLUS_FRAME_CHARACTERS } from '../constants.js';
import type { ControlChannel } from '../control/control-channel.js';
import type { HashesFrame, HeadFrame, OfferFrame, ReceiverFrame, SenderFrame } from '../control/frames.js';
import { protocolError } from '../errors.js';
import type { WriterThread } from './writer-thread.js';

/** The answers of a receiver about its directory. The writer works on one question after the other, in their order. */
export class Answers {
  /** Pieces of the manifest and frames of hashes that are not compared yet. */
  #pieces = 0;

  constructor(
    private readonly channel: ControlChannel<ReceiverFrame, SenderFrame>,
    private readonly writer: WriterThread,
  ) {}

  /** @throws CastError */
  async compare({ first, count, data }: OfferFrame): Promise<void> {
    this.#begin();
    const states = await this.writer.examine({ first, count, data });
    this.#pieces -= 1;
    this.channel.send({ type: 'compared', first, states });
  }

  /** @throws CastError */
  async compareBlocks({ index, first, data }: HashesFrame): Promise<void> {
    this.#begin();
    const held = await this.writer.compareBlocks({ index, first, data });
    this.#pieces -= 1;
    this.channel.send({ type: 'held', index, first, data: held });
  }

  /** @throws CastError */
  async want({ index, offset, data, last }: HeadFrame): Promise<void> {
    this.#begin();
    const wanted = await this.writer.wanted({ index, offset, data, last });
    this.#pieces -= 1;
    this.channel.send({ type: 'wanted', index, offset, ...(wanted !== undefined && { data: wanted }) });
  }

  /** Reports what it has beside the entries of the manifest. @throws CastError */
  async surplus(): Promise<void> {
    const { count, paths, resumedBytes, roomBytes } = await this.writer.surplus();
    let pending: string[] = [];
    let characters = 0;
    for (const path of paths) {
      pending.push(path);
      characters += path.length;
      if (characters < SURPLUS_FRAME_CHARACTERS) continue;
      this.channel.send({ type: 'surplus', count, paths: pending, last: false });
      pending = [];
      characters = 0;
    }
    const facts = { resumedBytes, ...(roomBytes !== undefined && { roomBytes }) };
    this.channel.send({ type: 'surplus', count, paths: pending, last: true, ...facts });
  }

  /** Reports files that could not be built from older ones. @throws CastError */
  async unbuilt(): Promise<void> {
    const entries = await this.writer.unbuilt();
    let at = 0;
    for (; entries.length - at > MAX_UNBUILT_IN_FRAME; at += MAX_UNBUILT_IN_FRAME)
      this.channel.send({
        type: 'unbuilt',
        entries: entries.slice(at, at + MAX_UNBUILT_IN_FRAME),
        last: false,
      });
    this.channel.send({ type: 'unbuilt', entries: entries.slice(at), last: true });
  }

  /** @throws CastError ERR_RDMC_CAST_PROTOCOL */
  #begin(): void {
    this.#pieces += 1;
    if (this.#pieces > PIECES_AHEAD)
      throw protocolError('the sender sent pieces of the manifest, or hashes, too far ahead of the answers');
  }
}
