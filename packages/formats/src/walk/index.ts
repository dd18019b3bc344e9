export { containerKinds } from './openers.js'
export {
  type Origin,
  type Visitor,
  WalkEnded,
  type WalkLimits,
  type WindowPosition,
  type WindowReceiver,
  walkLimits,
} from './visitor.js'
export { Walk, walk } from './walk.js'
export { overlapBytes, windowBytes } from './windows.js'
