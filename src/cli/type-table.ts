import { writeFileSync } from 'node:fs'
import { typeTable } from '../scanner/type-table.js'

// npm run types:table
writeFileSync('docs/types.md', typeTable())
