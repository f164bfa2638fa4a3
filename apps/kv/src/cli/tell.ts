/** Prints one line for people, if there is one, and the same as an event for a program that started this one. */
export type Tell = (line: string | undefined, event: object) => void;
