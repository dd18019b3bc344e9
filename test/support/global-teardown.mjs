export default () => globalThis.stopTestDatabase()
