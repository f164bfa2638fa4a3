/** Authenticated sockets and their framing, for protocols beside the mesh. */
export { FrameReader } from './frame-reader.js';
export { encodeFrame, type Frame } from './frames.js';
export { KeyedSockets, type KeyedSocketsOptions } from './keyed-sockets.js';
export { describeAddress, isLoopbackHost } from './members.js';
