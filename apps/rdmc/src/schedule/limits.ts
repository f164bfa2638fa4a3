/** Limits of a drawing that fits a screen. */
export const MAX_DRAWN_MEMBERS = 64;
export const MAX_DRAWN_STEPS = 256;
export const MAX_LISTED_TRANSFERS = 4096;
/** Transfers in one JSON document; about 40 bytes each. */
export const MAX_JSON_TRANSFERS = 1_000_000;
