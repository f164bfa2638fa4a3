/** Clients choose their commands by it, so it names the version of Redis with these commands. */
export const SERVER_NAME = 'redis';
export const SERVER_VERSION = '7.0.15';
