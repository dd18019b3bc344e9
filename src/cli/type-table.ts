import { writeFileSync } from 'node:fs'
import { typeTable } from '../scanner/type-table.js'

writeFileSync('docs/types.md', typeTable())
