import { writeFileSync } from 'node:fs'
import { typeTable } from '../formats/type-table.js'

writeFileSync('docs/types.md', typeTable())
