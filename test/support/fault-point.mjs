// Preloaded with `node --import`. Kills this process at the step in FAULT_POINT (src/platform/fault-points.ts).
import { subscribe } from 'node:diagnostics_channel'

const { FAULT_POINT: point } = process.env
if (point) subscribe('assay:fault-point', (name) => name === point && process.kill(process.pid, 'SIGKILL'))
