/** What clients are told: they choose by it what they may send, so it names the Redis whose commands these are. */
export const SERVER_NAME = 'redis';
export const SERVER_VERSION = '7.0.15';
