/** The steps of an upload and of a delete between which a process may die: what each leaves must mend itself. */
export const faultPoints = [
  'upload.spooled',
  'upload.judged',
  'upload.journaled',
  'upload.stored',
  'upload.committed',
  'delete.found',
  'delete.committed',
  'sweep.removed',
] as const
export type FaultPoint = (typeof faultPoints)[number]

let armed: string | undefined

/** For tests: the process ends as by `kill -9` when it comes to that point. */
export const armFaultPoint = (name: string | undefined): void => {
  armed = name
}

/** Marks a point; does nothing unless a test armed it. */
export function faultPoint(name: FaultPoint): void {
  if (armed === name) process.kill(process.pid, 'SIGKILL')
}
