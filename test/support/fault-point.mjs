// node --import: kills this process when it passes the step that FAULT_POINT names (src/platform/fault-points.ts).
import { subscribe } from 'node:diagnostics_channel'

const { FAULT_POINT: point } = process.env
if (point) subscribe('assay:fault-point', (name) => name === point && process.kill(process.pid, 'SIGKILL'))
