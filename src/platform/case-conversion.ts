/** `maxFileSizeMb` is `max_file_size_mb`: what GraphQL spells in the one way, REST and the database spell in the other. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
export const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
