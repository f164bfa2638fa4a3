/** Largest `weight` of `ConnectOptions`. */
export const MAX_WEIGHT = 16;
/** Largest `trafficClass` of `ConnectOptions`: one byte. */
export const MAX_TRAFFIC_CLASS = 255;
/** Largest `serviceLevel` of `ConnectOptions`: four bits. */
export const MAX_SERVICE_LEVEL = 15;
