/** Something that this machine lacks, so that arm64 is neither built nor tested here: its message is the reason. */
export class Missing extends Error {}
