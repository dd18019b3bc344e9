/** An e-mail address as it is kept and looked up: one person's, however a keyboard composed its letters. */
export const keptEmail = (given: string): string => given.normalize('NFC').toLowerCase()
