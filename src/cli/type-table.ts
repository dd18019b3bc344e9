import { writeFileSync } from 'node:fs'
import { typeTable } from '../inspection/scanners/type-table.js'

writeFileSync('docs/types.md', typeTable())
