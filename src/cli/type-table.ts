import { writeFileSync } from 'node:fs'
import { createTypeTable } from '../inspection/scanners/type-table.js'

writeFileSync('docs/types.md', createTypeTable())
